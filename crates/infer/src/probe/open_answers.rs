//! Findings and curves about the number of open AUs, from rates measured by this program or recorded by others. It measures
//! nothing.

use super::confidence::Strength;
use super::finding::{Finding, Value, counted, size};
use super::question::Question;
use crate::flashbench::{Certainty, Knee, OpenUnits, Order};
use nandscope_result::Curve;

/// Largest number of interleaved AUs, so that up to 32 open AUs are counted.
pub(super) const UNITS_MAX: u32 = 33;

/// Finding that no AU stays open in random order.
pub(super) fn none(question: Question, unit_known: bool, length: u64) -> Finding {
    let evidence = format!(
        "pieces of {}: one unit is already written at less than half the rate of linear order",
        size(length)
    );
    if !unit_known {
        let why = format!(
            "{evidence}; without an allocation unit of many pieces, that may be opening the next ones"
        );
        return question.unknown(why);
    }
    let answer = "none".to_string();
    let strength = Strength::Fair;
    question.answer(Value::Count(0), answer, strength, evidence)
}

pub(super) fn curve_name(order: Order) -> String {
    format!("interleaved AUs, {}", order.name())
}

/// Name of the curve with one AU more than stay open, in pieces shorter than those used for counting.
pub(super) fn short_pieces(order: Order) -> String {
    format!("{}, short pieces", curve_name(order))
}

/// Curve of the rates by number of AUs, from (AUs, bytes per second); `None` without rates.
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
        ..Curve::default()
    })
}

/// The question about open AUs in this order.
pub(super) const fn question(order: Order) -> Question {
    match order {
        Order::Linear => Question::OpenLinear,
        Order::Random => Question::OpenRandom,
    }
}

pub(super) fn answer(question: Question, found: Option<OpenUnits>) -> Finding {
    let Some(OpenUnits { knee, length }) = found else {
        return question.unknown("nothing could be measured");
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
                    return question.unknown(format!("{numbers}: a slope"));
                }
            };
            question.answer(Value::Count(units), units.to_string(), strength, numbers)
        }
        Knee::AtLeast(units) => question.unknown(format!(
            "at least {units}: pieces of {pieces} into up to {}, and no collapse",
            counted(u64::from(units), "unit", "units")
        )),
        Knee::Unknown => question.unknown("fewer than two units fit the device"),
    }
}
