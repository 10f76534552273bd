//! The folder workloads of AnandTech's suite for direct-attached storage: four folder trees are
//! copied to the card by 32 threads without buffering, read back after 10 s of idle time, and
//! deleted, three times over. Bandwidth is the mean of the three passes.

use crate::step_runner::{Flow, Phase, Pick, SECOND, StepRunner, SuiteError};
use nandscope_measure::build::JobMeta;
use nandscope_measure::runner::Thread;
use nandscope_measure::target::Target;
use nandscope_result::slug;
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::files::{
    CopyJob, CopyOptions, DeletePlan, Direction, ExfatLayout, FileTree, FolderSpec, PlacedTree,
    das_suite,
};
use nandscope_workload::{OpSource, Pacing};
use std::fmt::Display;

const IDLE: Nanos = Nanos::from_secs(10);

/// Number of folders, files and passes of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) passes: u32,
    /// Divisor of the bytes and files of each folder.
    pub(crate) divisor: u32,
}

impl Extent {
    pub(crate) const FULL: Extent = Extent {
        passes: 3,
        divisor: 1,
    };
    pub(crate) const QUICK: Extent = Extent {
        passes: 1,
        divisor: 10,
    };
}

/// Runs all four folders.
pub(crate) fn run<T: Target>(
    runner: &mut StepRunner<'_, T>,
    extent: Extent,
) -> Result<Flow, SuiteError> {
    for spec in das_suite() {
        let spec = fit(&spec, extent.divisor, runner.capacity());
        if one_folder(runner, &spec, extent.passes)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}

/// A folder for a smaller card or a shorter run: fewer files of the same sizes.
pub(crate) fn fit(spec: &FolderSpec, divisor: u32, capacity: Bytes) -> FolderSpec {
    let most = capacity.0 / 10 * 8;
    let mut divisor = u64::from(divisor.max(1));
    while spec.bytes.0 / divisor > most {
        divisor += 1;
    }
    let part = |n: u32| (u64::from(n).div_ceil(divisor)) as u32;
    FolderSpec::new(
        &spec.name,
        Bytes(spec.bytes.0 / divisor),
        part(spec.files),
        part(spec.folders),
    )
}

/// A folder to be copied, and its step.
pub(crate) struct Folder {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) tree: FileTree,
}

impl Folder {
    /// The folder of a specification; `None` if its step is skipped.
    pub(crate) fn of<T: Target>(
        runner: &mut StepRunner<'_, T>,
        spec: &FolderSpec,
    ) -> Result<Option<Self>, SuiteError> {
        let id = format!("folder-{}", slug(&spec.name));
        if runner.skips(&id) {
            return Ok(None);
        }
        let title = format!("Folder copy: {}", spec.name);
        let tree = FileTree::generate(spec).map_err(|e| fault_of(&title, &e))?;
        Ok(Some(Folder { id, title, tree }))
    }

    /// The error that this step cannot be executed.
    pub(crate) fn fault(&self, problem: &dyn Display) -> SuiteError {
        fault_of(&self.title, problem)
    }
}

fn fault_of(title: &str, problem: &dyn Display) -> SuiteError {
    SuiteError::Step {
        step: title.to_string(),
        problem: problem.to_string(),
    }
}

fn one_folder<T: Target>(
    runner: &mut StepRunner<'_, T>,
    spec: &FolderSpec,
    passes: u32,
) -> Result<Flow, SuiteError> {
    let Some(folder) = Folder::of(runner, spec)? else {
        return Ok(Flow::Continue);
    };
    let mut layout = ExfatLayout::new(runner.capacity()).map_err(|e| folder.fault(&e))?;
    let placed = layout.place(&folder.tree).map_err(|e| folder.fault(&e))?;
    let options = CopyOptions::default();
    runner.begin_step(
        &folder.id,
        &folder.title,
        "Extended use",
        format!(
            "{:.2} GB in {} files and {} folders, copied to exFAT by {} threads with unbuffered requests of {}, read back after 10 s, deleted; {passes} passes, of which the mean counts.",
            spec.bytes.as_gb(),
            spec.files,
            spec.folders,
            options.threads,
            Bytes(u64::from(options.io_bytes))
        ),
        passes * 4,
    );
    let flow = all_passes(runner, &spec.name, passes, IDLE, |_, turn| {
        vec![phase(&layout, &placed, &options, turn)]
    });
    runner.end_step();
    flow
}

