//! Turns an ended run into its outcome, in two steps: the part of each loop, and the sum of all parts.

use super::drive::Run;
use super::span::Span;
use super::ties::Board;
use super::{Ending, Finding, GroupOutcome, GroupRun};
use crate::recorder::{Direction, Recorder};
use crate::target::{Reading, Target, TargetError};
use nandscope_result::Notice;
use nandscope_units::Nanos;

/// Result of one loop: the whole run, or a part to which others are added.
#[derive(Clone)]
pub(super) struct Part {
    start: Nanos,
    /// All but the records.
    groups: Vec<GroupRun>,
    recorder: Recorder,
    first_reading: Reading,
    last_reading: Reading,
    /// Threads that stopped at an error.
    failures: Vec<String>,
    /// The target failed as a whole.
    lost: Option<TargetError>,
    /// Number of operations that the target never completed.
    in_flight: u64,
    cut_short: bool,
}

impl<T: Target + ?Sized> Run<'_, T> {
    /// Result so far, whole or partial; `failure` is set if the target failed as a whole.
    pub(super) fn part(mut self, failure: Option<TargetError>) -> Part {
        for thread in &mut self.threads {
            // Only after a failure of the target do some threads not end.
            if failure.is_some() && !thread.counted_out {
                thread.cut(self.now);
            }
        }
        let mut groups: Vec<GroupRun> = Vec::new();
        groups.resize_with(self.tallies.len(), GroupRun::default);
        for thread in &mut self.threads {
            let (end, idle) = thread.conclude();
            let run = GroupRun {
                findings: thread.findings(),
                start: thread.measure_from().min(end),
                end,
                idle,
                threads: 1,
                rates: thread.sampler.rates_at(end),
                ..GroupRun::default()
            };
            join(&mut groups[thread.group], run);
        }
        let last_reading = self.target.reading();
        self.recorder.sample(self.now, last_reading);
        for (group, tally) in groups.iter_mut().zip(self.tallies) {
            group.errors = tally.errors;
            group.error = tally.error;
            group.depths = tally.depths;
            group.unsupported = tally.unsupported;
        }
        Part {
            start: self.start,
            groups,
            recorder: self.recorder,
            first_reading: self.first_reading,
            last_reading,
            failures: self.failures,
            lost: failure,
            in_flight: self.in_flight,
            cut_short: self.cut_short,
        }
    }
}

impl<T: Target + ?Sized> Run<'_, T> {
    /// Results up to now, while the threads continue.
    pub(super) fn part_so_far(&mut self) -> Part {
        let mut groups: Vec<GroupRun> = Vec::new();
        groups.resize_with(self.tallies.len(), GroupRun::default);
        for thread in &self.threads {
            let end = thread.end_so_far(self.now);
            let run = GroupRun {
                start: thread.measure_from().min(end),
                end,
                threads: 1,
                rates: thread.sampler.rates_at(end),
                ..GroupRun::default()
            };
            join(&mut groups[thread.group], run);
        }
        for (group, tally) in groups.iter_mut().zip(&self.tallies) {
            group.errors.clone_from(&tally.errors);
            group.error = tally.error;
            group.depths = tally.depths.clone();
            group.unsupported = tally.unsupported;
        }
        Part {
            start: self.start,
            groups,
            recorder: self.recorder.clone(),
            first_reading: self.first_reading,
            last_reading: self.first_reading,
            failures: Vec::new(),
            lost: None,
            in_flight: 0,
            cut_short: false,
        }
    }
}

/// Adds the results of another loop or thread of the group, except its record.
fn join(group: &mut GroupRun, other: GroupRun) {
    if other.threads == 0 {
        return;
    }
    let first = group.threads == 0;
    group.start = if first {
        other.start
    } else {
        group.start.min(other.start)
    };
    group.end = group.end.max(other.end);
    group.idle += other.idle;
    group.threads += other.threads;
    if group.error == 0 {
        group.error = other.error;
    }
    group.depths.merge(&other.depths);
    group.rates.merge(&other.rates);
    for (reason, count) in other.errors {
        *group.errors.entry(reason).or_default() += count;
    }
    for finding in other.findings {
        // Threads that are judged together have equal findings.
        if !group.findings.contains(&finding) || matches!(finding, Finding::Depth(_)) {
            group.findings.push(finding);
        }
    }
    for (mine, theirs) in group.unsupported.iter_mut().zip(other.unsupported) {
        *mine += theirs;
    }
}

