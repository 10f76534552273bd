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
pub(super) const LEVELS: [f64; 7] = [SURE, LIKELY, FAIR, 0.8, 0.7, 0.6, 0.5];

/// Question, strength, right and stated answers: the counted half of 2,000 devices of each of the seeds 11 to 15. The slow
/// tests of the wide blind test print these lines, and compare them.
pub const COUNTED: [(&str, Strength, u32, u32); 39] = [
    ("buffer", Strong, 377, 380),
    ("depth", Strong, 1116, 1116),
    ("dies", Strong, 711, 713),
    ("discard", Strong, 4806, 4806),
    ("discard-speed", Strong, 57, 57),
    ("discard-speed", Fair, 143, 145),
    ("discard-speed", Weak, 10, 10),
    ("fat", Strong, 470, 471),
    ("fat", Fair, 47, 50),
    ("fat", Weak, 1114, 1118),
    ("map-span", Strong, 264, 264),
    ("map-span", Fair, 15, 15),
    ("offset", Strong, 1415, 1417),
    ("offset", Fair, 263, 263),
    ("offset", Weak, 786, 798),
    ("open-linear", Strong, 1148, 1154),
    ("open-linear", Fair, 766, 777),
    ("open-linear", Weak, 54, 55),
    ("open-random", Strong, 840, 842),
    ("open-random", Fair, 1220, 1231),
    ("overhead", Strong, 1221, 1222),
    ("page", Strong, 1341, 1342),
    ("page", Fair, 1814, 1819),
    ("page", Weak, 141, 152),
    ("parallelism", Strong, 1115, 1116),
    ("plateaus", Strong, 1224, 1224),
    ("rate", Strong, 1198, 1200),
    ("read-ahead", Strong, 2171, 2171),
    ("read-ahead", Fair, 876, 880),
    ("slc", Strong, 49, 49),
    ("slc", Fair, 59, 59),
    ("slc", Weak, 13, 14),
    ("slc-idle", Strong, 28, 28),
    ("stalls", Strong, 1023, 1026),
    ("stalls", Fair, 197, 198),
    ("unit", Strong, 1593, 1596),
    ("unit", Fair, 899, 907),
    ("unit", Weak, 22, 22),
    ("worst", Strong, 652, 654),
];

/// What answers are compared with, to count the right ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Basis {
    /// The truth of simulated devices: [`COUNTED`].
    #[default]
    Simulated,
    /// Other recorded runs of the same card: [`COUNTED_RECORDED`].
    Recorded,
}

/// The same lines for recorded tables of flashbench (facts/flashbench): an answer of a run, or of one trial of a run, is right if
/// all other runs of that card which answer say the same. The tests of recorded texts print and compare these lines.
pub const COUNTED_RECORDED: [(&str, Strength, u32, u32); 7] = [
    ("fat", Strong, 11, 11),
    ("fat", Weak, 31, 33),
    ("open-linear", Fair, 20, 20),
    ("page", Strong, 9, 9),
    ("page", Weak, 24, 27),
    ("unit", Strong, 9, 9),
    ("unit", Weak, 26, 26),
];

/// The confidence of an answer to a question with such evidence.
pub fn confidence(basis: Basis, id: &str, strength: Strength) -> f64 {
    let lines: &[(&str, Strength, u32, u32)] = match basis {
        Basis::Simulated => &COUNTED,
        Basis::Recorded => &COUNTED_RECORDED,
    };
    let counted = lines.iter().find(|c| (c.0, c.1) == (id, strength));
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
        assert_eq!(
            confidence(Basis::Simulated, "nothing", Strength::Strong),
            0.5
        );
    }

    #[test]
    fn every_line_is_there_once_and_possible() {
        for lines in [&COUNTED[..], &COUNTED_RECORDED] {
            for (i, line) in lines.iter().enumerate() {
                assert!(line.2 <= line.3, "{line:?}");
                let same = |c: &&(&str, Strength, u32, u32)| (c.0, c.1) == (line.0, line.1);
                assert_eq!(lines.iter().skip(i).filter(same).count(), 1, "{line:?}");
            }
        }
    }
}
