//! Whether the parts of a drive show: two reads at once take longer if they meet in one.

use super::super::truth::Truth;
use super::drive::MAPPED;
use super::{Copy, READ_US};
use nandscope_measure::target::TargetError;
use nandscope_workload::OpKind;

/// So much is written before it is read, bytes.
const WRITTEN: u64 = 128 << 20;
const PIECE: u64 = 512 << 10;
/// Pairs of reads, at least, and for each part.
const PAIRS: usize = 400;
const OF_A_PART: usize = 8;
/// Two reads that meet take longer by this share of one at least.
const LATER: f64 = 0.3;
/// Multiplier and increment of a linear congruential generator modulo 2^64 (Knuth, MMIX).
const NEXT: (u64, u64) = (6_364_136_223_846_793_005, 1_442_695_040_888_963_407);

impl Copy {
    /// Whether pairs of reads that meet take longer than others: of as many pairs as meet at least, the middle is compared
    /// with the quickest quarter of all.
    pub(super) fn pairs(&mut self, truth: &Truth) -> Result<bool, TargetError> {
        let Some(parts) = truth.parts.iter().copied().max() else {
            return Ok(false);
        };
        for at in (0..WRITTEN).step_by(PIECE as usize) {
            self.time(OpKind::Write, at, PIECE)?;
        }
        self.settle()?;
        let mut state = 1_u64;
        let mut place = || {
            state = state.wrapping_mul(NEXT.0).wrapping_add(NEXT.1);
            (state >> 33) % (WRITTEN / MAPPED) * MAPPED
        };
        let mut later = Vec::new();
        for _ in 0..PAIRS.max(OF_A_PART * parts as usize) {
            let both = [place(), place()];
            let alone = [
                self.time(OpKind::Read, both[0], MAPPED)?,
                self.time(OpKind::Read, both[1], MAPPED)?,
            ];
            let ends = self.many(OpKind::Read, &both, MAPPED, 2)?;
            let took = ends.last().copied().unwrap_or(f64::NAN);
            let (short, long) = (alone[0].min(alone[1]), alone[0].max(alone[1]));
            later.push(((took - long) / short, short));
        }
        later.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let met = later[later.len() - 1 - later.len() / (2 * parts as usize)];
        let apart = met.0 - later[later.len() / 4].0;
        Ok(apart >= LATER && apart * met.1 >= READ_US)
    }
}
