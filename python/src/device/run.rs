//! Jobs on a device: `Device.run`.

use super::Device;
use super::state::Slot;
use crate::background::{self, Watch};
use crate::error::{Failure, of_class};
use crate::job::Job;
use crate::operations::Gatherer;
use crate::result::RunResult;
use nandscope_experiment::run::{
    Contents, Observer, Progress, Room, Run, RunError, RunObserver, RunOptions, RunTarget,
    SimulatedTarget, TargetAbilities, run_jobs,
};
use nandscope_experiment::{Precondition, PreparationStep, Simulated};
use nandscope_measure::listened::{Listened, Listener};
use nandscope_measure::sim::SimTarget;
use nandscope_measure::steps::Attachment;
use nandscope_measure::verify::Verifier;
use nandscope_result::{Notice, ResultDocument, TargetInfo};
use nandscope_workload::trace::Fit;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// A job, or the path of a job file or a trace.
#[derive(FromPyObject)]
enum Workload<'py> {
    Job(PyRef<'py, Job>),
    Path(PathBuf),
}

impl Workload<'_> {
    fn job(self) -> Result<Job, Failure> {
        match self {
            Workload::Job(job) => Ok(job.clone()),
            Workload::Path(path) => Job::read(&path),
        }
    }
}

#[pymethods]
impl Device {
    /// Runs a job, a job file or a trace on the device, from its present state on, and gives the result.
    ///
    /// The result is that of `nandscope run` with the same job, device and seed, to the byte, except for the wall
    /// clock. `precondition` fills the device first, as the option of the command line does. `fit` is `exact`,
    /// `wrap` or `scale`: what to do with a trace of a device of another size. With `operations=True` every operation is
    /// kept (30 bytes each): `Result.operations`.
    ///
    /// Without `progress` a run that takes more than half a second shows a progress bar if standard error is a terminal, or in
    /// a notebook; `True` always shows it, `False` never. A callable is called as
    /// `progress(fraction, operations, elapsed_s)` about 30 times a second, with `None` for an unknown fraction.
    ///
    /// With `contents=True` what is written is stored, zeroes at first, so that jobs can verify it; `faults` are
    /// commands of `nandscope ctl` that change it, such as `"corrupt 1e-6"`. The contents are gone after the run.
    ///
    /// Ctrl-C ends the run and raises `KeyboardInterrupt`; the device stays at the time that it has reached.
    #[pyo3(signature = (
        workload, *, seed=None, precondition="none", fit="exact", operations=false, contents=false,
        faults=Vec::new(), progress=None
    ))]
    #[allow(clippy::too_many_arguments, reason = "keywords of Python")]
    fn run(
        &self,
        py: Python<'_>,
        workload: Workload<'_>,
        seed: Option<u64>,
        precondition: &str,
        fit: &str,
        operations: bool,
        contents: bool,
        faults: Vec<String>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<RunResult> {
        let contents = contents_of(contents, faults, operations)?;
        let job = workload.job()?;
        let options = RunOptions {
            seed: seed.unwrap_or(self.seed),
            precondition: precondition.parse().map_err(Failure::input)?,
            fit: fit_of(fit)?,
            ..RunOptions::new(job.title())
        };
        let (shared, about) = (self.shared.clone(), self.about.clone());
        background::run_shown(py, "run", progress, move |watch| {
            let mut slot = shared.take()?;
            match contents {
                None => run(&mut slot, about, &job, &options, operations, watch),
                Some(faults) => run_with_contents(&mut slot, about, &job, &options, &faults, watch),
            }
        })
    }
}

/// The faults of the contents; `None` if nothing is stored.
fn contents_of(
    contents: bool,
    faults: Vec<String>,
    operations: bool,
) -> Result<Option<Vec<String>>, Failure> {
    match (contents, operations) {
        (true, true) => Err(Failure::input(
            "a run with contents does not keep single operations; leave contents=True or operations=True out",
        )),
        (false, _) if !faults.is_empty() => Err(Failure::input(
            "faults are about contents; add contents=True",
        )),
        (contents, _) => Ok(contents.then_some(faults)),
    }
}

fn fit_of(name: &str) -> Result<Fit, Failure> {
    match name {
        "exact" => Ok(Fit::Exact),
        "wrap" => Ok(Fit::Wrap),
        "scale" => Ok(Fit::Scale),
        _ => Err(Failure::Input(format!(
            "fit is `{name}`; use exact, wrap or scale"
        ))),
    }
}

