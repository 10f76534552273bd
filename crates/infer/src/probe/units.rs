//! Allocation units that can be written in turn, the first ones among them, and the patterns to avoid.

use super::Probing;
use super::finding::{Finding, LIKELY, SURE, Value, size};
use super::flash::Layout;
use crate::flashbench::{
    Care, Certainty, Knee, OpenAu, OpenUnits, Order, Pinned, Rate, SHORTEST, Treatment, confirmed,
    fat_and_data, find_fat, open_units, search, treatments,
};
use crate::timed::ProbeError;
use nandscope_measure::target::Target;
use nandscope_result::Curve;
use nandscope_units::{Bytes, Nanos};

/// The most units in turn.
const UNITS_MAX: u32 = 32;
/// Where the unit could not be told: a common multiple of most, so that no two places share one, and
/// each begins one.
const UNIT_DEFAULT: u64 = 48 << 20;
/// Time for one rate.
const BUDGET: Nanos = Nanos::from_secs(4);
/// Where the unit is not known, so much is written from its beginning: no unit is smaller.
const EXTENT: u64 = 1 << 20;
/// Rounds in which what the measurement before left is closed.
const WARM: u32 = 3;
/// First units that are compared.
const FIRST_UNITS: u32 = 8;
/// Units that may hold the file allocation table.
const FAT_UNITS: u64 = 2;

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
    let Value::Factor(factor) = probing.report.finding("parallelism")?.value? else {
        return None;
    };
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
    let mut at_random = None;
    for (order, (id, question)) in [Order::Linear, Order::Random].into_iter().zip(QUESTIONS) {
        if probing.writes_left() < 200 << 20 || probing.time_left() < share(probing, 0.4) {
            probing.add(Finding::cannot_tell(id, question, SPENT));
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
        let alone = in_order.is_some_and(|(_, rate)| 2.0 * one.bytes_per_s < rate);
        let most = if alone { 2 } else { UNITS_MAX };
        let rates = probing.timed(|p| search(p, &plan, length, most))?;
        let found = answers(&rates);
        probing.report.curves.extend(curve(order, &rates));
        probing.add(answer(id, question, found, alone));
        match order {
            Order::Linear => in_order = found.map(|found| (found, one.bytes_per_s)),
            Order::Random => at_random = (!alone).then_some(one.bytes_per_s),
        }
    }
    let linear = in_order.map(|(found, _)| found);
    if probing.time_left() < share(probing, 0.15) {
        probing.add(Finding::cannot_tell("fat", QUESTIONS[2].1, SPENT));
    } else if seen.is_some() {
        first_units(probing, unit, linear, at_random)?;
    } else {
        probing.add(Finding::cannot_tell(
            "fat",
            "First units treated otherwise",
            "the allocation unit was not found",
        ));
    }
    Ok(())
}

fn answers(rates: &[Rate]) -> Option<OpenUnits> {
    let rates = rates.iter().map(|r| (r.units, r.length, r.bytes_per_s));
    open_units(&rates.collect::<Vec<_>>())
}

const SPENT: &str = "the budget of time or writes is spent";
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
        },
    }
}

fn curve(order: Order, rates: &[Rate]) -> Option<Curve> {
    let points: Vec<(u32, f64)> = rates.iter().map(|r| (r.units, r.bytes_per_s)).collect();
    curve_of(order, &points)
}

