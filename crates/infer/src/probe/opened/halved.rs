//! Where a unit begins, to the page or the sector: the range in which a boundary lies is halved again and again. What lies
//! before the middle of it is written, and then what lies after it; the half that takes longer holds the first sector of the unit.
//!
//! Each half is flushed, so that nothing of it is left in memory: a card that gathers pages opens the unit with its first sector,
//! too. Parts of pages cost something at any place, so that each half is compared with one beside it, where pages begin alike.

use super::found::Opened;
use crate::probe::Probing;
use crate::probe::layout::{PAGE_MAX, SECTOR};
use crate::probe::slow_writes::ERASE_S;
use crate::timed::ProbeError;
use nandscope_measure::target::Target;
use nandscope_units::{Bytes, Nanos};

/// Distance from a boundary to the place it is compared with, bytes: a multiple of all pages, those of three planes too.
const BESIDE: u64 = 3 << 20;
/// Units of less than so many times that are compared with their middle.
const BESIDE_FITS: u64 = 4;
/// Parts of a unit of which pages are one at most.
const PARTS: u64 = 8;
/// Units of this size are written in order from their beginning to the boundary, of larger ones so much.
const WHOLE: u64 = 16 << 20;
const LEAD: u64 = 2 << 20;
/// Lengths of what is written before.
const LEADS: u64 = 4;
/// Length of one write, and of either half at least: a shorter one may be taken for a change of a file allocation table.
const PIECE: u64 = 64 << 10;
/// A half takes longer if it does by this share of what opening a unit took before; the other half by this share of it at most.
const LONGER: f64 = 0.5;
/// So many more answers must say one thing than the other on either side in the end, out of so many at most.
const MARGIN: i32 = 2;
const TRIES: usize = 7;
/// Where less was seen than before, so many in a row must say the same, and be this much alike.
const ALIKE: (usize, f64) = (4, 2.0);
/// An answer that takes this share of all the time is not asked for twice at one place: a search needs a dozen.
const DEAR: f64 = 0.003;
/// Looks after which none is clear are enough.
const UNCLEAR: usize = 3;
/// Distance of boundaries that are looked at one after the other, units: both units at one are open afterwards, and parts of
/// pages lie in them.
const APART: u64 = 2;

/// The additional time of the halves before and after a place, compared with those beside it, s.
type Halves = [f64; 2];

/// The boundaries that are looked at, one after the other.
struct Boundaries<'a> {
    found: &'a Opened,
    /// Distance of the places in question, bytes.
    step: u64,
    /// No look begins after this.
    end: Nanos,
    /// Boundaries looked at so far, the first of them, and how many there are.
    looks: u64,
    lowest: u64,
    count: u64,
    /// The places lie so far from a multiple of `step`, and the halves begin and end as far from one of `coarse`, bytes.
    first: u64,
    coarse: u64,
}

/// Where the first unit begins from the beginning of the target on, bytes: `first` after a multiple of `step`. `None` where
/// the halves do not differ clearly, or the time ends before.
pub(in crate::probe) fn halved<T: Target>(
    probing: &mut Probing<'_, T>,
    found: &Opened,
    (step, first): (u64, u64),
    end: Nanos,
) -> Result<Option<u64>, ProbeError> {
    if !found.unit.is_multiple_of(step) {
        return Ok(None);
    }
    // One unit up, so that nothing is below zero. Without flushes the first page of a unit may have been complete only later.
    let begin = (found.unit + found.from).saturating_sub(PAGE_MAX.min(found.unit / PARTS));
    let bottom = begin.saturating_sub(first) / step * step + first;
    let within = found.unit + found.from + found.within - bottom;
    let top = bottom + within.next_multiple_of(step) + step;
    let mut boundaries = Boundaries::of(probing, found, (step, first), top - bottom, end);
    let Some((mut low, mut high)) = boundaries.narrow(probing, (bottom, top))? else {
        return Ok(None);
    };
    // Reads may have shown pages of another kind, or what the host makes of them.
    let sector = (low, low + SECTOR, high);
    if step > SECTOR && boundaries.lies_below(probing, sector, MARGIN)? == Some(false) {
        boundaries.step = SECTOR;
        match boundaries.narrow(probing, (low, high))? {
            Some(exact) => (low, high) = exact,
            None => return Ok(None),
        }
    }
    if low == bottom || high == top {
        return Ok(None);
    }
    // Once more on both sides, as a wrong turn ends beside a place where nothing happens.
    let step = boundaries.step;
    let begins = (low - step, low, high);
    let passed = (low, high, high + step);
    let holds = boundaries.lies_below(probing, begins, MARGIN)? == Some(false)
        && boundaries.lies_below(probing, passed, MARGIN)? == Some(true);
    Ok(holds.then_some(low % found.unit))
}

