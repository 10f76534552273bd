//! Jobs on a target, from the check of everything that can be wrong to the result document. [`plan`]
//! makes threads of a group of jobs; the measure crate runs them.

mod contents;
mod dumps;
mod fault;
pub mod figures;
mod fio_facts;
mod in_progress;
mod interim;
mod level;
mod log_names;
mod logs;
mod overlap;
pub mod plan;
mod replay;
mod simulated;
mod target;
mod unwritten;
mod verify;

pub use contents::{ContentTarget, Contents, ContentsError};
pub use level::Room;
pub use log_names::{LogError, check as check_logs, names as log_names};
pub use nandscope_measure::runner::{Ending, Observer, Progress};
pub use plan::wants_files;
pub use replay::{ReplayError, library_trace, trace_file};
pub use simulated::SimulatedTarget;
pub use target::{DiskReader, RunTarget, TargetAbilities, group_data};

use crate::error::ErrorClass;
use crate::jobs::Jobs;
use crate::memory::{self, MemoryError};
use crate::precondition::{Precondition, PreconditionError, Preparation};
use in_progress::RunInProgress;
use nandscope_measure::steps::Attachment;
use nandscope_measure::target::Target;
use nandscope_result::ResultDocument;
use nandscope_units::Bytes;
use nandscope_workload::job::{JobError, JobFile};
use nandscope_workload::pattern::lay_out;
use nandscope_workload::trace::Fit;
use plan::PlanContext;
use std::borrow::Cow;
use thiserror::Error;

/// Choices that are not in the job file.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOptions {
    /// Name of the jobs in the title of the result, such as the name of their file.
    pub job_name: String,
    /// Seed of the jobs and of the precondition.
    pub seed: u64,
    /// State of the device before the run.
    pub precondition: Precondition,
    /// The device is in that state already, for runs on copies of one conditioned device.
    pub is_conditioned: bool,
    /// Treatment of traces recorded on a device of another size.
    pub fit: Fit,
}

impl RunOptions {
    /// Seed 1, the device as it is, traces at their own offsets.
    pub fn new(job_name: impl Into<String>) -> Self {
        RunOptions {
            job_name: job_name.into(),
            seed: 1,
            precondition: Precondition::None,
            is_conditioned: false,
            fit: Fit::Exact,
        }
    }
}

/// Jobs cannot be run.
#[derive(Debug, Error)]
pub enum RunError {
    /// Jobs ask for something that the target cannot do.
    #[error(transparent)]
    Jobs(#[from] JobError),
    /// The trace of a job cannot be replayed.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The pacing of a job contradicts itself.
    #[error(transparent)]
    Pacing(#[from] nandscope_measure::runner::RunError),
    /// The jobs do not fit into memory.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The device cannot be filled.
    #[error(transparent)]
    Precondition(#[from] PreconditionError),
    /// A real target cannot be filled at once.
    #[error("a real target is filled by a job that writes; leave nandscope_fullness out")]
    NotFillable,
}

impl RunError {
    /// Whether the run was ended from outside before anything was measured.
    pub fn is_interruption(&self) -> bool {
        matches!(self, RunError::Precondition(PreconditionError::Stopped))
    }

    /// Class of the error: who can fix it.
    pub fn class(&self) -> ErrorClass {
        match self {
            RunError::Replay(error) => error.class(),
            RunError::Memory(_) => ErrorClass::System,
            RunError::Precondition(_) => ErrorClass::Internal,
            RunError::Jobs(_) | RunError::Pacing(_) | RunError::NotFillable => ErrorClass::Usage,
        }
    }
}

/// A part of a run, for people who wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The device is filled.
    Filling,
    /// A group of jobs runs.
    Group {
        /// Number of the group, from 1.
        number: usize,
        /// Number of groups.
        of: usize,
    },
    /// The blocks written by a group are read back.
    Verifying,
}

/// Receives the phases, the progress and the results of a run.
pub trait RunObserver: Observer {
    /// A phase begins; its [`Observer::progress`] follows.
    fn begin(&mut self, phase: Phase) {
        let _ = phase;
    }

    /// The device is this far on its way to its state before the run; called every few milliseconds.
    fn preparing(&mut self, progress: &Preparation) {
        let _ = progress;
    }

    /// The phase is over.
    fn end(&mut self) {}

    /// The result so far, in the middle of a group, where [`Observer::interim_interval`] asks for it.
    fn interim_result(&mut self, document: &ResultDocument) {
        let _ = document;
    }

    /// The document has one more step. `attachments` are the logs and dumps of the group, and `resume` the number
    /// of finished groups if a later run can go on after them.
    fn record(
        &mut self,
        document: &ResultDocument,
        attachments: &[Attachment],
        resume: Option<u64>,
    ) {
        let _ = (document, attachments, resume);
    }
}

/// Observes nothing.
impl RunObserver for () {}

/// Finished part of an interrupted run.
#[derive(Clone, Debug)]
pub struct EarlierRun {
    /// Every step in it is finished.
    pub document: ResultDocument,
    /// Groups that are finished.
    pub groups: usize,
    /// Attachments recorded with them.
    pub attachments: Vec<Attachment>,
}

/// Result of a run, also if it ended early.
#[derive(Clone, Debug)]
pub struct Run {
    /// The result; `complete` is false if the run ended early.
    pub document: ResultDocument,
    /// Number of its notices, the first, that were made before the target was prepared.
    pub first_notices: usize,
    /// Name and text of each log that jobs asked for.
    pub logs: Vec<(String, String)>,
    /// The files of `verify_dump`.
    pub dumps: Vec<Attachment>,
    /// Reason for which the run ended.
    pub ending: Ending,
}

impl Run {
    /// Whether an operation of a job failed.
    pub fn has_errors(&self) -> bool {
        let jobs = self.document.steps.iter().flat_map(|s| &s.jobs);
        jobs.into_iter().any(|j| !j.errors.is_empty())
    }
}

/// Jobs that fit a target: nothing that can be known before a run stops it half-way.
pub struct Prepared<'a> {
    /// With a part of the target for each of their files.
    jobs: Cow<'a, JobFile>,
    /// That says which parts these are.
    notice: Option<String>,
    options: &'a RunOptions,
    context: PlanContext,
}

impl<'a> Prepared<'a> {
    /// Checks jobs against a target.
    ///
    /// # Errors
    /// Returns [`RunError`] if a job asks for something that the target cannot do, or its trace cannot
    /// be replayed.
    pub fn new<T: RunTarget>(
        jobs: &'a Jobs,
        options: &'a RunOptions,
        target: &mut T,
    ) -> Result<Self, RunError> {
        let (capacity, abilities) = (target.target().capacity(), target.abilities());
        let name = target.info().name;
        Prepared::for_target(jobs, options, capacity, abilities, &name)
    }

