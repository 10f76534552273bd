//! [`Divisor`], a number with a precomputed reciprocal.

use serde::{Deserialize, Serialize};

/// A divisor with its reciprocal: a quotient is a multiplication, several times as fast as a division.
///
/// With m = ⌊(2^64 − 1) / d⌋ the quotient of n is ⌊m · (n + 1) / 2^64⌋, exact for all 32-bit n and d > 0
/// (Robison, "N-bit unsigned division via N-bit multiply-add", ARITH 2005): the product is less than
/// (n + 1) / d, and by no more than 1 / d, since m falls short of 2^64 / d by at most 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
pub(crate) struct Divisor {
    number: u32,
    reciprocal: u64,
}

impl Divisor {
    /// Division by zero counts as division by one.
    pub(crate) const fn new(number: u32) -> Self {
        let number = if number == 0 { 1 } else { number };
        Divisor {
            number,
            reciprocal: u64::MAX / number as u64,
        }
    }

    /// `n / d`.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the quotient is no greater than n"
    )]
    pub(crate) const fn quotient(self, n: u32) -> u32 {
        ((self.reciprocal as u128 * (n as u128 + 1)) >> 64) as u32
    }

    /// `n % d`.
    #[inline]
    pub(crate) const fn remainder(self, n: u32) -> u32 {
        n - self.quotient(n) * self.number
    }
}

impl From<u32> for Divisor {
    fn from(number: u32) -> Self {
        Divisor::new(number)
    }
}

impl From<Divisor> for u32 {
    fn from(divisor: Divisor) -> u32 {
        divisor.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quotients_are_exact_around_multiples() {
        for d in (1..2000).chain([
            4096,
            98_304,
            65_535,
            65_537,
            1 << 31,
            u32::MAX - 1,
            u32::MAX,
        ]) {
            let divisor = Divisor::new(d);
            let multiples = (0..50).chain([u32::MAX / d - 1, u32::MAX / d]);
            for n in multiples.filter_map(|m| d.checked_mul(m)) {
                for n in [n.saturating_sub(1), n, n.saturating_add(1)] {
                    assert_eq!(divisor.quotient(n), n / d, "{n} / {d}");
                    assert_eq!(divisor.remainder(n), n % d, "{n} % {d}");
                }
            }
            assert_eq!(divisor.quotient(u32::MAX), u32::MAX / d);
        }
        assert_eq!(Divisor::new(0).quotient(7), 7);
    }

    proptest! {
        #[test]
        fn quotients_are_exact(n: u32, d in 1u32..) {
            let divisor = Divisor::new(d);
            prop_assert_eq!((divisor.quotient(n), divisor.remainder(n)), (n / d, n % d));
        }
    }
}
