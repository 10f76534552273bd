//! Random numbers: small, fast, the same on every platform. Not for secrets.

use nandscope_units::random::{SplitMix64, Xoshiro256, scale_below, scale_unit};

/// xoshiro256++, seeded through SplitMix64.
#[derive(Clone, Debug)]
pub struct Random(Xoshiro256);

impl Random {
    /// A generator for a seed and a path: different paths give unrelated sequences, so that each
    /// clone of each job, and each of its choices, has its own.
    pub fn new(seed: u64, path: &[u64]) -> Self {
        let mut seeds = SplitMix64::new(seed);
        for step in path {
            seeds = SplitMix64::new(seeds.bits() ^ step.wrapping_mul(0xd134_2543_de82_ef95));
        }
        Random(Xoshiro256::new(&mut seeds))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.plus_plus()
    }

    /// Uniform from 0 to `n − 1`; 0 where `n` is 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        scale_below(self.bits(), n)
    }

    /// Uniform in [0, 1) with 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        scale_unit(self.bits())
    }

    /// True in `percent` of 100 cases.
    #[inline]
    pub fn percent(&mut self, percent: u32) -> bool {
        self.below(100) < u64::from(percent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_unrelated() {
        let mut seen = std::collections::BTreeSet::new();
        for a in 0..32 {
            for b in 0..32 {
                seen.insert(Random::new(7, &[a, b]).bits());
            }
        }
        assert_eq!(seen.len(), 32 * 32);
    }

    #[test]
    fn below_stays_below() {
        let mut r = Random::new(1, &[]);
        for n in [1, 2, 3, 100, u64::MAX] {
            for _ in 0..1000 {
                assert!(r.below(n) < n);
            }
        }
        assert_eq!(r.below(0), 0);
    }
}
