//! Whether a write buffer is visible: an idle device accepts writes at link speed until the buffer is full, and then at
//! the program rate of the flash.

use super::super::truth::Truth;
use super::{Copy, SLOWER};
use nandscope_infer::probe::Options;
use nandscope_measure::target::TargetError;
use nandscope_workload::OpKind;

/// Number of writes that fill the buffer; then their length, bytes.
const WRITES: u64 = 32;
const LENGTHS: (u64, u64) = (4 << 10, 128 << 10);
/// Writes under way.
const DEPTH: u32 = 32;
/// Number of bursts that must fit half of the write budget: three, and two of them again.
const BURSTS: u64 = 5;

impl Copy {
    /// Whether writes of twice the buffer to the idle device become slower: for each right size, compares the part from
    /// 1.25 times the size on with that from a quarter to three quarters.
    pub(super) fn buffer(&mut self, truth: &Truth, options: &Options) -> Result<bool, TargetError> {
        let sizes = &truth.buffers;
        let Some((least, most)) = sizes.iter().min().zip(sizes.iter().max()) else {
            return Ok(false);
        };
        if 2 * most * BURSTS > options.writes.0 / 2 {
            return Ok(false);
        }
        let length = (least / WRITES).clamp(LENGTHS.0, LENGTHS.1) / LENGTHS.0 * LENGTHS.0;
        let places: Vec<u64> = (0..2 * most / length).map(|n| n * length).collect();
        let ends = self.many(OpKind::Write, &places, length, DEPTH)?;
        let shows = |size: &u64| {
            let at = |share: f64| (share * *size as f64 / length as f64) as usize;
            let end = |share: f64| ends.get(at(share) - 1).copied().unwrap_or(f64::NAN);
            let usual = (end(0.75) - end(0.25)) / 0.5;
            (end(2.0) - end(1.25)) / 0.75 >= SLOWER * usual
        };
        Ok(sizes.iter().any(shows))
    }
}
