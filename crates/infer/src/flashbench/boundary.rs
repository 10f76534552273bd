//! Finds the boundaries at which reads take longer in a table of `flashbench -a`. Pure functions of the table, so that recorded
//! runs of real cards and simulated ones are judged alike.

use crate::quantile::median;
use num_integer::gcd;
use std::cmp::Reverse;

/// One row: reads of one block before, across and after the multiples of `align`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlignRow {
    /// The boundary, bytes.
    pub align: u64,
    /// Time of the read that ends at the boundary, µs.
    pub pre_us: f64,
    /// Time of the read across the boundary, µs.
    pub on_us: f64,
    /// Time of the read that begins at the boundary, µs.
    pub post_us: f64,
    /// `on − (pre + post) / 2`, µs.
    pub diff_us: f64,
    /// Places that do not lie on the boundary, because they were wrapped at the end of the device.
    pub off_boundary: u32,
}

/// Smallest ratio between neighbouring rows at which a step is visible.
pub const VISIBLE: f64 = 1.2;
/// Smallest ratio between neighbouring rows at which a step is clear.
pub const CLEAR: f64 = 1.5;

/// Clarity of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// The ratio is at least [`CLEAR`].
    Clear,
    /// The ratio is at least [`VISIBLE`], and less than [`CLEAR`].
    Weak,
    /// The ratio is less than [`VISIBLE`]: no conclusion.
    None,
}

impl Certainty {
    pub(super) fn of(ratio: f64) -> Self {
        match ratio {
            r if r >= CLEAR => Certainty::Clear,
            r if r >= VISIBLE => Certainty::Weak,
            _ => Certainty::None,
        }
    }
}

/// Largest rise of the extra time from one row to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CardStep {
    /// Boundary of the row with the larger time, bytes.
    pub at: u64,
    /// Ratio of the extra times of the two rows, not less than 0.5 µs each.
    pub ratio: f64,
    /// Extra time of the next smaller boundary, µs.
    pub from_us: f64,
    /// Extra time of the boundary `at`, µs.
    pub to_us: f64,
}

impl CardStep {
    /// Clarity of the step.
    pub fn certainty(&self) -> Certainty {
        Certainty::of(self.ratio)
    }
}

/// Page and allocation unit; `None` if the table has no rows for them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Boundaries {
    /// Step at the page size.
    pub page: Option<CardStep>,
    /// Step at the size of the allocation unit.
    pub unit: Option<CardStep>,
}

/// Largest page size, bytes.
const PAGE_MAX: u64 = 128 << 10;
/// Smallest allocation unit, bytes.
const UNIT_MIN: u64 = 128 << 10;
/// Largest allocation unit that is recognized, bytes.
const UNIT_MAX: u64 = 128 << 20;
/// Largest extra time, as a share of the read time, that is noise without a meaningful ratio.
pub(super) const NOISE: f64 = 0.002;
/// Largest extra time that is noise, however short the read, µs.
pub(super) const NOISE_US: f64 = 0.5;
/// Least rise of an odd multiple that counts as the AU, as a share of the strongest rise: with several odd factors, some row is
/// high by chance.
pub(super) const FULL: f64 = 0.7;

/// Least rise at a small page, as a share of the rise at a larger page; a smaller rise is noise.
const SMALL: f64 = 0.1;

/// One row per boundary, from the largest down, with the median of every column over the rows of that boundary. A time
/// that no row has is NaN.
pub fn medians(rows: &[AlignRow]) -> Vec<AlignRow> {
    let mut aligns: Vec<u64> = rows.iter().map(|r| r.align).collect();
    aligns.sort_unstable_by_key(|a| Reverse(*a));
    aligns.dedup();
    let row = |align: u64| {
        let of = |time: fn(&AlignRow) -> f64| {
            let times = rows.iter().filter(|r| r.align == align).map(time);
            let times: Vec<f64> = times.filter(|t| t.is_finite()).collect();
            if times.is_empty() {
                return f64::NAN;
            }
            median(&times)
        };
        AlignRow {
            align,
            pre_us: of(|r| r.pre_us),
            on_us: of(|r| r.on_us),
            post_us: of(|r| r.post_us),
            diff_us: of(|r| r.diff_us),
            off_boundary: 0,
        }
    };
    aligns.into_iter().map(row).collect()
}

/// Page size: the largest step up to 128 KiB.
pub fn page_size(rows: &[AlignRow]) -> Option<CardStep> {
    largest_step(rows, 0, PAGE_MAX)
}

/// Allocation unit: the largest step above the page, from 128 KiB to 128 MiB.
pub fn allocation_unit(rows: &[AlignRow]) -> Option<CardStep> {
    let page = page_size(rows).filter(|s| s.certainty() != Certainty::None);
    let from = page.map_or(UNIT_MIN, |s| UNIT_MIN.max(s.at + 1));
    largest_step(rows, from, UNIT_MAX)
}

