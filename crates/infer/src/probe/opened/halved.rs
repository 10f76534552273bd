//! Start of an AU to the page or sector, by bisection of the range in which a boundary lies. Each step writes the two halves of
//! the range one after the other; the slower half contains the first sector of the AU.
//! Every half is flushed, so that a card that gathers pages also opens the AU with its first sector. Partial pages cost time
//! everywhere, so each half is compared with one at a distance, where pages begin alike.

use super::found::Opened;
use crate::probe::Probing;
use crate::probe::layout::{PAGE_MAX, SECTOR};
use crate::probe::slow_writes::ERASE_S;
use crate::timed::ProbeError;
use nandscope_measure::target::Target;
use nandscope_units::{Bytes, Nanos};

/// Distance between a boundary and the range it is compared with, bytes: a multiple of all page sizes, including those of three
/// planes.
const BESIDE: u64 = 3 << 20;
/// An AU smaller than this many times `BESIDE` is compared with its own middle.
const BESIDE_FITS: u64 = 4;
/// Divisor of an AU: limit of the size of its pages.
const PARTS: u64 = 8;
/// AUs up to this size, bytes, are written from their start to the boundary; in larger ones, `LEAD` bytes are written before it.
const WHOLE: u64 = 16 << 20;
const LEAD: u64 = 2 << 20;
/// Number of different lengths of the writes before the boundary.
const LEADS: u64 = 4;
/// Length of one write, and least length of a half, bytes: a shorter write may be taken for an update of a file allocation table.
const PIECE: u64 = 64 << 10;
/// Least extra time of a slow half, as a share of the earlier cost of opening an AU; then the largest extra time of the
/// other half, as a share of that of the slow one.
const LONGER: f64 = 0.5;
/// Lead that decides the last comparisons; maximum number of tries per comparison.
const MARGIN: i32 = 2;
const TRIES: usize = 7;
/// If the effect is smaller than before: number of consecutive tries that must agree, and largest ratio of their times.
const ALIKE: (usize, f64) = (4, 2.0);
/// Share of the total time for one try above which a lead of one try decides: a search needs a dozen comparisons.
const DEAR: f64 = 0.003;
/// Number of tries without any effect that ends a comparison.
const UNCLEAR: usize = 3;
/// Distance between the boundaries of consecutive tries, in AUs: a try leaves both AUs at its boundary open, with partial pages
/// in them.
const APART: u64 = 2;

/// Extra times of the halves before and after a place, compared with those at a distance, s.
type Halves = [f64; 2];

/// Boundaries used for the tries, one after the other.
struct Boundaries<'a> {
    found: &'a Opened,
    /// Distance of the candidate places, bytes.
    step: u64,
    /// No try starts after this time.
    end: Nanos,
    /// Number of AUs passed by earlier tries; number of the first boundary; and number of boundaries.
    looks: u64,
    lowest: u64,
    count: u64,
    /// Candidate places lie `first` bytes after a multiple of `step`; the halves begin and end `first` bytes after a multiple of
    /// `coarse`. Bytes.
    first: u64,
    coarse: u64,
}

