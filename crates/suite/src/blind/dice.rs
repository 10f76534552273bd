//! Random numbers determined by the seed of a series and the number of a device.

use nandscope_units::random::SplitMix64;

/// Random number generator of one device.
pub(super) struct Dice(SplitMix64);

impl Dice {
    /// Generator for a device of a series.
    pub(super) fn new(seed: u64, number: u64) -> Self {
        /// Spreads the seeds of the series over all bits.
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let mixed = seed.wrapping_mul(FACTOR) ^ number.rotate_left(32);
        Dice(SplitMix64::new(mixed))
    }

    /// A random number below `n`; 0 if `n` is 0.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0.below(n.max(1))
    }

    /// A random number, uniform from 0 to 1.
    pub(super) fn unit(&mut self) -> f64 {
        self.0.unit()
    }

    /// A value drawn evenly; `None` for an empty slice.
    pub(super) fn one_of<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        all.get(self.below(all.len() as u64) as usize)
    }

    /// A random number, uniform in its logarithm.
    pub(super) fn between(&mut self, low: f64, high: f64) -> f64 {
        low * libm::pow(high / low, self.unit())
    }

    /// A power of two from `1 << low` to `1 << high`.
    pub(super) fn power(&mut self, low: u32, high: u32) -> u64 {
        1 << (u64::from(low) + self.below(u64::from(high - low) + 1))
    }

    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last as u64 + 1) as usize;
            items.swap(last, other);
        }
    }
}
