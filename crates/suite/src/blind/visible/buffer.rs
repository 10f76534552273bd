//! Whether a write buffer shows: writes to an idle device are taken as fast as the link until it is full, and then as fast
//! as the flash is programmed.

use super::super::truth::Truth;
use super::{Copy, SLOWER};
use nandscope_infer::probe::Options;
use nandscope_measure::target::TargetError;
use nandscope_workload::OpKind;

/// Writes that fill the buffer, and their length, bytes.
const WRITES: u64 = 32;
const LENGTHS: (u64, u64) = (4 << 10, 128 << 10);
/// Writes under way.
const DEPTH: u32 = 32;
/// Bursts that must fit half of what may be written: three, and two of them again.
const BURSTS: u64 = 5;

impl Copy {
    /// Whether writes of twice the buffer to the idle device become slower: of one of the sizes that are right, the part from
    /// 1.25 of it on is compared with that from a quarter to three quarters.
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
