//! Allocation units that can be written in turn, the first ones among them.

use super::finding::{Finding, Value};
use super::layout::{Layout, PAGE_MAX};
use super::open_answers::{QUESTIONS, UNITS_MAX, curve_of, short_pieces};
use super::{Probing, fat, knee, withdrawn};
use crate::flashbench::{Care, Knee, OpenAu, OpenUnits, Order, Rate, SHORTEST};
use crate::timed::ProbeError;
use nandscope_measure::target::Target;
use nandscope_result::Curve;
use nandscope_units::{Bytes, Nanos};

/// A unit of so many of the largest pages is large enough that closing one still shows with pieces as long as they are.
const LARGEST_PAGES: u64 = 32;
/// Distance of places if the unit is not known: a common multiple of most units, so that no two places share one, and
/// each begins one.
const UNIT_DEFAULT: u64 = 48 << 20;
/// An area of file allocation tables that begins in one of the first sixteen units ends before this one.
const SPECIAL: u64 = 20;
/// Units by which those lie further up that are written in short pieces.
const SHORT_SHIFT: u64 = 9;
/// So few of them may not show how many stay open.
const FIT_LEAST: u32 = 4;
/// Pieces of so many numbers of pages are tried: one of them fills a unit without a rest.
const PIECE_PAGES: u64 = 16;
/// Time for one rate.
const BUDGET: Nanos = Nanos::from_secs(4);
/// Bytes that one stream writes for one rate at most.
const ENOUGH: u64 = 24 << 20;
/// Bytes written from the beginning of a unit of unknown size: no unit is smaller.
const EXTENT: u64 = 1 << 20;
/// Rounds in which what the measurement before left is closed.
const WARM: u32 = 3;

/// Share of the time that is left at least where all rates are measured again.
const AGAIN: f64 = 0.3;

/// Finds the number of open units in both orders, and how the first ones are treated.
pub(super) fn open<T: Target>(
    probing: &mut Probing<'_, T>,
    layout: Layout,
) -> Result<(), ProbeError> {
    if let Some(why) = probing.overlaps() {
        for (id, question) in QUESTIONS {
            probing.add(Finding::cannot_tell(id, question, why.clone()));
        }
        return Ok(());
    }
    let seen = layout.unit;
    let unit = seen.unwrap_or(UNIT_DEFAULT);
    let page = probing.report.bytes("page");
    probing.target.begin_at(Bytes(layout.first));
    let mut in_order: Option<(Option<OpenUnits>, f64)> = None;
    // Whether writing to ever more units became slow, in either order.
    let mut collapses = [None, None];
    for (order, asked) in [Order::Linear, Order::Random].into_iter().zip(QUESTIONS) {
        let (id, question) = asked;
        if probing.writes_left() < 200 << 20 || probing.time_left() < share(probing, 0.15) {
            probing.add(Finding::cannot_tell(id, question, SPENT));
            continue;
        }
        if order == Order::Random && seen.is_some() && !layout.placed {
            probing.add(Finding::cannot_tell(id, question, UNPLACED));
            continue;
        }
        let (mut plan, low) = plan(probing, unit, seen.is_some(), order);
        if plan.fitting(probing.target.whole(), 1) == 0 {
            probing.add(Finding::cannot_tell(id, question, SMALL));
            continue;
        }
        let length = piece(&plan, page, seen);
        let one = probing.timed(|p| plan.rate(p, 1, length))?;
        // Fast streams need no more time than some writes take.
        let enough = Nanos::from_secs_f64(ENOUGH as f64 / one.bytes_per_s.max(1.0));
        plan.budget = Some(BUDGET.min(enough));
        // In one unit at random already slow: with more of them it will not be any faster.
        let alone = in_order.is_some_and(|(_, rate)| rewrites(&one, rate, seen));
        let most = if alone { 2 } else { UNITS_MAX };
        let mut measured = knee::measure(probing, &plan, length, most)?;
        if let (Some(fit), Some(found)) = (low, measured.found)
            && matches!(found.knee, Knee::AtLeast(n) if n >= fit)
        {
            // More of them fit if the first ones count, which may be treated otherwise.
            let budget = plan.budget;
            plan = beginning_low(probing, unit, seen.is_some(), order);
            plan.budget = budget;
            measured = knee::measure(probing, &plan, length, most)?;
        }
        if measured.by_chance() && probing.time_left() > share(probing, AGAIN) {
            measured = knee::measure(probing, &plan, length, most)?;
        }
        let (measured, length) = match alone || seen.is_none() {
            true => (measured, length),
            false => knee::with_longest(probing, &plan, length, most, measured)?,
        };
        let (measured, length) = match alone {
            true => (measured, length),
            false => knee::borne_out(probing, &plan, length, most, measured)?,
        };
        let none_seen = matches!(measured.found.map(|f| f.knee), Some(Knee::AtLeast(_)));
        let slows = alone || !none_seen || knee::slows_further_up(probing, &plan, length)?;
        collapses[usize::from(order == Order::Random)] = Some(slows);
        probing.report.curves.extend(curve(order, &measured.rates));
        let finding = knee::answer(asked, &measured, seen, alone);
        let rewritten = in_order.is_some_and(|(_, rate)| one.bytes_per_s < AS_QUICK * rate);
        let finding = match finding.value.is_some() && length > SHORTEST && rewritten && !alone {
            true => Finding::cannot_tell(id, question, format!("{}; {REWRITES}", finding.evidence)),
            false => finding,
        };
        let certain = finding.value.is_some();
        let short = plan.lengths(SHORTEST).last().copied().unwrap_or(unit);
        if let Some(Value::Count(units)) = finding.value
            && short < length
        {
            // What short pieces cost, to compare patterns of all devices.
            let rate = probing.timed(|p| plan.shifted(p, units + 1, short, SHORT_SHIFT))?;
            let short = curve(order, &[rate]);
            probing.report.curves.extend(short.map(|curve| Curve {
                name: short_pieces(order),
                ..curve
            }));
        }
        probing.add(finding);
        if order == Order::Linear {
            in_order = Some((measured.found.filter(|_| certain), one.bytes_per_s));
        }
    }
    let linear = in_order.and_then(|(found, _)| found);
    if !layout.written && collapses.iter().all(|c| *c == Some(false)) {
        withdrawn::not_borne_out(&mut probing.report, layout);
    }
    withdrawn::may_be_mapped(&mut probing.report);
    if probing.time_left() < share(probing, 0.1) {
        probing.add(Finding::cannot_tell("fat", QUESTIONS[2].1, SPENT));
    } else if seen.is_some() && !layout.placed {
        probing.add(Finding::cannot_tell("fat", QUESTIONS[2].1, UNPLACED));
    } else if seen.is_some() {
        let plan = beginning_low(probing, unit, true, Order::Linear);
        let length = piece(&plan, page, seen);
        fat::first_units(probing, (unit, length), linear)?;
    } else {
        probing.add(Finding::cannot_tell(
            "fat",
            QUESTIONS[2].1,
            "the allocation unit was not found",
        ));
    }
    Ok(())
}

