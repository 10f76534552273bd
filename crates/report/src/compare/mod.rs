//! Several documents side by side, on the hosts that they share, aligned by test: the figures that at least two of them share, with their ratio
//! or difference to a baseline, sorted with the best first; their long writes, their scaling with queue
//! depth, their latencies and the consistency of their rates in the same plots.

mod conclusion;
mod consistency;
mod coverage;
mod document_names;
mod efficiency;
pub(crate) mod hosts;
mod merged;
mod page;
pub(crate) mod plots;
mod price;
mod row;
pub(crate) mod rows;
pub(crate) mod selection;
mod text;

pub use hosts::Alignment;
pub use page::html;
pub use price::Price;
pub use row::Row;
pub use rows::rows;
pub use text::text;

use nandscope_result::ResultDocument;

/// Prices, baseline and hosts of a comparison.
#[derive(Clone, Copy, Debug, Default)]
pub struct Basis<'a> {
    /// Prices of the documents, or empty.
    pub prices: &'a [Option<Price>],
    /// Document to which ratios and differences refer.
    pub baseline: usize,
    /// Whether documents that share no host are compared nevertheless, each on its first host.
    pub across_hosts: bool,
}

/// Sentences on what is compared: the hosts, and what different suites and incomplete results lack. `rows` are those
/// of the documents.
pub fn remarks(documents: &[&ResultDocument], alignment: &Alignment, rows: &[Row]) -> Vec<String> {
    let mut remarks = alignment.sentences();
    remarks.extend(coverage::sentences(documents, alignment, rows));
    remarks
}

/// A, B, C … for the documents; numbers after Z.
pub fn letter(i: usize) -> String {
    match u8::try_from(i) {
        Ok(i) if i < 26 => char::from(b'A' + i).to_string(),
        _ => format!("#{}", i + 1),
    }
}
