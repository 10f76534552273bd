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

/// One finished operation, for the recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Kind of operation.
    pub direction: Direction,
    /// Bytes moved; zero for a flush.
    pub bytes: u32,
    /// Due time: place in the schedule of an open loop, otherwise the time of submission.
    pub due: Nanos,
    /// Time at which the runner began to issue it; later than `due` if a schedule was not kept.
    pub issued: Nanos,
    /// Whether a schedule sets the due time.
    pub scheduled: bool,
    /// Time of submission to the target; equal to `issued` if submission takes no time.
    pub submitted: Nanos,
    /// Time of completion.
    pub completed: Nanos,
}

/// Totals of one kind of operation in one group.
#[derive(Clone, Debug, Default)]
pub struct DirectionRecord {
    /// Number of completed operations.
    pub operations: u64,
    /// Number of bytes moved.
    pub bytes: Bytes,
    /// From due to completed.
    pub latency: Distribution,
    /// From issued to completed; only of operations with a schedule.
    pub service: Option<Box<Distribution>>,
    /// Times before and after submission; only if submission takes time.
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

    /// Adds the counts of another group record.
    pub fn merge(&mut self, other: GroupRecord) {
        for (mine, theirs) in self.directions.iter_mut().zip(other.directions) {
            match (mine, theirs) {
                (Some(mine), Some(theirs)) => mine.merge(*theirs),
                (mine @ None, theirs) => *mine = theirs,
                (Some(_), None) => {}
            }
        }
    }

    /// Reads, writes and trims together; `None` if none was completed.
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

    /// Counts one finished operation. A new `group` is added.
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

    /// Drops the record of a group; the time line is kept.
    pub fn forget(&mut self, group: usize) {
        if let Some(record) = self.groups.get_mut(group) {
            *record = GroupRecord::default();
        }
    }

    /// Adds the counts of another recorder of the same run, with the same origin and plan. Instrument readings of the
    /// other recorder are ignored.
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

    /// Adds a reading of the instruments.
    pub fn sample(&mut self, at: Nanos, reading: Reading) {
        self.timeline.sample(at, reading);
    }

    /// Ends the run at `end` and returns the records.
    pub fn finish(mut self, end: Nanos) -> (Vec<GroupRecord>, Timeline) {
        self.timeline.finish(end);
        (self.groups, self.timeline)
    }
}
