//! Runs points on threads. Points with the same conditioned device share it: it is made once, and copied
//! for each of them but the last. At most as many conditioned devices are in memory as there are
//! threads, beside the copies that run.

use crate::Metric;
use crate::point::{Point, PointError};
use crate::store::{Store, StoreError};
use crate::table::Outcome;
use nandscope_device::Device;
use nandscope_experiment::ErrorClass;
use nandscope_experiment::run::{Observer, Phase, Progress, RunObserver};
use nandscope_measure::steps::Attachment;
use nandscope_result::ResultDocument;
use nandscope_units::Bytes;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use thiserror::Error;

/// Parts in which the progress of a point is counted.
const PARTS: u64 = 1000;
/// How often the caller hears of the progress.
const BEAT: Duration = Duration::from_millis(100);

/// A sweep ended early.
#[derive(Debug, Error)]
pub enum PoolError {
    /// A point cannot be run.
    #[error("point {}: {error}", number + 1)]
    Point {
        /// Number of the point, from 0.
        number: usize,
        /// What is wrong.
        error: PointError,
    },
    /// A result cannot be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl PoolError {
    /// Who can do something about it.
    pub fn class(&self) -> ErrorClass {
        match self {
            PoolError::Point { error, .. } => error.class(),
            PoolError::Store(_) => ErrorClass::System,
        }
    }
}

/// How far a sweep has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SweepProgress {
    /// Points that are finished, with those of earlier runs.
    pub done: usize,
    /// All points.
    pub points: usize,
    /// Share of what this run has to do, from 0 to 1.
    pub share: f64,
}

/// What a run of the pool gave.
#[derive(Debug, Default)]
pub struct PoolRun {
    /// Outcomes in the order of the points; `None` if a point was not finished.
    pub outcomes: Vec<Option<Outcome>>,
    /// Points whose result was there already.
    pub found: usize,
    /// Devices that were made.
    pub conditioned: usize,
}

/// Threads of which the devices fit into this much memory; each may have a conditioned device and a
/// copy.
pub fn threads_within(threads: usize, device: Bytes, left: Option<u64>) -> usize {
    let fit = left.map_or(u64::MAX, |left| left / device.0.max(1) / 2);
    threads
        .min(usize::try_from(fit).unwrap_or(usize::MAX))
        .max(1)
}

/// Runs the points that the store does not have, on `threads` threads. The outcomes are the same for any
/// number. Once `stop` answers true no result is added.
///
/// # Errors
/// Returns [`PoolError`] if a point cannot be run or kept; finished points stay in the store.
pub fn run(
    points: &[Point],
    metrics: &[Metric],
    store: &Store,
    threads: usize,
    stop: &(dyn Fn() -> bool + Sync),
    progress: &mut dyn FnMut(SweepProgress),
) -> Result<PoolRun, PoolError> {
    let mut outcomes: Vec<Option<Outcome>> = Vec::with_capacity(points.len());
    for point in points {
        let known = match stop() {
            true => None,
            false => store.find(point),
        };
        outcomes.push(known.map(|document| Outcome::of(&document, metrics)));
    }
    let found = outcomes.iter().flatten().count();
    let firsts = firsts(points);
    let is_open = |n: &usize| outcomes[*n].is_none() && firsts[*n] == *n;
    let open: Vec<usize> = (0..points.len()).filter(is_open).collect();
    let threads = threads.clamp(1, open.len().max(1));
    let pool = Pool {
        points,
        metrics,
        store,
        stop,
        threads,
        parts: AtomicU64::new(0),
        state: Mutex::new(State::new(points, &open, outcomes)),
        changed: Condvar::new(),
    };
    let tell = |state: &State| SweepProgress {
        done: state.outcomes.iter().flatten().count(),
        points: points.len(),
        share: pool.parts.load(Ordering::Relaxed) as f64
            / (open.len() as u64 * PARTS).max(1) as f64,
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| pool.work())).collect();
        while workers.iter().any(|worker| !worker.is_finished()) {
            let state = pool.state();
            let waited = pool.changed.wait_timeout(state, BEAT);
            let state = waited.unwrap_or_else(PoisonError::into_inner).0;
            let now = tell(&state);
            drop(state);
            progress(now);
        }
    });
    let mut state = pool
        .state
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    for (number, first) in firsts.into_iter().enumerate() {
        if state.outcomes[number].is_none() {
            state.outcomes[number] = state.outcomes[first].clone();
        }
    }
    match state.failed.into_iter().next() {
        Some((_, error)) => Err(error),
        None => Ok(PoolRun {
            outcomes: state.outcomes,
            found,
            conditioned: state.conditioned,
        }),
    }
}

/// For each point the first one with the same key: points whose parameters have no effect have one result.
fn firsts(points: &[Point]) -> Vec<usize> {
    let mut known = BTreeMap::new();
    let numbered = points.iter().enumerate();
    numbered
        .map(|(number, point)| *known.entry(point.key.as_str()).or_insert(number))
        .collect()
}

/// Points with the same conditioned device.
struct Group {
    points: VecDeque<usize>,
    device: Conditioned,
}

enum Conditioned {
    /// Not begun.
    New,
    /// A thread is at it.
    Making,
    Ready(Arc<Device>),
}

