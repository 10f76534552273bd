//! The result document in the middle of a group of jobs.

use super::{DiskReader, RunObserver};
use nandscope_measure::build::{JobMeta, StepMeta, step_result};
use nandscope_measure::runner::{GroupOutcome, Observer, Progress};
use nandscope_result::ResultDocument;
use nandscope_units::Nanos;
use std::time::Instant;

/// Makes documents of the outcomes so far for the observer of the run.
pub struct InterimResults<'a> {
    /// Observer of the run.
    pub observer: &'a mut dyn RunObserver,
    /// Result of the groups that ended before the present one.
    pub document: &'a ResultDocument,
    /// Description of the present group.
    pub meta: &'a StepMeta,
    /// Jobs of the present group.
    pub jobs: &'a [JobMeta],
    /// Reader of the disks of the system.
    pub disks: &'a DiskReader,
    /// Start of the run.
    pub began: Instant,
}

impl Observer for InterimResults<'_> {
    fn progress(&mut self, progress: &Progress) {
        self.observer.progress(progress);
    }

    fn interim_interval(&self) -> Option<Nanos> {
        self.observer.interim_interval()
    }

    fn interim(&mut self, outcome: &GroupOutcome) {
        let mut document = self.document.clone();
        let step = step_result(outcome, self.meta.clone(), self.jobs);
        document.steps.push(step);
        document.disks = (self.disks)();
        document.wall.elapsed_s = Some(self.began.elapsed().as_secs_f64());
        self.observer.interim_result(&document);
    }
}
