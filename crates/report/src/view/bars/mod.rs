//! Bar charts of figures: repeated figures with the range of their repeats, the same figure in several modes, and
//! published values. Positions are in percent of the axis, so that the page needs no script for them.

mod drives;
mod grouping;
mod limits;
mod scale;
mod singles;

use crate::number::short;
pub use drives::{DriveValue, SharedRow, of_drives, of_shared};
pub use grouping::{of_labelled, of_steps};
pub use limits::{LimitedValue, of_limits};
pub use singles::without_singles;

/// A chart: rows of bars over one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct BarChart {
    /// Heading.
    pub title: String,
    /// Unit of the axis.
    pub unit: String,
    /// Rows, in the order of the document.
    pub rows: Vec<BarRow>,
    /// End of the axis, in the unit.
    pub end: f64,
    /// Ticks: place in percent, and text.
    pub ticks: Vec<(String, String)>,
}

/// Which values of a quantity are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Higher values, such as rates.
    More,
    /// Times, power, energy and temperature.
    Less,
}

/// Which values of a unit are better; `None` if that depends on the quantity.
pub fn better(unit: &str) -> Option<Better> {
    match unit {
        "MB/s" | "IOPS" | "MB/s/W" | "GB/s" => Some(Better::More),
        "ns" | "µs" | "ms" | "s" | "W" | "J/GB" | "kJ" | "J" | "°C" => Some(Better::Less),
        _ => None,
    }
}

/// The bars of one label.
#[derive(Clone, Debug, PartialEq)]
pub struct BarRow {
    /// Name of the test.
    pub label: String,
    /// One bar per mode.
    pub bars: Vec<Bar>,
}

/// A value of a row, with its length on the common scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Mode, where the figure has one.
    pub mode: Option<String>,
    /// Index of the mode in the document's list, for its colour and hatching.
    pub mode_index: usize,
    /// The value itself.
    pub value: f64,
    /// Value as text, with unit.
    pub text: String,
    /// Range of the repeats, low and high.
    pub repeats: Option<(f64, f64)>,
    /// Published value.
    pub published: Option<f64>,
    /// Least value that is required.
    pub limit: Option<f64>,
    /// Length in percent.
    pub length: String,
    /// Start and length of the range of the repeats in percent.
    pub whisker: Option<(String, String)>,
    /// Place of the published value in percent.
    pub published_at: Option<String>,
    /// Place of the required value in percent.
    pub limit_at: Option<String>,
    /// Remark, such as `baseline`.
    pub note: String,
}

impl BarChart {
    /// Sorts the rows, the best first: the shortest time, the highest rate.
    pub fn rank(&mut self) {
        let best = |row: &BarRow| row.bars.first().map_or(f64::NAN, |b| b.value);
        match better(&self.unit) {
            Some(Better::Less) => self.rows.sort_by(|a, b| best(a).total_cmp(&best(b))),
            Some(Better::More) => self.rows.sort_by(|a, b| best(b).total_cmp(&best(a))),
            None => {}
        }
    }

    /// Whether bars differ from each other, from their repeats or from a published value.
    pub fn compares(&self) -> bool {
        let mut bars = self.rows.iter().flat_map(|r| &r.bars);
        let Some(first) = bars.next() else {
            return false;
        };
        let mut others = bars.peekable();
        let is_several = others.peek().is_some();
        let differs = others.any(|b| b.text != first.text);
        differs || is_several && (self.has_repeats() || self.has_published())
    }

    /// True where a bar shows repeats.
    pub fn has_repeats(&self) -> bool {
        self.rows
            .iter()
            .flat_map(|r| &r.bars)
            .any(|b| b.whisker.is_some())
    }

    /// True where a name of a mode needs more room than a short word.
    pub fn has_long_modes(&self) -> bool {
        let mut bars = self.rows.iter().flat_map(|r| &r.bars);
        bars.any(|b| {
            let mode = b.mode.as_deref().unwrap_or_default();
            mode.split([' ', '-']).any(|word| word.chars().count() > 10)
        })
    }

    /// Whether a bar has a required value.
    pub fn has_limits(&self) -> bool {
        let mut bars = self.rows.iter().flat_map(|r| &r.bars);
        bars.any(|b| b.limit.is_some())
    }

    /// Whether a bar has a published value.
    pub fn has_published(&self) -> bool {
        self.rows
            .iter()
            .flat_map(|r| &r.bars)
            .any(|b| b.published.is_some())
    }
}

impl Bar {
    /// Repeats and published value in words, for the line beside the value.
    pub fn remark(&self) -> String {
        let mut parts = Vec::new();
        if let Some((low, high)) = self.repeats {
            parts.push(format!("{} to {}", short(low), short(high)));
        }
        if let Some(published) = self.published {
            parts.push(format!("published {}", short(published)));
        }
        if let Some(limit) = self.limit {
            parts.push(format!("of {}", short(limit)));
        }
        if !self.note.is_empty() {
            parts.push(self.note.clone());
        }
        parts.join(", ")
    }
}

#[cfg(test)]
mod tests;
