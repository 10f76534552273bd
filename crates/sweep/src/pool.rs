//! Runs points on the pool of threads ([`at_once`](nandscope_suite::at_once)). Points with the same conditioned device
//! share it: it is made once, and copied for each of them but the last. Results are kept by threads of their own,
//! because a processor must not wait for the disk.

use crate::Metric;
use crate::keepers::beside_keepers;
use crate::point::{Point, PointError};
use crate::store::{Found, Keep, StoreError};
use crate::table::Outcome;
use nandscope_device::break_if;
use nandscope_experiment::ErrorClass;
use nandscope_experiment::run::{Observer, Phase, Progress, RunObserver};
use nandscope_suite::at_once::shared;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use thiserror::Error;

/// Parts in which the progress of a point is counted.
const PARTS: u64 = 1000;

/// A sweep ended early.
#[derive(Debug, Error)]
pub enum PoolError {
    /// A point cannot be run.
    #[error("point {}: {error}", number + 1)]
    Point {
        /// Number of the point, from 0.
        number: usize,
        /// Cause of the error.
        error: PointError,
    },
    /// A result cannot be stored.
    #[error(transparent)]
    Store(StoreError),
}

impl PoolError {
    /// Class of the error: who can fix it.
    pub fn class(&self) -> ErrorClass {
        match self {
            PoolError::Point { error, .. } => error.class(),
            PoolError::Store(_) => ErrorClass::System,
        }
    }
}

/// Progress of a sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SweepProgress {
    /// Number of finished points, including those of earlier runs.
    pub done: usize,
    /// Number of the sweep's points, done or not.
    pub points: usize,
    /// Devices that are being brought into their state before a run.
    pub preparing: usize,
    /// Share of the points' work in this run that is done, from 0 to 1; the preparation of devices does not count.
    pub share: f64,
}

/// Result of a run of the pool.
#[derive(Debug, Default)]
pub struct PoolRun {
    /// Outcomes in the order of the points; `None` if a point was not finished.
    pub outcomes: Vec<Option<Outcome>>,
    /// Points whose result was there already.
    pub found: usize,
    /// Devices that were made.
    pub conditioned: usize,
    /// Files of points that could not be used, with the reason; their points were run again.
    pub damaged: Vec<String>,
}

/// Runs the points without a result in the store, on `threads` threads. The outcomes are the same for any
/// number. Once `stop` answers true no point is begun, and those under way end.
///
/// # Errors
/// Returns [`PoolError`] if a point cannot be run or kept; finished points stay in the store.
pub fn run(
    points: &[Point],
    metrics: &[Metric],
    store: &dyn Keep,
    threads: usize,
    stop: &(dyn Fn() -> bool + Sync),
    progress: &mut dyn FnMut(SweepProgress),
) -> Result<PoolRun, PoolError> {
    let mut damaged = Vec::new();
    let mut find = |point| match stop() {
        true => None,
        false => match store.find(point) {
            Found::Whole(document) => Some(Outcome::of(&document, metrics)),
            Found::Nothing => None,
            Found::Damaged(why) => {
                damaged.push(why);
                None
            }
        },
    };
    let mut outcomes: Vec<Option<Outcome>> = points.iter().map(&mut find).collect();
    // Points with the same key share a file, which would be named twice.
    damaged.sort();
    damaged.dedup();
    let found = outcomes.iter().flatten().count();
    let firsts = firsts(points);
    let is_open = |n: usize| outcomes[n].is_none() && firsts[n] == n;
    let devices: Vec<Option<usize>> = (0..points.len())
        .map(|n| is_open(n).then_some(points[n].device))
        .collect();
    let open = devices.iter().flatten().count() as u64;
    let parts = AtomicU64::new(0);
    let preparing = AtomicUsize::new(0);
    let mut done = found;
    let heard = |news: Option<(usize, Option<Outcome>)>| {
        if let Some((number, Some(outcome))) = news {
            outcomes[number] = Some(outcome);
            done += 1;
        }
        progress(SweepProgress {
            done,
            points: points.len(),
            preparing: preparing.load(Ordering::Relaxed),
            share: parts.load(Ordering::Relaxed) as f64 / (open * PARTS).max(1) as f64,
        });
    };
    let conditioned = beside_keepers(store, |kept, refused| {
        let stop = || stop() || refused.get().is_some();
        let condition = |number: usize| {
            preparing.fetch_add(1, Ordering::Relaxed);
            let device = points[number].condition(&mut |_| break_if(stop()));
            preparing.fetch_sub(1, Ordering::Relaxed);
            device
        };
        let run_one = |number: usize, device| {
            let point: &Point = &points[number];
            let mut watcher = Watcher::new(&parts, point.jobs.file.groups().len());
            let Some(document) = point.run_on(device, &mut watcher, &stop)? else {
                return Ok(None);
            };
            watcher.reach(PARTS);
            let outcome = Outcome::of(&document, metrics);
            // Sending fails only when every keeper has panicked, which ends the sweep anyway.
            let _ = kept.send((point, document));
            Ok(Some(outcome))
        };
        shared::run(&devices, threads, &stop, condition, run_one, heard)
    });
    let conditioned = conditioned.map_err(PoolError::Store)?;
    let conditioned = match conditioned {
        // The run was stopped while a device was being made; the points finished before are stored.
        Err(failed) if failed.error.is_interruption() => 0,
        conditioned => conditioned.map_err(|failed| PoolError::Point {
            number: failed.piece,
            error: failed.error,
        })?,
    };
    for (number, first) in firsts.into_iter().enumerate() {
        if outcomes[number].is_none() {
            outcomes[number] = outcomes[first].clone();
        }
    }
    Ok(PoolRun {
        outcomes,
        found,
        conditioned,
        damaged,
    })
}

