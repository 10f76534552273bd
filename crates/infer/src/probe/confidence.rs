//! Confidences: how often answers of a question with evidence of one strength were right on the devices of the wide blind
//! test that are set aside for this (docs/inference.md); the others only check them. Nothing here is chosen by hand.

use serde::Serialize;

/// Strength of the evidence for an answer, among answers to the same question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strength {
    /// Least of all that is stated.
    Weak,
    /// Between the two.
    Fair,
    /// As strong as this evidence can be.
    Strong,
}

impl Strength {
    /// As tables name it.
    pub const fn name(self) -> &'static str {
        match self {
            Strength::Weak => "weak",
            Strength::Fair => "fair",
            Strength::Strong => "strong",
        }
    }
}

use Strength::{Fair, Strong, Weak};

/// Almost all answers of this kind were right.
pub const SURE: f64 = 0.99;
/// About nineteen of twenty were, or more.
pub const LIKELY: f64 = 0.95;
/// About nine of ten were.
pub const FAIR: f64 = 0.9;

/// The confidences that are stated; one that was never tested is the least.
const LEVELS: [f64; 7] = [SURE, LIKELY, FAIR, 0.8, 0.7, 0.6, 0.5];

/// Question, strength, right and stated answers: the counted half of 2,000 devices of each of the seeds 11 to 15. The slow
/// tests of the wide blind test print these lines, and compare them.
pub const COUNTED: [(&str, Strength, u32, u32); 37] = [
    ("buffer", Strong, 165, 172),
    ("depth", Strong, 1111, 1111),
    ("dies", Strong, 469, 477),
    ("discard", Strong, 4789, 4789),
    ("discard-speed", Strong, 65, 65),
    ("discard-speed", Fair, 120, 121),
    ("discard-speed", Weak, 3, 3),
    ("fat", Strong, 484, 485),
    ("fat", Fair, 45, 47),
    ("fat", Weak, 1135, 1140),
    ("offset", Strong, 1422, 1424),
    ("offset", Fair, 280, 280),
    ("offset", Weak, 825, 836),
    ("open-linear", Strong, 1364, 1372),
    ("open-linear", Fair, 558, 580),
    ("open-linear", Weak, 51, 54),
    ("open-random", Strong, 950, 952),
    ("open-random", Fair, 1180, 1188),
    ("overhead", Strong, 1216, 1216),
    ("page", Strong, 1328, 1328),
    ("page", Fair, 1784, 1790),
    ("page", Weak, 142, 155),
    ("parallelism", Strong, 1111, 1111),
    ("plateaus", Strong, 1216, 1216),
    ("rate", Strong, 1123, 1124),
    ("read-ahead", Strong, 2172, 2172),
    ("read-ahead", Fair, 871, 873),
    ("slc", Strong, 64, 64),
    ("slc", Fair, 51, 51),
    ("slc", Weak, 10, 10),
    ("slc-idle", Strong, 27, 27),
    ("stalls", Strong, 1009, 1011),
    ("stalls", Fair, 204, 205),
    ("unit", Strong, 1615, 1617),
    ("unit", Fair, 933, 946),
    ("unit", Weak, 18, 18),
    ("worst", Strong, 661, 661),
];

/// The confidence of an answer to a question with such evidence.
pub fn confidence(id: &str, strength: Strength) -> f64 {
    let counted = COUNTED.iter().find(|c| (c.0, c.1) == (id, strength));
    counted.map_or(LEVELS[LEVELS.len() - 1], |c| level(c.2, c.3))
}

/// The level below the share of right answers as H. Jeffreys estimates it (1946): few answers, all right, are no 99 %.
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
        assert_eq!(confidence("nothing", Strength::Strong), 0.5);
    }

    #[test]
    fn every_line_is_there_once_and_possible() {
        for (i, line) in COUNTED.iter().enumerate() {
            assert!(line.2 <= line.3, "{line:?}");
            let same = |c: &&(&str, Strength, u32, u32)| (c.0, c.1) == (line.0, line.1);
            assert_eq!(COUNTED.iter().skip(i).filter(same).count(), 1, "{line:?}");
        }
    }
}
