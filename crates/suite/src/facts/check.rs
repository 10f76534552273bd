//! The checks: which figure represents which fact, and which parameters were fitted to it.

use super::criterion::{Criterion, CriterionError};
use super::record::Fact;
use crate::procedure::Procedure;
use crate::step_runner::SuiteError;
use nandscope_result::{Relation, ToleranceKind};
use serde::Deserialize;

const CHECKS: &str = include_str!("../../../../facts/checks.toml");

#[derive(Debug, Deserialize)]
struct Checks {
    check: Vec<Check>,
}

/// Whether a figure could miss its fact: a parameter fitted to the fact makes the figure meet it easily.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Parameters fitted to the fact, or to another point of its series: keys of the device's profile, `hosts/NAME:KEY`
    /// of a host's, `devices/NAME:KEY` of another device's, `link:NAME` of a link mode, `series:KEY` of the recorded series.
    Calibrated(Vec<String>),
    /// No parameter was fitted to the fact.
    Predicted,
}

/// A figure and the fact that it represents.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Check {
    pub(super) device: String,
    /// Host of the library; empty for the hosts that the profile names.
    #[serde(default)]
    pub(super) host: String,
    /// Name of the procedure that gives the figure.
    #[serde(default = "card")]
    pub(super) procedure: String,
    pub(super) fact: String,
    pub(super) figure: String,
    /// Name of the value, for a fact that has several.
    pub(super) field: Option<String>,
    /// Factor from the unit of the fact to that of the figure.
    #[serde(default = "one")]
    pub(super) scale: f64,
    #[serde(default)]
    pub(super) tolerance: f64,
    #[serde(default)]
    pub(super) kind: ToleranceKind,
    /// Value of a fact stated in words: a number or the two ends of a range.
    pub(super) value: Option<toml::Value>,
    /// Relation of the value, such as "at least"; left out, that of the fact.
    pub(super) op: Option<Relation>,
    /// How a statement in words is read as numbers, such as the range of "slightly lower".
    #[serde(default)]
    pub(super) reads: String,
    /// How the published measurement differs from the simulated one.
    #[serde(default)]
    pub(super) measured_as: String,
    /// Parameters fitted to the fact.
    #[serde(default)]
    pub(super) calibrated: Vec<String>,
    /// Whether no parameter was fitted to the fact.
    #[serde(default)]
    pub(super) predicted: bool,
    /// Whether link or host set the value.
    #[serde(default)]
    pub(super) limited: bool,
    /// Reason why the figure misses the fact, if it does.
    #[serde(default)]
    pub(super) why: String,
}

fn card() -> String {
    Procedure::Card.name().to_string()
}

fn one() -> f64 {
    1.0
}

/// All checks, in the order of the file, then those of the recorded series.
pub(super) fn all() -> Result<Vec<Check>, SuiteError> {
    let mut all = parse(CHECKS)?;
    all.extend(super::series::checks()?);
    Ok(all)
}

pub(super) fn parse(text: &str) -> Result<Vec<Check>, SuiteError> {
    let checks: Checks =
        toml::from_str(text).map_err(|e| SuiteError::Facts(format!("facts/checks.toml: {e}")))?;
    Ok(checks.check)
}

impl Check {
    /// The criterion for the figure.
    ///
    /// # Errors
    /// `Facts` if the fact is not a number and the check does not say what it is in numbers, or if what it says is
    /// impossible.
    pub(super) fn criterion(&self, fact: &Fact) -> Result<Criterion, SuiteError> {
        let value = match (&self.value, &self.field) {
            (Some(value), _) => Some(value),
            (None, Some(field)) => fact.value.get(field),
            (None, None) => Some(&fact.value),
        };
        // The check's own numbers are in the figure's unit; those of the fact are scaled.
        let scale = if self.value.is_some() {
            1.0
        } else {
            self.scale
        };
        let op = self.op.as_ref().unwrap_or(&fact.op);
        value
            .ok_or(CriterionError::NoSuchField)
            .and_then(|v| Criterion::new(v, scale, op, self.tolerance, &self.kind))
            .map_err(|e| self.fault(&format!("{e} ({})", fact.quantity)))
    }

    /// Whether a parameter was fitted to the fact.
    ///
    /// # Errors
    /// `Facts` if the check says neither or both.
    pub(super) fn basis(&self) -> Result<Basis, SuiteError> {
        match (self.calibrated.is_empty(), self.predicted) {
            (false, false) => Ok(Basis::Calibrated(self.calibrated.clone())),
            (true, true) => Ok(Basis::Predicted),
            _ => Err(self.fault("say either `calibrated` with the parameters or `predicted`")),
        }
    }

    /// Remark on how the fact is read, and on differences of the measurement.
    pub(super) fn remark(&self) -> String {
        let measured = Some(&self.measured_as).filter(|m| !m.is_empty());
        let measured = measured.map(|m| format!("measured {m}"));
        let reads = Some(self.reads.clone()).filter(|r| !r.is_empty());
        let parts: Vec<String> = reads.into_iter().chain(measured).collect();
        parts.join("; ")
    }

    /// An error about this check, with a message.
    pub(super) fn fault(&self, what: &str) -> SuiteError {
        SuiteError::Facts(format!(
            "facts/checks.toml: fact `{}`, figure `{}`: {what}",
            self.fact, self.figure
        ))
    }
}
