//! Finds the distance of slow writes in a series of sequential writes, from their times alone. It measures nothing.

use crate::quantile::{median, quantile};
use std::collections::BTreeMap;

/// Least distance of boundaries, in writes: at a smaller distance, one write may cross two boundaries.
pub(super) const APART: u64 = 4;
/// Least number of boundaries; with at most `FEW`, no boundary may be missing and no other write may be slow.
pub(super) const LEAST: usize = 3;
pub(super) const FEW: usize = 6;
/// A write is slow if it exceeds the quick writes by this many times their scatter, by `SHARE` of their time, and by
/// `ERASE_S`, since erasing a block takes some milliseconds.
const SCATTER: f64 = 8.0;
const SHARE: f64 = 0.01;
pub(super) const ERASE_S: f64 = 0.3e-3;
/// Least part of the slow writes, as a divisor of their number, that counts as many if it is slower still; pauses of a
/// host affect fewer.
const MANY_OF: usize = 8;
/// Number of times that the limit of slow writes is doubled.
const RAISED: u32 = 10;
/// The power of two that divides a distance must be at least this many times the uncertainty of the distance.
const ROUND: u64 = 8;

/// Equidistant slow writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fit {
    /// Distance of the slow writes, bytes.
    pub(super) unit: u64,
    /// Range of the first boundary, modulo the distance, bytes from the first write.
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) seen: usize,
    pub(super) extra_s: f64,
}

/// The distance of slow long writes. No page is longer than a write, so that there is only one level.
pub(super) fn only(times: &[f64], length: u64) -> Option<Fit> {
    let all: Vec<usize> = (0..times.len()).collect();
    let slow = slow(times, &all)?;
    let level = quantile(times, 0.25);
    let least = bar(times) - level;
    // Some of the scatter also exceeds the limit; writes that open an AU exceed it by far.
    let bars = (0..RAISED).map(|power| level + least * f64::from(1 << power));
    bars.map_while(|bar| {
        let slow: Vec<usize> = slow.iter().copied().filter(|i| times[*i] > bar).collect();
        (slow.len() >= LEAST).then_some(slow)
    })
    .find_map(|slow| fit(&slow, times, length))
    .map(|f| f.0)
}

/// The distance of slow writes, then that of the slowest among them, and so on.
pub(super) fn levels(times: &[f64], length: u64) -> Vec<Fit> {
    let mut found: Vec<Fit> = Vec::new();
    let mut among: Vec<usize> = (0..times.len()).collect();
    while let Some(slow) = slow(times, &among) {
        let Some((next, matched)) = fit(&slow, times, length) else {
            // If many of the slow writes are slower still, at a distance not yet clear, those slower writes may be the
            // AU boundaries.
            if slow.len() * MANY_OF >= among.len() {
                found.pop();
            }
            break;
        };
        if found.last().is_some_and(|f| next.unit < 2 * f.unit) {
            break;
        }
        found.push(next);
        among = matched;
    }
    found
}

/// Indices among `among` of writes slower than the quick half; `None` if there are too few or too many.
fn slow(times: &[f64], among: &[usize]) -> Option<Vec<usize>> {
    let of: Vec<f64> = among.iter().map(|i| times[*i]).collect();
    if of.len() < 4 * LEAST {
        return None;
    }
    let bar = bar(&of);
    let slow: Vec<usize> = among.iter().copied().filter(|i| times[*i] > bar).collect();
    (slow.len() >= LEAST && slow.len() * 3 <= of.len() * 2).then_some(slow)
}

/// Shortest time of a slow write, s.
pub(super) fn bar(times: &[f64]) -> f64 {
    let level = quantile(times, 0.25);
    let half = quantile(times, 0.5);
    let quick = times.iter().filter(|t| **t <= half);
    let off: Vec<f64> = quick.map(|t| (t - level).abs()).collect();
    level
        + (SCATTER * 1.48 * median(&off))
            .max(SHARE * level)
            .max(ERASE_S)
}

