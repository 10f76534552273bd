//! Drives any number of threads through one target, in one loop, in virtual or real time.
//!
//! What a thread does next follows from values that compose: where operations come from
//! (`cursor`), when they are due (`schedule`), which pauses the job wants (`pause`) and when it
//! ends (`thread`; `search`, `steady` and `lowest` judge what it measures, `ties` knows the other
//! threads). The loop here only issues, waits and hands finished operations to the
//! recorder; it knows nothing of devices or files.
//!
//! In real time one loop would make its threads wait for each other: a target that has queues gets
//! a loop per thread (`parallel`), and what they recorded is added up, exactly.
//!
//! **Latency counts from when an operation was due.** In a closed loop that is the instant of
//! submission. With a rate limit or a trace it is the place in the schedule, so that a stall of
//! the target shows as many late operations and not as one (coordinated omission); the time from
//! submission is recorded beside it as service time.
//!
//! **What is measured**: operations completed after the ramp, up to the last one in flight when
//! the work or the time ends; these are waited for and counted, as fio does. A thread ends with
//! its last completion, or when its runtime is over, whichever is later.

mod check;
mod conclude;
mod cursor;
mod drive;
mod failure;
mod interim;
mod lowest;
mod outcome;
mod parallel;
mod pause;
mod schedule;
mod search;
mod span;
mod steady;
mod step;
mod thread;
mod ties;

pub use failure::{Failing, OnError};
pub use outcome::{
    Ending, Finding, GroupOutcome, GroupRun, Observer, Progress, RunError, ThreadFault,
};
pub use steady::Verdict;
pub use ties::{Flow, Ties};

use crate::recorder::IntervalPlan;
use crate::target::Target;
use drive::Run;
use nandscope_workload::{OpSource, Pacing};
use span::Span;
use std::sync::Arc;
use ties::{Board, judge_of};

/// One thread: where its operations come from, how fast it goes, and under which group it is reported.
pub struct Thread {
    /// Source of operations.
    pub source: Box<dyn OpSource>,
    /// Pacing, stop condition and queue depth.
    pub pacing: Pacing,
    /// The group under which the thread is recorded, from 0; threads of one group become one job
    /// in the result.
    pub record: usize,
    /// Reaction to a failed operation.
    pub on_error: OnError,
    /// Dependence on other threads.
    pub ties: Ties,
    /// Processors on which the thread may run, where it becomes one of the system's; any where empty.
    pub cpus: Vec<u32>,
}

impl Thread {
    /// A thread that stops at its first error.
    pub fn new(source: Box<dyn OpSource>, pacing: Pacing, record: usize) -> Self {
        Thread {
            source,
            pacing,
            record,
            on_error: OnError::Stop,
            ties: Ties::default(),
            cpus: Vec::new(),
        }
    }
}

/// A thread with what ties it to others.
pub(in crate::runner) struct Tied {
    thread: Thread,
    board: Option<(Arc<Board>, usize)>,
}

/// The threads of a run with their common board and the numbers of their judges.
fn tied(threads: Vec<Thread>, board: Option<&Arc<Board>>) -> Vec<Tied> {
    let judges: Vec<usize> = (0..threads.len()).map(|n| judge_of(&threads, n)).collect();
    let threads = threads.into_iter().zip(judges);
    let tie = |(thread, judge)| Tied {
        thread,
        board: board.map(|board| (Arc::clone(board), judge)),
    };
    threads.map(tie).collect()
}

/// Runs all threads side by side, each on a thread of the system where the target has queues, until each has come to its end, `stop` answers true, or the
/// target fails; what was measured up to then is in the outcome in any case.
///
/// `plan` says how the time line is divided; `None` chooses by the longest runtime.
///
/// # Errors
/// [`RunError`] if the pacing of a thread contradicts itself, or its group has too high a number. Nothing has been issued then.
pub fn run_group<T: Target + ?Sized>(
    target: &mut T,
    threads: Vec<Thread>,
    plan: Option<IntervalPlan>,
    observer: &mut dyn Observer,
    stop: &dyn Fn() -> bool,
) -> Result<GroupOutcome, RunError> {
    for (number, thread) in threads.iter().enumerate() {
        let refuse = |problem| RunError {
            thread: number,
            problem,
        };
        if thread.record >= threads.len() {
            return Err(refuse(ThreadFault::NoSuchGroup {
                record: thread.record,
                threads: threads.len(),
            }));
        }
        check::check(thread).map_err(refuse)?;
    }
    if let Some(queues) = target.thread_queues() {
        return Ok(parallel::run(
            target, &*queues, threads, plan, observer, stop,
        ));
    }
    let prepared = target.prepare(&span::load(&threads)).err();
    let span = Span::new(&threads, target.now(), plan);
    let board = Board::new(&threads);
    let mut run = Run::new(target, tied(threads, board.as_ref()), &span, 0);
    let failure = match prepared {
        Some(error) => Some(error),
        None => run.drive(&mut interim::Only(observer), stop).err(),
    };
    Ok(run.part(failure).outcome(board.as_deref()))
}
