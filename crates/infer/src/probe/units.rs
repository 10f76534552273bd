//! Allocation units that can be written in turn, the first ones among them, and the patterns to avoid.

use super::confidence::Strength;
use super::finding::{Finding, Value, size};
use super::flash::Layout;
use super::writes::IN_ORDER;
use super::{Probing, Report, fat, knee, withdrawn};
use crate::flashbench::{Care, Certainty, Knee, OpenAu, OpenUnits, Order, Rate, SHORTEST};
use crate::timed::ProbeError;
use nandscope_measure::target::Target;
use nandscope_result::Curve;
use nandscope_units::{Bytes, Nanos};

/// The most units in turn.
pub(super) const UNITS_MAX: u32 = 32;
/// Where the unit could not be told: a common multiple of most, so that no two places share one, and
/// each begins one.
const UNIT_DEFAULT: u64 = 48 << 20;
/// Time for one rate.
const BUDGET: Nanos = Nanos::from_secs(4);
/// Where the unit is not known, so much is written from its beginning: no unit is smaller.
const EXTENT: u64 = 1 << 20;
/// Rounds in which what the measurement before left is closed.
const WARM: u32 = 3;

const QUESTIONS: [(&str, &str); 3] = [
    ("open-linear", "Open allocation units, written in order"),
    ("open-random", "Open allocation units, written at random"),
    ("fat", "First units treated otherwise"),
];
/// A device that does so many reads at once is no card with allocation units: those do one thing
/// after another.
const OVERLAPS: f64 = 1.6;

/// Why the device has no allocation units, where it has none.
pub(super) fn overlaps<T: Target>(probing: &Probing<'_, T>) -> Option<String> {
    let factor = probing.overlap;
    (factor >= OVERLAPS).then(|| {
        format!("it does {factor:.1} reads at once, as devices do that map single pages; boundaries in them are those of stripes, and there are no units to be opened")
    })
}

