//! Confidences: shares of right answers by question and strength of evidence, counted on the half of the blind-test devices that
//! is set aside for this (docs/inference.md); the other half checks them. No confidence is set by hand.

use serde::{Deserialize, Serialize};

/// Strength of the evidence for an answer, among answers to the same question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strength {
    /// Weakest evidence with which an answer is stated.
    Weak,
    /// Between weak and strong.
    Fair,
    /// Strongest evidence for this question.
    Strong,
}

impl Strength {
    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Strength::Weak => "weak",
            Strength::Fair => "fair",
            Strength::Strong => "strong",
        }
    }
}

use super::question::Question::{self, *};
use Strength::{Fair, Strong, Weak};

/// Confidence of answers that are almost always right.
pub const SURE: f64 = 0.99;
/// Confidence of answers that are right in about 19 of 20 cases.
pub const LIKELY: f64 = 0.95;
/// Confidence of answers that are right in about nine of ten cases.
pub const FAIR: f64 = 0.9;

/// All stated confidences; an untested one is stated as the lowest.
pub(super) const LEVELS: [f64; 7] = [SURE, LIKELY, FAIR, 0.8, 0.7, 0.6, 0.5];

/// Question, strength, right answers, stated answers: counted on half of 2,000 devices for each of the seeds 11 to 15. The slow
/// tests of the blind test print these lines and compare them.
pub const COUNTED: [(Question, Strength, u32, u32); 39] = [
    (Buffer, Strong, 377, 380),
    (Depth, Strong, 1116, 1116),
    (Dies, Strong, 711, 713),
    (Discard, Strong, 4805, 4805),
    (DiscardSpeed, Strong, 53, 53),
    (DiscardSpeed, Fair, 141, 143),
    (DiscardSpeed, Weak, 10, 10),
    (Fat, Strong, 467, 468),
    (Fat, Fair, 47, 51),
    (Fat, Weak, 1097, 1101),
    (LargePage, Fair, 282, 292),
    (MapSpan, Strong, 264, 264),
    (MapSpan, Fair, 15, 15),
    (Offset, Strong, 1415, 1417),
    (Offset, Fair, 263, 263),
    (Offset, Weak, 775, 785),
    (OpenLinear, Strong, 1143, 1149),
    (OpenLinear, Fair, 759, 770),
    (OpenLinear, Weak, 59, 60),
    (OpenRandom, Strong, 838, 840),
    (OpenRandom, Fair, 1212, 1222),
    (Overhead, Strong, 1221, 1222),
    (Page, Strong, 1986, 2005),
    (Page, Fair, 1130, 1158),
    (Parallelism, Strong, 1115, 1116),
    (Plateaus, Strong, 1224, 1224),
    (Rate, Strong, 1198, 1200),
    (ReadAhead, Strong, 2171, 2171),
    (ReadAhead, Fair, 876, 880),
    (Slc, Strong, 49, 49),
    (Slc, Fair, 59, 59),
    (Slc, Weak, 13, 14),
    (SlcIdle, Strong, 28, 28),
    (Stalls, Strong, 1023, 1026),
    (Stalls, Fair, 197, 198),
    (Unit, Strong, 1593, 1596),
    (Unit, Fair, 881, 888),
    (Unit, Weak, 22, 22),
    (Worst, Strong, 645, 647),
];

/// Reference by which answers were counted as right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Basis {
    /// The truth of simulated devices: [`COUNTED`].
    #[default]
    Simulated,
    /// Other recorded runs of the same card: [`COUNTED_RECORDED`].
    Recorded,
}

/// Counts as in [`COUNTED`] for recorded tables of flashbench (facts/flashbench): an answer of a run, or of one trial of it, is
/// right if all other runs of the card with an answer agree. The tests of recorded texts print and compare these lines.
pub const COUNTED_RECORDED: [(Question, Strength, u32, u32); 7] = [
    (Fat, Strong, 11, 11),
    (Fat, Weak, 31, 33),
    (OpenLinear, Fair, 20, 20),
    (Page, Strong, 9, 9),
    (Page, Weak, 24, 27),
    (Unit, Strong, 9, 9),
    (Unit, Weak, 26, 26),
];

/// Confidence of an answer to a question with evidence of this strength.
pub fn confidence(basis: Basis, question: Question, strength: Strength) -> f64 {
    let lines: &[(Question, Strength, u32, u32)] = match basis {
        Basis::Simulated => &COUNTED,
        Basis::Recorded => &COUNTED_RECORDED,
    };
    let counted = lines.iter().find(|c| (c.0, c.1) == (question, strength));
    counted.map_or(LEVELS[LEVELS.len() - 1], |c| level(c.2, c.3))
}

/// Largest level that does not exceed the share of right answers, estimated with H. Jeffreys' prior (1946): a few right answers
/// are not 99 %.
pub fn level(right: u32, stated: u32) -> f64 {
    let share = (f64::from(right) + 0.5) / (f64::from(stated) + 1.0);
    let below = LEVELS.iter().copied().find(|l| *l <= share);
    below.unwrap_or(LEVELS[LEVELS.len() - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_right_answers_are_no_certainty() {
        assert_eq!(level(0, 0), 0.5);
        assert_eq!(level(4, 4), 0.9);
        assert_eq!(level(20, 20), 0.95);
        assert_eq!(level(48, 48), 0.95);
        assert_eq!(level(49, 49), 0.99);
        assert_eq!(level(95, 100), 0.9);
        assert_eq!(level(1, 9), 0.5);
        assert_eq!(
            confidence(Basis::Simulated, Question::DiscardReads, Strength::Strong),
            0.5
        );
    }

    #[test]
    fn every_line_is_there_once_and_possible() {
        for lines in [&COUNTED[..], &COUNTED_RECORDED] {
            for (i, line) in lines.iter().enumerate() {
                assert!(line.2 <= line.3, "{line:?}");
                let same = |c: &&(Question, Strength, u32, u32)| (c.0, c.1) == (line.0, line.1);
                assert_eq!(lines.iter().skip(i).filter(same).count(), 1, "{line:?}");
            }
        }
    }
}
