//! The pages that reads show. A device has several sizes that could bear the name: a flash page on one plane or on all, a
//! program unit, and on a card the page of the firmware.

use super::super::truth::Truth;
use super::drive::MAPPED;
use super::{Copy, READ_US};
use nandscope_measure::target::{Target as _, TargetError};
use nandscope_workload::OpKind;

/// Number of places at which reads are compared, evenly spread near the beginnings of pieces: further on, pieces that were written
/// together may alternate in the flash. Then reads of each.
const PLACES: u64 = 7;
const TRIES: usize = 3;

/// Bytes written before they are read, in pieces, several under way: more than a write buffer holds.
const WRITTEN: u64 = 128 << 20;
const PIECE: u64 = 512 << 10;
const TOGETHER: u32 = 16;
/// Distance of the compared reads behind a boundary on a card, bytes; on a drive they lie at the next mapping unit.
const WITHIN: u64 = 1024;

/// Pages that reads of written data show: sizes at whose boundaries they take longer than a little behind them, bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct SeenPages {
    /// The smallest.
    pub page: Option<u64>,
    /// The largest, if its boundaries take longer than those of every smaller one.
    pub large: Option<u64>,
}

impl SeenPages {
    /// From sizes, the smallest first, and the extra time at their boundaries, µs.
    fn of(extra: &[(u64, f64)]) -> Self {
        let page = extra.iter().position(|(_, us)| *us >= READ_US);
        let above = page.map_or(&[][..], |place| &extra[place + 1..]);
        let large = above.last().filter(|last| {
            let others = extra.iter().take_while(|other| other.0 < last.0);
            others.fold(0.0, |most, other| other.1.max(most)) + READ_US <= last.1
        });
        SeenPages {
            page: page.map(|place| extra[place].0),
            large: large.map(|last| last.0),
        }
    }
}

impl Copy {
    /// The pages that reads show, among those that the truth knows below the AU. A boundary of a larger page counts for that
    /// page only.
    pub(super) fn pages(&mut self, truth: &Truth) -> Result<SeenPages, TargetError> {
        let below = |size: &u64| truth.unit.is_none_or(|unit| *size < unit);
        let mut sizes: Vec<u64> = truth.pages.iter().copied().filter(below).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let begin = truth.offset.unwrap_or(0);
        let end = (begin + WRITTEN).min(self.target.capacity().0);
        let pieces = (begin..).step_by(PIECE as usize);
        let pieces: Vec<u64> = pieces.take_while(|at| at + PIECE <= end).collect();
        self.many(OpKind::Write, &pieces, PIECE, TOGETHER)?;
        self.settle()?;
        let mut extra = Vec::new();
        for (number, size) in sizes.iter().enumerate() {
            let own = |at: &u64| sizes[number + 1..].iter().all(|s| !at.is_multiple_of(*s));
            let places = (0..PLACES).filter_map(|part| {
                let from = WRITTEN / (PLACES + 1) * part / size * size;
                (1..=2).map(|n| from + n * size).find(own)
            });
            let places = places.map(|at| begin + at).filter(|at| at + size < end);
            let places: Vec<u64> = places.collect();
            let apart = if truth.card { WITHIN } else { MAPPED };
            if !places.is_empty() {
                extra.push((*size, self.extra_us(&places, apart)?));
            }
        }
        Ok(SeenPages::of(&extra))
    }

    /// Median of the time by which reads across places take longer than `apart` bytes behind them, µs. The places are read in
    /// turn, so that nothing that was read ahead at one is still there when it is its turn again.
    fn extra_us(&mut self, places: &[u64], apart: u64) -> Result<f64, TargetError> {
        let mut quickest = vec![[f64::INFINITY; 2]; places.len()];
        for _ in 0..TRIES {
            for (which, behind) in [0, apart].into_iter().enumerate() {
                for (place, quickest) in places.iter().zip(&mut quickest) {
                    let took = self.time(OpKind::Read, place + behind - 512, 1024)?;
                    quickest[which] = quickest[which].min(took);
                }
            }
        }
        let mut extra: Vec<f64> = quickest.iter().map(|[on, off]| on - off).collect();
        extra.sort_unstable_by(f64::total_cmp);
        Ok(extra[extra.len() / 2])
    }
}