/// Finds the number of open units in both orders, and how the first ones are treated.
pub(super) fn open<T: Target>(
    probing: &mut Probing<'_, T>,
    layout: Layout,
) -> Result<(), ProbeError> {
    if let Some(why) = overlaps(probing) {
        for (id, question) in QUESTIONS {
            probing.add(Finding::cannot_tell(id, question, why.clone()));
        }
        return Ok(());
    }
    let seen = layout.unit;
    let unit = seen.unwrap_or(UNIT_DEFAULT);
    probing.target.begin_at(Bytes(layout.first));
    let mut in_order: Option<(OpenUnits, f64)> = None;
    // Whether writing to ever more units became slow, in either order.
    let mut collapses = [None, None];
    for (order, asked) in [Order::Linear, Order::Random].into_iter().zip(QUESTIONS) {
        let (id, question) = asked;
        if probing.writes_left() < 200 << 20 || probing.time_left() < share(probing, 0.3) {
            probing.add(Finding::cannot_tell(id, question, SPENT));
            continue;
        }
        if order == Order::Random && seen.is_some() && !layout.placed {
            probing.add(Finding::cannot_tell(id, question, UNPLACED));
            continue;
        }
        let plan = plan(probing, unit, seen.is_some(), order);
        if plan.fitting(probing.target.whole(), 1) == 0 {
            probing.add(Finding::cannot_tell(id, question, SMALL));
            continue;
        }
        let length = plan.lengths(SHORTEST).last().copied().unwrap_or(unit);
        let one = probing.timed(|p| plan.rate(p, 1, length))?;
        // In one unit at random already slow: with more of them it will not be any faster.
        let alone = in_order.is_some_and(|(_, rate)| rewrites(&one, rate, seen));
        let most = if alone { 2 } else { UNITS_MAX };
        let measured = knee::measure(probing, &plan, length, most)?;
        let none_seen = matches!(measured.found.map(|f| f.knee), Some(Knee::AtLeast(_)));
        let slows = alone || !none_seen || knee::slows_further_up(probing, &plan, length)?;
        collapses[usize::from(order == Order::Random)] = Some(slows);
        probing.report.curves.extend(curve(order, &measured.rates));
        let finding = knee::answer(asked, &measured, seen, alone);
        let certain = finding.value.is_some();
        probing.add(finding);
        if order == Order::Linear {
            in_order = measured
                .found
                .filter(|_| certain)
                .map(|found| (found, one.bytes_per_s));
        }
    }
    let linear = in_order.map(|(found, _)| found);
    if !layout.written && collapses.iter().all(|c| *c == Some(false)) {
        withdrawn::not_borne_out(&mut probing.report, layout);
    }
    withdrawn::may_be_mapped(&mut probing.report);
    if probing.time_left() < share(probing, 0.15) {
        probing.add(Finding::cannot_tell("fat", QUESTIONS[2].1, SPENT));
    } else if seen.is_some() && !layout.placed {
        probing.add(Finding::cannot_tell("fat", QUESTIONS[2].1, UNPLACED));
    } else if seen.is_some() {
        fat::first_units(probing, unit, linear)?;
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
const UNPLACED: &str = "it is not known where the first unit begins";
const SMALL: &str = "the target is too small for units that lie far apart";

/// A share of all the time there is.
fn share<T: Target>(probing: &Probing<'_, T>, share: f64) -> Nanos {
    Nanos((probing.options.time.0 as f64 * share) as u64)
}

fn plan<T: Target>(probing: &Probing<'_, T>, unit: u64, known: bool, order: Order) -> OpenAu {
    OpenAu {
        unit,
        order,
        seed: probing.options.seed,
        budget: Some(BUDGET),
        care: Care {
            warm: WARM,
            // Behind everything that may be treated otherwise.
            from: 4 * unit.min(UNIT_DEFAULT / 4),
            extent: if known { 0 } else { EXTENT },
            fresh: true,
            trim: true,
        },
    }
}

fn curve(order: Order, rates: &[Rate]) -> Option<Curve> {
    let points: Vec<(u32, f64)> = rates.iter().map(|r| (r.units, r.bytes_per_s)).collect();
    curve_of(order, &points)
}

/// A piece at a random place costs this share of the time to write the whole unit in order at least, where the unit is
/// rewritten for it: on average a third of its pages are copied, by a controller that may be some times as fast as the link.
const REWRITTEN: f64 = 0.05;

/// Whether the rate of one unit written at random shows that it is rewritten for every piece, `rate` being that in order.
fn rewrites(one: &Rate, rate: f64, unit: Option<u64>) -> bool {
    let piece_s = one.length as f64 / one.bytes_per_s.max(1e-9);
    let unit_s = unit.unwrap_or(0) as f64 / rate.max(1e-9);
    2.0 * one.bytes_per_s < rate && piece_s > REWRITTEN * unit_s
}

/// No unit can be written at random.
pub(super) fn none(
    (id, question): (&'static str, &'static str),
    unit_known: bool,
    length: u64,
) -> Finding {
    let evidence = format!(
        "pieces of {}: one unit is already written at less than half the rate of linear order",
        size(length)
    );
    if !unit_known {
        let why = format!("{evidence}; without the allocation unit that may be several of them");
        return Finding::cannot_tell(id, question, why);
    }
    let answer = "none".to_string();
    let strength = Strength::Fair;
    Finding::new(id, question, Value::Count(0), answer, strength, evidence)
}

fn curve_name(order: Order) -> String {
    format!("units in turn, {}", order.name())
}

/// Rates by number of units; `None` where there are none.
pub(super) fn curve_of(order: Order, rates: &[(u32, f64)]) -> Option<Curve> {
    (!rates.is_empty()).then(|| Curve {
        name: curve_name(order),
        x_name: "units".to_string(),
        x_unit: String::new(),
        y_name: "rate".to_string(),
        y_unit: "MB/s".to_string(),
        x: rates.iter().map(|r| f64::from(r.0)).collect(),
        y: rates.iter().map(|r| r.1 / 1e6).collect(),
        threshold: None,
    })
}

/// Name and question of the number of open units in an order.
pub(super) fn question(order: Order) -> (&'static str, &'static str) {
    match order {
        Order::Linear => QUESTIONS[0],
        Order::Random => QUESTIONS[1],
    }
}

pub(super) fn answer(
    id: &'static str,
    question: &'static str,
    found: Option<OpenUnits>,
) -> Finding {
    let Some(OpenUnits { knee, length }) = found else {
        return Finding::cannot_tell(id, question, "nothing could be measured");
    };
    let pieces = size(length);
    match knee {
        Knee::At { units, drop, step } => {
            let numbers = format!(
                "pieces of {pieces}: one unit more than {units} divides the rate by {step:.2}, to 1/{drop:.1} of the best"
            );
            let strength = match knee.certainty() {
                Certainty::Clear => Strength::Strong,
                Certainty::Weak => Strength::Fair,
                Certainty::None => {
                    return Finding::cannot_tell(id, question, format!("{numbers}: a slope"));
                }
            };
            Finding::new(
                id,
                question,
                Value::Count(units),
                units.to_string(),
                strength,
                numbers,
            )
        }
        Knee::AtLeast(units) => Finding::cannot_tell(
            id,
            question,
            format!(
                "at least {units}: pieces of {pieces} into up to {units} units, and no collapse"
            ),
        ),
        Knee::Unknown => Finding::cannot_tell(id, question, "fewer than two units fit the device"),
    }
}

/// The slowest of the patterns that were written, and by how much. A single slow rate is a stall, and no pattern: its
/// neighbours must be slow as well.
pub(super) fn worst<T: Target>(probing: &mut Probing<'_, T>) {
    let rates = probing
        .report
        .curves
        .iter()
        .filter(|c| c.y_name == "rate" && c.y_unit == "MB/s");
    let mut best = 0.0_f64;
    let mut slowest: Option<(&str, f64, f64)> = None;
    for curve in rates {
        best = curve.y.iter().copied().fold(best, f64::max);
        let together = lasting(&probing.report, &curve.name);
        for (i, rates) in curve.y.windows(together).enumerate() {
            let rate = rates.iter().copied().fold(0.0, f64::max);
            if rate > 0.0 && slowest.is_none_or(|s| rate < s.2) {
                slowest = Some((&curve.name, curve.x[i + together - 1], rate));
            }
        }
    }
    let Some((name, x, rate)) = slowest else {
        return;
    };
    let factor = best / rate;
    let what = match name {
        IN_ORDER => format!("long writes in order, after {x:.1} GB"),
        name => format!("{name}: {x:.0} of them, a piece of 64 KiB each"),
    };
    let finding = Finding::new(
        "worst",
        "The pattern to avoid",
        Value::Factor(factor),
        format!("{what}: {factor:.0} times slower"),
        Strength::Strong,
        format!("{rate:.2} MB/s against {best:.1} MB/s at best, of all patterns that were written"),
    );
    probing.add(finding);
}

/// Rates in a row that are slow together where writing in order is.
const LASTING: usize = 6;

/// How many rates in a row must be slow. One is enough of units in turn whose fall was measured again and again.
fn lasting(report: &Report, curve: &str) -> usize {
    let of = |order: Order| curve_name(order) == curve && report.count(question(order).0).is_some();
    match curve {
        IN_ORDER => LASTING,
        _ if of(Order::Linear) || of(Order::Random) => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slow_rate_is_a_stall_unless_a_fall_was_measured_again() {
        let mut report = Report::default();
        let linear = curve_name(Order::Linear);
        assert_eq!(lasting(&report, IN_ORDER), LASTING);
        assert_eq!(lasting(&report, &linear), 2);
        let (id, question) = question(Order::Linear);
        let count = Value::Count(4);
        let evidence = String::new();
        let found = Finding::new(
            id,
            question,
            count,
            "4".to_string(),
            Strength::Strong,
            evidence,
        );
        report.findings.push(found);
        assert_eq!(lasting(&report, &linear), 1);
        assert_eq!(lasting(&report, &curve_name(Order::Random)), 2);
    }
}
