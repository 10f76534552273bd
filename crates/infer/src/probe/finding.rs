//! Conclusions about a device: an answer with its confidence and evidence, or "cannot tell" with the reason.

use super::confidence::{Basis, Strength, confidence};
use super::question::Question;
pub use nandscope_units::number::binary_bytes as size;
use serde::Serialize;

/// A number with its noun: `1 unit`, `2 units`.
pub(super) fn counted(number: u64, one: &str, many: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        n => format!("{n} {many}"),
    }
}

/// The answer as a number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "unit", content = "value")]
pub enum Value {
    /// A size, bytes.
    Bytes(u64),
    /// A count.
    Count(u32),
    /// Bytes per second.
    BytesPerS(f64),
    /// A time, s.
    Seconds(f64),
    /// Yes or no.
    Flag(bool),
    /// Ratio without a unit.
    Factor(f64),
    /// A count between two limits, both included.
    Range(u32, u32),
    /// Degrees Celsius.
    Celsius(f64),
}

/// Answer to one question.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The question.
    #[serde(flatten)]
    pub question: Question,
    /// The answer; `None` for "cannot tell".
    pub value: Option<Value>,
    /// The answer in words.
    pub answer: String,
    /// Probability that the answer is right, 0 to 1: the share of right answers to this question with this strength in the blind
    /// test (docs/inference.md). 0 for "cannot tell".
    pub confidence: f64,
    /// Strength of the evidence; `None` for "cannot tell".
    pub strength: Option<Strength>,
    /// Numbers that support the answer, or the reason for "cannot tell".
    pub evidence: String,
}

impl Finding {
    /// The answer if it is a size, bytes.
    pub fn bytes(&self) -> Option<u64> {
        match self.value? {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The same answer with evidence of another strength; "cannot tell" stays unchanged.
    pub(super) fn resting_on(mut self, strength: Strength) -> Self {
        if self.value.is_some() {
            self.confidence = confidence(Basis::Simulated, self.question, strength);
            self.strength = Some(strength);
        }
        self
    }

    /// Sets the confidence from the counts of another basis; "cannot tell" stays unchanged.
    pub(super) fn count_on(&mut self, basis: Basis) {
        if let Some(strength) = self.strength {
            self.confidence = confidence(basis, self.question, strength);
        }
    }
}