fn run(
    slot: &mut Slot,
    about: Simulated,
    job: &Job,
    options: &RunOptions,
    operations: bool,
    watch: &Watch,
) -> Result<RunResult, Failure> {
    // A listener that records nothing would cost 2 % of the time of a run that keeps no operations.
    if !operations {
        let (document, ()) = run_heard(slot, about, job, options, (), watch)?;
        return Ok(RunResult::new(document, None));
    }
    let gatherer = Gatherer::default();
    let (document, gatherer) = run_heard(slot, about, job, options, gatherer, watch)?;
    Ok(RunResult::new(document, Some(gatherer.finish())))
}

fn run_heard<L: Listener>(
    slot: &mut Slot,
    about: Simulated,
    job: &Job,
    options: &RunOptions,
    listener: L,
    watch: &Watch,
) -> Result<(ResultDocument, L), Failure> {
    slot.refuse_outstanding()?;
    let mut simulation = Simulation {
        target: Listened::new(SimTarget::new(slot.take()?), listener),
        about,
    };
    let mut observer = Watched { watch, before: 0 };
    let ran = run_jobs(&mut simulation, job.jobs(), options, &mut observer, &|| {
        watch.stops()
    });
    slot.put(simulation.target.target.into_device());
    let document = document_of(ran, slot)?;
    Ok((document, simulation.target.listener))
}

fn run_with_contents(
    slot: &mut Slot,
    about: Simulated,
    job: &Job,
    options: &RunOptions,
    faults: &[String],
    watch: &Watch,
) -> Result<RunResult, Failure> {
    slot.refuse_outstanding()?;
    // Before the device is taken, which a wrong fault must not lose.
    let capacity = slot.device()?.capacity();
    Contents::new(capacity, faults, options.seed).map_err(Failure::input)?;
    let device = slot.take()?;
    let target = SimulatedTarget::with_contents(about, device, faults, options.seed);
    let mut target = target.map_err(Failure::internal)?;
    let mut observer = Watched { watch, before: 0 };
    let stop = || watch.stops();
    let ran = run_jobs(&mut target, job.jobs(), options, &mut observer, &stop);
    slot.put(target.into_device());
    let document = document_of(ran, slot)?;
    Ok(RunResult::new(document, None))
}

/// The document of a run, with what was done to the device before.
fn document_of(ran: Result<Run, RunError>, slot: &mut Slot) -> Result<ResultDocument, Failure> {
    let ran = ran.map_err(|e| of_class(e.class(), &e))?;
    let mut document = ran.document;
    // Notices of the preparation go to the place where the command line, which prepares in the same run, has them.
    let place = ran.first_notices.min(document.notices.len());
    let prepared = slot.prepared.drain(..).map(Notice::info);
    document.notices.splice(place..place, prepared);
    Ok(document)
}

/// The device as the target of a run.
struct Simulation<L> {
    target: Listened<SimTarget, L>,
    about: Simulated,
}

impl<L: Listener> RunTarget for Simulation<L> {
    type Target = Listened<SimTarget, L>;

    fn target(&mut self) -> &mut Self::Target {
        &mut self.target
    }

    fn title(&self) -> String {
        self.about.device_source.profile.device.title.clone()
    }

    fn info(&self) -> TargetInfo {
        self.about.info(self.target.target.device())
    }

    fn abilities(&self) -> TargetAbilities {
        TargetAbilities {
            stores_contents: false,
            can_be_filled: true,
            has_page_cache: false,
        }
    }

    fn begin_group(&mut self, _: &[nandscope_workload::job::Job], _: u64) {}

    fn verifier(&self) -> Option<&Arc<Verifier>> {
        None
    }

    fn fill(
        &mut self,
        state: Precondition,
        seed: u64,
        step: &mut PreparationStep<'_>,
    ) -> Result<(), RunError> {
        Ok(state.apply_in_steps(self.target.target.device_mut(), seed, step)?)
    }

    fn room(&mut self) -> Option<Room> {
        Room::of(self.target.target.device())
    }
}

/// Passes progress on to the thread that waits.
struct Watched<'a> {
    watch: &'a Watch,
    /// Operations of the groups before.
    before: u64,
}

impl Observer for Watched<'_> {
    fn progress(&mut self, progress: &Progress) {
        self.watch.report(background::Progress {
            fraction: progress.fraction,
            operations: self.before + progress.operations,
            elapsed_s: progress.elapsed.as_secs_f64(),
        });
    }
}

impl RunObserver for Watched<'_> {
    fn record(&mut self, document: &ResultDocument, _: &[Attachment], _: Option<u64>) {
        let jobs = document.steps.iter().flat_map(|step| &step.jobs);
        let directions = jobs.flat_map(|job| &job.directions);
        self.before = directions.map(|direction| direction.operations).sum();
    }
}