/// Page and allocation unit from tables of several families of boundaries: powers of two, and their multiples by odd numbers.
/// Every family has rows whose boundaries are all multiples of an AU of 4 MiB (the fivefold one from 20 MiB on); of an AU of 3
/// MiB, only families of multiples of three have such rows. So the AU is the smallest boundary with the full rise.
pub fn boundaries(families: &[Vec<AlignRow>]) -> Boundaries {
    let Some(powers) = families.first() else {
        return Boundaries::default();
    };
    Boundaries {
        page: page_size(powers),
        unit: smallest_in_full(families, allocation_unit(powers), PAGE_MAX),
    }
}

/// Like [`boundaries`] for pages of up to `page_max` bytes: a step up to there is the page unless one is visible up to 128 KiB,
/// and the AU is the largest step above `page_max`.
pub fn boundaries_above(families: &[Vec<AlignRow>], page_max: u64) -> Boundaries {
    let Some(powers) = families.first() else {
        return Boundaries::default();
    };
    let rise = |s: &CardStep| s.to_us - s.from_us;
    let large = largest_step(powers, PAGE_MAX + 1, page_max);
    let larger = |s: &CardStep| large.is_none_or(|l| rise(s) >= SMALL * rise(&l));
    let small = page_size(powers).filter(|s| s.certainty() != Certainty::None);
    let unit = largest_step(powers, page_max + 1, UNIT_MAX);
    Boundaries {
        page: small.filter(larger).or(large),
        unit: smallest_in_full(families, unit, page_max),
    }
}

/// The smallest boundary with the full rise among powers of two and their odd multiples. Steps up to `page_max` are pages.
fn smallest_in_full(
    families: &[Vec<AlignRow>],
    of_powers: Option<CardStep>,
    page_max: u64,
) -> Option<CardStep> {
    let mut steps: Vec<CardStep> = of_powers.into_iter().collect();
    // The last page-like step of the powers of two also appears at its odd multiples.
    let page_like = last_step(families.first()?, page_max);
    let odd = families.iter().skip(1).filter_map(|rows| {
        let from = UNIT_MIN.max(factor_of(rows).saturating_mul(page_like) + 1);
        largest_step(rows, from, UNIT_MAX)
    });
    steps.extend(odd.filter(|s| s.certainty() == Certainty::Clear));
    let rise = |s: &CardStep| s.to_us - s.from_us;
    let strongest = steps.iter().map(rise).fold(0.0, f64::max);
    let full = steps.into_iter().filter(|s| rise(s) >= FULL * strongest);
    full.min_by_key(|s| s.at)
}

/// The odd factor of a family: its boundaries are products of it with powers of two.
fn factor_of(rows: &[AlignRow]) -> u64 {
    rows.first()
        .map_or(1, |r| r.align >> r.align.trailing_zeros().min(63))
}

/// A rise must be at least this many times the scatter of the rows on either side.
const SCATTER: f64 = 8.0;
/// Least scatter that is assumed, µs: a few rows may agree by chance.
const SCATTER_US: f64 = 0.3;

/// Finds an AU whose step is small compared with that of the page, but large compared with the scatter: the rows below it have
/// one level, those from it on another. For tables of many tries only; `families` as in [`boundaries`]. Steps up to `page_max`
/// are pages.
pub fn faint_unit(families: &[Vec<AlignRow>], page_max: u64) -> Option<CardStep> {
    let powers = families.first()?;
    let page = last_step(powers, page_max).max(UNIT_MIN / 2);
    let all = families
        .iter()
        .filter_map(|rows| level(rows, factor_of(rows).saturating_mul(page)));
    let steps: Vec<CardStep> = all.collect();
    let rise = |s: &CardStep| s.to_us - s.from_us;
    let strongest = steps.iter().map(rise).fold(0.0, f64::max);
    let full = steps.into_iter().filter(|s| rise(s) >= FULL * strongest);
    full.min_by_key(|s| s.at)
}

/// Whether an AU explains the rows of all families. Of the multiples of a boundary a, one in `unit / gcd(a, unit)` is a multiple
/// of the AU; where that is a third or less, the row must stay below the AU's own. A high row there means a smaller AU.
pub fn explains(step: &CardStep, families: &[Vec<AlignRow>]) -> bool {
    let rise = step.to_us - step.from_us;
    families.iter().all(|rows| {
        let from = UNIT_MIN.max(step.at / 3);
        let rows = rows.iter().filter(|r| r.off_boundary == 0);
        let rows = rows.filter(|r| (from..=UNIT_MAX).contains(&r.align));
        let sparse = rows.filter(|r| step.at / gcd(step.at, r.align) >= 3);
        let high = sparse.map(|r| r.diff_us > step.from_us + FULL * rise);
        let high: Vec<bool> = high.collect();
        let violations = high.iter().filter(|high| **high).count();
        violations < 2 || violations * 2 < high.len()
    })
}

