//! Result and progress of a run.

use super::Verdict;
use crate::recorder::{Direction, GroupRecord, Rates, Timeline};
use crate::target::Reading;
use nandscope_result::{DepthCounts, Notice, StopReason};
use nandscope_units::{Bytes, Nanos};
use std::collections::BTreeMap;
use thiserror::Error;

/// A run that cannot begin: the pacing of a thread is contradictory.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("thread {thread} cannot run: {problem}")]
pub struct RunError {
    /// Number of the thread, from 0.
    pub thread: usize,
    /// Cause.
    pub problem: ThreadFault,
}

/// Contradiction in the options of a thread; the text says what to do.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ThreadFault {
    /// The number of its group is too high.
    #[error(
        "it is to be recorded as group {record}, but {threads} threads have at most as many groups; number groups from 0"
    )]
    NoSuchGroup {
        /// Number of the group.
        record: usize,
        /// Threads of the run.
        threads: usize,
    },
    /// A queue depth of 0.
    #[error("its iodepth is 0; give it 1 or more")]
    NoDepth,
    /// `time_based` without a runtime.
    #[error("it is time_based but has no runtime, so it would never end; give a runtime")]
    Endless,
    /// A rate limit of 0.
    #[error("a rate limit is 0, so it would never begin; leave the limit out or give 1 or more")]
    RateOfZero,
    /// The option of this name waits for more than 100 years.
    #[error("its {0} is longer than 100 years; give a shorter one")]
    TooLong(&'static str),
    /// A duty cycle of this percentage, outside of 1 to 100.
    #[error("its duty cycle is busy {0} % of the time; give 1 to 100")]
    DutyCycle(u32),
    /// A duty cycle with bursts of 0 bytes.
    #[error("the bursts of its duty cycle hold 0 bytes; give a size")]
    EmptyBursts,
}

/// Reason of a run's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every thread reached the end of its work or its time.
    Complete,
    /// Stopped by the caller; operations in flight were waited for.
    Interrupted,
    /// A thread stopped at an error, or the target failed as a whole; in words.
    Failed(String),
}

impl Ending {
    /// Why the run is incomplete; `None` if it is complete.
    pub fn incomplete(&self) -> Option<StopReason> {
        match self {
            Ending::Complete => None,
            Ending::Interrupted => Some(StopReason::Interrupted),
            Ending::Failed(why) => Some(StopReason::Failed(why.clone())),
        }
    }
}

/// One job group of a run.
#[derive(Clone, Debug, Default)]
pub struct GroupRun {
    /// Latencies and totals.
    pub record: GroupRecord,
    /// Start of the measurement: after start delay and ramp of the first thread.
    pub start: Nanos,
    /// End of the last thread.
    pub end: Nanos,
    /// Total of the pauses set by options of the job, over all threads.
    pub idle: Nanos,
    /// Number of threads.
    pub threads: u32,
    /// Failed operations by reason.
    pub errors: BTreeMap<&'static str, u64>,
    /// Linux error number of the first error, of an operation or of a limit of the job; 0 without an error.
    pub error: u32,
    /// Counts of queue depths and batch sizes of the operations.
    pub depths: DepthCounts,
    /// Rates over time.
    pub rates: Rates,
    /// Operations that the target does not know, by kind.
    pub unsupported: [u64; Direction::COUNT],
    /// Queue depths or steady states that searches found, by thread.
    pub findings: Vec<Finding>,
}

/// Result determined by a thread.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// Of `latency_target`: the queue depth at the end.
    Depth(u32),
    /// Result of `steadystate`.
    Steady(Verdict),
}

impl GroupRun {
    /// Length of the measured part.
    pub fn runtime(&self) -> Nanos {
        self.end.saturating_sub(self.start)
    }
}

/// Result of a run, whole or partial.
#[derive(Clone, Debug)]
pub struct GroupOutcome {
    /// When the run began, on the target's clock.
    pub start: Nanos,
    /// End of the run.
    pub end: Nanos,
    /// The groups by the number that threads gave as `record`.
    pub groups: Vec<GroupRun>,
    /// Counts per interval and readings of the instruments.
    pub timeline: Timeline,
    /// The instruments before the first operation.
    pub first_reading: Reading,
    /// Reading of the instruments after the last operation.
    pub last_reading: Reading,
    /// Reason of the end.
    pub ending: Ending,
    /// Conditions that affect the interpretation of the results.
    pub notices: Vec<Notice>,
    /// Whether an ended job ends all jobs of its file.
    pub ends_file: bool,
}

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Time since the run began, on the target's clock.
    pub elapsed: Nanos,
    /// Operations completed, ramps included.
    pub operations: u64,
    /// Bytes moved, ramps included.
    pub bytes: Bytes,
    /// Estimated share of the run that is done, 0 to 1, if known.
    pub fraction: Option<f64>,
}

/// Receives the progress of a run: at most once per 65,536 operations or second of the target's clock, whichever is
/// first.
pub trait Observer {
    /// Called with the progress of the run.
    fn progress(&mut self, progress: &Progress) {
        let _ = progress;
    }

    /// Time between two calls of [`Observer::interim`], on the target's clock; `None` for no calls.
    fn interim_interval(&self) -> Option<Nanos> {
        None
    }

    /// Called with all measurements since the start of the run, without pauses of jobs.
    fn interim(&mut self, outcome: &GroupOutcome) {
        let _ = outcome;
    }
}

/// Ignores all calls.
impl Observer for () {}
