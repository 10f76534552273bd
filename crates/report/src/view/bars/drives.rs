//! The chart of one figure of several drives.

use super::scale::{bar, chart};
use super::{Bar, BarChart, BarRow};
use nandscope_result::Figure;

/// One of several drives in a chart of one figure.
#[derive(Clone, Debug, PartialEq)]
pub struct DriveValue {
    /// Name of the drive.
    pub name: String,
    /// Value of the figure.
    pub value: f64,
    /// Ratio or difference to the baseline.
    pub note: String,
    /// Whether the other drives are compared with this one.
    pub baseline: bool,
}

/// A chart of one figure of several drives, in the given order.
pub fn of_drives(title: &str, unit: &str, drives: &[DriveValue]) -> BarChart {
    let rows = drives.iter().map(|s| {
        let figure = Figure {
            value: s.value,
            unit: unit.to_string(),
            ..Figure::default()
        };
        let note = if s.baseline { "baseline" } else { &s.note };
        BarRow {
            label: s.name.clone(),
            bars: vec![Bar {
                mode_index: usize::from(!s.baseline) * OTHERS,
                note: note.to_string(),
                ..bar(&figure, None, &[])
            }],
        }
    });
    chart(title, unit, rows.collect())
}

/// A test of several drives: name, colour, value and remark of each.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedRow {
    /// Name of the test.
    pub label: String,
    /// Short name of the drive, its colour, its value, ratio or difference to the baseline.
    pub values: Vec<(String, usize, f64, String)>,
}

/// A chart of several figures with one unit, each of several drives.
pub fn of_shared(title: &str, unit: &str, rows: &[SharedRow]) -> BarChart {
    let rows = rows.iter().map(|row| BarRow {
        label: row.label.clone(),
        bars: row
            .values
            .iter()
            .map(|(name, colour, value, note)| {
                let figure = Figure {
                    value: *value,
                    unit: unit.to_string(),
                    ..Figure::default()
                };
                Bar {
                    mode: Some(name.clone()),
                    mode_index: *colour,
                    note: note.clone(),
                    ..bar(&figure, None, &[])
                }
            })
            .collect(),
    });
    chart(title, unit, rows.collect())
}

/// Colour of the bars that are not the baseline.
const OTHERS: usize = 4;
