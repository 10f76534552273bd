//! Generators of pseudo-random numbers whose sequences never change: results, snapshots and tests depend on
//! them bit for bit. Not for secrets.
//!
//! [`SplitMix64`] is for short sequences and for seeding, [`Xoshiro256`] for long ones, [`Lcg64`] for benchmarks and golden
//! tests.

use serde::{Deserialize, Serialize};

/// 2^53: the number of distinct values in [0, 1) that a double can hold at equal distances.
const UNIT_STEPS: f64 = (1_u64 << 53) as f64;

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// Starts the sequence of `seed`.
    #[inline]
    pub const fn new(seed: u64) -> Self {
        SplitMix64(seed)
    }

    /// The next 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Uniform from 0 to `n − 1`, by remainder (bias below n/2^64); 0 where `n` is 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        self.bits() % n.max(1)
    }

    /// Uniform in [0, 1) with 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        scale_unit(self.bits())
    }

    /// True with this probability: never at 0, always at 1.
    #[inline]
    pub fn happens(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }
}

/// Output function of SplitMix64: a bijection that spreads every bit over all 64.
#[inline]
pub const fn mix(state: u64) -> u64 {
    let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Knuth's linear congruential generator of 64 bits (MMIX), for benchmarks and for tests whose streams are part of
/// golden results: the cheapest, and the worst, whose low bits have short periods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lcg64(pub u64);

impl Lcg64 {
    /// The next 64 bits, of which the upper ones are good.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let product = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = product.wrapping_add(1_442_695_040_888_963_407);
        self.0
    }

    /// Uniform from 0 to `n − 1`, from the upper 53 bits; 0 where `n` is 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits() >> 11) * u128::from(n)) >> 53) as u64
    }
}

/// The linear engine of xoshiro256 with both of its output functions (Blackman and Vigna, "Scrambled
/// linear pseudorandom number generators", 2021).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Xoshiro256 {
    state: [u64; 4],
}

impl Xoshiro256 {
    /// Seeds the state with four values of SplitMix64, as its authors advise.
    pub fn new(seeds: &mut SplitMix64) -> Self {
        Xoshiro256 {
            state: std::array::from_fn(|_| seeds.bits()),
        }
    }

    /// Whether all words of the state are zero, which no step leaves. Seeding cannot reach this state; a forged
    /// snapshot can.
    pub fn is_stuck(&self) -> bool {
        self.state == [0; 4]
    }

    /// The next 64 bits of xoshiro256**.
    #[inline]
    pub fn star_star(&mut self) -> u64 {
        let result = self.state[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        self.step();
        result
    }

    /// The next 64 bits of xoshiro256++.
    #[inline]
    pub fn plus_plus(&mut self) -> u64 {
        let s = &self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        self.step();
        result
    }

    #[inline]
    fn step(&mut self) {
        let s = &mut self.state;
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
    }
}

/// Uniform from 0 to `n − 1` from 64 random bits, by multiplication (Lemire 2019) without the rejection
/// step (bias below n/2^64); 0 where `n` is 0.
#[inline]
pub fn scale_below(bits: u64, n: u64) -> u64 {
    ((u128::from(bits) * u128::from(n)) >> 64) as u64
}

/// Uniform in [0, 1) with 53 of 64 random bits.
#[inline]
pub fn scale_unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / UNIT_STEPS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix_matches_its_reference() {
        let mut r = SplitMix64::new(1_234_567);
        assert_eq!(r.bits(), 6_457_827_717_110_365_317);
        assert_eq!(r.bits(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn lcg_matches_its_reference() {
        // Factor and increment are those of The Art of Computer Programming 2, 3.3.4; the second value was calculated without
        // an upper bound and reduced.
        let mut r = Lcg64(0);
        assert_eq!(r.bits(), 1_442_695_040_888_963_407);
        assert_eq!(r.bits(), 1_876_011_003_808_476_466);
        assert_eq!((r.below(0), r.below(1)), (0, 0));
    }

    #[test]
    fn xoshiro_matches_its_references() {
        // First outputs of the authors' C programs for the state 1, 2, 3, 4.
        let start = Xoshiro256 {
            state: [1, 2, 3, 4],
        };
        let mut r = start.clone();
        let expected = [41_943_041, 58_720_359, 3_588_806_011_781_223];
        assert_eq!([r.plus_plus(), r.plus_plus(), r.plus_plus()], expected);
        let mut r = start;
        assert_eq!([r.star_star(), r.star_star()], [11_520, 0]);
    }

    #[test]
    fn bounds_hold() {
        let mut r = SplitMix64::new(1);
        for n in [1, 2, 3, 100, u64::MAX] {
            for _ in 0..1000 {
                assert!(r.below(n) < n);
                assert!(scale_below(r.bits(), n) < n);
                assert!((0.0..1.0).contains(&r.unit()));
            }
        }
        assert_eq!((r.below(0), scale_below(7, 0)), (0, 0));
        assert!(!r.happens(0.0) && r.happens(1.0));
    }
}
