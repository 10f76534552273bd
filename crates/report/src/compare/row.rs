//! One figure of several documents, compared with the baseline's value.

use crate::number::{self, short, with_unit};
use crate::view::bars::{Better, better};
use crate::view::matrix::answer;
use nandscope_result::{BYTES, figure_id};
use nandscope_units::Bytes;
use std::cmp::Ordering;

/// Identifier of the row of prices.
pub(super) const PRICE: &str = "price.per-gb";

/// Beginning of the identifiers of a probe's answers.
const PROBE: &str = "probe.";

/// One figure in all documents.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Title, with the mode if the documents share several.
    pub title: String,
    /// Unit of all values; empty for counts.
    pub unit: String,
    /// Value in each document; `None` if it does not have the figure in this unit.
    pub values: Vec<Option<f64>>,
    /// Identifier without the mode.
    pub id: String,
    /// A yes or a no rather than a quantity.
    pub answer: bool,
    /// Document to which ratios and differences refer.
    pub baseline: usize,
}

impl Row {
    /// Value of document `i` as a multiple of the baseline's; `None` for the baseline itself, if a value is missing or
    /// not positive, and for quantities without a meaningful ratio: shares, temperatures, yes or no.
    pub fn ratio(&self, i: usize) -> Option<f64> {
        let (base, value) = self.pair(i)?;
        let ratio = value / base;
        (!self.is_difference() && base > 0.0 && value >= 0.0 && ratio.is_finite()).then_some(ratio)
    }

    fn pair(&self, i: usize) -> Option<(f64, f64)> {
        let base = self.values.get(self.baseline).copied().flatten()?;
        let value = self.values.get(i).copied().flatten()?;
        (i != self.baseline && !self.answer && !self.is_inferred()).then_some((base, value))
    }

    /// Whether the figure is an answer that a probe inferred. A ratio of two answers says nothing.
    fn is_inferred(&self) -> bool {
        self.id.starts_with(PROBE)
    }

    /// Whether the figure is a rate or a time.
    pub(crate) fn is_speed(&self) -> bool {
        matches!(
            self.unit.as_str(),
            "MB/s" | "IOPS" | "GB/s" | "ns" | "µs" | "ms" | "s"
        )
    }

    /// Whether two values are compared by their difference.
    fn is_difference(&self) -> bool {
        matches!(self.unit.as_str(), "%" | "°C")
    }

    /// The same figure with the values of these documents only.
    pub(crate) fn only(&self, documents: &[usize]) -> Row {
        let values = self.values.iter().enumerate();
        Row {
            values: values
                .map(|(i, v)| v.filter(|_| documents.contains(&i)))
                .collect(),
            ..self.clone()
        }
    }

    /// Value of document `i` as text.
    pub fn cell(&self, i: usize) -> String {
        match self.values.get(i).copied().flatten() {
            Some(v) if self.answer => answer(v).to_string(),
            Some(v) if self.unit == BYTES && v >= 0.0 => Bytes(v as u64).to_string(),
            Some(v) if self.unit == "about" => format!("about {}", short(v)),
            Some(v) => with_unit(v, &self.unit),
            None => "–".to_string(),
        }
    }

    /// Ratio or difference to the baseline, as text; empty if the document or the baseline has no value.
    pub fn change(&self, i: usize) -> String {
        if let Some(ratio) = self.ratio(i) {
            return number::ratio(ratio);
        }
        match self.pair(i) {
            Some((base, value)) if self.is_difference() => {
                let sign = match value.total_cmp(&base) {
                    Ordering::Less => "−",
                    Ordering::Equal => "±",
                    Ordering::Greater => "+",
                };
                let unit = if self.unit == "%" {
                    " points"
                } else {
                    "\u{202f}°C"
                };
                format!("{sign}{}{unit}", short((value - base).abs()))
            }
            _ => String::new(),
        }
    }

    /// Which values are better; `None` if neither is: for yes or no, for most units, and for the energy of a whole
    /// procedure, which does more work on a larger drive.
    pub(crate) fn better(&self) -> Option<Better> {
        let comparable = !self.answer && !self.is_inferred() && self.id != figure_id::ENERGY;
        match self.id.as_str() {
            PRICE => Some(Better::Less),
            _ => better(&self.unit).filter(|_| comparable),
        }
    }

    /// The documents that have a value, the best first; in their own order where neither more nor less is better.
    pub fn ranked(&self) -> Vec<(usize, f64)> {
        let all = self.values.iter().enumerate();
        let mut order: Vec<(usize, f64)> = all.filter_map(|(i, v)| v.map(|v| (i, v))).collect();
        match self.better() {
            Some(Better::More) => order.sort_by(|a, b| b.1.total_cmp(&a.1)),
            Some(Better::Less) => order.sort_by(|a, b| a.1.total_cmp(&b.1)),
            None => {}
        }
        order
    }
}
