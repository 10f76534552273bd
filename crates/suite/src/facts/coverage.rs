//! Published measurements that are compared with a figure, and the reasons why others are not.

use super::{check, record};
use crate::step_runner::SuiteError;
use serde::Deserialize;
use std::collections::BTreeSet;

const UNCHECKED: &str = include_str!("../../../../facts/unchecked.toml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    unchecked: Vec<Group>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    reason: String,
    facts: Vec<String>,
}

/// Measurements that are not compared, for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unchecked {
    /// Reason why the measurements are not compared.
    pub reason: String,
    /// Identifier, device and quantity of each.
    pub facts: Vec<(String, String, String)>,
}

/// Coverage of the facts by checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// Number of published facts of any kind.
    pub facts: usize,
    /// Number of facts compared with a figure.
    pub checked: usize,
    /// Number of measured facts.
    pub measured: usize,
    /// Number of measured facts compared with a figure.
    pub measured_checked: usize,
    /// Measured facts that are not compared, by reason.
    pub unchecked: Vec<Unchecked>,
}

/// Counts facts and checks.
///
/// # Errors
/// `Facts` if a built-in file cannot be read, if a measurement is neither compared nor listed with a reason, and if
/// one is both or is listed twice.
pub fn coverage() -> Result<Coverage, SuiteError> {
    let fault = |e: String| SuiteError::Facts(format!("facts/unchecked.toml: {e}"));
    let facts = record::all()?;
    let checks = check::all()?;
    let checked: BTreeSet<&str> = checks.iter().map(|c| c.fact.as_str()).collect();
    let file: File = toml::from_str(UNCHECKED).map_err(|e| fault(e.to_string()))?;
    let mut listed = BTreeSet::new();
    let mut unchecked = Vec::new();
    for group in file.unchecked {
        let mut rows = Vec::new();
        for id in group.facts {
            let fact = facts.iter().find(|f| f.id == id && f.is_measured());
            let fact = fact.ok_or_else(|| fault(format!("`{id}` is not a measured fact")))?;
            if checked.contains(id.as_str()) {
                return Err(fault(format!("`{id}` has a check; leave it out")));
            }
            if !listed.insert(id.clone()) {
                return Err(fault(format!("`{id}` is listed twice")));
            }
            rows.push((id, fact.device.clone(), fact.quantity.clone()));
        }
        unchecked.push(Unchecked {
            reason: group.reason,
            facts: rows,
        });
    }
    let measured = || facts.iter().filter(|f| f.is_measured());
    let forgotten: Vec<&str> = measured()
        .map(|f| f.id.as_str())
        .filter(|id| !checked.contains(id) && !listed.contains(*id))
        .collect();
    if !forgotten.is_empty() {
        let all = forgotten.join(", ");
        return Err(fault(format!(
            "measured facts without a check are listed with a reason: {all}"
        )));
    }
    Ok(Coverage {
        facts: facts.len(),
        checked: facts
            .iter()
            .filter(|f| checked.contains(f.id.as_str()))
            .count(),
        measured: measured().count(),
        measured_checked: measured()
            .filter(|f| checked.contains(f.id.as_str()))
            .count(),
        unchecked,
    })
}
