//! Threads that store the results of points, so that no processor waits for the disk. A few results wait in memory; a
//! thread that finishes another point waits until one of them is stored.

use crate::point::Point;
use crate::store::{Keep, StoreError};
use nandscope_result::ResultDocument;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Number of results that are stored at the same time.
const KEEPERS: usize = 4;
/// Number of results that wait in memory to be stored.
const WAITING: usize = 4;

/// A finished point and its result.
pub(crate) type Finished<'a> = (&'a Point, ResultDocument);

/// Does `work`, which sends results, while other threads store them.
///
/// # Errors
/// The first [`StoreError`] of the store; it is in the cell as soon as it happens, and later results are dropped.
pub(crate) fn beside_keepers<'a, R>(
    store: &dyn Keep,
    work: impl FnOnce(SyncSender<Finished<'a>>, &OnceLock<StoreError>) -> R,
) -> Result<R, StoreError> {
    let (results, waiting) = mpsc::sync_channel(WAITING);
    let refused = OnceLock::new();
    let done = std::thread::scope(|scope| {
        // Only the keepers own the receiving end: when all have ended, sending fails instead of waiting.
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..KEEPERS {
            let waiting = Arc::clone(&waiting);
            scope.spawn(|| keep_all(waiting, store, &refused));
        }
        drop(waiting);
        work(results, &refused)
    });
    match refused.into_inner() {
        Some(error) => Err(error),
        None => Ok(done),
    }
}

/// Stores results until the channel is closed. Results after an error are dropped, so that no sender waits.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the last keeper closes the channel"
)]
fn keep_all(
    results: Arc<Mutex<Receiver<Finished<'_>>>>,
    store: &dyn Keep,
    refused: &OnceLock<StoreError>,
) {
    loop {
        // One keeper waits for a result and holds the lock; the others wait for the lock.
        let next = results
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv();
        let Ok((point, document)) = next else { return };
        if refused.get().is_none()
            && let Err(error) = store.keep(point, &document)
        {
            // Only the first error is reported.
            let _ = refused.set(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Found;
    use crate::{Plan, Sampling, SweepSpec};
    use nandscope_result::TargetInfo;
    use std::path::Path;
    use std::sync::Condvar;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::TrySendError;

    fn point() -> Point {
        let spec = SweepSpec {
            target: "sim:kingston-8gb".to_string(),
            host: None,
            precondition: "none".parse().unwrap(),
            job_file: "job.fio".to_string(),
            job_name: "job.fio".to_string(),
            job_text: "[a]\nrw=read\nsize=1m\n".to_string(),
            parameters: vec!["job.bs=4k".parse().unwrap()],
            sampling: Sampling::Grid,
            seed: 1,
            seeds: 1,
            metrics: vec!["iops".to_string()],
        };
        Plan::new(&spec).unwrap().points.remove(0)
    }

    fn finished(point: &Point) -> Finished<'_> {
        let document = ResultDocument::begin("run", String::new(), 1, TargetInfo::default());
        (point, document)
    }

    /// A store whose writes wait until it is opened.
    #[derive(Default)]
    struct Closed {
        begun: Mutex<usize>,
        changed: Condvar,
        is_open: Mutex<bool>,
        opened: Condvar,
        kept: AtomicUsize,
    }

    impl Keep for Closed {
        fn find(&self, _: &Point) -> Found {
            Found::Nothing
        }

        fn keep(&self, _: &Point, _: &ResultDocument) -> Result<(), StoreError> {
            *self.begun.lock().unwrap() += 1;
            self.changed.notify_all();
            let open = self.is_open.lock().unwrap();
            drop(self.opened.wait_while(open, |open| !*open).unwrap());
            self.kept.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    }

    #[test]
    fn a_slow_store_holds_back_those_who_finish_points() {
        let (point, store) = (point(), Closed::default());
        beside_keepers(&store, |results, _| {
            for _ in 0..KEEPERS {
                results.send(finished(&point)).unwrap();
            }
            let begun = store.begun.lock().unwrap();
            drop(store.changed.wait_while(begun, |n| *n < KEEPERS).unwrap());
            for _ in 0..WAITING {
                results.try_send(finished(&point)).unwrap();
            }
            let one_more = results.try_send(finished(&point));
            assert!(matches!(one_more, Err(TrySendError::Full(_))));
            *store.is_open.lock().unwrap() = true;
            store.opened.notify_all();
            // This waits for room, and gets it.
            results.send(finished(&point)).unwrap();
        })
        .unwrap();
        assert_eq!(store.kept.into_inner(), KEEPERS + WAITING + 1);
    }

    /// A disk that takes nothing.
    struct Full(AtomicUsize);

    impl Keep for Full {
        fn find(&self, _: &Point) -> Found {
            Found::Nothing
        }

        fn keep(&self, point: &Point, document: &ResultDocument) -> Result<(), StoreError> {
            self.0.fetch_add(1, Ordering::Relaxed);
            let nowhere = Path::new("/dev/null").join(&point.key);
            Ok(nandscope_result::json::write(&nowhere, document)?)
        }
    }

    #[test]
    fn nobody_waits_for_a_store_that_fails() {
        let (point, store) = (point(), Full(AtomicUsize::new(0)));
        let many = 10 * (KEEPERS + WAITING);
        let error = beside_keepers(&store, |results, refused| {
            for _ in 0..many {
                results.send(finished(&point)).unwrap();
            }
            refused.wait();
        });
        assert!(error.is_err());
        // Each keeper tries to store at most one result.
        assert!(store.0.into_inner() <= KEEPERS);
    }
}
