//! The files of published facts.

use crate::step_runner::SuiteError;
use nandscope_result::Relation;
use serde::Deserialize;

/// Files of facts, with their names for messages.
const FILES: [(&str, &str); 3] = [
    (
        "published.toml",
        include_str!("../../../../facts/published.toml"),
    ),
    ("drives.toml", include_str!("../../../../facts/drives.toml")),
    ("plain.toml", include_str!("../../../../facts/plain.toml")),
];

#[derive(Debug, Deserialize)]
struct Facts {
    fact: Vec<Fact>,
}

/// One published statement; fields not listed here are for readers of the file.
#[derive(Debug, Deserialize)]
pub(super) struct Fact {
    /// Identifier, unique across the files.
    pub(super) id: String,
    /// Source of the publication.
    pub(super) source: String,
    /// Name of the device.
    pub(super) device: String,
    /// Measured or stated quantity.
    pub(super) quantity: String,
    /// A number, the two ends of a range, several named values, or words.
    pub(super) value: toml::Value,
    /// Relation of the value, such as "at least".
    pub(super) op: Relation,
    /// `measured`, `vendor_claim`, `spec`, `derived`, `param`, `estimate` or `qualitative`.
    pub(super) kind: String,
}

impl Fact {
    /// Whether the value was measured on a real device.
    pub(super) fn is_measured(&self) -> bool {
        self.kind == "measured"
    }
}

/// The facts of all files.
pub(super) fn all() -> Result<Vec<Fact>, SuiteError> {
    let mut all = Vec::new();
    for (name, text) in FILES {
        let some: Facts =
            toml::from_str(text).map_err(|e| SuiteError::Facts(format!("facts/{name}: {e}")))?;
        all.extend(some.fact);
    }
    all.extend(super::series::facts()?);
    Ok(all)
}
