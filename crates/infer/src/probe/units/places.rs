//! Addresses and piece lengths of the interleaved AUs. It measures nothing.

use crate::flashbench::{Care, OpenAu, Order, SHORTEST};
use crate::probe::layout::PAGE_MAX;
use crate::probe::open_answers::UNITS_MAX;
use crate::probe::{Probing, rewritten};
use nandscope_measure::target::Target;
use nandscope_units::Nanos;

/// AU size in largest pages from which the cost of closing an AU shows even with pieces as long as the largest page.
const LARGEST_PAGES: u64 = 32;
/// Distance of interleaved AUs if the AU size is unknown, bytes: a common multiple of most sizes, so that no two places share an
/// AU, and each begins one.
pub(super) const UNIT_DEFAULT: u64 = 48 << 20;
/// Number of the first AU that is certainly not in a FAT area, which begins in one of the first 16 AUs.
pub(super) const SPECIAL: u64 = 20;
/// Least number of interleaved AUs that must fit; fewer may not show how many stay open.
const FIT_LEAST: u32 = 4;
/// Number of piece lengths that are tried, in pages: one of them divides the AU.
const PIECE_PAGES: u64 = 16;
/// Time for measuring one rate.
pub(super) const BUDGET: Nanos = Nanos::from_secs(4);
/// Bytes written from the start of an AU of unknown size: no AU is smaller.
const EXTENT: u64 = 1 << 20;
/// Warm-up rounds that close AUs of the previous measurement.
const WARM: u32 = 3;

/// Plan for interleaved AUs; and the number that fits, if more would fit from the start of the target on.
pub(super) fn plan<T: Target>(
    probing: &Probing<'_, T>,
    unit: u64,
    known: bool,
    order: Order,
) -> (OpenAu, Option<u32>) {
    let low = beginning_low(probing, unit, known, order);
    // Above all AUs that may be special; with an unknown AU size, from a quarter of the target on.
    let from = match known {
        true => SPECIAL * unit,
        false => probing.target.whole().0 / 4,
    };
    let after = OpenAu {
        care: Care { from, ..low.care },
        ..low
    };
    let fit = after.fitting(probing.target.whole(), UNITS_MAX + 1);
    match fit {
        fit if fit > UNITS_MAX => (after, None),
        fit if fit >= FIT_LEAST => (after, known.then_some(fit)),
        _ => (low, None),
    }
}

pub(super) fn beginning_low<T: Target>(
    probing: &Probing<'_, T>,
    unit: u64,
    known: bool,
    order: Order,
) -> OpenAu {
    OpenAu {
        unit,
        order,
        seed: probing.options.seed,
        budget: Some(BUDGET),
        care: Care {
            warm: WARM,
            from: 4 * unit.min(UNIT_DEFAULT / 4),
            extent: if known { 0 } else { EXTENT },
            fresh: true,
            trim: true,
        },
    }
}

/// Length of the pieces, bytes: whole pages, as a partial page is written together with the rest of the page.
pub(super) fn piece(plan: &OpenAu, page: Option<u64>, seen: Option<u64>) -> u64 {
    let least = match page {
        Some(page) => page.max(SHORTEST),
        None if seen.is_some_and(|unit| unit >= LARGEST_PAGES * PAGE_MAX) => PAGE_MAX,
        None => SHORTEST,
    };
    let pages = page.into_iter().flat_map(|page| {
        let from = SHORTEST.div_ceil(page.max(1));
        (from..from + PIECE_PAGES).map(move |n| n * page)
    });
    let mut whole = pages.filter(|length| {
        let fills = seen.is_none_or(|unit| unit.is_multiple_of(*length));
        fills && length.is_multiple_of(512) && *length <= plan.unit / 4
    });
    let halves = plan.lengths(least).last().copied();
    whole.next().or(halves).unwrap_or(plan.unit)
}

/// Length of the pieces that are written backwards, bytes: whole pages of at least [`PAGE_MAX`] in total if an AU holds enough of
/// them; otherwise as many pages as fit.
pub(super) fn step_back(unit: u64, page: Option<u64>) -> Option<u64> {
    let long = PAGE_MAX.next_multiple_of(page.unwrap_or(PAGE_MAX));
    let part = unit / rewritten::PIECES.0;
    let whole = page.map(|page| part / page.max(1) * page.max(1));
    match part {
        part if long <= part => Some(long),
        _ => whole.filter(|length| *length >= SHORTEST),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_whole_pages_that_fill_the_unit() {
        let plan = |unit: u64| OpenAu {
            unit,
            order: Order::Linear,
            seed: 1,
            budget: None,
            care: Care::default(),
        };
        let of = |unit: u64, page: Option<u64>| {
            let unit = unit << 10;
            piece(&plan(unit), page.map(|p| p << 10), Some(unit)) >> 10
        };
        assert_eq!(of(4096, Some(16)), 64);
        assert_eq!(of(4096, Some(256)), 256);
        // Pages of three planes.
        assert_eq!(of(4104, Some(24)), 72);
        // Unknown pages may be as long as 512 KiB if the unit is large.
        assert_eq!(of(4096, None), 64);
        assert_eq!(of(16384, None), 512);
        // With an unknown unit, pieces are still whole pages.
        let unknown = piece(&plan(UNIT_DEFAULT), Some(128 << 10), None);
        assert_eq!(unknown, 128 << 10);
    }

    #[test]
    fn pieces_that_are_written_backwards_are_whole_pages() {
        let of = |unit: u64, page: Option<u64>| {
            step_back(unit << 10, page.map(|p| p << 10)).map(|length| length >> 10)
        };
        assert_eq!(of(4096, None), Some(512));
        assert_eq!(of(4096, Some(16)), Some(512));
        assert_eq!(of(4128, Some(96)), Some(576));
        assert_eq!(of(1024, Some(32)), Some(256));
        assert_eq!(of(1032, Some(24)), Some(240));
        // Too few pages, or possibly parts of pages.
        assert_eq!(of(1024, Some(512)), None);
        assert_eq!(of(1024, None), None);
    }
}
