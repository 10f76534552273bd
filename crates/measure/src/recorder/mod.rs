//! Records a run: every latency in a histogram per job group and kind of operation, and all quantities per interval
//! in a [`Timeline`].
//!
//! It reads no clock: the runner passes completions with their times. The records are raw and exact;
//! [`crate::build`] turns them into the result document.

mod bins;
mod buckets;
mod direction;
mod rates;
mod timeline;

pub use bins::{Bin, DirectionBin, IntervalPlan, MAX_POINTS, merge_factor};
pub use buckets::Buckets;
pub use direction::Direction;
pub use rates::{RateSampler, Rates};
pub use timeline::{Sample, Timeline};

use crate::distribution::Distribution;
use crate::target::Reading;
use nandscope_units::{Bytes, Nanos};

/// One finished operation as the recorder sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Kind of operation.
    pub direction: Direction,
    /// Bytes moved; zero for a flush.
    pub bytes: u32,
    /// When it was due: its place in the schedule of an open loop, else the instant of submission.
    pub due: Nanos,
    /// When the runner began to issue it; later than `due` where a schedule could not be kept.
    pub issued: Nanos,
    /// A schedule says when it is due.
    pub scheduled: bool,
    /// When it was handed to the target: at once where submission takes no time.
    pub submitted: Nanos,
    /// When it came back.
    pub completed: Nanos,
}

/// Everything about one kind of operation of one group.
#[derive(Clone, Debug, Default)]
pub struct DirectionRecord {
    /// Operations completed.
    pub operations: u64,
    /// Bytes moved.
    pub bytes: Bytes,
    /// From due to completed.
    pub latency: Distribution,
    /// From issued to completed; only of operations with a schedule.
    pub service: Option<Box<Distribution>>,
    /// Times before and after the hand-over; only if submission takes time.
    pub stages: Option<Box<Stages>>,
}

/// The latency from issued to completed, divided at the hand-over to the target.
#[derive(Clone, Debug, Default)]
pub struct Stages {
    /// From issued to submitted: fio's `slat`.
    pub submission: Distribution,
    /// From submitted to completed: fio's `clat`.
    pub completion: Distribution,
}

impl Stages {
    fn merge(&mut self, other: &Stages) {
        self.submission.merge(&other.submission);
        self.completion.merge(&other.completion);
    }
}

impl DirectionRecord {
    fn merge(&mut self, other: DirectionRecord) {
        self.operations += other.operations;
        self.bytes += other.bytes;
        self.latency.merge(&other.latency);
        match (&mut self.service, other.service) {
            (Some(mine), Some(theirs)) => mine.merge(&theirs),
            (mine @ None, theirs) => *mine = theirs,
            (Some(_), None) => {}
        }
        match (&mut self.stages, other.stages) {
            (Some(mine), Some(theirs)) => mine.merge(&theirs),
            (mine @ None, theirs) => *mine = theirs,
            (Some(_), None) => {}
        }
    }
}

/// One group of threads that is reported as one job.
#[derive(Clone, Debug, Default)]
pub struct GroupRecord {
    directions: [Option<Box<DirectionRecord>>; Direction::COUNT],
}

impl GroupRecord {
    /// Record of one kind of operation; `None` if none was completed.
    pub fn direction(&self, direction: Direction) -> Option<&DirectionRecord> {
        self.directions[direction.index()].as_deref()
    }

    /// Adds what another group record counted.
    pub fn merge(&mut self, other: GroupRecord) {
        for (mine, theirs) in self.directions.iter_mut().zip(other.directions) {
            match (mine, theirs) {
                (Some(mine), Some(theirs)) => mine.merge(*theirs),
                (mine @ None, theirs) => *mine = theirs,
                (Some(_), None) => {}
            }
        }
    }

    /// Reads, writes and trims together; `None` where none was completed.
    pub fn mixed(&self) -> Option<DirectionRecord> {
        let mut records = self.present().filter(|(d, _)| *d != Direction::Flush);
        let mut mixed = records.next()?.1.clone();
        for (_, record) in records {
            mixed.merge(record.clone());
        }
        Some(mixed)
    }

    /// The kinds that occurred, reads first.
    pub fn present(&self) -> impl Iterator<Item = (Direction, &DirectionRecord)> {
        Direction::ALL
            .into_iter()
            .filter_map(|d| self.direction(d).map(|r| (d, r)))
    }
}

/// Collects a run. See the module's text.
#[derive(Clone, Debug)]
pub struct Recorder {
    groups: Vec<GroupRecord>,
    timeline: Timeline,
}

impl Recorder {
    /// A recorder for `groups` groups whose first interval begins at `origin`.
    pub fn new(groups: usize, origin: Nanos, plan: IntervalPlan) -> Self {
        Recorder {
            groups: (0..groups).map(|_| GroupRecord::default()).collect(),
            timeline: Timeline::new(origin, plan),
        }
    }

    /// Counts one finished operation. A `group` that does not exist is added.
    #[inline]
    pub fn record(&mut self, group: usize, op: &Finished) {
        let latency = op.completed.saturating_sub(op.due);
        self.timeline
            .add(op.direction, op.bytes, latency, op.completed);
        if group >= self.groups.len() {
            self.groups.resize_with(group + 1, GroupRecord::default);
        }
        let record =
            self.groups[group].directions[op.direction.index()].get_or_insert_with(Box::default);
        record.operations += 1;
        record.bytes += Bytes(u64::from(op.bytes));
        record.latency.record(latency);
        if op.scheduled {
            record
                .service
                .get_or_insert_with(Box::default)
                .record(op.completed.saturating_sub(op.issued));
        }
        if op.submitted > op.issued || record.stages.is_some() {
            let stages = record.stages.get_or_insert_with(Box::default);
            let submitted = op.submitted.max(op.issued);
            stages.submission.record(submitted - op.issued);
            stages
                .completion
                .record(op.completed.saturating_sub(submitted));
        }
    }

    /// Forgets what a group has recorded. The time line keeps it.
    pub fn forget(&mut self, group: usize) {
        if let Some(record) = self.groups.get_mut(group) {
            *record = GroupRecord::default();
        }
    }

    /// Adds what another recorder of the same run counted: one with the same origin and plan. The
    /// readings of the instruments stay this one's.
    pub fn merge(&mut self, other: Recorder) {
        if self.groups.len() < other.groups.len() {
            self.groups
                .resize_with(other.groups.len(), GroupRecord::default);
        }
        for (mine, theirs) in self.groups.iter_mut().zip(other.groups) {
            mine.merge(theirs);
        }
        self.timeline.absorb(other.timeline);
    }

    /// When the instruments should be read next.
    pub fn next_sample(&self) -> Nanos {
        self.timeline.next_sample()
    }

    /// Takes in a reading of the instruments.
    pub fn sample(&mut self, at: Nanos, reading: Reading) {
        self.timeline.sample(at, reading);
    }

    /// Ends the run at `end` and returns the records.
    pub fn finish(mut self, end: Nanos) -> (Vec<GroupRecord>, Timeline) {
        self.timeline.finish(end);
        (self.groups, self.timeline)
    }
}
