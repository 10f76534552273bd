//! Random numbers of the device: factory bad blocks, bit errors. Their sequence is part of every golden result.

use crate::invariant::{Checked, ensure};
use nandscope_units::random::{SplitMix64, Xoshiro256, scale_below, scale_unit};
use serde::{Deserialize, Serialize};

/// xoshiro256**, seeded through SplitMix64.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Random(Xoshiro256);

impl Random {
    /// A generator whose whole sequence follows from `seed`.
    pub fn new(seed: u64) -> Self {
        Random(Xoshiro256::new(&mut SplitMix64::new(seed)))
    }

    /// Checks that the generator is not in the all-zero state, which it would never leave.
    pub(crate) fn audit(&self) -> Checked {
        ensure!(!self.0.is_stuck(), "the random numbers are all zero");
        Ok(())
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.star_star()
    }

    /// Uniform from 0 to `bound − 1`; 0 where `bound` is 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        scale_below(self.bits(), bound)
    }

    /// Uniform in [0, 1).
    #[inline]
    pub fn unit(&mut self) -> f64 {
        scale_unit(self.bits())
    }
}
