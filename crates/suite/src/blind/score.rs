//! Compares every stated conclusion with the truth.

use super::truth::Truth;
use super::visible::Visible;
use nandscope_infer::probe::{Question, Report, Strength, Value};
use serde::Serialize;

/// Judgement of a conclusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Outcome {
    /// The stated answer is the truth.
    Right,
    /// The stated answer is not the truth.
    Wrong,
    /// "Cannot tell" although there is a true answer.
    NotTold,
    /// "Cannot tell", and there is no true answer.
    Nothing,
}

/// A conclusion and its judgement.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The question.
    pub question: Question,
    /// Judgement of the conclusion.
    pub outcome: Outcome,
    /// Stated confidence; 0 without an answer.
    pub confidence: f64,
    /// Strength of the evidence; `None` without an answer.
    pub strength: Option<Strength>,
    /// Whether the answer can be seen in noise-free data.
    pub visible: bool,
}

/// Tolerance of a size: 10 %.
const SIZE: f64 = 0.1;
/// Tolerance of the size of an SLC cache, as a share of it, or two superblocks: data folded while the cache fills
/// counts as part of it.
const CACHE: f64 = 0.25;
/// Largest factor by which the range of a map may be off.
const MAP: f64 = 2.0;

fn near(truth: u64, found: f64, share: f64) -> bool {
    (found / truth.max(1) as f64 - 1.0).abs() <= share
}

/// Whether a stated value is right.
type Rule = Box<dyn Fn(Value) -> bool>;

/// The rule of a question, and whether it has a true answer; `None` for questions whose answers are plain measurements.
fn rule(truth: &Truth, visible: &Visible, question: Question) -> Option<(bool, Rule)> {
    let truth = truth.clone();
    let seen = visible.pages;
    let bytes = |v: Value| match v {
        Value::Bytes(b) => b,
        _ => u64::MAX,
    };
    // A range is right if it contains a right number.
    let counts = |truth: &[u32], v: Value| match v {
        Value::Count(n) => truth.contains(&n),
        Value::Range(low, high) => truth.iter().any(|n| (low..=high).contains(n)),
        _ => false,
    };
    Some(match question {
        Question::Unit => (
            truth.unit.is_some(),
            Box::new(move |v| truth.unit == Some(bytes(v))),
        ),
        Question::Offset => (
            truth.offset.is_some(),
            Box::new(move |v| truth.offset == Some(bytes(v))),
        ),
        Question::Page => (
            !truth.pages.is_empty(),
            Box::new(move |v| seen.page == Some(bytes(v))),
        ),
        Question::LargePage => (
            !truth.pages.is_empty(),
            Box::new(move |v| seen.large == Some(bytes(v))),
        ),
        Question::OpenLinear => (
            !truth.open_linear.is_empty(),
            Box::new(move |v| counts(&truth.open_linear, v)),
        ),
        Question::OpenRandom => (
            !truth.open_random.is_empty(),
            Box::new(move |v| counts(&truth.open_random, v)),
        ),
        Question::Fat => (
            truth.card,
            Box::new(move |v| truth.card && v == Value::Flag(truth.fat)),
        ),
        Question::ReadAhead => (true, Box::new(move |v| v == Value::Flag(truth.read_ahead))),
        Question::Slc => (
            truth.slc.is_some(),
            Box::new(move |v| {
                let found = bytes(v);
                let grain = 2 * truth.slc_superblock;
                truth
                    .slc
                    .is_some_and(|t| near(t, found as f64, CACHE) || t.abs_diff(found) <= grain)
            }),
        ),
        Question::SlcKind => (
            truth.slc_fixed.is_some(),
            Box::new(move |v| truth.slc_fixed.is_some_and(|t| v == Value::Flag(t))),
        ),
        Question::Buffer => (
            !truth.buffers.is_empty(),
            Box::new(move |v| {
                let sizes = truth.buffers.iter();
                sizes.clone().any(|t| near(*t, bytes(v) as f64, SIZE))
            }),
        ),
        Question::Dies => (
            !truth.parts.is_empty(),
            Box::new(move |v| match v {
                Value::Range(low, high) => truth.parts.iter().any(|p| (low..=high).contains(p)),
                _ => false,
            }),
        ),
        Question::Discard => (true, Box::new(move |v| v == Value::Flag(truth.discard))),
        Question::MapSpan => (
            !truth.map_ranges.is_empty(),
            Box::new(move |v| {
                let ratios = truth.map_ranges.iter().map(|t| bytes(v) as f64 / *t as f64);
                ratios.into_iter().any(|r| (1.0 / MAP..=MAP).contains(&r))
            }),
        ),
        _ => return None,
    })
}

/// Judges every conclusion of a report; `visible` are the questions whose answers can be seen in noise-free data.
pub fn judge(truth: &Truth, report: &Report, visible: &Visible) -> Vec<Judged> {
    let judged = report.findings.iter().filter_map(|finding| {
        let (something, right) = rule(truth, visible, finding.question)?;
        let outcome = match finding.value {
            Some(value) if right(value) => Outcome::Right,
            Some(_) => Outcome::Wrong,
            None if something => Outcome::NotTold,
            None => Outcome::Nothing,
        };
        Some(Judged {
            question: finding.question,
            outcome,
            confidence: finding.confidence,
            strength: finding.strength,
            visible: visible.questions.contains(&finding.question),
        })
    });
    judged.collect()
}
