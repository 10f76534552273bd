//! Counts how answers fare: right, wrong, by one, or not given; and whether answers given with a
//! confidence are right as often as it says.

use super::draw::Truth;
use nandscope_infer::probe::{FAIR, LIKELY, Question, Report, SURE, Value};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Judgement of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is right; so is "cannot tell" where there is nothing to tell.
    Right,
    /// A count that is wrong by one.
    ByOne,
    /// Stated with confidence, and not the truth.
    Wrong,
    /// There was something to tell, and no answer.
    NotTold,
}

/// An answer and how it fares.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The question.
    pub question: Question,
    /// Judgement of the answer.
    pub outcome: Outcome,
    /// The confidence that was stated; 0 without an answer.
    pub confidence: f64,
}

/// Tolerance of a size: 10 %.
const SIZE: f64 = 0.1;

/// Holds the answers against the truth; questions that do not apply to the device are left out.
pub fn judge(truth: &Truth, report: &Report) -> Vec<Judged> {
    let mut all = Vec::new();
    let mut add = |question: Question, outcome: Option<Outcome>| {
        let confidence = report.finding(question).map_or(0.0, |f| f.confidence);
        all.extend(outcome.map(|outcome| Judged {
            question,
            outcome,
            confidence,
        }));
    };
    let exact = |truth: Option<u64>, found: Option<u64>| match (truth, found) {
        (Some(truth), Some(found)) if truth == found => Outcome::Right,
        (Some(_), None) => Outcome::NotTold,
        (None, None) => Outcome::Right,
        _ => Outcome::Wrong,
    };
    let about = |truth: Option<u64>, found: Option<u64>| match (truth, found) {
        (Some(truth), Some(found)) => {
            let off = (found as f64 / truth as f64 - 1.0).abs();
            if off <= SIZE {
                Outcome::Right
            } else {
                Outcome::Wrong
            }
        }
        (Some(_), None) => Outcome::NotTold,
        (None, None) => Outcome::Right,
        (None, Some(_)) => Outcome::Wrong,
    };
    add(
        Question::Unit,
        Some(exact(truth.unit, report.bytes(Question::Unit))),
    );
    if truth.card {
        add(
            Question::Page,
            Some(exact(truth.page, report.bytes(Question::Page))),
        );
        add(
            Question::Offset,
            Some(exact(truth.offset, report.bytes(Question::Offset))),
        );
        add(
            Question::OpenLinear,
            Some(count(truth.open, report.count(Question::OpenLinear))),
        );
        let said = match report.finding(Question::Fat).and_then(|f| f.value) {
            Some(Value::Flag(said)) => Some(said),
            _ => None,
        };
        add(
            Question::Fat,
            truth.fat.map(|truth| match said {
                Some(said) if said == truth => Outcome::Right,
                Some(_) => Outcome::Wrong,
                None => Outcome::NotTold,
            }),
        );
    } else {
        add(
            Question::OpenLinear,
            Some(count(None, report.count(Question::OpenLinear))),
        );
        add(
            Question::Dies,
            truth.dies.map(
                |truth| match report.finding(Question::Dies).and_then(|f| f.value) {
                    Some(Value::Range(low, high)) if (low..=high).contains(&truth) => {
                        Outcome::Right
                    }
                    Some(_) => Outcome::Wrong,
                    None => Outcome::NotTold,
                },
            ),
        );
        add(
            Question::Buffer,
            Some(about(truth.buffer, report.bytes(Question::Buffer))),
        );
    }
    add(
        Question::Slc,
        Some(about(truth.slc, report.bytes(Question::Slc))),
    );
    all
}

fn count(truth: Option<u32>, found: Option<u32>) -> Outcome {
    match (truth, found) {
        (Some(truth), Some(found)) => match truth.abs_diff(found) {
            0 => Outcome::Right,
            1 => Outcome::ByOne,
            _ => Outcome::Wrong,
        },
        (Some(_), None) => Outcome::NotTold,
        (None, None) => Outcome::Right,
        (None, Some(_)) => Outcome::Wrong,
    }
}

/// The counts of one question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Devices to which it applies.
    pub asked: u32,
    /// Right answers.
    pub right: u32,
    /// Answers that are wrong by one.
    pub by_one: u32,
    /// Wrong answers.
    pub wrong: u32,
    /// No answer.
    pub not_told: u32,
    /// Answers that are likely, and right ones among them.
    pub likely: (u32, u32),
    /// Answers that are fairly certain, and right ones among them.
    pub fair: (u32, u32),
    /// Answers that are almost certain, and right ones among them.
    pub sure: (u32, u32),
}

/// The counts of all questions.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Table {
    /// By question.
    pub rows: BTreeMap<&'static str, Row>,
    /// The most that was written to a device, bytes.
    pub most_written: u64,
    /// The longest that a device was busy, seconds.
    pub longest_s: f64,
}

impl Table {
    /// Adds a device.
    pub fn add(&mut self, judged: &[Judged], report: &Report) {
        self.most_written = self.most_written.max(report.written);
        self.longest_s = self.longest_s.max(report.elapsed_s);
        for j in judged {
            let row = self.rows.entry(j.question.id()).or_default();
            row.asked += 1;
            match j.outcome {
                Outcome::Right => row.right += 1,
                Outcome::ByOne => row.by_one += 1,
                Outcome::Wrong => row.wrong += 1,
                Outcome::NotTold => row.not_told += 1,
            }
            let right = u32::from(j.outcome == Outcome::Right);
            let bin = match j.confidence {
                c if c >= SURE => Some(&mut row.sure),
                c if c >= LIKELY => Some(&mut row.likely),
                c if c >= FAIR => Some(&mut row.fair),
                _ => None,
            };
            if let Some((answers, rights)) = bin {
                *answers += 1;
                *rights += right;
            }
        }
    }

    /// Adds the counts of another table.
    pub fn join(&mut self, other: &Table) {
        self.most_written = self.most_written.max(other.most_written);
        self.longest_s = self.longest_s.max(other.longest_s);
        for (id, more) in &other.rows {
            let row = self.rows.entry(id).or_default();
            row.asked += more.asked;
            row.right += more.right;
            row.by_one += more.by_one;
            row.wrong += more.wrong;
            row.not_told += more.not_told;
            for (bin, more) in [
                (&mut row.likely, more.likely),
                (&mut row.fair, more.fair),
                (&mut row.sure, more.sure),
            ] {
                bin.0 += more.0;
                bin.1 += more.1;
            }
        }
    }

    /// The table for docs/inference.md.
    pub fn markdown(&self) -> String {
        let mut text = "| question | devices | right | by one | wrong | cannot tell | 99 %: right of | 95 %: right of | 90 %: right of |\n|---|---|---|---|---|---|---|---|---|\n".to_string();
        for (id, row) in &self.rows {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "| {id} | {} | {} | {} | {} | {} | {} of {} | {} of {} | {} of {} |",
                row.asked,
                row.right,
                row.by_one,
                row.wrong,
                row.not_told,
                row.sure.1,
                row.sure.0,
                row.likely.1,
                row.likely.0,
                row.fair.1,
                row.fair.0
            );
        }
        let _ = writeln!(
            text,
            "\nAt most {:.2} GB were written to a device, and {:.0} s of its time spent.",
            self.most_written as f64 / 1e9,
            self.longest_s
        );
        text
    }
}