impl<'a> Boundaries<'a> {
    fn of<T: Target>(
        probing: &Probing<'_, T>,
        found: &'a Opened,
        (step, first): (u64, u64),
        range: u64,
        end: Nanos,
    ) -> Self {
        let most = PAGE_MAX.min(found.unit / PARTS).max(step);
        let twice = std::iter::successors(Some(step), |c| Some(2 * c));
        let coarse = twice.take_while(|c| *c <= most).last().unwrap_or(step);
        let reach = 2 * (BESIDE + range + found.unit);
        let last = probing.target.whole().0.saturating_sub(reach) / found.unit;
        // After what may be treated otherwise, and what was written last.
        let lowest = last / 4;
        Boundaries {
            found,
            step,
            end,
            looks: 0,
            lowest,
            count: (last - lowest).max(1),
            first,
            coarse,
        }
    }

    /// The last two places between which a boundary lies within a range; `None` where the halves do not differ.
    fn narrow<T: Target>(
        &mut self,
        probing: &mut Probing<'_, T>,
        (mut low, mut high): (u64, u64),
    ) -> Result<Option<(u64, u64)>, ProbeError> {
        let step = self.step;
        while high - low > self.step {
            let middle = low + (high - low) / 2 / step * step;
            // Beside it, as it may lie within a page.
            let places = [middle, middle + step, middle - step];
            let mut turn = None;
            for place in places.into_iter().filter(|p| low < *p && *p < high) {
                let below = self.lies_below(probing, (low, place, high), 1)?;
                turn = below.map(|below| (place, below));
                if turn.is_some() {
                    break;
                }
            }
            match turn {
                Some((place, true)) => high = place,
                Some((place, false)) => low = place,
                // No page begins there.
                None if high - low == 2 * step => self.step = 2 * step,
                None => return Ok(None),
            }
        }
        Ok(Some((low, high)))
    }