    /// Checks jobs against a target that is not open yet.
    ///
    /// # Errors
    /// As [`Prepared::new`].
    pub fn for_capacity(
        jobs: &'a Jobs,
        options: &'a RunOptions,
        capacity: Bytes,
        abilities: TargetAbilities,
    ) -> Result<Self, RunError> {
        Prepared::for_target(jobs, options, capacity, abilities, "")
    }

    fn for_target(
        jobs: &'a Jobs,
        options: &'a RunOptions,
        capacity: Bytes,
        abilities: TargetAbilities,
        name: &str,
    ) -> Result<Self, RunError> {
        let context = PlanContext {
            capacity,
            seed: options.seed,
            fit: options.fit,
        };
        plan::check(&jobs.file.jobs, abilities)?;
        memory::check_jobs(&jobs.file, capacity, abilities.has_page_cache)?;
        let (jobs, notice) = match lay_out(&jobs.file, capacity, name)? {
            Some((placed, notice)) => (Cow::Owned(placed), Some(notice)),
            None => (Cow::Borrowed(&jobs.file), None),
        };
        for group in jobs.groups() {
            plan::of_group(group, &context, 1, None)?;
        }
        Ok(Prepared {
            jobs,
            notice,
            options,
            context,
        })
    }

    /// Runs the groups one after the other, from the first that `earlier` has not done, until the last,
    /// one that does not come to its end, or `stop`, which is asked often.
    ///
    /// # Errors
    /// Returns [`RunError`] if nothing was measured. An error after the first group ends the run with
    /// [`Ending::Failed`], so that what was measured is there.
    pub fn execute<T: RunTarget>(
        &self,
        target: &mut T,
        earlier: Option<EarlierRun>,
        observer: &mut dyn RunObserver,
        stop: &dyn Fn() -> bool,
    ) -> Result<Run, RunError> {
        let mut run = RunInProgress::begin(self, target, earlier, observer, stop)?;
        if let Err(error) = run.run() {
            run.break_off(error)?;
        }
        Ok(run.finish())
    }
}

/// Checks jobs against a target and runs them: the document is the one that `nandscope run` writes for
/// the same jobs, device and seed, except for the wall clock.
///
/// # Errors
/// As [`Prepared::new`] and [`Prepared::execute`].
pub fn run_jobs<T: RunTarget>(
    target: &mut T,
    jobs: &Jobs,
    options: &RunOptions,
    observer: &mut dyn RunObserver,
    stop: &dyn Fn() -> bool,
) -> Result<Run, RunError> {
    Prepared::new(jobs, options, target)?.execute(target, None, observer, stop)
}
