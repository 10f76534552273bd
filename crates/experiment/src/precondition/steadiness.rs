//! Whether a device that is overwritten at random has reached its steady state. The limits have the form of those of SNIA
//! PTS 2.0.2 (2.1.24: a range of 20 % and a trend of 10 % over five rounds), and are a quarter of them: what is
//! measured afterwards must not depend on how long it is measured.

use nandscope_units::Bytes;
use std::collections::VecDeque;

/// Rounds that are judged together.
pub(super) const WINDOW: usize = 5;
/// Largest range of write amplification over the rounds, and its largest change along their trend, as shares of their mean.
const RANGE: f64 = 0.05;
const TREND: f64 = 0.025;

/// A round of random writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Round {
    pub(super) write_amplification: f64,
    /// Blocks erased.
    pub(super) erases: u64,
    /// Free space at its end.
    pub(super) free: Bytes,
}

/// The last rounds.
#[derive(Clone, Debug, Default)]
pub(super) struct Steadiness(VecDeque<Round>);

impl Steadiness {
    pub(super) fn add(&mut self, round: Round) {
        self.0.push_back(round);
        if self.0.len() > WINDOW {
            self.0.pop_front();
        }
    }

    /// Rounds that are needed at least.
    pub(super) fn rounds_left(&self) -> usize {
        (WINDOW - self.0.len()).max(1)
    }

    fn values(&self) -> impl Iterator<Item = f64> {
        self.0.iter().map(|round| round.write_amplification)
    }

    fn mean(&self) -> f64 {
        self.values().sum::<f64>() / self.0.len().max(1) as f64
    }

    /// Range of the write amplification of the rounds, as a share of its mean.
    pub(super) fn range(&self) -> f64 {
        let (low, high) = self
            .values()
            .fold((f64::INFINITY, 0.0_f64), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        (high - low).max(0.0) / self.mean().max(f64::MIN_POSITIVE)
    }

    /// Change along the line through the values of the rounds (least squares), as a share of their mean.
    fn trend(&self) -> f64 {
        let (mean, middle) = (self.mean(), (self.0.len() as f64 - 1.0) / 2.0);
        let x = |i: usize| i as f64 - middle;
        let products = self.values().enumerate().map(|(i, v)| x(i) * (v - mean));
        let squares = (0..self.0.len()).map(|i| x(i) * x(i)).sum::<f64>();
        (products.sum::<f64>() / squares * 2.0 * middle).abs() / mean
    }

    /// Whether the write amplification of the rounds is level. Without erases the free space must be level too: a card
    /// that merges in idle time erases nothing, and neither does a drive whose spare is not used up yet.
    pub(super) fn is_attained(&self) -> bool {
        if self.0.len() < WINDOW {
            return false;
        }
        let idle = self.0.iter().filter(|round| round.erases == 0).count();
        let free = self.0.front().map(|round| round.free);
        let is_free_level = self.0.iter().all(|round| Some(round.free) == free);
        let collects = idle == 0 || (idle == WINDOW && is_free_level);
        collects && self.range() <= RANGE && self.trend() <= TREND
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_criterion_of_steadiness() {
        for (amplification, erases, free, attained) in [
            ([100, 101, 99, 100, 100], [9; WINDOW], [5; WINDOW], true),
            ([98, 101, 99, 102, 100], [9; WINDOW], [5; WINDOW], true),
            // A range of 6 %; a trend of 4 %.
            ([98, 100, 104, 100, 100], [9; WINDOW], [5; WINDOW], false),
            ([98, 99, 100, 101, 102], [9; WINDOW], [5; WINDOW], false),
            // Collection has only just begun; the spare is used up; a card.
            ([100; WINDOW], [0, 9, 9, 9, 9], [5; WINDOW], false),
            ([100; WINDOW], [0; WINDOW], [9, 8, 7, 6, 5], false),
            ([100; WINDOW], [0; WINDOW], [5; WINDOW], true),
        ] {
            let mut steadiness = Steadiness::default();
            for (i, erases) in erases.into_iter().enumerate() {
                assert!(!steadiness.is_attained(), "after {i} rounds");
                steadiness.add(Round {
                    write_amplification: f64::from(amplification[i]) / 100.0,
                    erases,
                    free: Bytes(free[i]),
                });
            }
            let shown = format!("{amplification:?} {erases:?} {free:?}");
            assert_eq!(steadiness.is_attained(), attained, "{shown}");
        }
    }
}
