//! Chance for faults: a small generator, so that a seed gives the same faults again.

/// SplitMix64 (Steele, Lea and Flood 2014).
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// True with this probability.
    pub fn happens(&mut self, probability: f64) -> bool {
        // 53 bits are what a number holds; at zero nothing ever happens, at one everything.
        let share = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        share < probability
    }

    /// A number below `n`; 0 of none.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }
}
