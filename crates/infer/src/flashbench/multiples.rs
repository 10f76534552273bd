//! Finds steps in tables of `flashbench -a` with boundaries of any size, in any order, with gaps. A boundary is either a multiple
//! of a size or not, so that no row of a table is "above" another one. Pure functions of the table.

use super::boundary::{AlignRow, Certainty, FULL, NOISE, NOISE_US};
use crate::quantile::median;
use num_integer::gcd;

/// A size that divides the rows into two groups: reads across its multiples take longer.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// The size, bytes.
    pub at: u64,
    /// Other sizes with the same multiples in the table, for example because rows are missing.
    pub alternatives: Vec<u64>,
    /// Extra time of a read across nearby boundaries that are not multiples of the size, µs.
    pub from_us: f64,
    /// Extra time of a read across multiples of the size, µs.
    pub to_us: f64,
    /// Scatter of the extra times between trials and between rows of one group, µs.
    pub scatter_us: f64,
}

impl Split {
    /// Ratio of the extra times, not less than 0.5 µs each.
    pub fn ratio(&self) -> f64 {
        self.to_us.max(NOISE_US) / self.from_us.max(NOISE_US)
    }

    /// Difference of the extra times, µs.
    pub fn rise_us(&self) -> f64 {
        self.to_us - self.from_us
    }

    /// Clarity of the step.
    pub fn certainty(&self) -> Certainty {
        Certainty::of(self.ratio())
    }
}

/// A boundary, and its extra time in each trial, µs.
struct Row {
    align: u64,
    trials: Vec<f64>,
    middle: f64,
    /// Extra times below this are noise, µs.
    floor: f64,
}

/// Odd factors of AU sizes: planes and bits per cell; the other factor is a power of two.
const ODD: [u64; 5] = [1, 3, 5, 7, 9];
/// A size is judged by the boundaries up to this factor larger or smaller, or by the nearest [`MANY`] if rows are missing.
const NEAR: u64 = 8;
/// In a group of at least this many rows, one may be an outlier: a stall, or a place that wrapped at the end of the device.
const MANY: usize = 4;
/// A step is at least this many times the standard deviation within a group.
const SCATTER: f64 = 4.0;
/// Standard deviation of normal noise divided by the median difference between neighbours.
const OF_DIFFERENCES: f64 = 1.05;

/// Number of trials in a table: the smallest number of rows with equal boundaries.
pub fn trials(rows: &[AlignRow]) -> usize {
    let counts = by_boundary(rows).into_iter().map(|r| r.trials.len());
    counts.min().unwrap_or(0)
}

/// All sizes from `from` to `to` at whose multiples reads take longer than at other boundaries by more than the scatter, in
/// ascending order. `rows` has one row per boundary and trial, in any order.
pub fn splits(rows: &[AlignRow], (from, to): (u64, u64)) -> Vec<Split> {
    let rows = by_boundary(rows);
    let mut sizes: Vec<u64> = rows
        .iter()
        .flat_map(|row| divisors(row.align))
        .filter(|size| (from..=to).contains(size))
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mut found: Vec<(Vec<u64>, Split)> = Vec::new();
    for size in sizes {
        let Some((multiples, split)) = split(&rows, size) else {
            continue;
        };
        match found.iter_mut().find(|(same, _)| *same == multiples) {
            Some((_, first)) => first.alternatives.push(size),
            None => found.push((multiples, split)),
        }
    }
    found.into_iter().map(|(_, split)| split).collect()
}

/// Sizes of 512 bytes or more, powers of two times an odd factor of `ODD`, that divide a boundary.
fn divisors(align: u64) -> impl Iterator<Item = u64> {
    let twos = align.trailing_zeros().min(63);
    let odd = ODD
        .into_iter()
        .filter(move |odd| align.is_multiple_of(*odd));
    odd.flat_map(move |odd| (9..=twos).map(move |k| odd << k))
}

fn by_boundary(rows: &[AlignRow]) -> Vec<Row> {
    let mut aligns: Vec<u64> = rows.iter().map(|r| r.align).collect();
    aligns.sort_unstable();
    aligns.dedup();
    let row = |align: u64| {
        let of = || rows.iter().filter(move |r| r.align == align);
        let trials: Vec<f64> = of().map(|r| r.diff_us).collect();
        let reads: Vec<f64> = of().map(|r| (r.pre_us + r.post_us) / 2.0).collect();
        // The floor is unknown if a time was cut off at the edge of a screen.
        let floor = NOISE * median(&reads);
        let floor = if floor.is_finite() { floor } else { 0.0 };
        Row {
            align,
            middle: median(&trials),
            trials,
            floor: floor.max(NOISE_US),
        }
    };
    aligns.into_iter().map(row).collect()
}

