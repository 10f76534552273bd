//! The outcome of a fit as text and as JSON.

use crate::console::{Console, lines_of};
use crate::failure::Failure;
use nandscope_twin::loss::as_error;
use nandscope_twin::observation::Figure;
use nandscope_twin::{Fitted, Observation};
use nandscope_units::number::short;
use serde::Serialize;

/// Cells of the table of the worst errors.
const WORST: usize = 8;

#[derive(Serialize)]
struct Outcome<'a> {
    base: &'a str,
    /// Mean absolute error, a share.
    mean_error: f64,
    evaluations: usize,
    members: usize,
    parameters: Vec<Value<'a>>,
    cells: Vec<CellRow>,
}

#[derive(Serialize)]
struct Value<'a> {
    key: &'a str,
    value: f64,
    low: f64,
    high: f64,
    determined: bool,
}

#[derive(Serialize)]
struct CellRow {
    cell: String,
    figure: String,
    measured: f64,
    simulated: Option<f64>,
}

fn cells(fitted: &Fitted, observations: &[Observation]) -> Vec<CellRow> {
    let mut rows = Vec::new();
    for (observation, simulated) in observations.iter().zip(&fitted.figures) {
        for figure in Figure::ALL {
            if let Some(measured) = observation.figures.get(figure) {
                rows.push(CellRow {
                    cell: observation.cell.to_string(),
                    figure: figure.to_string(),
                    measured,
                    simulated: simulated.and_then(|s| s.get(figure)),
                });
            }
        }
    }
    rows
}

/// JSON for programs.
///
/// # Errors
/// `Exit::Internal` if a number is not finite.
pub fn json(fitted: &Fitted, observations: &[Observation]) -> Result<String, Failure> {
    let value = |v: &nandscope_twin::search::FittedValue| Value {
        key: v.key,
        value: v.value,
        low: v.low,
        high: v.high,
        determined: v.is_determined,
    };
    let outcome = Outcome {
        base: &fitted.base.profile.device.name,
        mean_error: as_error(fitted.loss),
        evaluations: fitted.evaluations,
        members: fitted.members.len(),
        parameters: fitted.values.iter().map(value).collect(),
        cells: cells(fitted, observations),
    };
    serde_json::to_string_pretty(&outcome).map_err(Failure::internal)
}

/// Text for people: values, and the cells with the largest errors.
pub fn text(fitted: &Fitted, observations: &[Observation], console: &Console) -> String {
    let mut values = console.table(&["parameter", "value", "fits equally well", ""]);
    for value in &fitted.values {
        let mark = match value.is_determined {
            true => "fitted",
            false => "not determined: as the base if that fits",
        };
        let range = format!("{} to {}", short(value.low), short(value.high));
        values.add_row([value.key, &short(value.value), &range, mark]);
    }
    let mut rows = cells(fitted, observations);
    let off = |row: &CellRow| {
        row.simulated
            .map_or(f64::MAX, |s| (s / row.measured).max(row.measured / s))
    };
    rows.sort_by(|a, b| off(b).total_cmp(&off(a)));
    let mut worst = console.table(&["largest errors", "figure", "measured", "fitted", "error"]);
    for row in rows.iter().take(WORST) {
        let (simulated, error) = match row.simulated {
            None => ("–".to_string(), "–".to_string()),
            Some(s) => (
                short(s),
                format!("{:+.0} %", 100.0 * (s / row.measured - 1.0)),
            ),
        };
        worst.add_row([
            &row.cell,
            &row.figure,
            &short(row.measured),
            &simulated,
            &error,
        ]);
    }
    let tried: Vec<String> = fitted
        .tried
        .iter()
        .take(4)
        .map(|(name, loss)| format!("{name} {:.0} %", 100.0 * as_error(*loss)))
        .collect();
    format!(
        "Base: {} (mean errors when it was chosen: {})\nMean error: {:.1} % of {} cells; {} evaluations, {} sets of values fit equally well\n\n{}\n{}",
        fitted.base.profile.device.name,
        tried.join(", "),
        100.0 * as_error(fitted.loss),
        observations.len(),
        fitted.evaluations,
        fitted.members.len(),
        lines_of(&values),
        lines_of(&worst),
    )
}
