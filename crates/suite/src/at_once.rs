//! Thread pool: independent pieces of work, executed in parallel. Each piece is executed once, by the next free thread,
//! and outcomes are returned in the order of the pieces, so that the number of threads has no influence on a result.
//! [`shared`] adds pieces that need a copy of a shared original.
//!
//! Callers choose the pieces and the number of threads, and display progress.
//!
//! The threads are rayon's. Its parallel iterators are not sufficient: pieces must begin in order, none may begin after
//! a stop, and the caller's thread is notified of each.

pub mod shared;

use nandscope_units::Bytes;
use rayon::{Scope, ThreadPoolBuilder};
use std::sync::Mutex;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

/// A finished piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done<'a, T> {
    /// Number of the piece, from 0.
    pub number: usize,
    /// Number of finished pieces, including this one.
    pub count: usize,
    /// Outcome of the piece.
    pub outcome: &'a T,
}

impl<T> Done<'_, T> {
    /// Finished share of all `pieces`, 0 to 1.
    #[must_use]
    pub fn share(&self, pieces: usize) -> f64 {
        self.count as f64 / pieces as f64
    }
}

/// Number of threads: `asked`, or one per processor if that is `None` or 0.
#[must_use]
pub fn threads(asked: Option<usize>) -> usize {
    asked
        .filter(|n| *n > 0)
        .or_else(|| std::thread::available_parallelism().ok().map(Into::into))
        .unwrap_or(1)
}

/// Number of threads, at least one and at most `threads`, for which `left` bytes of memory are enough: each needs two
/// copies of a device of `device` bytes.
#[must_use]
pub fn threads_within(threads: usize, device: Bytes, left: Option<u64>) -> usize {
    let fit = left.map_or(u64::MAX, |left| left / device.0.max(1) / 2);
    threads
        .min(usize::try_from(fit).unwrap_or(usize::MAX))
        .max(1)
}