/// Start of the first AU from the start of the target, bytes: `first` bytes after a multiple of `step`. `None` if the halves do
/// not differ clearly, or the time ends.
pub(in crate::probe) fn halved<T: Target>(
    probing: &mut Probing<'_, T>,
    found: &Opened,
    (step, first): (u64, u64),
    end: Nanos,
) -> Result<Option<u64>, ProbeError> {
    if !found.unit.is_multiple_of(step) {
        return Ok(None);
    }
    // Shifted up by one AU, so that no address is negative. Without flushes, the AU may have been opened only when its
    // first page was complete.
    let begin = (found.unit + found.from).saturating_sub(PAGE_MAX.min(found.unit / PARTS));
    let bottom = begin.saturating_sub(first) / step * step + first;
    let within = found.unit + found.from + found.within - bottom;
    let top = bottom + within.next_multiple_of(step) + step;
    let mut boundaries = Boundaries::of(probing, found, (step, first), top - bottom, end);
    let Some((mut low, mut high)) = boundaries.narrow(probing, (bottom, top))? else {
        return Ok(None);
    };
    // The pages seen by reads may be of another kind, or an effect of the host.
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
    // Repeats the last comparison on both sides: a wrong decision would end beside a place without a boundary.
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
        // Above special first AUs and the most recent writes.
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

    /// The last two candidate places around the boundary in a range; `None` if the halves do not differ.
    fn narrow<T: Target>(
        &mut self,
        probing: &mut Probing<'_, T>,
        (mut low, mut high): (u64, u64),
    ) -> Result<Option<(u64, u64)>, ProbeError> {
        let step = self.step;
        while high - low > self.step {
            let middle = low + (high - low) / 2 / step * step;
            // Also the neighbours, as the middle may lie within a page.
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
                // No page begins in the middle.
                None if high - low == 2 * step => self.step = 2 * step,
                None => return Ok(None),
            }
        }
        Ok(Some((low, high)))
    }

    /// Whether the boundary in a range lies below `place`; `None` if it is not clear. A lead of `margin` decides, or of one if a
    /// try takes long.
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

    /// Writes the halves around a place, and those at a distance; `None` if the budget ends before.
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
        // The length before the halves varies, so that a full log and the like occur at different places.
        let more = self.looks / APART % LEADS * self.coarse;
        let lead = if unit <= WHOLE { unit } else { LEAD } + more;
        // The halves begin and end at multiples of `coarse`, so that they contain no partial pages of several steps, unless these
        // begin elsewhere.
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

/// Whether the first half is slow; `None` if neither is clearly slow.
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

/// 1 if the first half is slow, -1 if the second is, and 0 if neither exceeds `least` and clearly the other.
fn clear([before, after]: &Halves, least: f64) -> i32 {
    match () {
        () if *before > least && *after < LONGER * before => 1,
        () if *after > least && *before < LONGER * after => -1,
        () => 0,
    }
}

/// Writes a range sequentially, in pieces that end at multiples of their length, and flushes; returns the time, s.
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
        // One try is not enough, unless it takes much of the time.
        assert_eq!(verdict(&[[ERASE, noise]], ERASE, MARGIN), None);
        assert_eq!(verdict(&[[ERASE, noise]], ERASE, 1), Some(true));
        // Merges every few writes: in both halves, or sometimes in one of them.
        assert_eq!(verdict(&[[ERASE, ERASE]; TRIES], ERASE, MARGIN), None);
        let mixed = [[ERASE, noise], [noise, 0.8], [ERASE, noise], [ERASE, noise]];
        assert_eq!(verdict(&mixed, ERASE, MARGIN), Some(true));
    }

    #[test]
    fn a_half_that_takes_less_time_says_nothing() {
        // The page at the boundary needs no copy of the AU, but the page it is compared with does.
        assert_eq!(verdict(&[[1e-4, -0.09]; TRIES], ERASE, MARGIN), None);
        assert_eq!(verdict(&[[-0.09, 1e-4]; TRIES], ERASE, MARGIN), None);
        assert_eq!(verdict(&[[ERASE, -0.09]; 2], ERASE, MARGIN), Some(true));
    }

    #[test]
    fn less_than_before_must_be_the_same_each_time() {
        // The earlier effect was that of several deferred merges.
        let few = [[0.0, ERASE]; ALIKE.0];
        assert_eq!(verdict(&few, 16.0 * ERASE, MARGIN), Some(false));
        assert_eq!(verdict(&few[1..], 16.0 * ERASE, MARGIN), None);
        let scattered = [[0.0, ERASE], [0.0, 3.0 * ERASE], [0.0, ERASE], [0.0, ERASE]];
        assert_eq!(verdict(&scattered, 16.0 * ERASE, MARGIN), None);
        let both = [[0.0, ERASE], [ERASE, 0.0], [0.0, ERASE], [0.0, ERASE]];
        assert_eq!(verdict(&both, 16.0 * ERASE, MARGIN), None);
        // A time below that of an erase is not an opened AU.
        assert_eq!(verdict(&[[0.0, 1e-4]; TRIES], 16.0 * ERASE, MARGIN), None);
    }
}