/// The distance of the slow writes and the matching writes, if from one slow write on, nearly all slow writes lie at
/// multiples of the distance and hardly any multiple is missing.
fn fit(slow: &[usize], times: &[f64], length: u64) -> Option<(Fit, Vec<usize>)> {
    let next = next_of_each(slow, times.len());
    let firsts = slow.iter().take(2);
    let lasts = || slow.iter().rev().take(2);
    let mut best: Option<Vec<(usize, usize)>> = None;
    for first in firsts {
        for last in lasts().filter(|l| *l > first) {
            // The largest count gives the shortest distance whose multiples are all slow.
            let counts = (2..=slow.len().min((last - first) / 2)).rev();
            let fits = counts.map(|count| multiples(slow, &next, (*first, *last), count));
            let found = fits.flatten().next();
            let more = |f: &Vec<(usize, usize)>| best.as_ref().is_none_or(|b| b.len() < f.len());
            best = found.filter(more).or(best);
        }
    }
    let matched = best?;
    let (low, high) = distances(&matched, length)?;
    let unit = roundest(low, high)?;
    let (from, to) = first_of(&matched, unit, length)?;
    let extra: Vec<f64> = matched.iter().map(|m| times[m.1]).collect();
    let fit = Fit {
        unit,
        from,
        to,
        seen: matched.len(),
        extra_s: median(&extra) - quantile(times, 0.25),
    };
    Some((fit, matched.into_iter().map(|m| m.1).collect()))
}

/// For each write, the index of the next slow one, including itself; the number of writes if no slow one follows.
fn next_of_each(slow: &[usize], writes: usize) -> Vec<usize> {
    let mut next = vec![writes; writes];
    let mut from = 0;
    for at in slow {
        next[from..=*at].fill(*at);
        from = at + 1;
    }
    next
}

/// The slow writes near multiples of the distance (the range from `first` to `last` divided by `count`), each with the
/// number of its multiple; `None` if these do not explain the slow writes. `next` is from `next_of_each`.
fn multiples(
    slow: &[usize],
    next: &[usize],
    (first, last): (usize, usize),
    count: usize,
) -> Option<Vec<(usize, usize)>> {
    let writes = next.len();
    let distance = (last - first) as f64 / count as f64;
    // Neighbouring writes count only if the distance is large, or each write would be near a multiple.
    let near = usize::from(distance >= 8.0);
    if near == 0 && distance.fract() > 1e-9 {
        return None;
    }
    let before = (first as f64 / distance).floor() as usize;
    let begin = first as f64 - before as f64 * distance;
    // Largest expected number of boundaries; if more than a tenth of it is missing, the distance cannot fit.
    let most = ((writes as f64 - begin) / distance).ceil().max(0.0) as usize + 1;
    let missing_max = (most / 10).max(1);
    let (mut matched, mut expected) = (Vec::new(), 0);
    for i in 0.. {
        let at = first as f64 + (i as f64 - before as f64) * distance;
        if at >= writes as f64 - 1.0 {
            break;
        }
        if expected - matched.len() > missing_max {
            return None;
        }
        expected += 1;
        let at = at.round().max(0.0) as usize;
        let here = next[at.saturating_sub(near)];
        if here <= at + near && here < writes {
            matched.push((i, here));
        }
    }
    let fits = match matched.len() {
        n if n < LEAST => false,
        n if n <= FEW => n + 1 >= expected && slow.len() == n && n >= expected,
        n => n * 10 >= expected * 9 && n * 3 >= slow.len() * 2,
    };
    fits.then_some(matched)
}

/// Limits of the distance, bytes, as a boundary may be anywhere in its write.
fn distances(matched: &[(usize, usize)], length: u64) -> Option<(f64, f64)> {
    let (mut low, mut high) = (0.0_f64, f64::INFINITY);
    for (n, (i, a)) in matched.iter().enumerate() {
        for (j, b) in &matched[n + 1..] {
            let (apart, count) = ((b - a) as f64, (j - i) as f64);
            low = low.max((apart - 1.0) / count);
            high = high.min((apart + 1.0) / count);
        }
    }
    (low < high && high.is_finite()).then_some((low * length as f64, high * length as f64))
}

