//! The frame of a report of one of several drives: the link back to the others, its photo, price and
//! notes, and its ranks among them. A single report has none of it.

use super::author::Author;

/// Contents of a page besides the document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Around {
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
    /// Ranks, in the order in which a reader asks for figures.
    pub ranks: Vec<Rank>,
    /// Sentences on figures that are far from those of similar drives.
    pub unusual: Vec<String>,
}

/// The place of a drive among others in one figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Rank {
    /// Title of the figure.
    pub title: String,
    /// The drive's value, with its unit.
    pub value: String,
    /// One more than the number of drives that are better.
    pub place: usize,
    /// Drives that have the figure, this one included.
    pub of: usize,
    /// The best of the others: name, and value with unit.
    pub best: (String, String),
}

impl Around {
    /// True where the author said something of the drive.
    pub fn has_notes(&self) -> bool {
        self.photo.is_some() || self.price.is_some() || !self.notes.is_empty()
    }
}