struct State {
    groups: Vec<Group>,
    outcomes: Vec<Option<Outcome>>,
    /// Errors by the number of their point: the first is reported, whichever thread met it.
    failed: BTreeMap<usize, PoolError>,
    conditioned: usize,
    /// A thread panicked; the others end.
    abandoned: bool,
}

/// What a thread does next.
enum Task {
    /// Conditions the device of a group.
    Condition(usize),
    /// Runs a point on a copy of the device.
    Run(usize, Arc<Device>),
    End,
}

impl State {
    fn new(points: &[Point], open: &[usize], outcomes: Vec<Option<Outcome>>) -> State {
        let mut groups: Vec<Group> = Vec::new();
        let mut numbers = BTreeMap::new();
        for number in open {
            let group = *numbers.entry(points[*number].device).or_insert_with(|| {
                groups.push(Group {
                    points: VecDeque::new(),
                    device: Conditioned::New,
                });
                groups.len() - 1
            });
            groups[group].points.push_back(*number);
        }
        State {
            groups,
            outcomes,
            failed: BTreeMap::new(),
            conditioned: 0,
            abandoned: false,
        }
    }

    /// Points of ready devices first, so that devices are given back soon; `None` to wait.
    fn next(&mut self, threads: usize) -> Option<Task> {
        let (mut alive, mut new) = (0, None);
        for (number, group) in self.groups.iter_mut().enumerate() {
            match &group.device {
                Conditioned::Ready(device) => {
                    let device = device.clone();
                    let Some(point) = group.points.pop_front() else {
                        continue;
                    };
                    if group.points.is_empty() {
                        // The last one takes the device itself.
                        group.device = Conditioned::New;
                    }
                    return Some(Task::Run(point, device));
                }
                Conditioned::Making => alive += 1,
                Conditioned::New if group.points.is_empty() => {}
                Conditioned::New => {
                    new = new.or(Some(number));
                }
            }
        }
        if let Some(group) = new.filter(|_| alive < threads) {
            self.groups[group].device = Conditioned::Making;
            return Some(Task::Condition(group));
        }
        match alive {
            0 => Some(Task::End),
            _ => None,
        }
    }
}

struct Pool<'a> {
    points: &'a [Point],
    metrics: &'a [Metric],
    store: &'a Store,
    stop: &'a (dyn Fn() -> bool + Sync),
    threads: usize,
    /// Parts of points that are done in this run.
    parts: AtomicU64,
    state: Mutex<State>,
    changed: Condvar,
}

impl Pool<'_> {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        let _guard = Abandon(self);
        loop {
            match self.next() {
                Task::End => return,
                Task::Condition(group) => self.condition(group),
                Task::Run(point, device) => self.run_point(point, device),
            }
            self.changed.notify_all();
        }
    }

    fn next(&self) -> Task {
        let mut state = self.state();
        loop {
            if (self.stop)() || state.abandoned || !state.failed.is_empty() {
                return Task::End;
            }
            if let Some(task) = state.next(self.threads) {
                return task;
            }
            let waited = self.changed.wait_timeout(state, BEAT);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn condition(&self, group: usize) {
        let first = self.state().groups[group].points.front().copied();
        let Some(number) = first else { return };
        let made = self.points[number].condition();
        let mut state = self.state();
        match made {
            Ok(device) => {
                state.conditioned += 1;
                state.groups[group].device = Conditioned::Ready(Arc::new(device));
            }
            Err(error) => {
                let error = PoolError::Point { number, error };
                state.failed.insert(number, error);
            }
        }
    }

    fn run_point(&self, number: usize, device: Arc<Device>) {
        let point = &self.points[number];
        let device = Arc::try_unwrap(device).unwrap_or_else(|shared| (*shared).clone());
        let mut watcher = Watcher::new(&self.parts, point.jobs.file.groups().len());
        let stop = || (self.stop)();
        let kept = match point.run_on(device, &mut watcher, &stop) {
            Ok(None) => return,
            Ok(Some(document)) => self
                .store
                .keep(point, &document)
                .map(|()| Outcome::of(&document, self.metrics))
                .map_err(PoolError::from),
            Err(error) => Err(PoolError::Point { number, error }),
        };
        watcher.reach(PARTS);
        let mut state = self.state();
        match kept {
            Ok(outcome) => state.outcomes[number] = Some(outcome),
            Err(error) => {
                state.failed.insert(number, error);
            }
        }
    }
}

/// Lets the other threads end if this one panics.
struct Abandon<'a>(&'a Pool<'a>);

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.state().abandoned = true;
        }
        self.0.changed.notify_all();
    }
}

/// Counts how far one point has come.
struct Watcher<'a> {
    parts: &'a AtomicU64,
    reached: u64,
    /// Groups of the job file, and those before the present one.
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

    fn end(&mut self) {}

    fn record(&mut self, _: &ResultDocument, _: &[Attachment], _: Option<u64>) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_fewer_where_memory_is_short() {
        let device = Bytes(100);
        assert_eq!(threads_within(8, device, None), 8);
        assert_eq!(threads_within(8, device, Some(1000)), 5);
        assert_eq!(threads_within(8, device, Some(10)), 1);
        assert_eq!(threads_within(0, device, None), 1);
    }
}
