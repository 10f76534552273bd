//! Finds equidistant boundaries that are shifted against the start of the target, as on a partition that begins within an
//! allocation unit: reads across every possible place, and looks for equal distances between the slow ones. flashbench only reads
//! at multiples, and misses such boundaries.

use super::order::shuffled;
use crate::quantile::median;
use crate::timed::{Probe, ProbeError};
use nandscope_measure::target::Target;
use nandscope_units::Bytes;

/// Length of a read across a place: one sector on either side.
const ACROSS: Bytes = Bytes(1024);
const SECTOR: u64 = 512;
/// Range in which every sector is tested for page boundaries, bytes: four pages of 512 KiB.
const PAGE_WINDOW: u64 = 2 << 20;
/// Range in which every page boundary is tested for AU boundaries, bytes, and the largest number of pages.
const UNIT_WINDOW: u64 = 128 << 20;
const PAGES_MAX: u64 = 8192;
/// Reads per place in the first pass, and in the second for places that seemed slow.
const TRIES: [u32; 2] = [3, 16];
/// Most places in the second pass.
const AGAIN: usize = 1024;
/// Places in the second pass that did not seem slow, for comparison.
const CONTROLS: usize = 256;
/// A place is slow if its read exceeds the median of the comparison places by this many times their scatter, and by `SHARE` of
/// their time.
const SCATTER: f64 = 8.0;
const SHARE: f64 = 0.002;
/// Boundaries that must be found; `MANY` for distances that are not a small odd multiple of a power of two.
const LEAST: usize = 3;
const MANY: usize = 8;
/// Most distances tried that are not small odd multiples of a power of two.
const DISTANCES: usize = 4096;

/// Equidistant boundaries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundaryPeriod {
    /// Distance between neighbouring boundaries, bytes.
    pub period: u64,
    /// The first boundary from the start of the target, less than the period; bytes.
    pub first: u64,
    /// Time of a read between boundaries, µs.
    pub between_us: f64,
    /// Time of a read across a boundary, µs.
    pub across_us: f64,
}

/// Finds page boundaries, at any offset, in the 2 MiB from about `base` on.
///
/// # Errors
/// `ProbeError::Failed` if a read fails; `ProbeError::Stopped` if it was interrupted.
pub fn page_period<T: Target>(
    probe: &mut Probe<'_, T>,
    base: u64,
    seed: u64,
) -> Result<Option<BoundaryPeriod>, ProbeError> {
    let from = base / SECTOR * SECTOR + SECTOR;
    let end = (from + PAGE_WINDOW).min(probe.capacity().0);
    let places: Vec<u64> = (from..end).step_by(SECTOR as usize).collect();
    period_among(probe, &places, seed)
}

/// Finds larger pages that consist of pages of `page` bytes: their boundaries are the slower ones among those of the pages.
///
/// # Errors
/// As [`page_period`].
pub fn page_of_pages<T: Target>(
    probe: &mut Probe<'_, T>,
    page: u64,
    first: u64,
    seed: u64,
) -> Result<Option<BoundaryPeriod>, ProbeError> {
    let page = page.max(SECTOR);
    // Up to half of the places may be boundaries, and half of the places are measured again.
    let end = probe.capacity().0.min(first + (2 * AGAIN as u64) * page);
    let places: Vec<u64> = (first..end)
        .step_by(page as usize)
        .filter(|p| *p >= SECTOR)
        .collect();
    period_among(probe, &places, seed)
}

/// Finds AU boundaries among the boundaries of pages of `page` bytes, the first of which is at `first`.
///
/// # Errors
/// As [`page_period`].
pub fn unit_period<T: Target>(
    probe: &mut Probe<'_, T>,
    page: u64,
    first: u64,
    seed: u64,
) -> Result<Option<BoundaryPeriod>, ProbeError> {
    let page = page.max(SECTOR);
    let end = probe
        .capacity()
        .0
        .min(UNIT_WINDOW)
        .min(first + PAGES_MAX * page);
    let places: Vec<u64> = (first..end)
        .step_by(page as usize)
        .filter(|p| *p >= SECTOR)
        .collect();
    period_among(probe, &places, seed)
}

