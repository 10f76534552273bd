//! Single numbers, and what was published about them.

use crate::{Relation, ToleranceKind};
use serde::{Deserialize, Serialize};

/// Unit of figures that are a yes (1) or a no (0).
pub const YES_OR_NO: &str = "yes or no";
/// Unit of sizes that a probe infers.
pub const BYTES: &str = "bytes";

/// A number with its unit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Figure {
    /// Stable name for programs, such as `sde.cdm.fresh.seq1m_q8t1.read`.
    pub id: String,
    /// For people.
    pub title: String,
    /// Mode, if there are several.
    #[serde(default)]
    pub mode: Option<String>,
    /// The value.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// Smallest of the repeats, if any.
    #[serde(default)]
    pub low: Option<f64>,
    /// Largest of the repeats, if any.
    #[serde(default)]
    pub high: Option<f64>,
    /// Whether the value answers a question: 1 is yes, 0 is no.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub yes_or_no: bool,
    /// The published value of a real device, if any.
    #[serde(default)]
    pub published: Option<Published>,
}

impl Figure {
    /// Whether this is the figure `id` of some mode.
    pub fn has_id(&self, id: &str) -> bool {
        let mode = self.id.strip_suffix(id);
        mode.is_some_and(|mode| mode.ends_with('.'))
    }
}

/// A published measurement of the real device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Published {
    /// Identifier of the fact in facts/published.toml.
    pub fact: String,
    /// Value as published.
    pub value: f64,
    /// `=`, `~`, `<`, `<=`, `>`, `range`.
    pub op: Relation,
    /// Allowed difference, as a share of the published value or in the unit (see `tolerance_kind`).
    pub tolerance: f64,
    /// `relative` or `absolute`.
    pub tolerance_kind: ToleranceKind,
    /// Whether the value lies within the tolerance.
    pub met: bool,
    /// No parameter of the model was chosen by the value.
    #[serde(default)]
    pub predicted: bool,
    /// Reason for a miss, as far as known.
    #[serde(default)]
    pub why: String,
    /// Publication that the value is from.
    pub source: String,
}
