//! FNV-1a of 64 bits (Fowler, Noll and Vo): a checksum that finds damage, not forgery.

/// A checksum that is being calculated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fnv1a(u64);

impl Fnv1a {
    /// The checksum of an empty input.
    #[must_use]
    pub const fn new() -> Self {
        Fnv1a(0xcbf2_9ce4_8422_2325)
    }

    /// Adds a number in one step; for numbers up to 255, that is, bytes, the result is FNV-1a as published.
    #[inline]
    pub fn add(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x0000_0100_0000_01b3);
    }

    /// The checksum of all numbers added.
    #[must_use]
    pub const fn sum(self) -> u64 {
        self.0
    }

    /// The checksum of these bytes, added one by one.
    #[must_use]
    pub fn of_bytes(bytes: impl IntoIterator<Item = u8>) -> u64 {
        let mut sum = Self::new();
        bytes.into_iter().for_each(|byte| sum.add(byte.into()));
        sum.sum()
    }

    /// The checksum of these bytes as little-endian words of eight, the last filled up with zeros; eight times as fast.
    #[must_use]
    pub fn of_words(bytes: &[u8]) -> u64 {
        let mut sum = Self::new();
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            sum.add(u64::from_le_bytes(word));
        }
        sum.sum()
    }
}

impl Default for Fnv1a {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test vectors of the authors.
    #[test]
    fn published_values() {
        assert_eq!(Fnv1a::of_bytes(*b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(Fnv1a::of_bytes(*b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(Fnv1a::of_bytes(*b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn words_are_filled_up_with_zeros() {
        assert_eq!(Fnv1a::of_words(b"a"), Fnv1a::of_words(b"a\0\0\0\0\0\0\0"));
        assert_ne!(Fnv1a::of_words(b"12345678a"), Fnv1a::of_words(b"12345678b"));
    }
}
