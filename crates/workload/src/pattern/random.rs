//! Random numbers: small, fast, the same on every platform. Not for secrets.

/// xoshiro256++ 1.0 by D. Blackman and S. Vigna (prng.di.unimi.it, public domain), seeded through
/// splitmix64 as its authors advise.
#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
}

/// One step of splitmix64 (S. Vigna, public domain): the finaliser of a Weyl sequence.
fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Random {
    /// A generator for a seed and a path: different paths give unrelated sequences, so that each
    /// clone of each job, and each of its choices, has its own.
    pub fn new(seed: u64, path: &[u64]) -> Self {
        let mut state = seed;
        for step in path {
            state = splitmix(&mut state) ^ step.wrapping_mul(0xd134_2543_de82_ef95);
        }
        Random {
            state: std::array::from_fn(|_| splitmix(&mut state)),
        }
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform from 0 to `n − 1`; 0 where `n` is 0. By multiplication (D. Lemire 2019) without the
    /// rejection step: the bias is below n/2^64.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// Uniform in [0, 1) with 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
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
    fn follows_the_authors_reference() {
        // First outputs of the C reference for the state 1, 2, 3, 4.
        let mut r = Random {
            state: [1, 2, 3, 4],
        };
        let expected = [41_943_041, 58_720_359, 3_588_806_011_781_223];
        assert_eq!([r.bits(), r.bits(), r.bits()], expected);
    }

    #[test]
    fn splitmix_follows_the_reference() {
        let mut state = 1_234_567;
        assert_eq!(splitmix(&mut state), 6_457_827_717_110_365_317);
        assert_eq!(splitmix(&mut state), 3_203_168_211_198_807_973);
    }

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
