//! Counts right and wrong conclusions by question, stated confidence and strength of the evidence. Confidences are
//! counted on one half of the devices and checked on the other half.

use super::Tried;
use super::groups::Groups;
use super::score::{Judged, Outcome};
use nandscope_infer::probe::{Question, Strength, level};
use nandscope_result::StopReason;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Conclusions of one question with one stated confidence, or evidence of one strength.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Class {
    /// Number of answers in this class.
    pub stated: u32,
    /// Number of right answers in this class.
    pub right: u32,
}

impl Class {
    pub(super) fn add(&mut self, other: Class) {
        self.stated += other.stated;
        self.right += other.right;
    }

    /// Probability of at most `right` right answers, if each of the stated ones is right with probability `p`.
    pub fn chance(&self, p: f64) -> f64 {
        let n = f64::from(self.stated);
        let log = |k: f64| libm::lgamma(k + 1.0);
        let terms = (0..=self.right).map(|right| {
            let k = f64::from(right);
            let ways = log(n) - log(k) - log(n - k);
            libm::exp(ways + k * libm::log(p) + (n - k) * libm::log(1.0 - p))
        });
        terms.sum::<f64>().min(1.0)
    }
}

/// Half of the devices: groups of eight successive devices alternate, so that every kind is in both halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// Half on which confidences are counted.
    Counted,
    /// Half on which confidences are checked.
    Held,
}

impl Half {
    /// Half of the device with this number.
    pub fn of(number: u64) -> Self {
        match number / 8 % 2 {
            0 => Half::Counted,
            _ => Half::Held,
        }
    }
}

/// Answers with evidence of one strength, by half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Halves {
    /// Answers on the half on which confidences are counted.
    pub counted: Class,
    /// Answers on the half on which confidences are checked.
    pub held: Class,
}

/// The counts of one question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Number of devices for which the question has a true answer, or for which an answer was stated.
    pub asked: u32,
    /// Number of right conclusions.
    pub right: u32,
    /// Number of wrong conclusions.
    pub wrong: u32,
    /// Number of "cannot tell" conclusions although there is a true answer.
    pub not_told: u32,
    /// Devices on which the answer can be seen in noise-free data, and right conclusions on those.
    pub visible: Class,
    /// Answers by stated confidence, percent.
    pub classes: BTreeMap<u32, Class>,
    /// Answers by strength of the evidence.
    pub strengths: BTreeMap<Strength, Halves>,
}

/// The longest first write of a probe, bytes.
const FIRST_WRITE: u64 = 512 << 10;

/// The counts of all questions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Counts by name of the question.
    pub rows: BTreeMap<String, Row>,
    /// Number of devices drawn and probed.
    pub devices: u32,
    /// Number of probes that ended early: their time was used up, or the device failed.
    pub cut_short: u32,
    /// Largest number of bytes written to a device.
    pub most_written: u64,
    /// Longest busy time of a device, seconds, without devices that answered nothing.
    pub longest_s: f64,
    /// Number of devices whose first write, which cannot be interrupted, took all of the time.
    pub unanswered: u32,
    /// Answers about the cards of some groups.
    pub groups: Groups,
}

impl Table {
    /// Adds the results of a device.
    pub fn add(&mut self, half: Half, tried: &Tried) {
        let report = &tried.report;
        self.devices += 1;
        self.cut_short += u32::from(report.cut_short.is_some());
        self.most_written = self.most_written.max(report.written);
        if report.cut_short == Some(StopReason::TimeSpent) && report.written <= FIRST_WRITE {
            self.unanswered += 1;
        } else {
            self.longest_s = self.longest_s.max(report.elapsed_s);
        }
        self.groups.add(&tried.drawn, &tried.judged);
        for j in &tried.judged {
            if j.outcome != Outcome::Nothing {
                let id = j.question.id().to_string();
                self.rows.entry(id).or_default().add(half, j);
            }
        }
    }

    /// Adds the counts of another table.
    pub fn join(&mut self, other: &Table) {
        self.devices += other.devices;
        self.cut_short += other.cut_short;
        self.most_written = self.most_written.max(other.most_written);
        self.longest_s = self.longest_s.max(other.longest_s);
        self.unanswered += other.unanswered;
        self.groups.join(&other.groups);
        for (id, more) in &other.rows {
            self.rows.entry(id.clone()).or_default().join(more);
        }
    }