/// Whether reads are slow at every multiple of `unit`: `Some(false)` if only at some of them, `None` if single places are not
/// distinguishable.
///
/// # Errors
/// As [`page_period`].
pub fn every_one<T: Target>(
    probe: &mut Probe<'_, T>,
    unit: u64,
    page: u64,
    seed: u64,
) -> Result<Option<bool>, ProbeError> {
    let count = (probe.capacity().0.saturating_sub(unit) / unit.max(1)).min(32);
    let at: Vec<u64> = (1..=count).map(|i| i * unit).collect();
    let beside = |(i, at): (usize, &u64)| {
        let pages = (unit / page.max(SECTOR)).max(2);
        at + (1 + i as u64 * 7 % (pages - 1)) * page.max(SECTOR)
    };
    let beside: Vec<u64> = at
        .iter()
        .enumerate()
        .map(beside)
        .filter(|p| p + SECTOR <= probe.capacity().0)
        .collect();
    if beside.len() < LEAST {
        return Ok(None);
    }
    let all: Vec<u64> = at.iter().chain(&beside).copied().collect();
    let times = quickest_reads(probe, &all, TRIES[1], seed)?;
    let (on, off) = times.split_at(at.len());
    let (low, scatter) = level(off);
    // The 90th percentile: only some of the places may be boundaries.
    let mut sorted = on.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let rise = sorted[sorted.len() * 9 / 10] - low;
    if rise < SCATTER * scatter || rise < SHARE * low {
        return Ok(None);
    }
    let high = |t: &&f64| **t > low + rise / 2.0;
    let seen = on.iter().filter(high).count();
    let false_ones = off.iter().filter(high).count();
    Ok(Some(
        seen * 10 >= on.len() * 8 && false_ones * 10 <= off.len(),
    ))
}

/// The quickest of `tries` reads across each place, µs. The places alternate, so that a stall affects each place only once.
fn quickest_reads<T: Target>(
    probe: &mut Probe<'_, T>,
    places: &[u64],
    tries: u32,
    seed: u64,
) -> Result<Vec<f64>, ProbeError> {
    let mut quickest = vec![f64::INFINITY; places.len()];
    for round in 0..tries {
        for i in shuffled(places.len() as u32, seed ^ u64::from(round)) {
            let i = i as usize;
            let took = probe.read(Bytes(places[i] - SECTOR), ACROSS)?;
            quickest[i] = quickest[i].min(took.as_micros_f64());
        }
    }
    Ok(quickest)
}

/// Median of the times, and their scatter.
fn level(times: &[f64]) -> (f64, f64) {
    let middle = median(times);
    let off: Vec<f64> = times.iter().map(|t| (t - middle).abs()).collect();
    // For normal noise, this equals the standard deviation.
    (middle, 1.48 * median(&off))
}

fn period_among<T: Target>(
    probe: &mut Probe<'_, T>,
    places: &[u64],
    seed: u64,
) -> Result<Option<BoundaryPeriod>, ProbeError> {
    if places.len() < 4 * LEAST {
        return Ok(None);
    }
    let first = quickest_reads(probe, places, TRIES[0], seed)?;
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by(|a, b| first[*b].total_cmp(&first[*a]));
    let (again, rest) = order.split_at(AGAIN.min(places.len() / 2));
    // Evenly spaced in the sorted rest, so that the comparison is not with the quickest only.
    let every = (rest.len() / CONTROLS).max(1);
    let controls = rest.iter().step_by(every);
    let looked: Vec<u64> = again.iter().chain(controls).map(|i| places[*i]).collect();
    let second = quickest_reads(probe, &looked, TRIES[1], seed ^ 0xc0)?;
    let (low, scatter) = level(&second[again.len()..]);
    let bar = low + (SCATTER * scatter).max(SHARE * low).max(1.0);
    let all = looked.iter().copied().zip(second);
    let high: Vec<(u64, f64)> = all.filter(|(_, t)| *t > bar).collect();
    // Places just above the limit are chance hits if the others are far above it.
    let rises: Vec<f64> = high.iter().map(|h| h.1 - low).collect();
    let usual = median(&rises);
    let strong: Vec<u64> = high
        .iter()
        .filter(|h| h.1 - low > usual / 2.0)
        .map(|h| h.0)
        .collect();
    let high: Vec<u64> = high.iter().map(|h| h.0).collect();
    let found = equal_distances(&high, places).or_else(|| equal_distances(&strong, places));
    Ok(found.map(|(period, first)| BoundaryPeriod {
        period,
        first,
        between_us: low,
        across_us: low + usual,
    }))
}