impl Part {
    /// A part without results, to which others are added.
    pub(super) fn empty(span: &Span, first_reading: Reading) -> Self {
        let mut groups = Vec::new();
        groups.resize_with(span.groups, GroupRun::default);
        let mut recorder = Recorder::new(span.groups, span.origin, span.plan);
        recorder.sample(span.start, first_reading);
        Part {
            start: span.start,
            groups,
            recorder,
            first_reading,
            last_reading: first_reading,
            failures: Vec::new(),
            lost: None,
            in_flight: 0,
            cut_short: false,
        }
    }

    /// Adds a reading of the instruments.
    pub(super) fn sample(&mut self, at: Nanos, reading: Reading) {
        self.last_reading = reading;
        self.recorder.sample(at, reading);
    }

    /// When the instruments should be read next.
    pub(super) fn next_sample(&self) -> Nanos {
        self.recorder.next_sample()
    }

    /// Records that the target failed as a whole; the first failure counts.
    pub(super) fn fail(&mut self, error: TargetError) {
        self.lost.get_or_insert(error);
    }

    /// Whether the target failed as a whole.
    pub(super) fn target_lost(&self) -> bool {
        self.lost.is_some()
    }

    /// Adds another part of the same run, without its readings of the instruments.
    pub(super) fn merge(&mut self, other: Part) {
        for (mine, theirs) in self.groups.iter_mut().zip(other.groups) {
            join(mine, theirs);
        }
        self.recorder.merge(other.recorder);
        self.failures.extend(other.failures);
        if let Some(error) = other.lost {
            self.fail(error);
        }
        self.in_flight += other.in_flight;
        self.cut_short |= other.cut_short;
    }

    /// The outcome of the whole run.
    pub(super) fn outcome(self, board: Option<&Board>) -> GroupOutcome {
        let mut groups = self.groups;
        let end = groups.iter().map(|g| g.end).max().unwrap_or(self.start);
        let (records, timeline) = self.recorder.finish(end);
        for (group, record) in groups.iter_mut().zip(records) {
            group.record = record;
        }
        let ending = match (self.lost, self.failures.first()) {
            (Some(error), _) => Ending::Failed(format!(
                "{error}; operations in flight that were lost: {}",
                self.in_flight
            )),
            (None, Some(first)) => Ending::Failed(first.clone()),
            (None, None) if self.cut_short => Ending::Interrupted,
            (None, None) => Ending::Complete,
        };
        GroupOutcome {
            start: self.start,
            end,
            notices: notices(&groups, &self.failures),
            groups,
            timeline,
            first_reading: self.first_reading,
            last_reading: self.last_reading,
            ending,
            ends_file: board.is_some_and(Board::ends_file),
        }
    }
}

fn notices(groups: &[GroupRun], failures: &[String]) -> Vec<Notice> {
    let mut notices: Vec<Notice> = failures
        .iter()
        .map(|text| Notice::error(text.clone()))
        .collect();
    for direction in Direction::ALL {
        let count: u64 = groups
            .iter()
            .map(|g| g.unsupported[direction.index()])
            .sum();
        if count > 0 {
            notices.push(Notice::warning(format!(
                    "the target or its host path does not support {}: {count} such operations did nothing and are not counted",
                    direction.operation()
                ),
            ));
        }
    }
    for group in groups {
        if group.record.present().next().is_none() && group.errors.is_empty() && group.threads > 0 {
            notices.push(Notice::warning("a job measured nothing: its work ended within the start delay or the ramp; shorten the ramp or make the job longer".to_string(),
            ));
        }
    }
    notices
}
