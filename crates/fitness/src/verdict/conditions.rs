//! Verdicts on years, temperatures, and power cuts, and conditions that are not simulated.

use super::{Answer, Facts, Finding, years_text};
use crate::lifetime::Years;
use crate::qualify::Measured;
use crate::requirement::Requirement;
use nandscope_units::number;

/// Lowest ambient temperature for which the model of flash and controller holds, degrees Celsius: it has no effect of cold
/// on programs, erases, batteries or clocks.
const LOWEST_C: f64 = 0.0;

/// The years in the state that wears most, the state, and whether they rest on enough erases.
pub(super) fn worst_years(
    requirement: &Requirement,
    facts: &Facts<'_>,
    measured: &[Measured],
) -> (Years, &'static str, bool) {
    let years = measured.iter().filter_map(|m| {
        let inside = m.inside?;
        let (years, is_counted) = inside.years(facts.rating, requirement.hours_per_day);
        Some((years, m.state, is_counted))
    });
    let none = Years {
        low: 0.0,
        rated: 0.0,
        high: 0.0,
    };
    years
        .min_by(|a, b| a.0.rated.total_cmp(&b.0.rated))
        .unwrap_or((none, "", false))
}

/// Verdict on the years to the rated cycles.
pub(super) fn years(
    requirement: &Requirement,
    facts: Option<&Facts<'_>>,
    measured: &[Measured],
) -> Option<Finding> {
    let wanted = requirement.years?;
    let Some(facts) = facts else {
        return Some(not_known(
            "years",
            years_text(wanted),
            "not measured",
            "a recording does not show the wear of a real device",
            "`nandscope health --log` forecasts it from what the device reports, and `nandscope lifetime` estimates it on a simulated device",
        ));
    };
    let (years, state, is_counted) = worst_years(requirement, facts, measured);
    let is_read_only = measured
        .iter()
        .any(|m| m.inside.is_some_and(|i| i.is_read_only));
    let answer = match () {
        () if is_read_only => Answer::No,
        () if years.low >= wanted => Answer::Yes,
        // With few erases the years are a lower bound, which excludes nothing.
        () if is_counted && years.high < wanted => Answer::No,
        () => Answer::NotKnown,
    };
    let rating = facts.rating;
    Some(Finding {
        requirement: "years".to_string(),
        answer,
        limit: years_text(wanted),
        found: format!("{} to {}", years_text(years.low), years_text(years.high)),
        margin: Some(years.low / wanted - 1.0),
        state: state.to_string(),
        reason: match answer {
            Answer::Yes => String::new(),
            _ if is_read_only => {
                "the device reached its end of life during the recording".to_string()
            }
            _ if !is_counted => {
                "too little was erased during the recording; record longer (--length)".to_string()
            }
            _ => format!(
                "with {} to {} rated cycles ({})",
                rating.low, rating.high, rating.source
            ),
        },
        remedy: match answer {
            Answer::Yes => String::new(),
            _ if is_read_only => "begin with a newer device".to_string(),
            _ if !is_counted => "record longer (--length)".to_string(),
            // Wear is proportional to the hours, and inversely to the blocks among which it is divided.
            _ => format!(
                "{} h a day instead of {}, or a device of {} times the capacity with these cycles",
                number::short(requirement.hours_per_day * years.low / wanted),
                number::short(requirement.hours_per_day),
                number::short(wanted / years.low.max(1e-6))
            ),
        },
    })
}

/// Verdict on the range of temperatures: the recordings ran at its upper end.
pub(super) fn temperature(
    requirement: &Requirement,
    facts: Option<&Facts<'_>>,
    measured: &[Measured],
) -> Option<Finding> {
    let (low, high) = requirement.temperature_c?;
    let Some(facts) = facts else {
        return Some(not_known(
            "temperature",
            format!("{low} to {high} °C"),
            "present temperature",
            "a real device was examined at the temperature that it has now",
            "repeat it at both ends of the range, in a climate chamber",
        ));
    };
    let limit = facts.profile.thermal.warning_c;
    let throttle = measured.iter().filter_map(|m| m.inside);
    let throttle = throttle.map(|i| i.throttle).fold(1.0, f64::min);
    let is_run_hot = (facts.ambient_c - high.max(LOWEST_C)).abs() < 0.01;
    let mut reasons = Vec::new();
    if low < LOWEST_C {
        reasons.push(format!(
            "below {LOWEST_C} °C the model has no effect of cold"
        ));
    }
    if high > limit {
        reasons.push(format!(
            "above {limit} °C, the device's warning temperature, the model is not valid"
        ));
    } else if !is_run_hot {
        reasons.push(format!(
            "the device was examined at {} °C, and a saved device cannot be heated",
            facts.ambient_c
        ));
    }
    let answer = match reasons.is_empty() {
        true => Answer::Yes,
        false => Answer::NotKnown,
    };
    Some(Finding {
        requirement: "temperature".to_string(),
        answer,
        limit: format!("{low} to {high} °C"),
        found: match throttle < 1.0 {
            true => format!(
                "{:.0} % of full speed at {} °C",
                throttle * 100.0,
                facts.ambient_c
            ),
            false => format!("full speed at {} °C", facts.ambient_c),
        },
        margin: None,
        state: String::new(),
        reason: reasons.join("; "),
        remedy: String::new(),
    })
}

/// A finding without an answer.
fn not_known(requirement: &str, limit: String, found: &str, reason: &str, remedy: &str) -> Finding {
    Finding {
        requirement: requirement.to_string(),
        answer: Answer::NotKnown,
        limit,
        found: found.to_string(),
        margin: None,
        state: String::new(),
        reason: reason.to_string(),
        remedy: remedy.to_string(),
    }
}

/// Conditions that are not simulated here.
pub(super) fn not_simulated(requirement: &Requirement) -> Vec<Finding> {
    let beyond = requirement.beyond.iter().map(|(key, text)| {
        let reason = format!("no model of {key} exists here");
        not_known(key, text.clone(), "not simulated", &reason, "")
    });
    beyond.collect()
}

/// Verdict on power cuts: whether flushed data survived them in every state.
pub(super) fn power_cuts(requirement: &Requirement, measured: &[Measured]) -> Option<Finding> {
    const LIMIT: &str = "flushed data survives";
    if !requirement.power_cuts {
        return None;
    }
    if measured.iter().all(|m| m.cuts.is_none()) {
        return Some(not_known(
            "power cuts",
            LIMIT.to_string(),
            "not cut",
            "the power of a real device is not cut here",
            "cut it while an application writes numbered records, and compare them",
        ));
    }
    let each = measured.iter().filter_map(|m| m.cuts.map(|c| (c, m.state)));
    let judged = each.map(|(cuts, state)| {
        let (answer, reason) = match cuts {
            c if c.losses > 0 => (Answer::No, "flushed data was lost or damaged".to_string()),
            c if c.cuts == 0 => (
                Answer::NotKnown,
                "no stream flushes its data, so a cut may lose any of it; add `sync`".to_string(),
            ),
            _ => (Answer::Yes, String::new()),
        };
        Finding {
            requirement: "power cuts".to_string(),
            answer,
            limit: LIMIT.to_string(),
            found: format!("{} of {} cuts", cuts.cuts - cuts.losses, cuts.cuts),
            margin: None,
            state: state.to_string(),
            reason,
            remedy: String::new(),
        }
    });
    judged.max_by_key(|f| f.answer)
}