/// The largest change of level among the rows above the page, if it exceeds the scatter.
fn level(rows: &[AlignRow], page: u64) -> Option<CardStep> {
    let inside = |r: &&AlignRow| r.off_boundary == 0 && r.align > page && r.align <= UNIT_MAX;
    let mut rows: Vec<&AlignRow> = rows.iter().filter(inside).collect();
    rows.sort_by_key(|r| r.align);
    let diffs: Vec<f64> = rows.iter().map(|r| r.diff_us).collect();
    let splits = (2..diffs.len().saturating_sub(1)).map(|i| {
        let (below, above) = diffs.split_at(i);
        let (from, to) = (median(below), median(above));
        let off = below
            .iter()
            .map(|d| d - from)
            .chain(above.iter().map(|d| d - to));
        let off: Vec<f64> = off.map(f64::abs).collect();
        let worst = off.iter().copied().fold(SCATTER_US, f64::max);
        (i, from, to, (to - from) / worst)
    });
    let best = splits.max_by(|a, b| a.3.total_cmp(&b.3));
    best.filter(|b| b.3 >= SCATTER)
        .map(|(i, from_us, to_us, _)| CardStep {
            at: rows[i].align,
            ratio: to_us / from_us.max(NOISE_US),
            from_us,
            to_us,
        })
}

/// Rows from a step on whose median limits its height: multiples of an AU boundary are AU boundaries too, so a single high row is
/// a disturbance.
const LASTING: usize = 3;

/// The step with the largest ratio at a boundary from `from` to `to`. Rows with places that wrapped off the boundary are ignored.
fn largest_step(rows: &[AlignRow], from: u64, to: u64) -> Option<CardStep> {
    let steps = steps(rows).into_iter();
    let inside = steps.filter(|s| s.at >= from && s.at <= to);
    inside.max_by(|a, b| a.ratio.total_cmp(&b.ratio))
}

/// The largest boundary up to `to` with a visible step; 0 if there is no such step.
fn last_step(rows: &[AlignRow], to: u64) -> u64 {
    let steps = steps(rows).into_iter();
    let visible = steps.filter(|s| s.at <= to && s.certainty() != Certainty::None);
    visible.map(|s| s.at).max().unwrap_or(0)
}

/// All visible steps, from the smallest boundary up.
pub fn visible_steps(rows: &[AlignRow]) -> Vec<CardStep> {
    let mut steps = steps(rows);
    steps.retain(|s| s.certainty() != Certainty::None);
    steps
}