const SPENT: &str = "the budget of time or writes is spent";
const REWRITES: &str =
    "but one unit alone is slower than in order, as where it is rewritten for each piece";
pub(super) const UNPLACED: &str = "it is not known where the first unit begins";
const SMALL: &str = "the target is too small for units that lie far apart";

/// A share of all the time there is.
fn share<T: Target>(probing: &Probing<'_, T>, share: f64) -> Nanos {
    Nanos((probing.options.time.0 as f64 * share) as u64)
}

/// Where units are written in turn; and how many fit there, if more would fit from the beginning of the target on.
fn plan<T: Target>(
    probing: &Probing<'_, T>,
    unit: u64,
    known: bool,
    order: Order,
) -> (OpenAu, Option<u32>) {
    let low = beginning_low(probing, unit, known, order);
    // After everything that may be treated differently: where the size of the units is not known, a quarter up.
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

fn beginning_low<T: Target>(
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

/// Length of the pieces: whole pages, since part of one is written with what the page had before, whatever stays open.
fn piece(plan: &OpenAu, page: Option<u64>, seen: Option<u64>) -> u64 {
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

fn curve(order: Order, rates: &[Rate]) -> Option<Curve> {
    let points: Vec<(u32, f64)> = rates.iter().map(|r| (r.units, r.bytes_per_s)).collect();
    curve_of(order, &points)
}

/// A piece at a random place costs this share of the time to write the whole unit in order more at least, where the unit is
/// rewritten for it: on average a third of its pages are copied, by a controller that may be some times as fast as the link.
const REWRITTEN: f64 = 0.05;

/// Long pieces of a unit that is not rewritten are written in any order at this share of the rate in order at least.
const AS_QUICK: f64 = 0.8;

/// Whether the rate of one unit written at random shows that it is rewritten for every piece, `rate` being that in order.
fn rewrites(one: &Rate, rate: f64, unit: Option<u64>) -> bool {
    let more_s = one.length as f64 / one.bytes_per_s.max(1e-9) - one.length as f64 / rate.max(1e-9);
    let unit_s = unit.unwrap_or(0) as f64 / rate.max(1e-9);
    2.0 * one.bytes_per_s < rate && more_s > REWRITTEN * unit_s
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
        // Pages may be as long as 512 KiB where none is known, and the unit is large.
        assert_eq!(of(4096, None), 64);
        assert_eq!(of(16384, None), 512);
        // Without the unit, pages all the same.
        let unknown = piece(&plan(UNIT_DEFAULT), Some(128 << 10), None);
        assert_eq!(unknown, 128 << 10);
    }
}
