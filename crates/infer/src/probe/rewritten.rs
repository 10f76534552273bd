//! Whether a unit is rewritten for pieces out of order: they are written one before the other, and compared with as many that
//! follow each other. Each step back closes such a unit, and copies nearly all of it; a log takes some, and a map all of them.
//!
//! Pieces at random show the same where a unit has many of them. Of a few, some follow each other by chance, and what one more
//! costs is little beside the piece.

use super::Probing;
use crate::quantile::median;
use crate::timed::ProbeError;
use nandscope_measure::target::Target;
use nandscope_units::Bytes;

/// Pieces in either direction, and the least that a unit must hold.
pub(super) const PIECES: (u64, u64) = (4, 3);
/// Units that must say the same.
const TURNS: u64 = 2;
/// Steps back take so many times as long at least.
const TIMES: f64 = 2.0;

/// Lengths and times of pieces in both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Directions {
    /// Length of a piece, bytes.
    pub(super) length: u64,
    /// Usual time of a piece that follows the one before, s.
    pub(super) forward_s: f64,
    /// The same of one that lies before it.
    pub(super) back_s: f64,
}

impl Directions {
    /// Whether a step back costs more than the piece, and this share of the time to write the unit.
    pub(super) fn rewrites(&self, unit: u64, share: f64) -> bool {
        let unit_s = self.forward_s * unit as f64 / self.length.max(1) as f64;
        let more_s = self.back_s - self.forward_s;
        self.back_s >= TIMES * self.forward_s && more_s >= share * unit_s
    }
}

/// Writes pieces of a length in both directions, each in a unit of its own of those that begin at `first` and after it. `None`
/// where a unit holds too few of them; fewer than [`TURNS`] results where one is enough to say `no`.
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
            // The first one opens the unit.
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

/// Whether a unit is rewritten for each step back, which all of the results say; the one that says it least clearly.
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
        // Eight pieces of 50 ms: closing the unit copies six of them, by a controller a few times as fast as the link.
        assert!(of(0.15).rewrites(4 << 20, 0.05));
        // A log or a map takes the piece, and another page with it at most.
        assert!(!of(0.05).rewrites(4 << 20, 0.05));
        assert!(!of(0.09).rewrites(4 << 20, 0.05));
        // Of a large unit it is too little for a copy.
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
