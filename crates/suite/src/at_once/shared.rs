//! Pieces that need a copy of a shared original, such as a conditioned device: the original is made once for all of its
//! pieces; each piece but the last gets a copy. At most as many originals are in memory as there are threads, in
//! addition to the copies in use.

use super::{Schedule, run_schedule};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Error of a piece, or of making its original.
#[derive(Debug, PartialEq, Eq)]
pub struct PieceError<E> {
    /// Number of the piece, from 0.
    pub piece: usize,
    /// Cause.
    pub error: E,
}

/// Executes pieces that share originals: `originals` has the number of each piece's original, or `None` for a piece to
/// skip. `make` makes the original of a piece, `work` executes the piece on a copy. Returns the number of originals
/// made. `heard` is called as by [`run_schedule`], with the number of each piece.
///
/// # Errors
/// Returns the first error by the number of its piece; no piece is begun after one.
pub fn run<D: Clone + Send + Sync, T: Send, E: Send>(
    originals: &[Option<usize>],
    threads: usize,
    stop: &(dyn Fn() -> bool + Sync),
    make: impl Fn(usize) -> Result<D, E> + Sync,
    work: impl Fn(usize, D) -> Result<T, E> + Sync,
    heard: impl FnMut(Option<(usize, T)>),
) -> Result<usize, PieceError<E>> {
    let pieces = originals.iter().flatten().count();
    let threads = threads.clamp(1, pieces.max(1));
    let mut schedule = Originals::new(originals, threads);
    let step = |task: Task<D>| match task {
        Task::Make(group, piece) => Outcome::Made(group, piece, make(piece)),
        Task::Work(piece, original) => {
            // The last piece uses the original itself.
            let copy = Arc::try_unwrap(original).unwrap_or_else(|shared| (*shared).clone());
            Outcome::Worked(piece, work(piece, copy))
        }
    };
    run_schedule(&mut schedule, threads, stop, step, heard);
    match schedule.failed.into_iter().next() {
        Some((piece, error)) => Err(PieceError { piece, error }),
        None => Ok(schedule.made),
    }
}

/// Pieces that share one original.
struct Group<D> {
    pieces: VecDeque<usize>,
    original: Original<D>,
}

impl<D> Group<D> {
    /// Next piece and its original, which is given away with the last piece; `None` if the original is not ready.
    fn begin(&mut self) -> Option<(usize, Arc<D>)> {
        let Original::Ready(original) = &self.original else {
            return None;
        };
        let original = original.clone();
        let piece = self.pieces.pop_front()?;
        if self.pieces.is_empty() {
            self.original = Original::Missing;
        }
        Some((piece, original))
    }
}

enum Original<D> {
    /// No thread has begun to make the original.
    Missing,
    /// A thread is making the original.
    Making,
    Ready(Arc<D>),
}

struct Originals<D, T, E> {
    groups: Vec<Group<D>>,
    threads: usize,
    made: usize,
    /// Errors by number of the piece, so that the first piece's error is reported, whichever thread met it.
    failed: BTreeMap<usize, E>,
    outcome: std::marker::PhantomData<fn() -> T>,
}

enum Task<D> {
    /// Makes the original of a group for its first piece: group, piece.
    Make(usize, usize),
    /// Executes a piece on its original or a copy.
    Work(usize, Arc<D>),
}

enum Outcome<D, T, E> {
    Made(usize, usize, Result<D, E>),
    Worked(usize, Result<T, E>),
}

impl<D, T, E> Originals<D, T, E> {
    fn new(originals: &[Option<usize>], threads: usize) -> Self {
        let mut groups: Vec<Group<D>> = Vec::new();
        let mut numbers = BTreeMap::new();
        for (piece, original) in originals.iter().enumerate() {
            let Some(original) = original else { continue };
            let group = *numbers.entry(*original).or_insert_with(|| {
                groups.push(Group {
                    pieces: VecDeque::new(),
                    original: Original::Missing,
                });
                groups.len() - 1
            });
            groups[group].pieces.push_back(piece);
        }
        Originals {
            groups,
            threads,
            made: 0,
            failed: BTreeMap::new(),
            outcome: std::marker::PhantomData,
        }
    }
}

impl<D: Send + Sync, T: Send, E: Send> Schedule for Originals<D, T, E> {
    type Task = Task<D>;
    type Outcome = Outcome<D, T, E>;
    type News = (usize, T);

