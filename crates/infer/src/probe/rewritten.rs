//! Whether an AU is rewritten for pieces out of order: compares pieces written in descending order with pieces in
//! ascending order. In a rewritten AU, each step back closes the AU and copies nearly all of it; an AU with a log
//! accepts some such pieces, an AU with a page map all.
//!
//! In an AU of many pieces, random order shows the same. If there are only a few pieces, some follow each other by
//! chance, and the cost of one step back is small compared with writing a piece.

use super::Probing;
use crate::quantile::median;
use crate::timed::ProbeError;
use nandscope_measure::target::Target;
use nandscope_units::Bytes;

/// Pieces in each direction: as a rule, and at least.
pub(super) const PIECES: (u64, u64) = (4, 3);
/// Number of AUs that must agree.
const TURNS: u64 = 2;
/// Least ratio of the times of a step back and a step forward.
const TIMES: f64 = 2.0;

/// Times of pieces in both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Directions {
    /// Length of a piece, bytes.
    pub(super) length: u64,
    /// Median time of a piece that follows the previous one, s.
    pub(super) forward_s: f64,
    /// Median time of a piece that precedes the previous one, s.
    pub(super) back_s: f64,
}

impl Directions {
    /// Whether a step back takes at least `TIMES` as long as a step forward, and longer by a share of the time to write the AU.
    pub(super) fn rewrites(&self, unit: u64, share: f64) -> bool {
        let unit_s = self.forward_s * unit as f64 / self.length.max(1) as f64;
        let more_s = self.back_s - self.forward_s;
        self.back_s >= TIMES * self.forward_s && more_s >= share * unit_s
    }
}

/// Writes pieces in both directions, each time in another AU, from the AU at `first` on. Empty if an AU holds too few pieces;
/// fewer than [`TURNS`] results if `no` is true of one.
pub(super) fn directions<T: Target>(
    probing: &mut Probing<'_, T>,
    (unit, first): (u64, u64),
    length: u64,
    no: impl Fn(&Directions) -> bool,
) -> Result<Vec<Directions>, ProbeError> {
    let count = PIECES.0.min(unit / length.max(1));
    let mut seen = Vec::new();
    if count < PIECES.1 || first + 2 * TURNS * unit > probing.target.whole().0 {
        return Ok(seen);
    }
    for turn in 0..TURNS {
        let mut usual = |back: bool| {
            let begin = first + (2 * turn + u64::from(back)) * unit;
            let places = (0..count).map(|i| if back { count - 1 - i } else { i });
            let times = places.map(|place| {
                let at = Bytes(begin + place * length);
                let took = probing.timed(|p| p.write(at, Bytes(length)));
                took.map(|took| took.as_secs_f64())
            });
            let times = times.collect::<Result<Vec<f64>, ProbeError>>();
            // The first piece opens the AU.
            times.map(|times| median(&times[1..]))
        };
        let found = Directions {
            length,
            forward_s: usual(false)?,
            back_s: usual(true)?,
        };
        seen.push(found);
        if no(&found) {
            break;
        }
    }
    Ok(seen)
}

/// The least clear result, if all [`TURNS`] results are present; `None` otherwise.
pub(super) fn least_clear(seen: &[Directions]) -> Option<Directions> {
    let all = seen.len() as u64 == TURNS;
    let by_time = |a: &&Directions, b: &&Directions| a.back_s.total_cmp(&b.back_s);
    seen.iter().min_by(by_time).filter(|_| all).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_back_copies_much_of_a_unit_that_is_rewritten() {
        let of = |back_s| Directions {
            length: 512 << 10,
            forward_s: 0.05,
            back_s,
        };
        // Eight pieces of 50 ms per AU: closing it copies six of them, by a controller a few times as fast as the link.
        assert!(of(0.15).rewrites(4 << 20, 0.05));
        // An AU with a log or a page map writes the piece, and at most one more page.
        assert!(!of(0.05).rewrites(4 << 20, 0.05));
        assert!(!of(0.09).rewrites(4 << 20, 0.05));
        // In a large AU, this is too little for a copy.
        assert!(!of(0.15).rewrites(128 << 20, 0.05));
    }

    #[test]
    fn all_units_must_say_the_same() {
        let of = |back_s| Directions {
            length: 512 << 10,
            forward_s: 0.05,
            back_s,
        };
        assert_eq!(least_clear(&[]), None);
        assert_eq!(least_clear(&[of(0.5)]), None);
        assert_eq!(least_clear(&[of(0.5), of(0.2)]), Some(of(0.2)));
    }
}
