//! What reads of a drive with a page map show: its read-ahead and its SLC cache.

use super::super::truth::Truth;
use super::Copy;
use nandscope_infer::probe::{Options, Question};
use nandscope_measure::target::TargetError;
use nandscope_workload::OpKind;

/// Bytes written to a drive before it is read.
pub(super) const DRIVE_WRITTEN: u64 = 32 << 20;
/// Mapping unit of a drive, bytes: its boundaries are not page boundaries.
pub(super) const MAPPED: u64 = 4096;

impl Copy {
    /// Tests whether page, read-ahead and SLC cache are visible, with reads of data written first.
    pub(super) fn drive(
        &mut self,
        truth: &Truth,
        options: &Options,
    ) -> Result<Vec<Question>, TargetError> {
        let mut seen = vec![Question::Discard];
        for at in (0..DRIVE_WRITTEN).step_by(512 << 10) {
            self.time(OpKind::Write, at, 512 << 10)?;
        }
        let ahead = truth.read_ahead && self.ahead(DRIVE_WRITTEN / 2)?;
        seen.extend(ahead.then_some(Question::ReadAhead));
        seen.extend(self.cache(truth, options)?.then_some(Question::Slc));
        Ok(seen)
    }
}
