//! The chart of one figure of several drives.

use super::scale::{bar_of, chart};
use super::{Bar, BarChart, BarRow};

/// One of several drives in a chart of one figure.
#[derive(Clone, Debug, PartialEq)]
pub struct DriveValue {
    /// Name of the drive.
    pub name: String,
    /// Value of the figure.
    pub value: f64,
    /// Remark, such as the ratio to the baseline.
    pub note: String,
    /// Whether its bar has the colour that stands out.
    pub highlighted: bool,
}

/// A chart of one figure of several drives, in the given order.
pub fn of_drives(title: &str, unit: &str, drives: &[DriveValue]) -> BarChart {
    let rows = drives.iter().map(|s| BarRow {
        label: s.name.clone(),
        bars: vec![Bar {
            mode_index: usize::from(!s.highlighted) * OTHERS,
            note: s.note.clone(),
            ..bar_of(s.value, unit)
        }],
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
            .map(|(name, colour, value, note)| Bar {
                mode: Some(name.clone()),
                mode_index: *colour,
                note: note.clone(),
                ..bar_of(*value, unit)
            })
            .collect(),
    });
    chart(title, unit, rows.collect())
}

/// Colour of the bars that are not highlighted.
const OTHERS: usize = 4;