/// The boundaries that are multiples of the size, and the step; `None` if the step is within the scatter.
fn split(rows: &[Row], size: u64) -> Option<(Vec<u64>, Split)> {
    let (mut multiples, mut others): (Vec<&Row>, Vec<&Row>) =
        rows.iter().partition(|r| r.align.is_multiple_of(size));
    let at = multiples.iter().map(|r| r.align).collect();
    let mut seen = 0;
    multiples.retain(|r| {
        seen += 1;
        r.align / NEAR <= size || seen <= MANY
    });
    let below = others.len().saturating_sub(MANY);
    let mut seen = 0;
    others.retain(|r| {
        seen += 1;
        r.align / NEAR <= size && (r.align.saturating_mul(NEAR) >= size || seen > below)
    });
    // The places of a row are equidistant: for a size with an odd factor, some of them are multiples of the size although the
    // boundary is not.
    let (some, none): (Vec<&Row>, Vec<&Row>) = others.into_iter().partition(|r| {
        let share = size / gcd(size, r.align);
        share % 2 == 1
    });
    let levels = |of: &dyn Fn(&Row) -> f64| levels(&multiples, &none, size, of);
    let (from_us, to_us) = levels(&|r| r.middle)?;
    let trials = rows.iter().map(|r| r.trials.len()).max()?;
    let in_each = (0..trials).all(|trial| {
        let of_trial = |r: &Row| r.trials.get(trial).copied().unwrap_or(r.middle);
        levels(&of_trial).is_some_and(|(from, to)| to > from)
    });
    let split = Split {
        at: size,
        alternatives: Vec::new(),
        from_us,
        to_us,
        scatter_us: scatter(rows, &multiples),
    };
    let floor = none.iter().map(|r| r.floor).fold(NOISE_US, f64::max);
    let seen = to_us.max(floor) / from_us.max(floor);
    let full = from_us + FULL * split.rise_us();
    let unexplained = some.iter().any(|r| r.middle > full);
    let stands_out = split.rise_us() >= split.scatter_us && Certainty::of(seen) != Certainty::None;
    (in_each && stands_out && !unexplained).then_some((at, split))
}

/// Levels of the two groups: the highest of the other boundaries, and the lowest of the multiples, without one outlier in a group
/// of [`MANY`] or more. The nearest boundary on either side always counts, or half and twice the AU size would look like the AU.
fn levels(
    multiples: &[&Row],
    others: &[&Row],
    size: u64,
    of: &dyn Fn(&Row) -> f64,
) -> Option<(f64, f64)> {
    let sorted = |rows: &[&Row]| {
        let mut values: Vec<f64> = rows.iter().map(|r| of(r)).collect();
        values.sort_unstable_by(f64::total_cmp);
        values
    };
    let (high, low) = (sorted(multiples), sorted(others));
    let but_one = |n: usize| usize::from(n >= MANY);
    let lowest = high.get(but_one(high.len())).copied()?;
    let highest = low.iter().rev().nth(but_one(low.len())).copied()?;
    let first = multiples.iter().min_by_key(|r| r.align)?;
    let below = others.iter().filter(|r| r.align < size);
    let below = below.max_by_key(|r| r.align).map_or(highest, |r| of(r));
    // A single row may be a disturbance.
    (high.len() > 1).then_some((highest.max(below), lowest.min(of(first))))
}

