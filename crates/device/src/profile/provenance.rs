//! Where a number of a profile comes from. A remark begins with one of six words, which [`Provenance::read`] takes
//! off: `datasheet:`, `paper:`, `review:`, `derived:`, `assumed LOW..HIGH:` and `fitted LOW..HIGH:`.

use std::fmt;

/// Source of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Provenance {
    /// Stated by a maker or a standard.
    Datasheet,
    /// Measured, or fitted to a part, by a scientific paper.
    Paper,
    /// Measured on the real device by others, or fitted to such a measurement; if that is a published fact, the remark
    /// names it.
    Review,
    /// Derived from other numbers; the remark has the formula.
    Derived,
    /// Not published; the ends bound the plausible values. For a list of numbers, they bound its mean.
    Assumed {
        /// Least plausible value, in the unit of the key.
        low: f64,
        /// Greatest plausible value.
        high: f64,
    },
    /// Fitted to measurements of the device by `nandscope fit`; values between the ends fit equally well. For a list of
    /// numbers, the ends are of its mean.
    Fitted {
        /// Least value that fits, in the unit of the key.
        low: f64,
        /// Greatest value that fits.
        high: f64,
    },
}

impl Provenance {
    /// Splits a remark into its provenance and the rest; `None` if it does not begin with one.
    pub fn read(remark: &str) -> Option<(Provenance, &str)> {
        let (head, rest) = remark.split_once(':')?;
        let found = match head.trim() {
            "datasheet" => Provenance::Datasheet,
            "paper" => Provenance::Paper,
            "review" => Provenance::Review,
            "derived" => Provenance::Derived,
            other => {
                let (word, range) = other.split_once(' ')?;
                let (low, high) = range.split_once("..")?;
                let number = |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite());
                let (low, high) = (number(low)?, number(high)?);
                match word {
                    "assumed" => Provenance::Assumed { low, high },
                    "fitted" => Provenance::Fitted { low, high },
                    _ => return None,
                }
            }
        };
        Some((found, rest.trim()))
    }
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self {
            Provenance::Datasheet => "datasheet",
            Provenance::Paper => "paper",
            Provenance::Review => "review",
            Provenance::Derived => "derived",
            Provenance::Assumed { low, high } => {
                return f.pad(&format!("assumed {low} to {high}"));
            }
            Provenance::Fitted { low, high } => {
                return f.pad(&format!("fitted {low} to {high}"));
            }
        };
        f.pad(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remark_begins_with_where_the_number_comes_from() {
        let assumed = |low, high| Provenance::Assumed { low, high };
        for (remark, expected) in [
            (
                "paper: ISSCC: 16 KiB",
                Some((Provenance::Paper, "ISSCC: 16 KiB")),
            ),
            ("derived: 2 x 8", Some((Provenance::Derived, "2 x 8"))),
            (
                "assumed 0.5..2: firmware",
                Some((assumed(0.5, 2.0), "firmware")),
            ),
            (
                "assumed 1e-6..1e-4: fresh",
                Some((assumed(1e-6, 1e-4), "fresh")),
            ),
            (
                "fitted 40..60: to 7 cells",
                Some((
                    Provenance::Fitted {
                        low: 40.0,
                        high: 60.0,
                    },
                    "to 7 cells",
                )),
            ),
            ("fitted: firmware", None),
            ("assumed: firmware", None),
            ("assumed 1..many: firmware", None),
            ("assumed 1..inf: firmware", None),
            ("the talk: page 64 KiB", None),
            ("datasheet", None),
            ("", None),
        ] {
            assert_eq!(Provenance::read(remark), expected, "{remark}");
        }
        assert_eq!(assumed(0.5, 2.0).to_string(), "assumed 0.5 to 2");
    }
}
