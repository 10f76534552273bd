//! Contents of a plot: axes with units, lines, marks, the sentence beneath. Together with [`super::axes`] it determines
//! everything that the page's script and the SVG files draw; neither of these reads a result document.

use super::table::{Samples, Table};
use crate::number::{count, latency, short, with_unit};

/// Maximum number of rows of one plot: about two per pixel of a wide screen.
pub(super) const ROWS_OF_A_PLOT: usize = 2_400;

/// Kind of a plot's axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A quantity over time; both axes linear.
    Time,
    /// Latency over percentile: the horizontal axis counts nines (`-log10(1 - p)`), the vertical
    /// one is logarithmic.
    Percentile,
    /// A quantity over a varied one; both axes linear, few places, each measured.
    Curve,
    /// Places at which something happened, over time: points without lines between them.
    Points,
}

impl Kind {
    /// Name of the kind for the page's script and style sheet.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Time => "time",
            Kind::Percentile => "percentile",
            Kind::Curve => "curve",
            Kind::Points => "points",
        }
    }
}

/// An axis: what it counts, and in which unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Quantity on the axis, with a capital.
    pub name: String,
    /// Its unit, as shown in brackets.
    pub unit: String,
}

impl Axis {
    /// `Bandwidth (MB/s)`; the name alone for a quantity without a unit.
    pub fn label(&self) -> String {
        match self.unit.as_str() {
            "" => self.name.clone(),
            unit => format!("{} ({unit})", self.name),
        }
    }
}

/// One line, and its description for readers who do not see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// As in the legend.
    pub name: String,
    /// Index into the palette.
    pub colour: usize,
    /// Dashed, so that two lines differ without colour.
    pub dashed: bool,
    /// Whether it is the edge of a [`Band`], which has no name and is not drawn as a line.
    pub edge: bool,
    /// Least of all values measured, before any reduction.
    pub least: f64,
    /// Arithmetic mean of them.
    pub mean: f64,
    /// Greatest of them.
    pub greatest: f64,
}

/// A place on the horizontal axis with a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Place on the horizontal axis, in its unit.
    pub x: f64,
    /// Label.
    pub name: String,
}

/// A limit of the vertical quantity, drawn as a horizontal line.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// Limit, in the unit of the vertical axis.
    pub y: f64,
    /// Label of the limit: its class, value and unit, such as `U3, V30: 30 MB/s`.
    pub name: String,
}

/// Range of repetitions around the line of their median, as indices of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Band {
    /// Line of the least values.
    pub low: usize,
    /// Line of the greatest values.
    pub high: usize,
}

/// A plot with everything needed to draw it.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// Unique within a document, fit for a file name and an element id.
    pub id: String,
    /// Heading.
    pub title: String,
    /// Kind of the plot.
    pub kind: Kind,
    /// Plots with the same group share cursor and zoom.
    pub group: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Lines, one for each column of the table.
    pub lines: Vec<Line>,
    /// Ranges of repetitions.
    pub bands: Vec<Band>,
    /// Samples of the lines, reduced for display.
    pub table: Table,
    /// Number of samples before reduction.
    pub rows_measured: usize,
    /// Places with a name.
    pub marks: Vec<Mark>,
    /// Limits within the drawn range, ascending.
    pub limits: Vec<Limit>,
}

/// How far above the greatest value a limit is still drawn, as a multiple of that value.
const NEAR: f64 = 1.5;

impl Plot {
    /// The plot with those limits that are within its range or near it.
    pub fn with_limits(mut self, mut limits: Vec<Limit>) -> Plot {
        let greatest = self.range().map_or(0.0, |(_, greatest)| greatest);
        limits.retain(|limit| limit.y > 0.0 && limit.y <= greatest * NEAR);
        limits.sort_by(|a, b| a.y.total_cmp(&b.y));
        self.limits = limits;
        self
    }

    /// True where fewer rows are shown than were measured.
    pub fn reduced(&self) -> bool {
        self.table.xs.len() < self.rows_measured
    }

    /// The reduction in words.
    pub fn reduction(&self) -> String {
        let (from, to) = (self.rows_measured as u64, self.table.xs.len() as u64);
        format!(
            "Downsampled from {} to {} points; minima and maxima kept.",
            count(from),
            count(to)
        )
    }

    /// The plot with at most about `rows` rows; see [`Table::reduce`].
    pub fn reduce(mut self, rows: usize) -> Plot {
        // Plots over other quantities than time have few rows, all of which are kept.
        if self.kind == Kind::Time {
            self.table = self.table.reduce(rows);
        }
        self
    }

    /// Summary of the plot in words, for those who do not see it.
    pub fn summary(&self) -> String {
        let lines: Vec<String> = self
            .lines
            .iter()
            .filter(|line| !line.edge)
            .map(|line| self.line_in_words(line))
            .collect();
        let mut words = lines.join("; ");
        if self.kind == Kind::Curve {
            for mark in &self.marks {
                words.push_str(". ");
                words.push_str(&mark.name);
            }
        }
        for (i, limit) in self.limits.iter().enumerate() {
            words.push_str(if i == 0 { ". Limits: " } else { "; " });
            words.push_str(&limit.name);
        }
        words
    }

    fn line_in_words(&self, line: &Line) -> String {
        if self.kind == Kind::Percentile {
            let (least, greatest) = (latency(line.least * 1e3), latency(line.greatest * 1e3));
            return format!("{}: {least} to {greatest}", line.name);
        }
        format!(
            "{}: {} to {}, mean {}",
            line.name,
            short(line.least),
            with_unit(line.greatest, &self.y.unit),
            short(line.mean)
        )
    }

    /// Least and greatest value of all lines; `None` where nothing is to be drawn.
    pub fn range(&self) -> Option<(f64, f64)> {
        let values = || {
            self.table
                .columns
                .iter()
                .flatten()
                .filter_map(|c| c.value())
                .filter(|v| v.is_finite())
        };
        let least = values().fold(f64::INFINITY, f64::min);
        let greatest = values().fold(f64::NEG_INFINITY, f64::max);
        (least <= greatest).then_some((least, greatest))
    }
}

impl Line {
    /// A line over samples, with its statistics.
    pub fn over(name: &str, colour: usize, dashed: bool, samples: &Samples) -> Line {
        let values = || samples.points.iter().map(|p| p.1).filter(|v| v.is_finite());
        let n = values().count();
        Line {
            name: name.to_string(),
            colour,
            dashed,
            edge: false,
            least: values().fold(f64::INFINITY, f64::min),
            mean: values().sum::<f64>() / n as f64,
            greatest: values().fold(f64::NEG_INFINITY, f64::max),
        }
    }
}
