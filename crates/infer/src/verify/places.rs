//! Where stamps are written, so that no wrap escapes.
//!
//! A card that has M blocks and claims N answers for block x with block x mod M. Stamps stand at
//! N − 1, N − 1 − S, N − 1 − 2S, … down to S. Whatever M is between S and N − 1, one of them lies in
//! M … M + S − 1, and therefore lands in 0 … S − 1; where M is at most S, all of them do. No stamp is
//! written to that beginning under its own name, so that one stamp found there by reading it from end to end
//! proves a wrap, and the lack of any proves that there is none. S is prime: stamps then share a
//! landing place only where M divides a multiple of S by less than their number.

/// The places of one verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// Distance S between the stamps, in blocks.
    pub stride: u64,
    /// The stamps of the lattice, from the last block downwards.
    pub lattice: Vec<u64>,
    /// The first block of the run at the end by which caches are filled.
    pub run_first: u64,
    /// Its length in blocks.
    pub run: u64,
}

/// The fewest stamps, where the device has room for them.
pub const STAMPS_MIN: u64 = 16;
/// The most stamps.
pub const STAMPS_MAX: u64 = 320;
/// A device of fewer blocks has no room for the lattice.
pub const BLOCKS_MIN: u64 = 64;

impl Places {
    /// About `stamps` places on a device of `blocks` blocks, and a run of `run` blocks just before
    /// the last one.
    pub fn new(blocks: u64, stamps: u64, run: u64) -> Self {
        let stamps = stamps.clamp(4, (blocks / 8).max(4));
        let stride = prime_from((blocks / stamps).max(2));
        let run = run.min(stride.saturating_sub(1)).min(blocks / 16);
        let last = blocks.saturating_sub(1);
        let down = std::iter::successors(Some(last), |x| x.checked_sub(stride));
        Places {
            stride,
            lattice: down.take_while(|x| *x >= stride).collect(),
            run_first: last - run,
            run,
        }
    }
}

/// The smallest prime from n on.
fn prime_from(n: u64) -> u64 {
    (n.max(2)..).find(|n| is_prime(*n)).unwrap_or(n)
}

fn is_prime(n: u64) -> bool {
    let divisors = (2_u64..).take_while(|d| d * d <= n);
    n >= 2 && divisors.into_iter().all(|d| !n.is_multiple_of(d))
}

/// The prime factors of n, each once.
pub(crate) fn prime_factors(mut n: u64) -> Vec<u64> {
    let mut factors = Vec::new();
    let mut d = 2;
    while d * d <= n {
        if n.is_multiple_of(d) {
            factors.push(d);
            while n.is_multiple_of(d) {
                n /= d;
            }
        }
        d += 1;
    }
    if n > 1 {
        factors.push(n);
    }
    factors
}

pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_modulus_brings_a_stamp_to_the_beginning() {
        for (blocks, stamps) in [(1000, 20), (4096, 64), (8192, 100), (10_007, 64)] {
            let places = Places::new(blocks, stamps, 16);
            assert!(places.lattice.iter().all(|x| *x >= places.stride));
            for modulus in 1..blocks {
                let lands = |x: &u64| x % modulus < places.stride;
                let moved = |x: &&u64| **x >= modulus;
                let found = places.lattice.iter().filter(moved).any(lands);
                assert!(found, "{blocks} {modulus}");
            }
        }
    }

    #[test]
    fn factors() {
        assert_eq!(prime_factors(2 * 2 * 3 * 101), [2, 3, 101]);
        assert!(prime_factors(1).is_empty());
        assert_eq!(gcd(gcd(0, 84), 36), 12);
        assert_eq!(prime_from(90), 97);
    }
}
