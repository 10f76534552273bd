//! What reads of a drive with a page map show: its read-ahead.

use super::super::truth::Truth;
use super::Copy;
use nandscope_infer::probe::Options;
use nandscope_measure::target::TargetError;
use nandscope_workload::OpKind;

/// So much is written to a drive before it is read, bytes.
pub(super) const DRIVE_WRITTEN: u64 = 32 << 20;
/// Mapping unit of a drive, bytes: its boundaries are not page boundaries.
pub(super) const MAPPED: u64 = 4096;

impl Copy {
    /// Read-ahead and SLC cache, by reads of what was written first.
    pub(super) fn drive(
        &mut self,
        truth: &Truth,
        options: &Options,
    ) -> Result<Vec<&'static str>, TargetError> {
        let mut seen = vec!["discard"];
        for at in (0..DRIVE_WRITTEN).step_by(512 << 10) {
            self.time(OpKind::Write, at, 512 << 10)?;
        }
        let ahead = truth.read_ahead && self.ahead(DRIVE_WRITTEN / 2)?;
        seen.extend(ahead.then_some("read-ahead"));
        seen.extend(self.cache(truth, options)?.then_some("slc"));
        Ok(seen)
    }
}