/// Executes pieces 0 to `pieces` - 1 with `threads` threads (at least one), in this order. No piece begins after `stop`
/// has returned true; such pieces are `None`. `tell` is called with each finished piece on the caller's thread.
///
/// # Panics
/// If a piece panicked, after all threads have ended.
pub fn run<T: Send>(
    pieces: usize,
    threads: usize,
    stop: &(dyn Fn() -> bool + Sync),
    work: impl Fn(usize) -> T + Sync,
    mut tell: impl FnMut(Done<'_, T>),
) -> Vec<Option<T>> {
    let mut outcomes: Vec<Option<T>> = std::iter::repeat_with(|| None).take(pieces).collect();
    let mut count = 0;
    let work = |number| (number, work(number));
    let heard = |done: Option<(usize, T)>| {
        let Some((number, outcome)) = done else {
            return;
        };
        count += 1;
        tell(Done {
            number,
            count,
            outcome: &outcome,
        });
        outcomes[number] = Some(outcome);
    };
    let threads = threads.clamp(1, pieces.max(1));
    run_schedule(&mut InOrder::new(pieces), threads, stop, work, heard);
    outcomes
}

/// Chooses the task that a free thread begins. Its methods are called under a lock and must be short.
pub trait Schedule: Send {
    /// Unit of work that a thread takes.
    type Task: Send;
    /// Outcome of a task.
    type Outcome;
    /// Message to the caller about an outcome.
    type News: Send;

    /// Next task for a free thread; `None` if none can begin before another one has ended.
    fn next(&mut self) -> Option<Self::Task>;

    /// Accepts the outcome of a task; returns the message to the caller, if any.
    fn done(&mut self, outcome: Self::Outcome) -> Option<Self::News>;
}

/// Interval after which the caller is called even without a message.
const BEAT: Duration = Duration::from_millis(100);

/// Executes the tasks of a schedule with `threads` threads. No task begins after `stop` has returned true. `heard` is
/// called with each message on the caller's thread, and with `None` every 100 ms without one, so that it can show
/// progress within tasks.
///
/// # Panics
/// If a task panicked, after the other threads have ended, or if the system refuses the threads.
pub fn run_schedule<S: Schedule>(
    schedule: &mut S,
    threads: usize,
    stop: &(dyn Fn() -> bool + Sync),
    work: impl Fn(S::Task) -> S::Outcome + Sync,
    mut heard: impl FnMut(Option<S::News>),
) {
    let threads = threads.max(1);
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.unwrap_or_else(|error| panic!("{threads} threads cannot be started: {error}"));
    let crew = Crew {
        schedule: Mutex::new((schedule, threads)),
        stop,
        work,
    };
    let (sender, receiver) = mpsc::channel();
    pool.in_place_scope(|scope| {
        crew.begin_tasks(scope, sender);
        loop {
            match receiver.recv_timeout(BEAT) {
                Ok(news) => heard(Some(news)),
                Err(RecvTimeoutError::Timeout) => heard(None),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    });
}

/// State shared by all threads.
struct Crew<'a, S, W> {
    /// The schedule, and the number of threads without a task.
    schedule: Mutex<(&'a mut S, usize)>,
    stop: &'a (dyn Fn() -> bool + Sync),
    work: W,
}

impl<S: Schedule, W: Fn(S::Task) -> S::Outcome + Sync> Crew<'_, S, W> {
    /// Gives tasks to free threads while there are both. Each thread repeats this after its task.
    fn begin_tasks<'s>(&'s self, scope: &Scope<'s>, sender: Sender<S::News>)
    where
        S::News: 's,
        S::Task: 's,
    {
        // The lock is poisoned only if a schedule panicked: no further task begins.
        let Ok(mut state) = self.schedule.lock() else {
            return;
        };
        let (schedule, free) = &mut *state;
        while *free > 0
            && !(self.stop)()
            && let Some(task) = schedule.next()
        {
            *free -= 1;
            let sender = sender.clone();
            scope.spawn(move |scope| self.do_task(task, scope, sender));
        }
    }

    fn do_task<'s>(&'s self, task: S::Task, scope: &Scope<'s>, sender: Sender<S::News>)
    where
        S::News: 's,
        S::Task: 's,
    {
        let outcome = (self.work)(task);
        if let Ok(mut state) = self.schedule.lock() {
            let (schedule, free) = &mut *state;
            *free += 1;
            // The caller receives messages until all senders are dropped.
            let _ = schedule.done(outcome).map(|news| sender.send(news));
        }
        self.begin_tasks(scope, sender);
    }
}

/// Schedule of independent pieces.
struct InOrder<T>(std::ops::Range<usize>, std::marker::PhantomData<fn() -> T>);

impl<T> InOrder<T> {
    fn new(pieces: usize) -> Self {
        InOrder(0..pieces, std::marker::PhantomData)
    }
}

impl<T: Send> Schedule for InOrder<T> {
    type Task = usize;
    type Outcome = (usize, T);
    type News = (usize, T);

    fn next(&mut self) -> Option<usize> {
        self.0.next()
    }

    fn done(&mut self, outcome: (usize, T)) -> Option<(usize, T)> {
        Some(outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn each_piece_is_done_once_and_stands_in_its_place() {
        for (pieces, threads) in [(0, 3), (1, 8), (50, 0), (50, 1), (50, 7)] {
            let begun = Mutex::new(Vec::new());
            let mut told = Vec::new();
            let work = |number: usize| {
                begun.lock().unwrap().push(number);
                number * number
            };
            let outcomes = run(pieces, threads, &|| false, work, |done| {
                assert_eq!(*done.outcome, done.number * done.number);
                assert_eq!(done.count, told.len() + 1);
                assert_eq!(done.share(pieces), done.count as f64 / pieces as f64);
                told.push(done.number);
            });
            let squares: Vec<_> = (0..pieces).map(|n| Some(n * n)).collect();
            assert_eq!(outcomes, squares, "{pieces} by {threads}");
            for mut numbers in [begun.into_inner().unwrap(), told] {
                numbers.sort_unstable();
                assert!(numbers.into_iter().eq(0..pieces), "{pieces} by {threads}");
            }
        }
    }

    #[test]
    fn the_pieces_run_at_the_same_time() {
        // Each piece waits until all four have begun.
        let all = Barrier::new(4);
        let outcomes = run(4, 4, &|| false, |_| all.wait().is_leader(), |_| {});
        assert_eq!(outcomes.into_iter().flatten().filter(|l| *l).count(), 1);
    }

    #[test]
    fn the_caller_hears_of_pieces_that_take_long() {
        // The piece ends after the caller was called during it.
        let heard = AtomicUsize::new(0);
        let work = |number| {
            while heard.load(Ordering::SeqCst) < 2 {
                std::thread::yield_now();
            }
            (number, ())
        };
        let mut done = 0;
        run_schedule(
            &mut InOrder::new(1),
            1,
            &|| false,
            work,
            |piece| match piece {
                Some(_) => done += 1,
                None => {
                    heard.fetch_add(1, Ordering::SeqCst);
                }
            },
        );
        assert_eq!(done, 1);
    }

    #[test]
    fn threads_are_fewer_where_memory_is_short() {
        let device = Bytes(100);
        assert_eq!(threads_within(8, device, None), 8);
        assert_eq!(threads_within(8, device, Some(1000)), 5);
        assert_eq!(threads_within(8, device, Some(10)), 1);
        assert_eq!(threads_within(0, device, None), 1);
    }

    #[test]
    fn what_was_not_begun_when_told_to_stop_is_missing() {
        let done = AtomicUsize::new(0);
        let stop = || done.load(Ordering::SeqCst) >= 3;
        let work = |number| {
            done.fetch_add(1, Ordering::SeqCst);
            number
        };
        let outcomes = run(10, 1, &stop, work, |_| {});
        assert_eq!(outcomes[..4], [Some(0), Some(1), Some(2), None]);
        assert_eq!(outcomes.iter().flatten().count(), 3);
    }
}
