//! docs/validation.csv: every row of the validation with all of its data.

use super::page::{error_in_words, short, tolerance_in_words, value_as_printed};
use super::{Basis, Comparison, Row};
use nandscope_units::csv_line;

const COLUMNS: [&str; 13] = [
    "device",
    "mode",
    "fact",
    "figure",
    "published",
    "unit",
    "tolerance",
    "simulated",
    "error, %",
    "met",
    "calibrated by",
    "remark",
    "why not met",
];

/// CSV of all rows of named devices, in the order of devices and checks; an empty `calibrated by` means a prediction.
pub fn csv<'a>(devices: impl Iterator<Item = (&'a str, &'a Comparison)>) -> String {
    let rows = devices
        .flat_map(|(name, comparison)| comparison.rows.iter().map(move |row| line(name, row)));
    [csv_line(&COLUMNS)].into_iter().chain(rows).collect()
}

fn line(device: &str, row: &Row) -> String {
    let basis = match &row.basis {
        Basis::Predicted => String::new(),
        Basis::Calibrated(parameters) => parameters.join("; "),
    };
    csv_line(&[
        device,
        row.figure.mode.as_deref().unwrap_or_default(),
        &row.published.fact,
        &row.figure.title,
        &value_as_printed(row),
        &row.figure.unit,
        &tolerance_in_words(row),
        &short(row.figure.value),
        &error_in_words(row).unwrap_or_default(),
        if row.published.met { "yes" } else { "no" },
        &basis,
        &row.remark,
        &row.published.why,
    ])
}
