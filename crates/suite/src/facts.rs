//! Published measurements as tests. `facts/published.toml` and `facts/drives.toml` say what was
//! measured on real devices and by whom; `facts/checks.toml` says which figure of a review stands for which fact, and how
//! close it must come. [`publish`] puts the comparison into a result document, [`table`] makes the
//! table of docs/validation.md from it.

use crate::procedures::Procedure;
use crate::session::SuiteError;
use nandscope_result::{Figure, Published, Relation, ResultDocument, ToleranceKind};
use nandscope_units::number::significant;
use serde::Deserialize;
use std::fmt::Write;

/// Files of facts, with their names for messages.
const FACTS: [(&str, &str); 2] = [
    (
        "published.toml",
        include_str!("../../../facts/published.toml"),
    ),
    ("drives.toml", include_str!("../../../facts/drives.toml")),
];
const CHECKS: &str = include_str!("../../../facts/checks.toml");

#[derive(Debug, Deserialize)]
struct Facts {
    fact: Vec<Fact>,
}

/// One published statement; fields that are not used here are for readers of the file.
#[derive(Debug, Deserialize)]
struct Fact {
    id: String,
    source: String,
    quantity: String,
    value: toml::Value,
    op: Relation,
}

#[derive(Debug, Deserialize)]
struct Checks {
    check: Vec<Check>,
}

/// Which figure stands for which fact.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Check {
    device: String,
    /// Name of the procedure that measures the figure.
    #[serde(default = "card")]
    procedure: String,
    fact: String,
    figure: String,
    /// Which value of a fact that has several.
    field: Option<String>,
    /// The fact's value times this is in the figure's unit.
    #[serde(default = "one")]
    scale: f64,
    tolerance: f64,
    #[serde(default)]
    kind: ToleranceKind,
    /// What the fact says in numbers, where it is words.
    #[serde(default)]
    value: Option<f64>,
    /// How that is to be read; as the fact itself where left out.
    #[serde(default)]
    op: Option<Relation>,
    /// Where the figure is known to miss the fact: why.
    #[serde(default)]
    why: String,
}

fn card() -> String {
    Procedure::Card.name().to_string()
}

fn one() -> f64 {
    1.0
}

/// Devices of the library for which there are checks, each with the procedures that measure them,
/// in alphabetical order.
///
/// # Errors
/// Where the built-in checks cannot be read, or name an unknown procedure.
pub fn validations() -> Result<Vec<(String, Procedure)>, SuiteError> {
    let checks: Checks =
        toml::from_str(CHECKS).map_err(|e| SuiteError::Facts(format!("facts/checks.toml: {e}")))?;
    let mut pairs: Vec<(String, String)> = checks
        .check
        .into_iter()
        .map(|c| (c.device, c.procedure))
        .collect();
    pairs.sort_unstable();
    pairs.dedup();
    let known = |(device, procedure): (String, String)| {
        Procedure::find(&procedure).map(|procedure| (device, procedure))
    };
    pairs.into_iter().map(known).collect()
}

/// Puts published values beside the figures of a review of `device`, in the document and its steps.
///
/// # Errors
/// Where the built-in facts or checks cannot be read or do not fit together.
pub fn publish(document: &mut ResultDocument, device: &str) -> Result<(), SuiteError> {
    let fault = |what: &str, e: String| SuiteError::Facts(format!("facts/{what}: {e}"));
    let mut facts: Vec<Fact> = Vec::new();
    for (name, text) in FACTS {
        let some: Facts = toml::from_str(text).map_err(|e| fault(name, e.to_string()))?;
        facts.extend(some.fact);
    }
    let checks: Checks = toml::from_str(CHECKS).map_err(|e| fault("checks.toml", e.to_string()))?;
    for check in checks.check.iter().filter(|c| c.device == device) {
        let fact = facts
            .iter()
            .find(|f| f.id == check.fact)
            .ok_or_else(|| fault("checks.toml", format!("there is no fact `{}`", check.fact)))?;
        let value = check.value_of(fact).ok_or_else(|| {
            fault(
                "checks.toml",
                format!(
                    "fact `{}` is no number: {}; say with `value` and `op` what it means",
                    check.fact, fact.quantity
                ),
            )
        })?;
        for figure in figures_mut(document).filter(|f| f.id == check.figure) {
            figure.published = Some(compare(figure.value, value, fact, check));
        }
    }
    Ok(())
}

impl Check {
    /// The published value, in the figure's unit.
    fn value_of(&self, fact: &Fact) -> Option<f64> {
        if self.value.is_some() {
            return self.value;
        }
        let value = match &self.field {
            Some(field) => fact.value.get(field)?,
            None => &fact.value,
        };
        number(value).map(|value| value * self.scale)
    }
}

fn figures_mut(document: &mut ResultDocument) -> impl Iterator<Item = &mut Figure> {
    document
        .steps
        .iter_mut()
        .flat_map(|s| s.figures.iter_mut())
        .chain(document.figures.iter_mut())
}

fn number(value: &toml::Value) -> Option<f64> {
    match value {
        toml::Value::Integer(n) => Some(*n as f64),
        toml::Value::Float(x) => Some(*x),
        toml::Value::Boolean(b) => Some(if *b { 1.0 } else { 0.0 }),
        // A range stands for its middle; see `half_width`.
        toml::Value::Array(ends) => match ends.as_slice() {
            [low, high] => Some((number(low)? + number(high)?) / 2.0),
            _ => None,
        },
        _ => None,
    }
}

