//! Interim results: every loop delivers its measurements at the same instants of the target's clock, and the parts of
//! all loops are joined to one outcome.

use super::conclude::Part;
use super::{Observer, Progress};
use nandscope_units::Nanos;
use std::collections::BTreeMap;

/// Receives the progress of a loop, and its part of the run at each interval.
pub(super) trait LoopObserver: Observer {
    /// The loop's part of the run so far.
    fn part(&mut self, part: Part);
}

/// The observer of a run that has a single loop.
pub(super) struct Only<'a>(pub(super) &'a mut dyn Observer);

impl Observer for Only<'_> {
    fn progress(&mut self, progress: &Progress) {
        self.0.progress(progress);
    }

    fn interim_interval(&self) -> Option<Nanos> {
        self.0.interim_interval()
    }
}

impl LoopObserver for Only<'_> {
    fn part(&mut self, part: Part) {
        self.0.interim(&part.outcome(None));
    }
}

/// Latest parts of the running loops, by thread number.
#[derive(Default)]
pub(super) struct Parts {
    latest: BTreeMap<usize, (u64, Part)>,
    /// Number of rounds whose outcome was reported.
    given: u64,
}

impl Parts {
    /// Adds the next part of a loop.
    pub(super) fn take(&mut self, thread: usize, part: Part) {
        let round = self
            .latest
            .get(&thread)
            .map_or(self.given, |(round, _)| *round);
        self.latest.insert(thread, (round + 1, part));
    }

    /// Records the end of a loop, whose complete part is among those of ended loops.
    pub(super) fn end(&mut self, thread: usize) {
        self.latest.remove(&thread);
    }

    /// All of the run so far, once each of the `running` loops has handed over a part of the next round; `ended` is that of
    /// the loops that have ended.
    pub(super) fn next(&mut self, running: usize, ended: &Part) -> Option<Part> {
        let rounds = self.latest.values().map(|(round, _)| *round);
        let round = rounds.min().filter(|round| *round > self.given)?;
        if self.latest.len() < running {
            return None;
        }
        self.given = round;
        let mut all = ended.clone();
        let parts = self.latest.values();
        parts.for_each(|(_, part)| all.merge(part.clone()));
        Some(all)
    }
}
