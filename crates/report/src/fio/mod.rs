//! Results in the output formats of fio 3.33, for programs that read those.
//!
//! The latency from the scheduled start, which fio does not have, is `due_lat_ns` in JSON. Numbers that nandscope does not
//! measure (processor time, context switches, page faults) are 0.

mod announced;
mod bins;
mod date;
mod errno;
mod group;
mod json;
mod json_text;
mod merged;
mod normal;
mod number;
mod reported;
mod stats;
mod steady;
mod terse;

pub use announced::{Announced, text as announcement};
pub(crate) use number::{Base, DIGITS, short};
pub use terse::TerseVersion;

use date::Date;
use nandscope_result::ResultDocument;

/// Version of fio whose formats these are.
const VERSION: &str = "fio-3.33";

/// An output format of fio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// fio's format for human readers.
    Normal,
    /// Fields separated by semicolons, a line per job; terse version 3.
    Terse,
    /// JSON with percentiles.
    Json,
    /// JSON with percentiles and the bins of the latency histograms.
    JsonPlus,
}

impl Format {
    /// All formats with fio's names.
    pub const ALL: [(&'static str, Format); 5] = [
        ("normal", Format::Normal),
        ("terse", Format::Terse),
        ("minimal", Format::Terse),
        ("json", Format::Json),
        ("json+", Format::JsonPlus),
    ];

    /// The format of that name.
    pub fn find(name: &str) -> Option<Format> {
        let found = Format::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, format)| *format)
    }
}

/// Results in these formats, at the end of a run or in its course. As in fio they come in the order terse, JSON, normal, each
/// once, and `json+` takes the place of `json`.
pub fn results(document: &ResultDocument, formats: &[Format], version: TerseVersion) -> String {
    let entries = reported::all(document);
    let mut text = String::new();
    if formats.contains(&Format::Terse) {
        text.push_str(&terse::text(&entries, &document.disks, version));
    }
    let with_bins = formats.contains(&Format::JsonPlus);
    if with_bins || formats.contains(&Format::Json) {
        text.push_str(&json::text(document, &entries, with_bins));
    }
    if formats.contains(&Format::Normal) {
        text.push_str(&normal::text(
            &entries,
            &document.disks,
            Date::of(&document.wall),
        ));
    }
    text
}
