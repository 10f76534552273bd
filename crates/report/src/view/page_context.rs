//! What surrounds the report of a drive that is one of several: the way back to the others, its photo, price and
//! notes, and its ranks among them.

use super::author::Author;

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
    /// Whom the ranks are among; `None` on a site, whose index says it.
    pub rivals: Option<Rivals>,
    /// Ranks, in the order in which a reader asks for figures.
    pub ranks: Vec<Rank>,
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

/// The place of a drive among others in one figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Rank {
    /// Title of the figure.
    pub title: String,
    /// The drive's value, with its unit.
    pub value: String,
    /// One more than the number of drives that are better by more than 1 %.
    pub place: usize,
    /// Drives that have the figure, this one included.
    pub of: usize,
    /// The best of the others: name, and value with unit.
    pub best: (String, String),
}

impl PageContext {
    /// True where something is said of ranks.
    pub fn has_ranks(&self) -> bool {
        self.rivals.is_some() || !self.ranks.is_empty()
    }

    /// True where the author said something of the drive.
    pub fn has_notes(&self) -> bool {
        self.photo.is_some() || self.price.is_some() || !self.notes.is_empty()
    }
}