/// Odd factors of the distances tried first.
const FACTORS: [u64; 5] = [1, 3, 5, 7, 9];

/// Distance and offset of the slow places, if at least 80 % of the places at this distance are slow and at most a third of the
/// slow places lie elsewhere. The shortest distance that fits, because its multiples fit too.
fn equal_distances(high: &[u64], places: &[u64]) -> Option<(u64, u64)> {
    let (low, top) = places.first().zip(places.last())?;
    let range = top - low;
    let step = places.windows(2).map(|w| w[1] - w[0]).min()?;
    let powers = (0..40).map(|k| SECTOR << k);
    let periods = powers.flat_map(|p| FACTORS.map(|f| p * f));
    let mut periods: Vec<u64> = periods
        .filter(|p| p.is_multiple_of(step) && *p > step)
        .collect();
    periods.sort_unstable();
    let fit = |least: usize| {
        move |period: u64| {
            let first = majority(high.iter().map(|at| at % period))?;
            let hits = high.iter().filter(|at| *at % period == first).count();
            if hits < least || hits * 3 < high.len() * 2 {
                return None;
            }
            let expected = places.iter().filter(|p| *p % period == first).count();
            (hits * 10 >= expected * 8).then_some((period, first))
        }
    };
    let most = |least: usize| range / (least as u64 - 1);
    let round = periods.into_iter().filter(|p| *p <= most(LEAST));
    // Other distances need more boundaries: with so many candidates, a few places fit one by chance.
    let others = (2..=most(MANY) / step.max(1)).map(|n| n * step);
    round
        .into_iter()
        .find_map(fit(LEAST))
        .or_else(|| others.take(DISTANCES).find_map(fit(MANY)))
}

/// The value that more than half of the values have (Boyer-Moore majority vote); any value if there is no majority.
fn majority(values: impl Iterator<Item = u64>) -> Option<u64> {
    let mut kept = None;
    let mut ahead = 0_usize;
    for value in values {
        if ahead == 0 {
            kept = Some(value);
        }
        if kept == Some(value) {
            ahead += 1;
        } else {
            ahead -= 1;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_distances_have_a_period_and_others_do_not() {
        let places: Vec<u64> = (1..1000).map(|i| i * 512).collect();
        let boundaries = |period: u64, first: u64| -> Vec<u64> {
            let places = places.iter().copied();
            places.filter(|p| p % period == first).collect()
        };
        let high = boundaries(16 << 10, 512);
        assert_eq!(equal_distances(&high, &places), Some((16 << 10, 512)));
        // One boundary missing, and one slow place elsewhere.
        let mut some = high.clone();
        some.remove(5);
        some.push(7 * 512);
        some.sort_unstable();
        assert_eq!(equal_distances(&some, &places), Some((16 << 10, 512)));
        // More than half of the boundaries missing, irregularly.
        let few = high
            .iter()
            .enumerate()
            .filter(|(i, _)| [0, 1, 3, 7].contains(&(i % 9)));
        let few: Vec<u64> = few.map(|h| *h.1).collect();
        assert_eq!(equal_distances(&few, &places), None);
        // The distance is three times a power of two.
        let odd = boundaries(24 << 10, 4096);
        assert_eq!(equal_distances(&odd, &places), Some((24 << 10, 4096)));
        // The distance is not a small multiple of a power of two: it needs `MANY` boundaries.
        let pages: Vec<u64> = (1..2700).map(|i| i * (48 << 10)).collect();
        let units = |count: usize| -> Vec<u64> {
            let at = pages.iter().copied();
            at.filter(|p| p % (4128 << 10) == 0).take(count).collect()
        };
        assert_eq!(equal_distances(&units(40), &pages), Some((4128 << 10, 0)));
        assert_eq!(equal_distances(&units(5), &pages[..500]), None);
        assert_eq!(equal_distances(&[], &places), None);
        assert_eq!(equal_distances(&[512, 1024], &places), None);
    }
}
