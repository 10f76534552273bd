//! Whether the independent parts of a drive are visible: two simultaneous reads take longer if they address the same
//! part.

use super::super::truth::Truth;
use super::drive::MAPPED;
use super::{Copy, READ_US};
use nandscope_measure::target::TargetError;
use nandscope_units::random::Lcg64;
use nandscope_workload::OpKind;

/// Bytes written before the reads.
const WRITTEN: u64 = 128 << 20;
const PIECE: u64 = 512 << 10;
/// Smallest number of pairs of reads, in all and per independent part.
const PAIRS: usize = 400;
const OF_A_PART: usize = 8;
/// Least extra time of two reads that collide in one part, as a share of the shorter read's time.
const LATER: f64 = 0.3;
/// Largest extra time of two parallel reads over the longer one, as a share of the shorter read's time.
const AT_ONCE: f64 = 0.5;

impl Copy {
    /// Whether pairs of reads fall in two groups: at least a quarter of the pairs is parallel, the median of the
    /// expected number of colliding pairs takes longer, and fewer pairs lie between the two groups than in the
    /// slower one.
    pub(super) fn pairs(&mut self, truth: &Truth) -> Result<bool, TargetError> {
        let Some(parts) = truth.parts.iter().copied().max() else {
            return Ok(false);
        };
        for at in (0..WRITTEN).step_by(PIECE as usize) {
            self.time(OpKind::Write, at, PIECE)?;
        }
        self.settle()?;
        let mut draw = Lcg64(1);
        let mut place = || (draw.bits() >> 33) % (WRITTEN / MAPPED) * MAPPED;
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
        let of = |share: f64| later[(share * (later.len() - 1) as f64) as usize];
        let (apart, met) = (of(0.25).0, of(1.0 - 0.5 / f64::from(parts)));
        let more = met.0 - apart;
        let group = |from: f64, to: f64| {
            let within = later.iter().map(|l| (l.0 - apart) / more);
            within.filter(|l| (from..to).contains(l)).count()
        };
        let two = group(0.25, 0.75) < group(0.75, f64::INFINITY);
        Ok(two && apart <= AT_ONCE && more >= LATER && more * met.1 >= READ_US)
    }
}
