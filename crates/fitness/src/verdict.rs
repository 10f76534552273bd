//! From measurements to verdicts: yes, no, or not known, with margin and reason.

mod conditions;
mod streams;

use crate::lifetime::{Rating, Years};
use crate::qualify::Measured;
use crate::requirement::Requirement;
use nandscope_device::profile::Profile;
use nandscope_units::number;
use serde::Serialize;

pub use streams::StreamSummary;

/// Answer to a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// It is met.
    Yes,
    /// Neither can be said.
    NotKnown,
    /// It is not met.
    No,
}

impl Answer {
    /// In words.
    pub fn word(self) -> &'static str {
        match self {
            Answer::Yes => "yes",
            Answer::NotKnown => "not known",
            Answer::No => "no",
        }
    }
}

/// Verdict on one requirement, over all states.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The requirement, such as `video: buffer`.
    pub requirement: String,
    /// The answer.
    pub answer: Answer,
    /// Required value with its unit; empty if the file demands none.
    pub limit: String,
    /// Value found on the device, with its unit.
    pub found: String,
    /// Distance from the limit as a share of it: 0 is at the limit, 1 needs nothing of it, negative exceeds it. Of years and
    /// rates: what is found beyond the limit, as its share. `None` if it is not a matter of more or less.
    pub margin: Option<f64>,
    /// State that decided.
    pub state: String,
    /// Reason of a `no` or `not known`; may be empty.
    pub reason: String,
    /// Change of the application that this device would meet, or how to get an answer; empty if none is known.
    pub remedy: String,
}

/// Everything that is said about a device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The answer to the whole.
    pub answer: Answer,
    /// The single requirements in the order of the file.
    pub findings: Vec<Finding>,
    /// Index of the finding that fails first: of those with the worst answer, the one with the least margin.
    pub decides: Option<usize>,
    /// The streams, each in every state.
    pub streams: Vec<StreamSummary>,
    /// Years to the rated cycles in the state that wears most; `None` for a real device.
    pub years: Option<Years>,
    /// Rated cycles; `None` for a real device.
    pub rating: Option<Rating>,
}

/// Facts about a simulated device.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// Its profile.
    pub profile: &'a Profile,
    /// Rated cycles.
    pub rating: &'a Rating,
    /// Ambient temperature of the recordings, degrees Celsius.
    pub ambient_c: f64,
}

/// Judges measurements in one or more states. There are no `facts` about a real device.
pub fn judge(
    requirement: &Requirement,
    facts: Option<&Facts<'_>>,
    measured: &[Measured],
) -> Verdict {
    let mut findings = Vec::new();
    for (index, stream) in requirement.streams.iter().enumerate() {
        findings.extend(streams::findings(stream, index, measured));
    }
    findings.extend(conditions::years(requirement, facts, measured));
    findings.extend(conditions::temperature(requirement, facts, measured));
    findings.extend(conditions::power_cuts(requirement, measured));
    findings.extend(conditions::not_simulated(requirement));
    let answer = findings.iter().map(|f| f.answer).max();
    let answer = answer.unwrap_or(Answer::NotKnown);
    let margin = |f: &Finding| f.margin.unwrap_or(f64::INFINITY);
    let candidates = findings
        .iter()
        .enumerate()
        .filter(|(_, f)| f.answer == answer);
    let decides = candidates.min_by(|a, b| margin(a.1).total_cmp(&margin(b.1)));
    Verdict {
        answer,
        decides: decides.map(|(index, _)| index),
        streams: streams::summaries(requirement, measured),
        years: facts.map(|facts| conditions::worst_years(requirement, facts, measured).0),
        rating: facts.map(|facts| facts.rating.clone()),
        findings,
    }
}

/// The finding of the state with the worst answer; of equal answers, the one with the least margin.
fn worst(all: impl Iterator<Item = Finding>) -> Option<Finding> {
    all.max_by(|a, b| {
        let margin = |f: &Finding| f.margin.unwrap_or(f64::INFINITY);
        a.answer
            .cmp(&b.answer)
            .then(margin(b).total_cmp(&margin(a)))
    })
}

/// Distance of a found value below its limit, as a share of the limit.
fn margin(limit: f64, found: f64) -> Option<f64> {
    (limit > 0.0).then(|| (limit - found) / limit)
}

/// Years in words.
pub fn years_text(years: f64) -> String {
    match years {
        y if y >= crate::lifetime::LONGEST_YEARS => "over 1000 years".to_string(),
        y if y < 1.0 => format!("{} days", number::short(y * crate::lifetime::DAYS_PER_YEAR)),
        y => format!("{} years", number::short(y)),
    }
}
