//! Turns a run that has ended into its outcome.

use super::drive::Run;
use super::{Ending, GroupOutcome, GroupRun};
use crate::recorder::Direction;
use crate::result::Notice;
use crate::target::{Target, TargetError};

impl<T: Target + ?Sized> Run<'_, T> {
    /// What was measured, whole or partial; `failure` where the target failed as a whole.
    pub(super) fn conclude(mut self, failure: Option<TargetError>) -> GroupOutcome {
        for thread in &mut self.threads {
            // Only where the target failed are there threads that have not ended.
            if failure.is_some() && !thread.counted_out {
                thread.cut(self.now);
            }
        }
        let mut groups: Vec<GroupRun> = Vec::new();
        groups.resize_with(self.tallies.len(), GroupRun::default);
        for thread in &mut self.threads {
            let (end, idle) = thread.conclude();
            let from = thread.measure_from().min(end);
            let group = &mut groups[thread.group];
            let first = group.threads == 0;
            group.start = if first { from } else { group.start.min(from) };
            group.end = group.end.max(end);
            group.idle += idle;
            group.threads += 1;
        }
        let end = groups.iter().map(|g| g.end).max().unwrap_or(self.start);
        let last_reading = self.target.reading();
        self.recorder.sample(self.now, last_reading);
        let (records, timeline) = self.recorder.finish(end);
        for ((group, record), tally) in groups.iter_mut().zip(records).zip(self.tallies) {
            group.record = record;
            group.errors = tally.errors;
            group.unsupported = tally.unsupported;
        }
        let ending = match (failure, self.failures.first()) {
            (Some(error), _) => Ending::Failed(format!(
                "{error}; {} operations in flight were lost",
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
            last_reading,
            ending,
        }
    }
}

fn notices(groups: &[GroupRun], failures: &[String]) -> Vec<Notice> {
    let notice = |level: &str, text: String| Notice {
        level: level.to_string(),
        text,
        step: None,
    };
    let mut notices: Vec<Notice> = failures
        .iter()
        .map(|text| notice("error", text.clone()))
        .collect();
    for direction in Direction::ALL {
        let count: u64 = groups
            .iter()
            .map(|g| g.unsupported[direction.index()])
            .sum();
        if count > 0 {
            notices.push(notice(
                "warning",
                format!(
                    "the target or its host path does not support {}: {count} such operations did nothing and are not counted",
                    direction.name()
                ),
            ));
        }
    }
    for group in groups {
        if group.record.present().next().is_none() && group.errors.is_empty() && group.threads > 0 {
            notices.push(notice(
                "warning",
                "a job measured nothing: its work ended within the start delay or the ramp; shorten the ramp or make the job longer".to_string(),
            ));
        }
    }
    notices
}
