//! Published measurements as tests. `facts/published.toml`, `facts/drives.toml` and `facts/plain.toml` have the
//! measurements of real devices and their sources, `facts/series.toml` whole recorded series; `facts/checks.toml` says which figure of a procedure represents
//! which fact, how close it must come, and whether a parameter was fitted to the fact; `facts/unchecked.toml` gives
//! reasons for measurements that are not compared. [`publish`] adds the comparison to a result document, [`compare`]
//! makes the rows of docs/validation.csv, [`rows`] writes them, [`page`] writes docs/validation.md.

mod check;
mod coverage;
mod criterion;
mod measure;
mod measured;
pub mod page;
mod record;
pub mod rows;
pub mod score;
pub mod sensitivity;
pub(crate) mod series;

pub use check::Basis;
pub use coverage::{Coverage, Unchecked, coverage};

use crate::procedure::Procedure;
use crate::step_runner::SuiteError;
use check::Check;
use nandscope_result::{Figure, Published, ResultDocument};
use record::Fact;

/// A procedure whose figures have checks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Validation {
    /// Device of the library.
    pub device: String,
    /// Host of the library to which the device is attached; empty for the hosts that its profile names.
    pub host: String,
    /// Name of the procedure.
    pub procedure: String,
}

impl Validation {
    fn covers(&self, check: &Check) -> bool {
        check.device == self.device && check.procedure == self.procedure && check.host == self.host
    }
}

/// The validations that compare every fact with a check, in alphabetical order of devices.
///
/// # Errors
/// `Facts` if the built-in checks cannot be read or name an unknown procedure.
pub fn validations() -> Result<Vec<Validation>, SuiteError> {
    let of = |check: Check| Validation {
        device: check.device,
        host: check.host,
        procedure: check.procedure,
    };
    let mut all: Vec<Validation> = check::all()?.into_iter().map(of).collect();
    all.sort_unstable();
    all.dedup();
    for validation in &all {
        if validation.procedure != series::PROCEDURE {
            Procedure::find(&validation.procedure)?;
        }
    }
    Ok(all)
}

/// Adds published values to the figures of a review of `device`, in the document and its steps. If several facts are
/// compared with one figure, the first one is used.
///
/// # Errors
/// `Facts` if the built-in facts or checks cannot be read or do not fit together.
pub fn publish(document: &mut ResultDocument, device: &str) -> Result<(), SuiteError> {
    let facts = record::all()?;
    for check in check::all()?.iter().filter(|c| c.device == device) {
        let fact = find(&facts, check)?;
        for figure in figures_mut(document).filter(|f| f.id == check.figure) {
            if figure.published.is_none() {
                figure.published = Some(published(figure.value, fact, check)?);
            }
        }
    }
    Ok(())
}

/// One row of the validation table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The figure with the simulated value.
    pub figure: Figure,
    /// The published value.
    pub published: Published,
    /// Whether a parameter was fitted to the value.
    pub basis: Basis,
    /// Whether link or host set the value, so that it says little about the device.
    pub limited: bool,
    /// How words are read as numbers, and how the measurement differs from the simulation.
    pub remark: String,
}

impl Row {
    /// Difference from the published value, in percent of that value; `None` if that is zero.
    pub fn error_percent(&self) -> Option<f64> {
        let published = self.published.value;
        (published != 0.0).then(|| (self.figure.value - published) / published.abs() * 100.0)
    }
}

/// Comparison of a procedure's document with the facts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// A row for every check whose figure is in the document, in the order of the checks.
    pub rows: Vec<Row>,
    /// Checks whose figure the procedure did not produce: fact and figure.
    pub missing: Vec<(String, String)>,
}

/// Compares the document of a complete procedure with its facts.
///
/// # Errors
/// `Facts` if the built-in facts or checks cannot be read or do not fit together.
pub fn compare(
    document: &ResultDocument,
    validation: &Validation,
) -> Result<Comparison, SuiteError> {
    let facts = record::all()?;
    let mut comparison = Comparison::default();
    for check in check::all()?.iter().filter(|c| validation.covers(c)) {
        let fact = find(&facts, check)?;
        let figure = document.all_figures().find(|f| f.id == check.figure);
        match figure {
            Some(figure) => comparison.rows.push(Row {
                figure: figure.clone(),
                published: published(figure.value, fact, check)?,
                basis: check.basis()?,
                limited: check.limited,
                remark: check.remark(),
            }),
            None => comparison
                .missing
                .push((check.fact.clone(), check.figure.clone())),
        }
    }
    Ok(comparison)
}

/// Validation of a device with a procedure, attached as its profile says.
pub fn validation(device: &str, procedure: Procedure) -> Validation {
    Validation {
        device: device.to_string(),
        host: String::new(),
        procedure: procedure.name().to_string(),
    }
}

fn find<'a>(facts: &'a [Fact], check: &Check) -> Result<&'a Fact, SuiteError> {
    facts
        .iter()
        .find(|f| f.id == check.fact)
        .ok_or_else(|| check.fault("there is no such fact"))
}

fn published(measured: f64, fact: &Fact, check: &Check) -> Result<Published, SuiteError> {
    let criterion = check.criterion(fact)?;
    let met = criterion.is_met_by(measured);
    let (value, tolerance, tolerance_kind) = criterion.printed();
    Ok(Published {
        fact: fact.id.clone(),
        value,
        op: criterion.op().clone(),
        tolerance,
        tolerance_kind,
        met,
        predicted: check.basis()? == Basis::Predicted,
        why: if met {
            String::new()
        } else {
            check.why.clone()
        },
        source: fact.source.clone(),
    })
}

fn figures_mut(document: &mut ResultDocument) -> impl Iterator<Item = &mut Figure> {
    document
        .steps
        .iter_mut()
        .flat_map(|s| s.figures.iter_mut())
        .chain(document.figures.iter_mut())
}

#[cfg(test)]
mod tests;