/// All steps, visible or not, from the smallest boundary up.
fn steps(rows: &[AlignRow]) -> Vec<CardStep> {
    let mut rows: Vec<&AlignRow> = rows.iter().filter(|r| r.off_boundary == 0).collect();
    rows.sort_by_key(|r| r.align);
    let steps = (1..rows.len()).map(|i| {
        let (below, here) = (rows[i - 1], rows[i]);
        let floor = NOISE * (below.pre_us + below.post_us) / 2.0;
        // The floor is unknown if the times were not recorded.
        let floor = if floor.is_finite() { floor } else { 0.0 }.max(NOISE_US);
        let above = &rows[i..rows.len().min(i + LASTING)];
        let above: Vec<f64> = above.iter().map(|r| r.diff_us).collect();
        let low = below.diff_us.max(floor);
        let high = here.diff_us.min(median(&above)).max(floor);
        CardStep {
            at: here.align,
            ratio: high / low,
            from_us: below.diff_us,
            to_us: here.diff_us,
        }
    });
    steps.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(diffs: &[(u64, f64)]) -> Vec<AlignRow> {
        let row = |(align, diff_us): &(u64, f64)| AlignRow {
            align: *align,
            pre_us: 800.0,
            on_us: 800.0 + diff_us,
            post_us: 800.0,
            diff_us: *diff_us,
            off_boundary: 0,
        };
        diffs.iter().map(row).collect()
    }

    /// A table with a page of 16 KiB and the given extra times above it.
    fn table(factor: u64, extra: impl Fn(u64) -> f64) -> Vec<AlignRow> {
        let aligns = (11..=27).map(|k| factor << k);
        rows(&aligns.map(|a| (a, extra(a))).collect::<Vec<_>>())
    }

    #[test]
    fn a_median_row_leaves_out_what_is_missing() {
        let mut runs = rows(&[(4096, 10.0), (8192, 1.0), (4096, 30.0), (4096, 11.0)]);
        for row in &mut runs {
            row.pre_us = f64::NAN;
        }
        runs[2].post_us = f64::NAN;
        runs[0].post_us = 5.0;
        runs[3].post_us = 6.0;
        let found = medians(&runs);
        let cells: Vec<_> = found.iter().map(|r| (r.align, r.diff_us)).collect();
        assert_eq!(cells, [(8192, 1.0), (4096, 11.0)]);
        assert_eq!(found[1].post_us, 5.5);
        assert!(found.iter().all(|r| r.pre_us.is_nan()));
        assert_eq!(medians(&[]), []);
    }

    #[test]
    fn finds_page_and_unit_and_no_unit_in_a_flat_table() {
        let extra = |unit: u64| {
            move |a: u64| match a {
                a if a < 16 << 10 => 3.0,
                a if a < unit => 160.0,
                _ => 310.0,
            }
        };
        let found = boundaries(&[table(1, extra(4 << 20))]);
        assert_eq!(found.page.unwrap().at, 16 << 10);
        let unit = found.unit.unwrap();
        assert_eq!((unit.at, unit.certainty()), (4 << 20, Certainty::Clear));
        let flat = boundaries(&[table(1, extra(u64::MAX))]);
        assert_eq!(flat.unit.unwrap().certainty(), Certainty::None);
        assert_eq!(boundaries(&[]), Boundaries::default());
    }

    #[test]
    fn a_page_of_128_kib_is_not_taken_for_a_unit() {
        let extra = |a: u64| match a {
            a if a < 128 << 10 => 5.0,
            a if a < 4 << 20 => 200.0,
            _ => 400.0,
        };
        let found = boundaries(&[table(1, extra)]);
        assert_eq!(found.page.unwrap().at, 128 << 10);
        assert_eq!(found.unit.unwrap().at, 4 << 20);
    }

    #[test]
    fn a_unit_above_a_page_of_512_kib_is_seen() {
        let extra = |a: u64| match a {
            a if a < 512 << 10 => 2.0,
            a if a < 4 << 20 => 200.0,
            _ => 260.0,
        };
        let tables = [table(1, extra)];
        assert_eq!(boundaries(&tables).unit.unwrap().at, 512 << 10);
        let found = boundaries_above(&tables, 512 << 10);
        assert_eq!(found.page.unwrap().at, 512 << 10);
        assert_eq!(found.unit.unwrap().at, 4 << 20);
        // Without a step above it, a small page remains the answer.
        let small = |a: u64| if a < 16 << 10 { 2.0 } else { 200.0 };
        let found = boundaries_above(&[table(1, small)], 512 << 10);
        assert_eq!(found.page.unwrap().at, 16 << 10);
        assert_eq!(found.unit.unwrap().certainty(), Certainty::None);
    }

    #[test]
    fn a_unit_of_three_mib_is_seen_through_the_odd_multiples() {
        let unit = 3 << 20;
        // Two of seven places at odd multiples of a power of two are multiples of three.
        let extra = |factor: u64| {
            move |a: u64| match a {
                a if a < 16 << 10 => 3.0,
                a if a.is_multiple_of(unit) => 300.0,
                a if a >= 1 << 20 && !factor.is_multiple_of(3) => 100.0 + 200.0 * 2.0 / 7.0,
                _ => 100.0,
            }
        };
        let families: Vec<_> = [1, 3, 5, 7, 9].map(|f| table(f, extra(f))).into();
        assert_eq!(boundaries(&families).unit.unwrap().at, unit);
        // The powers of two alone suggest a weak AU of 1 MiB.
        assert_eq!(boundaries(&families[..1]).unit.unwrap().at, 1 << 20);
    }

    #[test]
    fn noise_near_zero_makes_no_step() {
        let mut table = table(1, |a| if a < 16 << 10 { 0.01 } else { 100.0 });
        table[1].diff_us = 0.3;
        table[0].diff_us = -0.2;
        assert_eq!(page_size(&table).unwrap().at, 16 << 10);
        let quick = rows(&[(2048, 0.001), (4096, 0.02), (8192, 0.02), (16384, 0.02)]);
        assert_eq!(page_size(&quick).unwrap().certainty(), Certainty::None);
        let wrapped = AlignRow {
            diff_us: 9000.0,
            off_boundary: 2,
            ..table[12]
        };
        table[12] = wrapped;
        let unit = allocation_unit(&table).unwrap();
        assert_eq!(unit.certainty(), Certainty::None, "{unit:?}");
        // A single high row whose places all lie on the boundary.
        table[12].off_boundary = 0;
        let unit = allocation_unit(&table).unwrap();
        assert_eq!(unit.certainty(), Certainty::None, "{unit:?}");
    }
}
