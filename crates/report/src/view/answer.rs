//! Answers of a document, and their order of importance.

use super::requirements;
use nandscope_result::Conclusion;

/// An answer with its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The question, with the mode if there are several.
    pub question: String,
    /// The answer in words, with its confidence where that is known.
    pub answer: String,
    /// `pass` or `fail` for a test, empty for other questions.
    pub class: &'static str,
    /// Why a test was passed or failed; empty if no requirement is known.
    pub why: String,
    /// Evidence of the answer.
    pub evidence: String,
}

impl Answer {
    /// Answer from a conclusion; `several` if modes must be distinguished.
    pub fn of(conclusion: &Conclusion, several: bool) -> Answer {
        let question = match &conclusion.mode {
            Some(mode) if several => format!("{}, {mode}", conclusion.question),
            _ => conclusion.question.clone(),
        };
        Answer {
            question,
            answer: match conclusion.confidence {
                Some(confidence) => format!("{} ({:.0} %)", conclusion.answer, 100.0 * confidence),
                None => conclusion.answer.clone(),
            },
            class: match conclusion.passed {
                Some(true) => "pass",
                Some(false) => "fail",
                None => "",
            },
            why: requirements::why(conclusion),
            evidence: conclusion.evidence.clone(),
        }
    }
}

/// Answers of a probe and of flashbench about the internals of a device, with their names in a sentence.
pub(super) const INSIDE: [(&str, &str); 10] = [
    ("probe.unit", "allocation unit"),
    ("probe.page", "page"),
    ("probe.open-linear", "open allocation units"),
    ("probe.buffer", "write buffer"),
    ("probe.slc", "SLC cache"),
    ("probe.worst", "pattern to avoid"),
    ("align.allocation-unit", "allocation unit"),
    ("align.page", "page"),
    ("open-au.linear", "open allocation units"),
    ("open-au.random", "open in random order"),
];

/// Whether a conclusion answers one of these; its identifier may begin with the mode.
pub(super) fn is_answer_to(id: &str, inside: &str) -> bool {
    let rest = id.strip_suffix(inside);
    rest.is_some_and(|mode| mode.is_empty() || mode.ends_with('.'))
}

/// Rank of an answer among important ones; the same for all others.
pub fn place_of_answer(id: &str) -> usize {
    let place = INSIDE
        .iter()
        .position(|(inside, _)| is_answer_to(id, inside));
    place.unwrap_or(INSIDE.len())
}