/// A part of a pass over a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Write,
    Read,
    Delete,
}

/// Part and pass.
pub(crate) struct Turn<'a> {
    pub(crate) part: Part,
    folder: &'a str,
    pass: u32,
}

impl Turn<'_> {
    /// Name of an action in this part and pass.
    pub(crate) fn name(&self, what: &str) -> String {
        format!("{} {what}, pass {}", self.folder, self.pass)
    }
}

/// Writes a folder, waits for `idle`, reads it back and deletes it, `passes` times; the figures are means over the
/// passes. `phases` returns the phases of each part of a pass.
pub(crate) fn all_passes<T: Target>(
    runner: &mut StepRunner<'_, T>,
    folder: &str,
    passes: u32,
    idle: Nanos,
    phases: impl Fn(&StepRunner<'_, T>, &Turn<'_>) -> Vec<Phase>,
) -> Result<Flow, SuiteError> {
    let (mut written, mut read) = (Vec::new(), Vec::new());
    for pass in 1..=passes {
        for part in [Part::Write, Part::Read, Part::Delete] {
            let todo = phases(runner, &Turn { part, folder, pass });
            let jobs = todo.len();
            for phase in todo {
                if runner.run(phase)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            match part {
                Part::Write => {
                    written.extend(speed(runner, jobs));
                    if runner.idle(idle)? == Flow::Stop {
                        return Ok(Flow::Stop);
                    }
                }
                Part::Read => read.extend(speed(runner, jobs)),
                Part::Delete => {}
            }
        }
    }
    for (values, what) in [(written, "write"), (read, "read")] {
        let id = format!("folders.{}.{what}", slug(folder));
        let title = format!("{folder} {what}");
        runner.figure(&id, &title, "MB/s", &values, Pick::Mean);
    }
    Ok(Flow::Continue)
}

/// Combined rate of the last `jobs` jobs, MB/s.
fn speed<T: Target>(runner: &StepRunner<'_, T>, jobs: usize) -> Option<f64> {
    let all = &runner.current()?.jobs;
    let last = all.get(all.len().checked_sub(jobs)?..)?;
    let bytes: u64 = last
        .iter()
        .flat_map(|j| &j.directions)
        .map(|d| d.bytes)
        .sum();
    let time: f64 = last.iter().map(|j| j.runtime_s).sum();
    Some(bytes as f64 / 1e6 / time.max(1e-9))
}

fn phase(
    layout: &ExfatLayout,
    placed: &PlacedTree,
    options: &CopyOptions,
    turn: &Turn<'_>,
) -> Phase {
    let copy = |direction| CopyJob::new(layout, placed, direction, options);
    match turn.part {
        Part::Write => copy_phase(copy(Direction::Write), &turn.name("write")),
        Part::Read => copy_phase(copy(Direction::Read), &turn.name("read")),
        Part::Delete => {
            let delete = DeletePlan { discard: false }.source(layout, placed);
            single(Box::new(delete), &turn.name("delete"))
        }
    }
}

fn copy_phase(job: CopyJob, name: &str) -> Phase {
    let threads = job
        .into_sources()
        .into_iter()
        .map(|s| Thread::new(Box::new(s), Pacing::default(), 0))
        .collect();
    Phase {
        threads,
        jobs: vec![JobMeta::new(name)],
        interval: SECOND,
    }
}

/// A phase with one thread and one operation at a time.
pub(crate) fn single(source: Box<dyn OpSource>, name: &str) -> Phase {
    Phase {
        threads: vec![Thread::new(source, Pacing::default(), 0)],
        jobs: vec![JobMeta::new(name)],
        interval: SECOND,
    }
}
