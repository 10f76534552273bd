//! Random numbers: small, fast, the same on every platform. Not for secrets.

use super::tausworthe::{Taus88, Taus258};
use nandscope_units::random::{SplitMix64, Xoshiro256, scale_below, scale_unit};

/// xoshiro256++, seeded through SplitMix64, or a generator of fio.
#[derive(Clone, Debug)]
pub struct Random(Source);

#[derive(Clone, Debug)]
enum Source {
    Xoshiro(Xoshiro256),
    Taus88(Taus88),
    Taus258(Taus258),
}

/// 2^64, the number of values of 64 bits.
const ALL_VALUES: f64 = 18_446_744_073_709_551_616.0;

impl Random {
    /// A generator for a seed and a path: different paths give unrelated sequences, so that each
    /// clone of each job, and each of its choices, has its own.
    pub fn new(seed: u64, path: &[u64]) -> Self {
        let mut seeds = SplitMix64::new(seed);
        for step in path {
            seeds = SplitMix64::new(seeds.bits() ^ step.wrapping_mul(0xd134_2543_de82_ef95));
        }
        Random(Source::Xoshiro(Xoshiro256::new(&mut seeds)))
    }

    /// fio's generator with 32 bits, seeded with the low half of the seed.
    pub(super) fn taus88(seed: u64) -> Self {
        Random(Source::Taus88(Taus88::new(seed as u32)))
    }

    /// fio's generator with 64 bits.
    pub(super) fn taus258(seed: u64) -> Self {
        Random(Source::Taus258(Taus258::new(seed)))
    }

    /// 64 random bits. A generator with 32 bits fills the upper half.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        match &mut self.0 {
            Source::Xoshiro(random) => random.plus_plus(),
            Source::Taus88(random) => u64::from(random.bits()) << 32,
            Source::Taus258(random) => random.bits(),
        }
    }

    /// Uniform from 0 to `n − 1`; 0 where `n` is 0. A generator of fio is scaled as fio does it, in floating
    /// point.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        match &mut self.0 {
            Source::Xoshiro(random) => scale_below(random.plus_plus(), n),
            Source::Taus88(_) | Source::Taus258(_) => {
                let share = self.bits() as f64 / ALL_VALUES;
                ((n as f64 * share) as u64).min(n.saturating_sub(1))
            }
        }
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