    /// The tables as docs/inference.md shows them.
    pub fn markdown(&self) -> String {
        let mut text = "| question | devices | right | wrong | cannot tell | right if visible |\n|---|---|---|---|---|---|\n".to_string();
        for (id, row) in &self.rows {
            let visible = match row.visible {
                Class { stated: 0, .. } => "–".to_string(),
                Class { stated, right } => format!("{right}/{stated}"),
            };
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "| {id} | {} | {} | {} | {} | {visible} |",
                row.asked, row.right, row.wrong, row.not_told
            );
        }
        let _ = writeln!(
            text,
            "\n{} devices, of which {} ended early; at most {:.2} GB were written to one, within {:.0} s. The first write used up the time of {}.\n",
            self.devices,
            self.cut_short,
            self.most_written as f64 / 1e9,
            self.longest_s,
            self.unanswered
        );
        let least = self
            .classes()
            .min_by(|a, b| a.chance().total_cmp(&b.chance()));
        if let Some(class) = least {
            let _ = writeln!(
                text,
                "The least likely class of the held-out half is {}, {}: {}/{} right at {:.0} %, probability {:.2}.",
                class.id,
                class.strength.name(),
                class.held.right,
                class.held.stated,
                100.0 * class.confidence(),
                class.chance()
            );
        }
        let _ = write!(
            text,
            "\nRight of the stated answers about the cards of some groups:\n\n{}",
            self.groups.markdown()
        );
        text
    }

    /// docs/inference.csv: counts of both halves for each class of evidence.
    pub fn classes_csv(&self) -> String {
        let mut text = "question,evidence,counted half: right,counted half: stated,\"confidence, %\",held-out half: right,held-out half: stated,probability of so few\n".to_string();
        for class in self.classes() {
            let _ = writeln!(
                text,
                "{},{},{},{},{:.0},{},{},{:.2}",
                class.id,
                class.strength.name(),
                class.counted.right,
                class.counted.stated,
                100.0 * class.confidence(),
                class.held.right,
                class.held.stated,
                class.chance()
            );
        }
        text
    }

    fn classes(&self) -> impl Iterator<Item = EvidenceClass<'_>> {
        self.rows.iter().flat_map(|(id, row)| {
            row.strengths
                .iter()
                .rev()
                .map(move |(strength, halves)| EvidenceClass {
                    id,
                    strength: *strength,
                    counted: halves.counted,
                    held: halves.held,
                })
        })
    }

    /// Counts of the first half, as lines of the inference crate's table.
    pub fn counted(&self) -> String {
        let mut text = String::new();
        let named = |id: &str| Question::ALL.into_iter().find(|q| q.id() == id);
        let rows = self.rows.iter();
        for (question, row) in rows.filter_map(|(id, row)| Some((named(id)?, row))) {
            for (strength, halves) in row.strengths.iter().rev() {
                let Class { stated, right } = halves.counted;
                let _ = writeln!(text, "    ({question:?}, {strength:?}, {right}, {stated}),");
            }
        }
        text
    }
}

/// The answers to one question that rest on evidence of one strength.
struct EvidenceClass<'a> {
    id: &'a str,
    strength: Strength,
    counted: Class,
    held: Class,
}

impl EvidenceClass<'_> {
    /// Confidence, 0 to 1, from the answers of the counted half.
    fn confidence(&self) -> f64 {
        level(self.counted.right, self.counted.stated)
    }

    /// Probability that the held-out half has at most as many right answers as observed, if the confidence is right.
    fn chance(&self) -> f64 {
        self.held.chance(self.confidence())
    }
}

impl Row {
    fn add(&mut self, half: Half, judged: &Judged) {
        self.asked += 1;
        let right = u32::from(judged.outcome == Outcome::Right);
        if judged.visible {
            self.visible.add(Class { stated: 1, right });
        }
        match judged.outcome {
            Outcome::Right => self.right += 1,
            Outcome::Wrong => self.wrong += 1,
            Outcome::NotTold | Outcome::Nothing => self.not_told += 1,
        }
        if let Some(strength) = judged.strength {
            let one = Class { stated: 1, right };
            let percent = (100.0 * judged.confidence).round() as u32;
            self.classes.entry(percent).or_default().add(one);
            let halves = self.strengths.entry(strength).or_default();
            match half {
                Half::Counted => halves.counted.add(one),
                Half::Held => halves.held.add(one),
            }
        }
    }

    fn join(&mut self, more: &Row) {
        self.asked += more.asked;
        self.right += more.right;
        self.wrong += more.wrong;
        self.not_told += more.not_told;
        self.visible.add(more.visible);
        for (percent, more) in &more.classes {
            self.classes.entry(*percent).or_default().add(*more);
        }
        for (strength, more) in &more.strengths {
            let halves = self.strengths.entry(*strength).or_default();
            halves.counted.add(more.counted);
            halves.held.add(more.held);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chance_of_few_right_answers_is_binomial() {
        let class = |right, stated| Class { stated, right };
        assert!((class(1, 2).chance(0.5) - 0.75).abs() < 1e-9);
        assert!((class(9, 10).chance(0.9) - (1.0 - libm::pow(0.9, 10.0))).abs() < 1e-9);
        assert!((class(0, 0).chance(0.9) - 1.0).abs() < 1e-9);
        assert!(class(1900, 2000).chance(0.99) < 1e-9);
    }
}