    /// Originals are made as soon as there is room, before pieces of ready originals, so that no thread waits for an
    /// original later.
    fn next(&mut self) -> Option<Task<D>> {
        if !self.failed.is_empty() {
            return None;
        }
        let (mut present, mut missing, mut ready) = (0, None, None);
        for (number, group) in self.groups.iter().enumerate() {
            let Some(first) = group.pieces.front().copied() else {
                continue;
            };
            match &group.original {
                Original::Ready(_) => {
                    present += 1;
                    ready = ready.or(Some(number));
                }
                Original::Making => present += 1,
                Original::Missing => missing = missing.or(Some((number, first))),
            }
        }
        if let Some((number, piece)) = missing
            && present < self.threads
        {
            self.groups[number].original = Original::Making;
            return Some(Task::Make(number, piece));
        }
        let (piece, original) = self.groups[ready?].begin()?;
        Some(Task::Work(piece, original))
    }

    fn done(&mut self, outcome: Outcome<D, T, E>) -> Option<(usize, T)> {
        match outcome {
            Outcome::Made(group, _, Ok(original)) => {
                self.made += 1;
                self.groups[group].original = Original::Ready(Arc::new(original));
                None
            }
            Outcome::Worked(piece, Ok(outcome)) => Some((piece, outcome)),
            Outcome::Made(_, piece, Err(error)) | Outcome::Worked(piece, Err(error)) => {
                self.failed.insert(piece, error);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn each_original_is_made_once_for_any_number_of_threads() {
        let originals: Vec<Option<usize>> =
            (0..40).map(|n| (n % 7 != 3).then_some(n % 5)).collect();
        for threads in [0, 1, 2, 9] {
            let made: [AtomicUsize; 5] = Default::default();
            let make = |piece: usize| {
                made[piece % 5].fetch_add(1, Ordering::SeqCst);
                Ok::<_, ()>(piece % 5 * 100)
            };
            let mut outcomes = vec![None; 40];
            let count = run(
                &originals,
                threads,
                &|| false,
                make,
                |piece, copy| Ok(copy + piece),
                |news| {
                    if let Some((piece, outcome)) = news {
                        assert_eq!(outcomes[piece].replace(outcome), None);
                    }
                },
            );
            assert_eq!(count, Ok(5));
            assert!(made.iter().all(|n| n.load(Ordering::SeqCst) == 1));
            let expected = |n: usize| (n % 7 != 3).then_some(n % 5 * 100 + n);
            assert!((0..40).all(|n| outcomes[n] == expected(n)));
        }
    }

    /// Two threads, three originals with two pieces each: the third original is made while pieces of the second remain.
    #[test]
    fn the_next_original_is_made_before_the_pieces_run_out() {
        let originals = [0, 0, 1, 1, 2, 2].map(Some);
        let mut schedule: Originals<(), (), ()> = Originals::new(&originals, 2);
        let next = |schedule: &mut Originals<(), (), ()>| match schedule.next() {
            Some(Task::Make(group, _)) => {
                schedule.done(Outcome::Made(group, 0, Ok(())));
                format!("make {group}")
            }
            Some(Task::Work(piece, _)) => {
                schedule.done(Outcome::Worked(piece, Ok(())));
                format!("work {piece}")
            }
            None => "none".to_string(),
        };
        let tasks: Vec<String> = (0..10).map(|_| next(&mut schedule)).collect();
        let expected = "make 0,make 1,work 0,work 1,make 2,work 2,work 3,work 4,work 5,none";
        assert_eq!(tasks.join(","), expected);
    }

    #[test]
    fn the_first_error_ends_the_run() {
        let begun = AtomicUsize::new(0);
        let work = |piece: usize, _: ()| {
            begun.fetch_add(1, Ordering::SeqCst);
            if piece == 2 { Err("no") } else { Ok(()) }
        };
        let ended = run(&[Some(0); 10], 1, &|| false, |_| Ok(()), work, |_| {});
        let error = PieceError {
            piece: 2,
            error: "no",
        };
        assert_eq!((ended, begun.into_inner()), (Err(error), 3));
        let ended = run(
            &[Some(4), Some(4)],
            2,
            &|| false,
            |_| Err::<(), _>("not made"),
            |_, ()| Ok(()),
            |_| {},
        );
        assert_eq!(ended.unwrap_err().error, "not made");
    }
}
