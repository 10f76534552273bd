//! What the table of `flashbench -a` says: at which boundaries a read takes longer. Pure functions
//! of the table, so that recorded runs of real cards are judged as simulated ones are.

use crate::quantile::median;
use num_integer::gcd;
use std::cmp::Reverse;

/// One row: reads of one block before, across and after the multiples of `align`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlignRow {
    /// The boundary, bytes.
    pub align: u64,
    /// The block that ends at the boundary, µs.
    pub pre_us: f64,
    /// The block that lies across it, µs.
    pub on_us: f64,
    /// The block that begins at it, µs.
    pub post_us: f64,
    /// `on − (pre + post) / 2`, µs.
    pub diff_us: f64,
    /// Places that do not lie on the boundary, because they were wrapped at the end of the device.
    pub off_boundary: u32,
}

/// From this ratio between neighbouring rows on a step is visible.
pub const VISIBLE: f64 = 1.2;
/// From this ratio on it is clear.
pub const CLEAR: f64 = 1.5;

/// Clarity of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// The step is at least [`CLEAR`].
    Clear,
    /// It is only just visible.
    Weak,
    /// It is not visible: there is no conclusion.
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
    /// The row that it rises to, bytes.
    pub at: u64,
    /// Ratio of the extra times after and before.
    pub ratio: f64,
    /// Extra time below and at it, µs.
    pub from_us: f64,
    /// See `from_us`.
    pub to_us: f64,
}

impl CardStep {
    /// Clarity of the step.
    pub fn certainty(&self) -> Certainty {
        Certainty::of(self.ratio)
    }
}

/// The page and the allocation unit, if they are visible.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Boundaries {
    /// The step that is taken for the page.
    pub page: Option<CardStep>,
    /// The step that is taken for the allocation unit.
    pub unit: Option<CardStep>,
}

/// The largest page that is looked for: 128 KiB.
const PAGE_MAX: u64 = 128 << 10;
/// The smallest allocation unit: 128 KiB.
const UNIT_MIN: u64 = 128 << 10;
/// The largest allocation unit: 128 MiB.
const UNIT_MAX: u64 = 128 << 20;
/// Extra times below this share of the read itself are noise: a ratio to them would say nothing.
pub(super) const NOISE: f64 = 0.002;
/// And so are times below this, whatever the read takes, µs.
pub(super) const NOISE_US: f64 = 0.5;
/// A row at which nothing rises could be anywhere; odd factors give so many rows that one of them
/// counts only where it shows this share of the strongest step.
pub(super) const FULL: f64 = 0.7;

/// A step of a small page with less than this share of the rise at a large one is noise beside it.
const SMALL: f64 = 0.1;

/// One row for each boundary, from the largest down, with the median of all its rows in every cell;
/// a time that is missing in all of them is NaN.
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

/// The step that is taken for the page: the largest up to 128 KiB.
pub fn page_size(rows: &[AlignRow]) -> Option<CardStep> {
    largest_step(rows, 0, PAGE_MAX)
}

/// The step that is taken for the allocation unit: the largest above the page, from 128 KiB to 128 MiB.
pub fn allocation_unit(rows: &[AlignRow]) -> Option<CardStep> {
    let page = page_size(rows).filter(|s| s.certainty() != Certainty::None);
    let from = page.map_or(UNIT_MIN, |s| UNIT_MIN.max(s.at + 1));
    largest_step(rows, from, UNIT_MAX)
}

/// Page and unit from tables of several families of boundaries: powers of two, and their multiples
/// by odd numbers. Every family crosses a unit of 4 MiB (the fivefold one at 20 MiB), and crosses a unit
/// of 3 MiB in full only at multiples of three; so the smallest boundary counts that shows the
/// step in full.
pub fn boundaries(families: &[Vec<AlignRow>]) -> Boundaries {
    let Some(powers) = families.first() else {
        return Boundaries::default();
    };
    Boundaries {
        page: page_size(powers),
        unit: smallest_in_full(families, allocation_unit(powers), PAGE_MAX),
    }
}

/// The same for a card whose pages may be as long as `page_max`: what rises up to there is the page where nothing rises
/// below 128 KiB, and the unit is what rises above it.
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

