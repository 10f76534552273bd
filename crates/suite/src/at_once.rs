//! Pieces of work that know nothing of each other, several at once: each is done once, by whichever
//! thread is free next, and what came out is given back in the order of their numbers, so that the
//! number of threads has no influence on a result.
//!
//! What the pieces are, how many threads are right for them and what is said meanwhile is for the caller.
//!
//! A pool such as rayon's would not shorten this: pieces begin in their order, none begins after a stop, and
//! the caller's thread reports each one, so that its channel and its counter would stay, with six crates added.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// A piece that was just done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done<'a, T> {
    /// Its number.
    pub number: usize,
    /// How many are done, with this one.
    pub count: usize,
    /// What came out.
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
    let heard = |done: Option<Done<'_, T>>| {
        if let Some(done) = done {
            tell(done);
        }
    };
    run_watched(pieces, threads, stop, work, heard)
}

/// Time after which `heard` of [`run_watched`] is called again where no piece was done.
const BEAT: Duration = Duration::from_millis(100);

/// As [`run`] for pieces that take long: `heard` is also called with `None` several times a second while none is
/// done, on the caller's thread, so that it can show how far the pieces under way have come.
///
/// # Panics
/// Where a piece panicked, when all threads have ended.
pub fn run_watched<T: Send>(
    pieces: usize,
    threads: usize,
    stop: &(dyn Fn() -> bool + Sync),
    work: impl Fn(usize) -> T + Sync,
    mut heard: impl FnMut(Option<Done<'_, T>>),
) -> Vec<Option<T>> {
    let next = AtomicUsize::new(0);
    let mut outcomes: Vec<Option<T>> = std::iter::repeat_with(|| None).take(pieces).collect();
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, pieces.max(1)) {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= pieces || stop() || sender.send((number, work(number))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut count = 0;
        loop {
            match receiver.recv_timeout(BEAT) {
                Ok((number, outcome)) => {
                    count += 1;
                    heard(Some(Done {
                        number,
                        count,
                        outcome: &outcome,
                    }));
                    outcomes[number] = Some(outcome);
                }
                Err(RecvTimeoutError::Timeout) => heard(None),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    });
    outcomes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Barrier, Mutex};

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
        // Nobody passes before all four stand here.
        let all = Barrier::new(4);
        let outcomes = run(4, 4, &|| false, |_| all.wait().is_leader(), |_| {});
        assert_eq!(outcomes.into_iter().flatten().filter(|l| *l).count(), 1);
    }

    #[test]
    fn the_caller_hears_of_pieces_that_take_long() {
        // The piece ends when the caller has heard that it is under way.
        let heard = AtomicUsize::new(0);
        let work = |_| {
            while heard.load(Ordering::SeqCst) < 2 {
                std::thread::yield_now();
            }
        };
        let mut done = 0;
        run_watched(1, 1, &|| false, work, |piece| match piece {
            Some(piece) => done = piece.count,
            None => {
                heard.fetch_add(1, Ordering::SeqCst);
            }
        });
        assert_eq!(done, 1);
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