    /// Whether the boundary lies below a place within a range; `None` where that is not clear. So many more answers say so than
    /// the opposite, but where one takes long.
    fn lies_below<T: Target>(
        &mut self,
        probing: &mut Probing<'_, T>,
        (low, place, high): (u64, u64, u64),
        margin: i32,
    ) -> Result<Option<bool>, ProbeError> {
        let half = (place - low).max(high - place).max(PIECE);
        let mut seen = Vec::new();
        while seen.len() < TRIES {
            let began = probing.target.now();
            let number = self.lowest + self.looks % self.count;
            self.looks += APART;
            let Some(halves) = self.look(probing, place + number * self.found.unit, half)? else {
                return Ok(None);
            };
            seen.push(halves);
            let took = probing.target.now().saturating_sub(began);
            let dear = took.as_secs_f64() > DEAR * probing.options.time.as_secs_f64();
            let margin = if dear { 1 } else { margin };
            let told = verdict(&seen, self.found.extra_s, margin);
            if told.is_some() {
                return Ok(told);
            }
            if seen.len() >= UNCLEAR && seen.iter().all(|h| clear(h, ERASE_S) == 0) {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// Writes about a place, and about one beside it; `None` where the budget ends before.
    fn look<T: Target>(
        &self,
        probing: &mut Probing<'_, T>,
        at: u64,
        half: u64,
    ) -> Result<Option<Halves>, ProbeError> {
        let unit = self.found.unit;
        let beside = match unit {
            unit if unit < BESIDE_FITS * BESIDE => unit / 2 / self.step * self.step,
            _ => BESIDE,
        };
        // Of other numbers, so that a full log and the like fall on all places.
        let more = self.looks / APART % LEADS * self.coarse;
        let lead = if unit <= WHOLE { unit } else { LEAD } + more;
        // Where the halves begin and end, no page of several steps is written in part, unless these begin elsewhere.
        let coarse = self.coarse;
        let down = |at: u64| at.saturating_sub(self.first) / coarse * coarse + self.first;
        let (from, to) = (down(at - half), down(at + half + coarse - 1));
        let spent = probing.target.now() >= self.end
            || probing.writes_left() < probing.kept / 4 * 3 + lead + beside + (to - from);
        if from < lead + coarse || spent || beside < to - from {
            return Ok(None);
        }
        write(probing, down(from - lead), from)?;
        let here = [write(probing, from, at)?, write(probing, at, to)?];
        write(probing, to, from + beside)?;
        let other = [
            write(probing, from + beside, at + beside)?,
            write(probing, at + beside, to + beside)?,
        ];
        Ok(Some([here[0] - other[0], here[1] - other[1]]))
    }
}

/// Whether the first half is the one that takes longer; `None` where neither clearly does.
fn verdict(seen: &[Halves], extra_s: f64, margin: i32) -> Option<bool> {
    let least = (LONGER * extra_s).max(ERASE_S);
    let sum: i32 = seen.iter().map(|halves| clear(halves, least)).sum();
    if sum.abs() >= margin {
        return Some(sum > 0);
    }
    let last = seen.last_chunk::<{ ALIKE.0 }>()?;
    let signs: i32 = last.iter().map(|halves| clear(halves, ERASE_S)).sum();
    let times = last.map(|[before, after]| before.max(after));
    let most = times.iter().copied().fold(0.0, f64::max);
    let alike = times.iter().all(|t| ALIKE.1 * t > most);
    (alike && signs.unsigned_abs() as usize == last.len()).then_some(signs > 0)
}

/// 1 where the first half takes longer, -1 where the second one does, and 0 where neither takes this much and far more than the other.
fn clear([before, after]: &Halves, least: f64) -> i32 {
    match () {
        () if *before > least && *after < LONGER * before => 1,
        () if *after > least && *before < LONGER * after => -1,
        () => 0,
    }
}

/// Writes a range in order, in pieces that end at multiples of their length, and flushes it; how long that took, s.
fn write<T: Target>(probing: &mut Probing<'_, T>, from: u64, to: u64) -> Result<f64, ProbeError> {
    let began = probing.target.now();
    let mut at = from;
    while at < to {
        let end = ((at / PIECE + 1) * PIECE).min(to);
        probing.timed(|p| p.write(Bytes(at), Bytes(end - at)))?;
        at = end;
    }
    probing.target.flush()?;
    Ok(probing.target.now().saturating_sub(began).as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ERASE: f64 = 0.004;

    #[test]
    fn the_half_that_takes_longer_holds_the_boundary() {
        let noise = 1e-4;
        assert_eq!(verdict(&[[ERASE, noise]; 2], ERASE, MARGIN), Some(true));
        assert_eq!(verdict(&[[-noise, ERASE]; 2], ERASE, MARGIN), Some(false));
        // One is too few, unless it takes much of the time.
        assert_eq!(verdict(&[[ERASE, noise]], ERASE, MARGIN), None);
        assert_eq!(verdict(&[[ERASE, noise]], ERASE, 1), Some(true));
        // A merge after so many writes, in both halves or in one of them now and then.
        assert_eq!(verdict(&[[ERASE, ERASE]; TRIES], ERASE, MARGIN), None);
        let mixed = [[ERASE, noise], [noise, 0.8], [ERASE, noise], [ERASE, noise]];
        assert_eq!(verdict(&mixed, ERASE, MARGIN), Some(true));
    }

    #[test]
    fn a_half_that_takes_less_time_says_nothing() {
        // The page at a boundary needs no copy of the unit, the one beside it does.
        assert_eq!(verdict(&[[1e-4, -0.09]; TRIES], ERASE, MARGIN), None);
        assert_eq!(verdict(&[[-0.09, 1e-4]; TRIES], ERASE, MARGIN), None);
        assert_eq!(verdict(&[[ERASE, -0.09]; 2], ERASE, MARGIN), Some(true));
    }

    #[test]
    fn less_than_before_must_be_the_same_each_time() {
        // What was seen before were the merges of several units, put off.
        let few = [[0.0, ERASE]; ALIKE.0];
        assert_eq!(verdict(&few, 16.0 * ERASE, MARGIN), Some(false));
        assert_eq!(verdict(&few[1..], 16.0 * ERASE, MARGIN), None);
        let scattered = [[0.0, ERASE], [0.0, 3.0 * ERASE], [0.0, ERASE], [0.0, ERASE]];
        assert_eq!(verdict(&scattered, 16.0 * ERASE, MARGIN), None);
        let both = [[0.0, ERASE], [ERASE, 0.0], [0.0, ERASE], [0.0, ERASE]];
        assert_eq!(verdict(&both, 16.0 * ERASE, MARGIN), None);
        // Shorter than an erase is no erase.
        assert_eq!(verdict(&[[0.0, 1e-4]; TRIES], 16.0 * ERASE, MARGIN), None);
    }
}
