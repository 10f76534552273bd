//! Parts of a verdict: sentences, paragraphs and key figures. [`super::overview`] makes their contents.

use crate::number::short;

/// A key figure in large type.
#[derive(Clone, Debug, PartialEq)]
pub struct Tile {
    /// Name of the quantity.
    pub label: String,
    /// Formatted number.
    pub value: String,
    /// Unit of the number.
    pub unit: String,
    /// Origin, or a value to compare it with.
    pub note: String,
}

/// A sentence of the verdict, or a paragraph of the findings.
#[derive(Clone, Debug, PartialEq)]
pub struct Paragraph {
    /// Bold text at the beginning: the subject of the paragraph, or the answer.
    pub lead: String,
    /// `pass` or `fail` for the answer of a test, empty otherwise.
    pub class: &'static str,
    /// Whole sentences.
    pub text: String,
    /// Link to the details: element id and text.
    pub link: Option<(&'static str, &'static str)>,
}

impl Overview {
    /// Subjects of the findings, for the line that unfolds them.
    pub fn subjects(&self) -> String {
        let leads: Vec<String> = self
            .findings
            .iter()
            .map(|p| p.lead.to_lowercase())
            .collect();
        leads.join(", ")
    }
}

impl Paragraph {
    /// A paragraph without a link.
    pub fn new(lead: &str, text: String) -> Self {
        Paragraph {
            lead: lead.to_string(),
            class: "",
            text,
            link: None,
        }
    }
}

/// Most sentences of a verdict.
pub const MOST_SENTENCES: usize = 3;

/// Conclusions from the numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overview {
    /// The verdict: at most [`MOST_SENTENCES`], one to a paragraph, the most important first.
    pub paragraphs: Vec<Paragraph>,
    /// Further conclusions; folded on the page.
    pub findings: Vec<Paragraph>,
    /// Key figures.
    pub tiles: Vec<Tile>,
}

/// Makes the tile of a key figure from a value.
pub(super) fn tile(label: String, value: f64, unit: &str, note: String) -> Tile {
    Tile {
        label,
        value: short(value),
        unit: unit.to_string(),
        note,
    }
}
