//! Drives any number of threads through one target, in one loop, in virtual or real time.
//!
//! The next step of a thread follows from composable parts: the source of operations (`cursor`), their due times
//! (`schedule`), pauses of the job (`pause`) and its end (`thread`; `search`, `steady` and `lowest` judge its
//! measurements, `ties` the other threads). The loop itself only issues, waits and passes finished operations to the
//! recorder; it is independent of devices and files.
//!
//! In real time, threads in one loop would wait for each other: a target with queues gets a loop per thread
//! (`parallel`), and their records are summed exactly.
//!
//! **Latency counts from the due time of an operation.** In a closed loop that is the time of submission. With a rate
//! limit or a trace it is the place in the schedule, so that a stall of the target shows as many late operations and
//! not as one (coordinated omission); the time from submission is recorded as service time.
//!
//! **Measured operations** are those completed after the ramp, up to the last one in flight when the work or the time
//! ends; these are waited for and counted, as in fio. A thread ends with its last completion, or when its runtime is
//! over, whichever is later.

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

/// A thread: its source of operations, its pacing, and the group in which it is reported.
pub struct Thread {
    /// Source of operations.
    pub source: Box<dyn OpSource>,
    /// Pacing, stop condition and queue depth.
    pub pacing: Pacing,
    /// Group in which the thread is recorded, from 0; threads of one group become one job in the result.
    pub record: usize,
    /// Reaction to a failed operation.
    pub on_error: OnError,
    /// Dependence on other threads.
    pub ties: Ties,
    /// Processors on which the thread may run if it is a thread of the system; any if empty.
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

/// A thread with its dependence on others.
pub(in crate::runner) struct Tied {
    thread: Thread,
    board: Option<(Arc<Board>, usize)>,
}

/// Threads of a run, with their shared board and the numbers of their judges.
fn tied(threads: Vec<Thread>, board: Option<&Arc<Board>>) -> Vec<Tied> {
    let judges: Vec<usize> = (0..threads.len()).map(|n| judge_of(&threads, n)).collect();
    let threads = threads.into_iter().zip(judges);
    let tie = |(thread, judge)| Tied {
        thread,
        board: board.map(|board| (Arc::clone(board), judge)),
    };
    threads.map(tie).collect()
}

/// Runs all threads in parallel, each on a thread of the system if the target has queues, until each has ended, `stop`
/// returns true, or the target fails; in any case the outcome has the measurements so far.
///
/// `plan` divides the time line into intervals; `None` chooses it by the longest runtime.
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
