//! Finds the number of open AUs in the rates of `flashbench --open-au`. Pure functions of the rates.

use super::boundary::{CLEAR, Certainty, VISIBLE};

/// Number of interleaved AUs beyond which the rate falls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Knee {
    /// With one AU more than `units`, the rate is less than half of the best.
    At {
        /// The last number of AUs before the fall.
        units: u32,
        /// The best rate up to `units`, divided by the rate after it.
        drop: f64,
        /// The rate with `units` AUs divided by the rate with the next number: large for a collapse, near 1 for a slope.
        step: f64,
    },
    /// The rate did not fall up to this number of AUs, the largest measured.
    AtLeast(u32),
    /// Rates of fewer than two numbers of AUs were measured.
    Unknown,
}

impl Knee {
    /// Number of open AUs, and whether it is only a lower bound; `None` if neither is known.
    pub fn told(&self) -> Option<(u32, bool)> {
        match self {
            Knee::At { units, .. } if self.certainty() != Certainty::None => Some((*units, false)),
            Knee::AtLeast(units) => Some((*units, true)),
            Knee::At { .. } | Knee::Unknown => None,
        }
    }

    /// Clarity of the fall.
    pub fn certainty(&self) -> Certainty {
        match self {
            Knee::At { step, .. } if *step >= CLEAR => Certainty::Clear,
            Knee::At { step, .. } if *step >= VISIBLE => Certainty::Weak,
            Knee::At { .. } | Knee::Unknown => Certainty::None,
            Knee::AtLeast(_) => Certainty::Clear,
        }
    }
}

/// Share of the best rate so far below which a rate has collapsed.
const COLLAPSED: f64 = 0.5;

/// The knee from rates of one length: `(AUs, bytes per second)`, in any order.
pub fn knee(rates: &[(u32, f64)]) -> Knee {
    let mut rates = rates.to_vec();
    rates.sort_by_key(|r| r.0);
    let Some(first) = rates.first() else {
        return Knee::Unknown;
    };
    let mut best = first.1;
    for pair in rates.windows(2) {
        let ((units, before), (_, here)) = (pair[0], pair[1]);
        if here < COLLAPSED * best {
            let here = here.max(1e-9);
            return Knee::At {
                units,
                drop: best / here,
                step: before / here,
            };
        }
        best = best.max(here);
    }
    match rates.last() {
        Some((units, _)) if rates.len() > 1 => Knee::AtLeast(*units),
        _ => Knee::Unknown,
    }
}

/// Number of open AUs from rates of several lengths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpenUnits {
    /// Knee of the length with the largest step.
    pub knee: Knee,
    /// Length of the pieces, bytes.
    pub length: u64,
}

/// Shortest pieces that count if there are any, bytes. The card's write buffer may gather shorter ones of one stream, but not of
/// two: a fall from one AU to two then says nothing about open AUs. 64 KiB is the most common cluster size.
pub const SHORTEST: u64 = 64 << 10;

/// The number of open AUs from `(AUs, length, bytes per second)`: the knee of the length with the largest step; if no length has
/// a knee, that of the shortest.
pub fn open_units(rates: &[(u32, u64, f64)]) -> Option<OpenUnits> {
    let mut lengths: Vec<u64> = rates.iter().map(|r| r.1).collect();
    lengths.sort_unstable();
    lengths.dedup();
    if lengths.iter().any(|l| *l >= SHORTEST) {
        lengths.retain(|l| *l >= SHORTEST);
    }
    let answers = lengths.into_iter().map(|length| {
        let of_length = rates.iter().filter(|r| r.1 == length);
        let of_length: Vec<(u32, f64)> = of_length.map(|r| (r.0, r.2)).collect();
        OpenUnits {
            knee: knee(&of_length),
            length,
        }
    });
    // Of equal steps, the shortest length counts.
    answers.reduce(|a, b| if weight(&b) > weight(&a) { b } else { a })
}

fn weight(answer: &OpenUnits) -> f64 {
    match answer.knee {
        Knee::At { step, .. } => step,
        Knee::AtLeast(_) => 1.0,
        Knee::Unknown => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_a_collapse_from_a_slope_and_from_nothing() {
        let Knee::At { units, drop, step } =
            knee(&[(1, 6.3), (2, 6.2), (3, 4.5), (4, 4.6), (7, 0.3)])
        else {
            panic!("a collapse");
        };
        assert_eq!(units, 4);
        assert!(drop > 20.0 && step > 15.0);
        let slope = knee(&[(1, 8.5), (2, 6.8), (3, 5.6), (4, 4.6), (5, 4.2)]);
        assert!(matches!(slope, Knee::At { units: 4, .. }));
        assert_eq!(slope.certainty(), Certainty::None);
        assert_eq!(knee(&[(1, 9.0), (2, 8.0), (3, 9.0)]), Knee::AtLeast(3));
        assert_eq!(knee(&[(5, 9.0)]), Knee::Unknown);
        assert_eq!(knee(&[]), Knee::Unknown);
    }

    #[test]
    fn short_pieces_do_not_decide() {
        let rates = [
            (1, 4096, 5.0),
            (2, 4096, 0.1),
            (1, 65536, 9.0),
            (2, 65536, 8.0),
            (3, 65536, 0.5),
            (1, 262144, 9.0),
            (2, 262144, 8.0),
            (3, 262144, 2.0),
        ];
        let found = open_units(&rates).unwrap();
        assert_eq!(found.length, 65536);
        assert!(matches!(found.knee, Knee::At { units: 2, .. }));
    }
}
