//! The pool of threads: independent pieces of work, several at once. Each piece is done once, by whichever thread is
//! free next, and outcomes come back in the order of the pieces, so that the number of threads has no influence on a
//! result. [`shared`] adds pieces that need a copy of something which is made first.
//!
//! What the pieces are, how many threads are right for them and what is shown meanwhile is for the caller.
//!
//! A pool such as rayon's would not shorten this: pieces begin in their order, none begins after a stop, and
//! the caller's thread reports each one, so that its channel and its counter would stay, with six crates added.

pub mod shared;

use nandscope_units::Bytes;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A piece that was just done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done<'a, T> {
    /// Number of the piece, from 0.
    pub number: usize,
    /// Number of finished pieces, with this one.
    pub count: usize,
    /// Outcome of the piece.
    pub outcome: &'a T,
}

impl<T> Done<'_, T> {
    /// The part of all `pieces` that is done, from 0 to 1.
    #[must_use]
    pub fn share(&self, pieces: usize) -> f64 {
        self.count as f64 / pieces as f64
    }
}

/// The number of threads that was asked for, or else (or at 0) one for each processor.
#[must_use]
pub fn threads(asked: Option<usize>) -> usize {
    asked
        .filter(|n| *n > 0)
        .or_else(|| std::thread::available_parallelism().ok().map(Into::into))
        .unwrap_or(1)
}

/// As many of the threads as have memory for two devices each: one that is copied, and a copy.
#[must_use]
pub fn threads_within(threads: usize, device: Bytes, left: Option<u64>) -> usize {
    let fit = left.map_or(u64::MAX, |left| left / device.0.max(1) / 2);
    threads
        .min(usize::try_from(fit).unwrap_or(usize::MAX))
        .max(1)
}

/// Does the pieces 0 to `pieces` - 1 with `threads` threads (at least one), beginning them in this
/// order. No piece is begun once `stop` says so; those that were not begun are `None`. `tell` hears
/// of each as it is done, on the caller's thread.
///
/// # Panics
/// Where a piece panicked, when all threads have ended.
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

/// Next work of a free thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next<T> {
    /// It can start now.
    Task(T),
    /// Nothing until another task is done.
    Wait,
    /// Nothing any more.
    End,
}

/// Decides which task a free thread begins. Its methods are called under a lock and must be short.
pub trait Schedule: Send {
    /// Unit of work that a thread takes.
    type Task;
    /// Outcome of a task.
    type Outcome;
    /// News of an outcome for the caller.
    type News: Send;

    /// Next work for a free thread.
    fn next(&mut self) -> Next<Self::Task>;

    /// Takes the outcome of a task; returns what the caller hears of it, if anything.
    fn done(&mut self, outcome: Self::Outcome) -> Option<Self::News>;
}

/// Time after which the caller is called again if there is no news.
const BEAT: Duration = Duration::from_millis(100);

/// Does the tasks of a schedule with `threads` threads. None is begun once `stop` says so. `heard` gets the news on
/// the caller's thread, and `None` several times a second while there is none, so that it can show how far the tasks
/// under way have come.
///
/// # Panics
/// Where a task panicked, when all threads have ended.
pub fn run_schedule<S: Schedule>(
    schedule: &mut S,
    threads: usize,
    stop: &(dyn Fn() -> bool + Sync),
    work: impl Fn(S::Task) -> S::Outcome + Sync,
    mut heard: impl FnMut(Option<S::News>),
) {
    let pool = Pool {
        state: Mutex::new(State {
            schedule,
            panicked: false,
        }),
        changed: Condvar::new(),
    };
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            let (sender, pool, work) = (sender.clone(), &pool, &work);
            scope.spawn(move || {
                let _guard = Abandon(pool);
                while let Some(task) = pool.next(stop) {
                    let outcome = work(task);
                    let news = pool.state().schedule.done(outcome);
                    pool.changed.notify_all();
                    // The caller listens until all threads have ended.
                    let _ = news.map(|news| sender.send(news));
                }
            });
        }
        drop(sender);
        loop {
            match receiver.recv_timeout(BEAT) {
                Ok(news) => heard(Some(news)),
                Err(RecvTimeoutError::Timeout) => heard(None),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    });
}

struct Pool<'a, S> {
    state: Mutex<State<'a, S>>,
    changed: Condvar,
}

struct State<'a, S> {
    schedule: &'a mut S,
    /// A thread panicked; the others end, because they may wait for its task.
    panicked: bool,
}

impl<'a, S: Schedule> Pool<'a, S> {
    fn state(&self) -> MutexGuard<'_, State<'a, S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self, stop: &(dyn Fn() -> bool + Sync)) -> Option<S::Task> {
        let mut state = self.state();
        loop {
            if stop() || state.panicked {
                return None;
            }
            match state.schedule.next() {
                Next::Task(task) => return Some(task),
                Next::End => return None,
                Next::Wait => {}
            }
            let waited = self.changed.wait_timeout(state, BEAT);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Lets the other threads end if this one panics.
struct Abandon<'a, 'b, S: Schedule>(&'a Pool<'b, S>);

impl<S: Schedule> Drop for Abandon<'_, '_, S> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.state().panicked = true;
        }
        self.0.changed.notify_all();
    }
}

/// Pieces that need nothing of each other.
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

    fn next(&mut self) -> Next<usize> {
        self.0.next().map_or(Next::End, Next::Task)
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
        // No piece passes before all four have arrived.
        let all = Barrier::new(4);
        let outcomes = run(4, 4, &|| false, |_| all.wait().is_leader(), |_| {});
        assert_eq!(outcomes.into_iter().flatten().filter(|l| *l).count(), 1);
    }

    #[test]
    fn the_caller_hears_of_pieces_that_take_long() {
        // The piece ends when the caller has heard that it is under way.
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
