//! FAT area: whether the card treats some of the first AUs specially, by writing them at another rate ([`rates`]) or by keeping
//! them open in addition to others ([`kept`]).

mod kept;
mod rates;

pub(super) use rates::{FACTOR, compare};

use super::Probing;
use super::confidence::Strength;
use super::finding::{Finding, Value, counted};
use super::question::Question;
use crate::flashbench::{Care, OpenAu, OpenUnits, Order};
use crate::timed::ProbeError;
use kept::kept_open;
use nandscope_measure::target::Target;
use nandscope_units::Nanos;
use rates::{Compared, PASSES, lasting, needed, whole};

/// Number of first AUs that are tested; "no" requires all of them.
const FIRST: u32 = 16;
/// Smallest number of AUs from which the scatter is estimated.
const LEAST: u32 = 6;
/// Share of the remaining time for comparing rates; if it is not enough, only AUs kept open are searched.
const RATES: f64 = 0.6;
/// Share of the remaining time reserved for later steps.
const AFTER: f64 = 0.05;

/// Size of an allocation unit, and length of the pieces in which it is written, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) size: u64,
    pub(super) piece: u64,
}

/// Compares the first AUs with each other in both ways.
pub(super) fn first_units<T: Target>(
    probing: &mut Probing<'_, T>,
    unit: Unit,
    open: Option<OpenUnits>,
) -> Result<(), ProbeError> {
    let question = Question::Fat;
    let room = probing.target.whole().0 / unit.size.max(1);
    // Every pass writes each AU and one more before them; a quarter of the writes is for small writes.
    let affordable = |passes: u64| {
        let units = probing.writes_left() / 4 * 3 / unit.size.max(1) / passes;
        units.saturating_sub(1).min(u64::from(FIRST)).min(room / 2) as u32
    };
    let (mut passes, mut units) = (PASSES.0, affordable(PASSES.0));
    if units < FIRST {
        (passes, units) = (PASSES.1 + 1, affordable(PASSES.1 + 1));
    }
    if units < LEAST {
        let why = format!(
            "{FIRST} units are compared, at least {LEAST}, and {} could be written: the device is small, or the budget of writes is spent",
            counted(units.into(), "unit", "units")
        );
        probing.add(question.unknown(why));
        return Ok(());
    }
    // The time for one AU is used to estimate that of the others.
    let one = probing.timed(|p| whole(p, u64::from(units) * unit.size, unit))?;
    let left = probing.time_left().as_secs_f64();
    let reserve = (AFTER * left)
        + match needed(PASSES.1, units, one).as_secs_f64() {
            all if all <= RATES * left => all,
            _ => 0.0,
        };
    let end = probing.target.now() + Nanos::from_secs_f64((left - reserve).max(0.0));
    let kept = kept_open(probing, unit, units, open, end)?;
    let rates = rates::rates(probing, unit, (units, passes), one)?;
    let few = rates.is_empty();
    let mut compared = compare(&rates, 1.0);
    let none_kept = kept.as_ref().is_none_or(Vec::is_empty);
    if rates.len() == 1 || none_kept && !lasting(probing, unit, units, &compared)? {
        let units = compared.different.drain(..).map(|(unit, _)| unit);
        compared.doubtful.extend(units);
    }
    probing.add(answer(&compared, kept, units, few));
    Ok(())
}

fn answer(compared: &Compared, kept: Option<Vec<u32>>, units: u32, few: bool) -> Finding {
    let question = Question::Fat;
    let open = kept.as_ref().map_or(&[][..], |k| k);
    let mut said: Vec<String> = compared
        .different
        .iter()
        .map(|(unit, ratio)| {
            format!(
                "AU {unit} at {ratio:.2} of the rate of the other AUs, outside their range in every repeat"
            )
        })
        .collect();
    said.extend(
        open.iter()
            .map(|u| format!("AU {u} stays open while others are written")),
    );
    let none_open = kept.as_ref().is_some_and(Vec::is_empty);
    let alike = !few && compared.resolution < FACTOR && compared.doubtful.is_empty();
    if !said.is_empty() {
        let strength = match open.is_empty() {
            true => Strength::Fair,
            false => Strength::Strong,
        };
        let answer = "yes".to_string();
        return question.answer(Value::Flag(true), answer, strength, said.join("; "));
    }
    if none_open && alike && units == FIRST {
        let evidence = format!(
            "the first {units} AUs are written at the same rate within {:.0} %, and none stays open while others are written",
            100.0 * (compared.resolution - 1.0)
        );
        return question.answer(
            Value::Flag(false),
            "no".to_string(),
            Strength::Weak,
            evidence,
        );
    }
    let why = match kept {
        None if !compared.doubtful.is_empty() => {
            "one AU differs in rate in some repeats only, and whether an AU stays open while others are written could not be measured"
        }
        None => {
            "no AU differs in rate, but whether one stays open while others are written could not be measured"
        }
        Some(_) if few => {
            "no AU stays open while others are written, but the time budget ended before each was written often enough"
        }
        Some(_) if units < FIRST => {
            "no AU among those that the budget covers differs; a special one may be at higher addresses"
        }
        Some(_) => "the rates of the AUs scatter too much, or one AU differs in some repeats only",
    };
    question.unknown(format!("{units} units: {why}"))
}

/// Plan for sequential writes to AUs from number `first` on.
fn in_order_from(first: u32, unit: u64, seed: u64) -> OpenAu {
    OpenAu {
        unit,
        order: Order::Linear,
        seed,
        budget: None,
        care: Care {
            from: u64::from(first) * unit,
            ..Care::default()
        },
    }
}