/// The smallest boundary that shows the step in full: that of the powers of two, or one of their odd multiples. Up to
/// `page_max` rise pages.
fn smallest_in_full(
    families: &[Vec<AlignRow>],
    of_powers: Option<CardStep>,
    page_max: u64,
) -> Option<CardStep> {
    let mut steps: Vec<CardStep> = of_powers.into_iter().collect();
    // What rises up to the last page-like step of the powers of two rises at its multiples too.
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

/// The odd number whose products with powers of two a family has.
fn factor_of(rows: &[AlignRow]) -> u64 {
    rows.first()
        .map_or(1, |r| r.align >> r.align.trailing_zeros().min(63))
}

/// A rise must be this many times the scatter of the rows on either side of it.
const SCATTER: f64 = 8.0;
/// The scatter of a few rows may be small by chance; it is taken for this at least, µs.
const SCATTER_US: f64 = 0.3;

/// A unit whose step is small beside that of the page, but large beside the scatter of the rows: the rows
/// below it lie on one level, those from it on lie on another. For tables of many tries only; the answer
/// counts the same families as [`boundaries`]. Up to `page_max` rise pages.
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

/// Whether a step explains the rows of all families: of the multiples of a boundary a, one in
/// `unit / gcd(a, unit)` is one of the unit, and where that is a third or less, the row cannot be as high as
/// the unit's own. A smaller unit would be seen there.
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

/// The largest change of level among the rows above the page, if it is large enough.
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

/// Rows at and above a step by which it is judged: a boundary of a unit is one at its multiples too,
/// so that a lone high row is a disturbance.
const LASTING: usize = 3;

/// The largest ratio of a row to the one before it, with `from ≤ align ≤ to`, as far as the rows above
/// stay as high. Rows whose places were wrapped off their boundary are not looked at.
fn largest_step(rows: &[AlignRow], from: u64, to: u64) -> Option<CardStep> {
    let steps = steps(rows).into_iter();
    let inside = steps.filter(|s| s.at >= from && s.at <= to);
    inside.max_by(|a, b| a.ratio.total_cmp(&b.ratio))
}

/// The largest boundary up to `to` at which a step is visible; 0 where there is none.
fn last_step(rows: &[AlignRow], to: u64) -> u64 {
    let steps = steps(rows).into_iter();
    let visible = steps.filter(|s| s.at <= to && s.certainty() != Certainty::None);
    visible.map(|s| s.at).max().unwrap_or(0)
}

/// All steps that are visible, upwards.
pub fn visible_steps(rows: &[AlignRow]) -> Vec<CardStep> {
    let mut steps = steps(rows);
    steps.retain(|s| s.certainty() != Certainty::None);
    steps
}

/// All steps, visible or not, upwards.
fn steps(rows: &[AlignRow]) -> Vec<CardStep> {
    let mut rows: Vec<&AlignRow> = rows.iter().filter(|r| r.off_boundary == 0).collect();
    rows.sort_by_key(|r| r.align);
    let steps = (1..rows.len()).map(|i| {
        let (below, here) = (rows[i - 1], rows[i]);
        let floor = NOISE * (below.pre_us + below.post_us) / 2.0;
        // A time that was not recorded gives no floor.
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
        // A small page beside which nothing rises stays one.
        let small = |a: u64| if a < 16 << 10 { 2.0 } else { 200.0 };
        let found = boundaries_above(&[table(1, small)], 512 << 10);
        assert_eq!(found.page.unwrap().at, 16 << 10);
        assert_eq!(found.unit.unwrap().certainty(), Certainty::None);
    }

    #[test]
    fn a_unit_of_three_mib_is_seen_through_the_odd_multiples() {
        let unit = 3 << 20;
        // Of seven places at odd multiples of a power of two, two are multiples of three.
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
        // By powers of two alone it looks like a weak 1 MiB.
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
        // A lone high row that does lie on its boundary.
        table[12].off_boundary = 0;
        let unit = allocation_unit(&table).unwrap();
        assert_eq!(unit.certainty(), Certainty::None, "{unit:?}");
    }
}
