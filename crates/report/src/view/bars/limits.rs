//! The chart of values that must reach a limit.

use super::scale::{bar_of, chart};
use super::{Bar, BarChart, BarRow};

/// A value and the least that is required.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitedValue {
    /// Name of the requirement.
    pub label: String,
    /// Measured value.
    pub value: f64,
    /// Least value that is required.
    pub limit: f64,
    /// Whether the limit is reached.
    pub met: bool,
}

/// Colours of values that reach their limit and of those that do not.
const MET: usize = 0;
const MISSED: usize = 1;

/// A chart of values with the limit of each, in the order given.
pub fn of_limits(title: &str, unit: &str, values: &[LimitedValue]) -> BarChart {
    let rows = values.iter().map(|v| BarRow {
        label: v.label.clone(),
        bars: vec![Bar {
            mode_index: if v.met { MET } else { MISSED },
            limit: Some(v.limit),
            note: if v.met { "reached" } else { "missed" }.to_string(),
            ..bar_of(v.value, unit)
        }],
    });
    chart(title, unit, rows.collect())
}