/// Half the width of a fact that is a range.
fn half_width(fact: &Fact) -> Option<f64> {
    let ends = fact
        .value
        .as_array()
        .filter(|_| fact.op == Relation::Range)?;
    match ends.as_slice() {
        [low, high] => Some((number(high)? - number(low)?) / 2.0),
        _ => None,
    }
}

fn compare(measured: f64, value: f64, fact: &Fact, check: &Check) -> Published {
    // A range without a tolerance is met within its ends: its middle, give or take.
    let (tolerance, kind, op) = match half_width(fact) {
        Some(half) if check.tolerance == 0.0 => (
            half * check.scale,
            &ToleranceKind::Absolute,
            &Relation::About,
        ),
        _ => (
            check.tolerance,
            &check.kind,
            check.op.as_ref().unwrap_or(&fact.op),
        ),
    };
    let margin = if *kind == ToleranceKind::Relative {
        tolerance * value.abs()
    } else {
        tolerance
    };
    let met = match op {
        Relation::Below | Relation::AtMost if check.tolerance == 0.0 => measured <= value,
        Relation::Above | Relation::AtLeast if check.tolerance == 0.0 => measured >= value,
        _ => (measured - value).abs() <= margin,
    };
    Published {
        fact: fact.id.clone(),
        value,
        op: op.clone(),
        tolerance,
        tolerance_kind: kind.clone(),
        met,
        why: if met {
            String::new()
        } else {
            check.why.clone()
        },
        source: fact.source.clone(),
    }
}

/// One row of the validation table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The figure, with the published value.
    pub figure: Figure,
    /// The published value.
    pub published: Published,
}

impl Row {
    /// Difference from the published value, in percent of it; `None` where that is zero.
    pub fn error_percent(&self) -> Option<f64> {
        let published = self.published.value;
        (published != 0.0).then(|| (self.figure.value / published - 1.0) * 100.0)
    }
}

/// The figures of a document that stand for published facts, in the order of the document.
pub fn rows(document: &ResultDocument) -> Vec<Row> {
    document
        .all_figures()
        .filter_map(|f| {
            f.published.clone().map(|published| Row {
                figure: f.clone(),
                published,
            })
        })
        .collect()
}

/// The validation table in Markdown.
pub fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| fact | what | published | simulated | error | tolerance | met |\n|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let (figure, p) = (&row.figure, &row.published);
        let mode = figure
            .mode
            .as_deref()
            .map(|m| format!("{m}: "))
            .unwrap_or_default();
        let op = if p.op == Relation::Equal {
            String::new()
        } else {
            format!("{} ", p.op)
        };
        let error = row
            .error_percent()
            .map_or("–".to_string(), |e| format!("{e:+.1} %"));
        let tolerance = match (&p.tolerance_kind, p.tolerance) {
            (_, 0.0) => "as printed".to_string(),
            (ToleranceKind::Relative, t) => format!("{:.0} %", t * 100.0),
            (_, t) => format!("± {t} {}", figure.unit),
        };
        let met = if p.met {
            "yes".to_string()
        } else {
            format!("no: {}", p.why)
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {} | {mode}{} | {op}{} {u} | {} {u} | {error} | {tolerance} | {met} |",
            p.fact,
            figure.title,
            short(p.value),
            short(figure.value),
            u = figure.unit
        );
    }
    text
}

fn short(value: f64) -> String {
    let max_decimals = if value == value.trunc() { 0 } else { 2 };
    significant(value, 3, max_decimals)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Vec<Fact> {
        let read = |text: &str| toml::from_str::<Facts>(text).unwrap().fact;
        FACTS.iter().flat_map(|(_, text)| read(text)).collect()
    }

    fn fact(value: &str, op: &str) -> Fact {
        Fact {
            id: "X-1".into(),
            source: String::new(),
            quantity: String::new(),
            value: toml::Value::String(value.into()),
            op: op.into(),
        }
    }

    fn check(tolerance: f64, kind: &str, op: Option<&str>) -> Check {
        Check {
            device: String::new(),
            procedure: String::new(),
            fact: "X-1".into(),
            figure: String::new(),
            field: None,
            scale: 1.0,
            tolerance,
            kind: kind.into(),
            value: None,
            op: op.map(Relation::from),
            why: "because".into(),
        }
    }

    #[test]
    fn every_recorded_measurement_of_a_drive_is_held_against_its_profile() {
        let checks: Checks = toml::from_str(CHECKS).unwrap();
        let unused: Vec<String> = facts()
            .into_iter()
            .map(|f| f.id)
            .filter(|id| id.starts_with("D-") && checks.check.iter().all(|c| c.fact != *id))
            .collect();
        assert!(unused.is_empty(), "{unused:?}");
    }

    #[test]
    fn identifiers_of_facts_are_unique_across_the_files() {
        let mut ids: Vec<String> = facts().into_iter().map(|f| f.id).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }

    #[test]
    fn words_are_held_as_the_check_reads_them() {
        let words = fact("beats the other", "rank");
        for (measured, value, op, tolerance, kind, met) in [
            (0.1, 0.0, ">", 0.0, "relative", true),
            (-0.1, 0.0, ">", 0.0, "relative", false),
            (-4.0, -5.0, "~", 5.0, "absolute", true),
            (0.5, -5.0, "~", 5.0, "absolute", false),
        ] {
            let held = compare(measured, value, &words, &check(tolerance, kind, Some(op)));
            assert_eq!(held.met, met, "{measured} {op} {value}");
            assert_eq!(held.op.as_str(), op);
            assert_eq!(held.why.is_empty(), met);
        }
    }
}
