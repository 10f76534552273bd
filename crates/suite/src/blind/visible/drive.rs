//! What reads of a drive with a page map show: its page and its read-ahead.

use super::super::truth::Truth;
use super::{Copy, READ_US};
use nandscope_infer::probe::{Options, Question};
use nandscope_measure::target::TargetError;
use nandscope_workload::OpKind;

/// Bytes written to a drive before it is read; then the number of places compared.
pub(super) const DRIVE_WRITTEN: u64 = 32 << 20;
const PLACES: u64 = 9;
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
        let page = truth.pages.iter().copied().max().unwrap_or(512);
        let (mut on, mut off) = (Vec::new(), Vec::new());
        for place in (1..PLACES).map(|n| n * 2 * page) {
            on.push(self.across(place)?);
            off.push(self.across(place + MAPPED)?);
        }
        on.sort_unstable_by(f64::total_cmp);
        off.sort_unstable_by(f64::total_cmp);
        let middle = on.len() / 2;
        seen.extend((on[middle] - off[middle] >= READ_US).then_some(Question::Page));
        let ahead = truth.read_ahead && self.ahead(DRIVE_WRITTEN / 2)?;
        seen.extend(ahead.then_some(Question::ReadAhead));
        seen.extend(self.cache(truth, options)?.then_some(Question::Slc));
        Ok(seen)
    }
}