/// Rates by number of units; `None` where there are none.
pub(super) fn curve_of(order: Order, rates: &[(u32, f64)]) -> Option<Curve> {
    (!rates.is_empty()).then(|| Curve {
        name: format!("units in turn, {}", order.name()),
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
    alone: bool,
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
            let confidence = match knee.certainty() {
                Certainty::Clear => SURE,
                Certainty::Weak => LIKELY,
                Certainty::None => {
                    return Finding::cannot_tell(id, question, format!("{numbers}: a slope"));
                }
            };
            Finding::new(
                id,
                question,
                Value::Count(units),
                units.to_string(),
                confidence,
                numbers,
            )
        }
        Knee::AtLeast(_) if alone => Finding::new(
            id,
            question,
            Value::Count(0),
            "none".to_string(),
            LIKELY,
            format!(
                "pieces of {pieces}: one unit is already written at less than half the rate of linear order"
            ),
        ),
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

fn first_units<T: Target>(
    probing: &mut Probing<'_, T>,
    unit: u64,
    open: Option<OpenUnits>,
    at_random: Option<f64>,
) -> Result<(), ProbeError> {
    let question = "First units treated otherwise";
    let units = FIRST_UNITS.min(u32::try_from(probing.target.whole().0 / unit).unwrap_or(0));
    let lengths: Vec<u64> = plan(probing, unit, true, Order::Linear).lengths(SHORTEST);
    // The whole unit and the shortest piece tell as much as all between.
    let lengths = [
        lengths.first().copied().unwrap_or(unit),
        lengths.last().copied().unwrap_or(unit),
    ];
    let mut said = Vec::new();
    let mut compared = true;
    for order in [Order::Linear, Order::Random] {
        let bytes = 2 * lengths.len() as u64 * u64::from(units) * unit;
        if probing.writes_left() < bytes {
            compared = false;
            break;
        }
        // Where a unit cannot be written at random at any speed, nothing can be told apart there.
        let left = share(probing, 0.15).min(probing.time_left()).as_secs_f64();
        if order == Order::Random && at_random.is_none_or(|rate| bytes as f64 / rate > left) {
            break;
        }
        let seed = probing.options.seed;
        let pass = |probing: &mut Probing<'_, T>| {
            probing.timed(|p| find_fat(p, unit, &lengths, units, order, seed))
        };
        let mut found = treatments(&pass(probing)?);
        if found.as_ref().is_some_and(|f| !f.is_empty()) {
            // A card that tidies up in the middle makes any unit slow, once.
            let again = treatments(&pass(probing)?);
            found = confirmed(found, again);
        }
        // The rates of units differ at random more than in order, with the merges that fall into them.
        let plain = |t: &&Treatment| order == Order::Linear || t.ratio.max(1.0 / t.ratio) >= 2.0;
        for t in found.iter().flatten().filter(plain) {
            said.push(format!(
                "unit {} at {:.2} of the rate of the others, {}",
                t.unit,
                t.ratio,
                order.name()
            ));
        }
        compared &= found.is_some();
    }
    let kept = kept_open(probing, unit, open)?;
    said.extend(
        kept.iter()
            .flatten()
            .map(|u| format!("unit {u} is kept open beside the others")),
    );
    let finding = if !said.is_empty() {
        Finding::new(
            "fat",
            question,
            Value::Flag(true),
            "yes".to_string(),
            SURE,
            said.join("; "),
        )
    } else if compared && kept.is_some() {
        let evidence = format!(
            "the first {units} units are written alike in both orders, and none is kept open beside the others"
        );
        Finding::new(
            "fat",
            question,
            Value::Flag(false),
            "no".to_string(),
            SURE,
            evidence,
        )
    } else {
        Finding::cannot_tell(
            "fat",
            question,
            "the number of open units is not certain, or the budget of writes is spent",
        )
    };
    probing.add(finding);
    Ok(())
}

/// Which of the first units are kept open beside the others; `None` where nothing can be told.
fn kept_open<T: Target>(
    probing: &mut Probing<'_, T>,
    unit: u64,
    open: Option<OpenUnits>,
) -> Result<Option<Vec<u64>>, ProbeError> {
    let Some(OpenUnits {
        knee: Knee::At { units, .. },
        length,
    }) = open
    else {
        return Ok(None);
    };
    let plan = plan(probing, unit, true, Order::Linear);
    if plan.fitting(probing.target.whole(), units + 2) < units + 2 {
        return Ok(None);
    }
    let mut kept = Vec::new();
    let mut told = false;
    for first in 0..FAT_UNITS {
        if (first + 1) * unit > plan.place(0) {
            break;
        }
        let rounds = probing.timed(|p| fat_and_data(p, &plan, units, length, first))?;
        match rounds.pinned() {
            Pinned::Yes => kept.push(first),
            Pinned::No => {}
            Pinned::CannotTell => continue,
        }
        told = true;
    }
    Ok(told.then_some(kept))
}

/// The slowest of the patterns that were written, and by how much.
pub(super) fn worst<T: Target>(probing: &mut Probing<'_, T>) {
    let rates = probing
        .report
        .curves
        .iter()
        .filter(|c| c.y_name == "rate" && c.y_unit == "MB/s");
    let points = rates.flat_map(|c| {
        c.x.iter()
            .zip(&c.y)
            .map(move |(x, y)| (c.name.as_str(), *x, *y))
    });
    let points: Vec<(&str, f64, f64)> = points.filter(|p| p.2 > 0.0).collect();
    let best = points.iter().map(|p| p.2).fold(0.0, f64::max);
    let Some((name, x, rate)) = points.iter().min_by(|a, b| a.2.total_cmp(&b.2)) else {
        return;
    };
    let factor = best / rate;
    let what = match *name {
        "written in order" => format!("long writes in order, after {x:.1} GB"),
        name => format!("{name}: {x:.0} of them, a piece of 64 KiB each"),
    };
    let finding = Finding::new(
        "worst",
        "The pattern to avoid",
        Value::Factor(factor),
        format!("{what}: {factor:.0} times slower"),
        LIKELY,
        format!("{rate:.2} MB/s against {best:.1} MB/s at best, of all patterns that were written"),
    );
    probing.add(finding);
}
