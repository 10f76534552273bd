//! Context of the report of one of several drives: link to the others, photo, price and notes, and ranks.

use super::author::Author;
use super::bars::BarChart;

/// Contents of a page besides the document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageContext {
    /// Link to the page of all drives.
    pub index: Option<String>,
    /// Texts and photo of the author.
    pub author: Author,
    /// Link to a photo.
    pub photo: Option<String>,
    /// Price, with currency and the price per GB.
    pub price: Option<String>,
    /// Paragraphs of the notes.
    pub notes: Vec<String>,
    /// Other results of the drive: procedure, and the link to its report.
    pub others: Vec<(String, String)>,
    /// Drives among which it is ranked; on a site without names, as its index lists them.
    pub rivals: Option<Rivals>,
    /// Ranks, in the order in which a reader asks for figures.
    pub ranks: Vec<Rank>,
    /// The speed of the drive among its kind in one number.
    pub index_of_speed: Option<SpeedIndex>,
    /// Ranks among all cards or all SSDs, for readers who open them; empty if `ranks` are those.
    pub wider: Option<Wider>,
    /// Sentences on figures that are far from those of similar drives.
    pub unusual: Vec<String>,
}

/// The drives among which a drive is ranked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rivals {
    /// Sentences: which drives, in which test; or why there is no rank.
    pub intro: String,
    /// A sentence on the figures that have no rank because the host limits them.
    pub limited: Option<String>,
    /// Names of the drives, with the mode in which each was reviewed.
    pub names: Vec<String>,
}

/// The index of a drive, with those of the others.
#[derive(Clone, Debug, PartialEq)]
pub struct SpeedIndex {
    /// Index of this drive and its place.
    pub verdict: String,
    /// How the index follows from the figures, which are named.
    pub formula: String,
    /// A bar for each drive, the best first.
    pub chart: BarChart,
}

/// Ranks among drives of other kinds.
#[derive(Clone, Debug, PartialEq)]
pub struct Wider {
    /// Among which drives.
    pub title: String,
    /// Ranks, in the order in which a reader asks for figures.
    pub ranks: Vec<Rank>,
}

/// The place of a drive among others in one figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Rank {
    /// Title of the figure.
    pub title: String,
    /// The drive's value, with its unit.
    pub value: String,
    /// Rank: one more than the number of drives that are better by more than 1 %.
    pub place: usize,
    /// Number of drives with the figure, including this one.
    pub of: usize,
    /// Best of the other drives: name, and value with unit.
    pub best: (String, String),
    /// All drives that have the figure, the best first.
    pub bars: Vec<RankBar>,
}

/// The value of one drive among those that are ranked.
#[derive(Clone, Debug, PartialEq)]
pub struct RankBar {
    /// Name of the drive and its value.
    pub name: String,
    /// Percent of the greatest value.
    pub height: String,
    /// Whether it is the drive of the page.
    pub own: bool,
}

impl PageContext {
    /// Whether there are ranks, or a reason for their lack.
    pub fn has_ranks(&self) -> bool {
        self.rivals.is_some() || !self.ranks.is_empty()
    }

    /// Whether there are notes of the author on the drive.
    pub fn has_notes(&self) -> bool {
        self.photo.is_some() || self.price.is_some() || !self.notes.is_empty()
    }
}