/// The number between two limits that is divisible by the largest power of two; `None` if the limits are too far apart.
fn roundest(low: f64, high: f64) -> Option<u64> {
    (9..40).rev().find_map(|power| {
        let step = 1_u64 << power;
        let number = ((low / step as f64).floor() as u64 + 1) * step;
        let narrow = step as f64 >= ROUND as f64 * (high - low);
        ((number as f64) < high && narrow).then_some(number)
    })
}

/// Limits of the first boundary, bytes from the first write.
fn first_of(matched: &[(usize, usize)], unit: u64, length: u64) -> Option<(f64, f64)> {
    let begins = matched
        .iter()
        .map(|(i, at)| *at as f64 * length as f64 - *i as f64 * unit as f64);
    let begins: Vec<f64> = begins.collect();
    let from = begins.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let to = begins.iter().copied().fold(f64::INFINITY, f64::min) + length as f64;
    (from < to).then_some((from, to))
}

/// The times, grouped by `bin` of their index.
pub(super) fn bins(times: &[f64], bin: impl Fn(usize) -> u64) -> BTreeMap<u64, Vec<f64>> {
    let mut bins: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for (i, time) in times.iter().enumerate() {
        bins.entry(bin(i)).or_default().push(*time);
    }
    bins
}

/// Whether a time exceeds the others by more than their scatter.
pub(super) fn stands_out(time: f64, others: &[f64]) -> bool {
    let most = others.iter().copied().fold(0.0, f64::max);
    time - most > bar(others) - quantile(others, 0.25)
}

/// Odd factors of distances that are tried if there is noise; and least number of writes per place.
const FACTORS: [u64; 4] = [1, 3, 5, 7];
const TURNS: usize = 5;

/// The distance at which a single place is slow nearly every time, despite noise and pauses at any place: the lower quartile of
/// the times of each place counts.
pub(super) fn folded(times: &[f64], length: u64) -> Option<Fit> {
    folded_in(times, length, TURNS)
}

/// Like `folded`, for large distances with few writes per place, which must all be slow.
pub(super) fn folded_few(times: &[f64], length: u64) -> Option<Fit> {
    folded_in(times, length, LEAST)
}