/// Scatter of the extra times, µs: the range over the trials of a row, and the differences between neighbouring rows of one
/// group.
fn scatter(rows: &[Row], multiples: &[&Row]) -> f64 {
    let differences: Vec<f64> = multiples
        .windows(2)
        .map(|pair| (pair[0].middle - pair[1].middle).abs())
        .collect();
    let ranges: Vec<f64> = rows
        .iter()
        .map(|r| {
            let most = r.trials.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let least = r.trials.iter().copied().fold(f64::INFINITY, f64::min);
            most - least
        })
        .collect();
    let of_rows = SCATTER * OF_DIFFERENCES * median(&differences);
    of_rows.max(median(&ranges))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(diffs: &[(u64, f64)]) -> Vec<AlignRow> {
        let row = |(align, diff_us): &(u64, f64)| AlignRow {
            align: *align,
            pre_us: 600.0,
            on_us: 600.0 + diff_us,
            post_us: 600.0,
            diff_us: *diff_us,
            off_boundary: 0,
        };
        diffs.iter().map(row).collect()
    }

    /// A table with pages of 16 KiB, at powers of two and, if `odd`, also at three times these.
    fn table(unit: u64, odd: bool) -> Vec<AlignRow> {
        let extra = |align: u64| {
            // Deterministic noise.
            let noise = (align >> 7).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60;
            let level = match align {
                a if a.is_multiple_of(unit) => 210.0,
                a if a.is_multiple_of(16 << 10) => 35.0,
                _ => 3.0,
            };
            (align, level + noise as f64 / 4.0)
        };
        let powers = (11..=30).map(|k| 1_u64 << k);
        let threefold = (11..=29).map(|k| 3_u64 << k).filter(|_| odd);
        let all: Vec<(u64, f64)> = powers.chain(threefold).map(extra).collect();
        rows(&all)
    }

    fn units(rows: &[AlignRow]) -> Vec<(u64, usize)> {
        let found = splits(rows, (128 << 10, 128 << 20));
        let of = |s: Split| (s.at, s.alternatives.len());
        found.into_iter().map(of).collect()
    }

    #[test]
    fn a_row_that_is_no_multiple_is_not_above_one_that_is() {
        for unit in [1 << 20, 4 << 20, 8 << 20, 16 << 20] {
            assert_eq!(units(&table(unit, true)), [(unit, 0)]);
            assert_eq!(units(&table(unit, false)), [(unit, 0)]);
        }
        // AUs of three times a power of two.
        for unit in [3 << 20, 12 << 20, 24 << 20] {
            assert_eq!(units(&table(unit, true)), [(unit, 0)]);
        }
        let pages = splits(&table(8 << 20, true), (1024, 128 << 10));
        assert_eq!(pages.iter().map(|p| p.at).collect::<Vec<_>>(), [16 << 10]);
    }

    #[test]
    fn the_order_of_the_rows_does_not_matter() {
        let mut rows = table(8 << 20, true);
        let upwards = units(&rows);
        rows.reverse();
        assert_eq!(units(&rows), upwards);
        rows.sort_by_key(|r| r.align.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        assert_eq!(units(&rows), upwards);
    }

    #[test]
    fn where_rows_are_missing_every_size_that_fits_is_named() {
        let mut rows = table(8 << 20, true);
        rows.retain(|r| r.align != 8 << 20 && r.align != 16 << 20);
        // The boundary at 12 MiB is low, and those at 24 and 32 MiB are high.
        let found = splits(&rows, (128 << 10, 128 << 20));
        assert_eq!((found[0].at, found[0].alternatives.len()), (8 << 20, 0));
        assert!(
            found.iter().all(|s| s.at.is_multiple_of(8 << 20)),
            "{found:?}"
        );
        let mut gap = table(4 << 20, false);
        gap.retain(|r| r.align != 4 << 20);
        let found = splits(&gap, (128 << 10, 128 << 20));
        assert_eq!(
            (found[0].at, &found[0].alternatives[..]),
            (4 << 20, &[8 << 20][..])
        );
    }

    #[test]
    fn a_step_within_the_scatter_of_the_trials_is_none() {
        // All rows have one level; the first trial alone would show a step at 64 KiB.
        let trial = |add: &dyn Fn(u32) -> f64| {
            let all = (11..=24).map(|k| (1 << k, 4.0 + add(k)));
            rows(&all.collect::<Vec<_>>())
        };
        let first = trial(&|k| if k >= 16 { 3.5 } else { 0.0 });
        let second = trial(&|k| if k % 2 == 0 { 3.0 } else { 9.0 });
        let third = trial(&|k| f64::from(k % 5) * 2.0);
        let all = [first, second, third].concat();
        assert_eq!(trials(&all), 3);
        assert_eq!(splits(&all, (1024, 128 << 20)), []);
    }

    #[test]
    fn a_single_row_makes_no_step() {
        let mut rows = table(4 << 20, false);
        for row in rows.iter_mut().filter(|r| r.align == 512 << 10) {
            row.diff_us = 900.0;
        }
        assert_eq!(units(&rows), [(4 << 20, 0)]);
        assert_eq!(splits(&[], (1024, 1 << 20)), []);
    }
}
