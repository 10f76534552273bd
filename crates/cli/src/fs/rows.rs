//! Rows of the shorter tables of a page, as CSV next to it.

use nandscope_units::csv_line;

const COLUMNS: [&str; 9] = [
    "comparison",
    "case",
    "file system",
    "s",
    "MB to the card",
    "WA",
    "open AUs that are enough",
    "reopened AUs",
    "longest call",
];

/// Lines of CSV, after a header.
#[derive(Debug)]
pub struct Rows(String);

impl Rows {
    /// The header alone.
    pub fn new() -> Self {
        Rows(csv_line(&COLUMNS))
    }

    /// Adds a row; fields that are missing at its end are empty.
    pub fn push(&mut self, fields: &[&str]) {
        let empty = std::iter::repeat_n("", COLUMNS.len().saturating_sub(fields.len()));
        let fields: Vec<&str> = fields.iter().copied().chain(empty).collect();
        self.0.push_str(&csv_line(&fields));
    }

    /// Text of the CSV file.
    pub fn into_text(self) -> String {
        self.0
    }
}
