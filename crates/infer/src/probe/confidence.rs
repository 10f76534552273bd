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
    ("buffer", Strong, 167, 174),
    ("depth", Strong, 1108, 1108),
    ("dies", Strong, 443, 451),
    ("discard", Strong, 4334, 4334),
    ("discard-speed", Strong, 71, 72),
    ("discard-speed", Fair, 121, 122),
    ("discard-speed", Weak, 3, 3),
    ("fat", Strong, 380, 380),
    ("fat", Fair, 61, 61),
    ("fat", Weak, 923, 926),
    ("offset", Strong, 1418, 1419),
    ("offset", Fair, 281, 282),
    ("offset", Weak, 766, 775),
    ("open-linear", Strong, 1346, 1360),
    ("open-linear", Fair, 569, 588),
    ("open-linear", Weak, 51, 54),
    ("open-random", Strong, 939, 945),
    ("open-random", Fair, 969, 985),
    ("overhead", Strong, 1216, 1216),
    ("page", Strong, 1315, 1316),
    ("page", Fair, 1776, 1783),
    ("page", Weak, 105, 118),
    ("parallelism", Strong, 1108, 1108),
    ("plateaus", Strong, 1216, 1216),
    ("rate", Strong, 1158, 1160),
    ("read-ahead", Strong, 2156, 2156),
    ("read-ahead", Fair, 885, 887),
    ("slc", Strong, 48, 49),
    ("slc", Fair, 49, 50),
    ("slc-idle", Strong, 31, 31),
    ("slc-kind", Strong, 0, 1),
    ("stalls", Strong, 1010, 1012),
    ("stalls", Fair, 203, 204),
    ("unit", Strong, 1612, 1613),
    ("unit", Fair, 933, 946),
    ("unit", Weak, 17, 17),
    ("worst", Strong, 616, 616),
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