fn folded_in(times: &[f64], length: u64, least: usize) -> Option<Fit> {
    let powers = (17..30).map(|power| 1_u64 << power);
    let units = powers.flat_map(|power| FACTORS.map(|f| power / 4 * f));
    let mut units: Vec<u64> = units.filter(|u| u.is_multiple_of(length)).collect();
    units.sort_unstable();
    units.dedup();
    units.into_iter().find_map(|unit| {
        let count = (unit / length) as usize;
        let turns = times.len() / count.max(1);
        if (count as u64) < APART || turns < least {
            return None;
        }
        let share = if turns < TURNS { 0.0 } else { 0.25 };
        let of_place = |place| times.iter().skip(place).step_by(count).copied();
        let quick: Vec<f64> = (0..count)
            .map(|place| quantile(&of_place(place).collect::<Vec<f64>>(), share))
            .collect();
        let slowest = (0..count).max_by(|a, b| quick[*a].total_cmp(&quick[*b]))?;
        let others: Vec<f64> = (0..count)
            .filter(|i| *i != slowest)
            .map(|i| quick[i])
            .collect();
        let from = (slowest as u64 * length) as f64;
        stands_out(quick[slowest], &others).then(|| Fit {
            unit,
            from,
            to: from + length as f64,
            seen: times.len() / count,
            extra_s: quick[slowest] - quantile(&others, 0.25),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_units::random::SplitMix64;

    const SHORT: u64 = 32 << 10;
    const LONG: u64 = 512 << 10;

    /// Writes of `length` to a card with units of `unit`, of which the first begins at `first`.
    fn times(count: usize, length: u64, unit: u64, first: u64) -> Vec<f64> {
        let opens = |i: usize| {
            let from = i as u64 * length + unit - first % unit;
            from / unit != (from + length - 1) / unit || from.is_multiple_of(unit)
        };
        (0..count)
            .map(|i| if opens(i) { 14e-3 } else { 10e-3 })
            .collect()
    }

    #[test]
    fn units_of_any_size_are_seen_where_they_begin() {
        for (unit, first) in [
            (4 << 20, 0),
            (3 << 20, 1 << 20),
            (256 << 20, 0),
            (4128 << 10, 0),
        ] {
            let times = times(2400, LONG, unit, first);
            let found = only(&times, LONG).unwrap();
            assert_eq!(found.unit, unit);
            let first = first as f64;
            assert!(found.from <= first && first < found.to, "{found:?}");
        }
    }

    #[test]
    fn the_larger_distance_is_that_of_the_units() {
        // Pages of 128 KiB are programmed when complete; an AU has four.
        let time = |i: usize| match i {
            i if i % 16 == 3 => 9e-3,
            i if i % 4 == 3 => 4e-3,
            _ => 1e-3,
        };
        let times: Vec<f64> = (0..768).map(time).collect();
        let found: Vec<u64> = levels(&times, SHORT).iter().map(|f| f.unit).collect();
        assert_eq!(found, [128 << 10, 512 << 10]);
    }

    #[test]
    fn pauses_do_not_hide_a_unit() {
        let pauses = |i: usize, time: f64| match i * 7919 % 23 {
            0 => time + 9e-3,
            n => time + n as f64 * 1e-6,
        };
        let times = times(4096, SHORT, 4 << 20, 1 << 20);
        let times: Vec<f64> = (0..times.len()).map(|i| pauses(i, times[i])).collect();
        assert_eq!(levels(&times, SHORT), []);
        let found = folded(&times, SHORT).unwrap();
        assert_eq!((found.unit, found.from), (4 << 20, f64::from(1 << 20)));
        // Neither half of the distance nor the pauses, at every 23rd write, are taken for an AU.
        let pauses: Vec<f64> = (0..4096).map(|i| pauses(i, 10e-3)).collect();
        assert_eq!(folded(&pauses, SHORT), None);
    }

    #[test]
    fn a_large_unit_is_seen_three_times_through_pauses() {
        let pauses = |i: usize, time: f64| match i * 7919 % 23 {
            0 => time + 9e-3,
            n => time + n as f64 * 1e-6,
        };
        let plain = times(800, LONG, 128 << 20, 0);
        let times: Vec<f64> = (0..800).map(|i| pauses(i, plain[i])).collect();
        assert_eq!(folded(&times, LONG), None);
        assert_eq!(folded_few(&times, LONG).unwrap().unit, 128 << 20);
        // With many boundaries, not all must be slow; otherwise the distance would be three times as large.
        let mut often = self::times(2543, LONG, 128 << 20, 0);
        (often[256], often[512]) = (10e-3, 10e-3);
        assert_eq!(folded_few(&often, LONG).unwrap().unit, 128 << 20);
    }

    #[test]
    fn what_is_slow_now_and_then_is_no_unit() {
        let stalls = [17, 101, 333, 340, 702, 1500, 1511, 2000];
        let time = |i: usize| if stalls.contains(&i) { 2.0 } else { 10e-3 };
        let times: Vec<f64> = (0..2400).map(time).collect();
        assert_eq!(only(&times, LONG), None);
        assert_eq!(only(&[], LONG), None);
        assert_eq!(only(&[10e-3; 2400], LONG), None);
    }

    #[test]
    fn scatter_above_the_bar_does_not_hide_a_unit() {
        let mut random = SplitMix64::new(7);
        let mut scatter = || match random.below(100) {
            0 => 0.5e-3,
            n => n as f64 * 0.3e-6,
        };
        let plain = times(3800, LONG, 256 << 20, 0);
        let times: Vec<f64> = plain.iter().map(|time| time + scatter()).collect();
        assert_eq!(only(&times, LONG).unwrap().unit, 256 << 20);
    }

    #[test]
    fn a_part_of_an_au_whose_own_distance_is_unclear_is_no_unit() {
        // Slow writes 43 apart, every third of which is slower still: a distance of 129 writes is not certain.
        let time = |i: usize| match i % 129 {
            85 => 500e-3,
            42 | 128 => 20e-3,
            _ => 14e-3,
        };
        let times: Vec<f64> = (0..1024).map(time).collect();
        assert_eq!(levels(&times, SHORT), []);
    }
}