/// For each point the number of the first point with the same key: points whose parameters have no effect share a
/// result.
fn firsts(points: &[Point]) -> Vec<usize> {
    let mut known = BTreeMap::new();
    let numbered = points.iter().enumerate();
    numbered
        .map(|(number, point)| *known.entry(point.key.as_str()).or_insert(number))
        .collect()
}

/// Counts the progress of one point.
struct Watcher<'a> {
    parts: &'a AtomicU64,
    reached: u64,
    /// Number of groups of the job file, and number of those before the present one.
    groups: u64,
    before: u64,
}

impl<'a> Watcher<'a> {
    fn new(parts: &'a AtomicU64, groups: usize) -> Self {
        Watcher {
            parts,
            reached: 0,
            groups: groups.max(1) as u64,
            before: 0,
        }
    }

    fn reach(&mut self, parts: u64) {
        let more = parts.min(PARTS).saturating_sub(self.reached);
        self.parts.fetch_add(more, Ordering::Relaxed);
        self.reached += more;
    }
}

impl Observer for Watcher<'_> {
    fn progress(&mut self, progress: &Progress) {
        if let Some(share) = progress.fraction {
            let share = (self.before as f64 + share.clamp(0.0, 1.0)) / self.groups as f64;
            self.reach((share * PARTS as f64) as u64);
        }
    }
}

impl RunObserver for Watcher<'_> {
    fn begin(&mut self, phase: Phase) {
        if let Phase::Group { number, .. } = phase {
            self.before = number as u64 - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_moves_within_a_point_and_over_its_groups() {
        let parts = AtomicU64::new(0);
        let mut watcher = Watcher::new(&parts, 2);
        let at = |fraction: Option<f64>| Progress {
            elapsed: Default::default(),
            operations: 0,
            bytes: Default::default(),
            fraction,
        };
        let mut seen = Vec::new();
        for number in [1, 2] {
            watcher.begin(Phase::Group { number, of: 2 });
            for fraction in [Some(0.25), None, Some(0.5), Some(0.5), Some(1.0)] {
                watcher.progress(&at(fraction));
                seen.push(parts.load(Ordering::Relaxed) * 1000 / PARTS);
            }
        }
        assert_eq!(seen, [125, 125, 250, 250, 500, 625, 625, 750, 750, 1000]);
        // The end of the point counts the rest that its jobs did not report.
        let mut second = Watcher::new(&parts, 1);
        second.reach(PARTS);
        assert_eq!(parts.load(Ordering::Relaxed), 2 * PARTS);
    }
}
