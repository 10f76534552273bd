//! Results in the output formats of fio 3.33, for programs that read those.
//!
//! The latency from the scheduled start, which fio does not have, is `due_lat_ns` in JSON. Numbers that nandscope does not
//! measure (processor time, context switches, page faults, depths) are 0.

mod bins;
mod json;
mod stats;
mod steady;
mod terse;

use crate::summary;
use nandscope_result::ResultDocument;

/// Version of fio whose formats these are.
const VERSION: &str = "fio-3.33";

/// An output format of fio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Normal,
    /// Fields separated by semicolons, a line per job; terse version 3.
    Terse,
    /// JSON with percentiles.
    Json,
    /// JSON with percentiles and the bins of the latency histograms.
    JsonPlus,
}

impl Format {
    /// All of them with the names that fio has for them.
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

    /// A result in this format.
    pub fn text(self, document: &ResultDocument) -> String {
        match self {
            Format::Normal => document.steps.iter().map(summary::step_summary).collect(),
            Format::Terse => terse::text(document),
            Format::Json => json::text(document, false),
            Format::JsonPlus => json::text(document, true),
        }
    }
}
