//! Time: an instant or a length of it, in nanoseconds from the start of the run.

use crate::number::significant;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

/// Nanoseconds. 2^64 ns are 584 years, so sums of simulated time do not overflow in practice;
/// addition saturates all the same, so that no input can wrap time around.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The start of time.
    pub const ZERO: Nanos = Nanos(0);
    /// The latest time; nothing happens at it.
    pub const MAX: Nanos = Nanos(u64::MAX);

    /// A whole number of microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Nanos(us.saturating_mul(1_000))
    }

    /// A whole number of milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Nanos(ms.saturating_mul(1_000_000))
    }

    /// A whole number of seconds.
    pub const fn from_secs(s: u64) -> Self {
        Nanos(s.saturating_mul(1_000_000_000))
    }

    /// Seconds as a fraction; negative and not-a-number become zero, too large becomes [`Nanos::MAX`].
    pub fn from_secs_f64(s: f64) -> Self {
        Nanos((s * 1e9 + 0.5) as u64)
    }

    /// Microseconds as a fraction; negative and not-a-number become zero.
    pub fn from_micros_f64(us: f64) -> Self {
        Nanos((us * 1e3 + 0.5) as u64)
    }

    /// The same time in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The same time in microseconds.
    pub fn as_micros_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// `self - other`, or zero if `other` is later.
    pub const fn saturating_sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }

    /// Whether the time is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Nanos) {
        *self = *self + other;
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    /// Time before the start of time is a bug of the caller: checked in tests, zero in release.
    fn sub(self, other: Nanos) -> Nanos {
        debug_assert!(self >= other, "negative time: {self} - {other}");
        self.saturating_sub(other)
    }
}

impl Mul<u64> for Nanos {
    type Output = Nanos;
    fn mul(self, times: u64) -> Nanos {
        Nanos(self.0.saturating_mul(times))
    }
}

impl fmt::Display for Nanos {
    /// The time in the largest unit with at least one digit before the point: `930ns`, `55.1µs`, `2.30ms`, `61.2s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0;
        let text = match ns {
            0..1_000 => format!("{ns}ns"),
            1_000..1_000_000 => format!("{}µs", significant(ns as f64 / 1e3, 3, 2)),
            1_000_000..1_000_000_000 => format!("{}ms", significant(ns as f64 / 1e6, 3, 2)),
            _ => format!("{}s", significant(ns as f64 / 1e9, 3, 2)),
        };
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_three_significant_digits() {
        let cases = [
            (930, "930ns"),
            (55_120, "55.1µs"),
            (2_304_000, "2.30ms"),
            (61_200_000_000, "61.2s"),
        ];
        for (ns, text) in cases {
            assert_eq!(Nanos(ns).to_string(), text);
        }
    }

    #[test]
    fn never_wraps() {
        assert_eq!(Nanos::MAX + Nanos(1), Nanos::MAX);
        assert_eq!(Nanos::from_secs_f64(-1.0), Nanos::ZERO);
        assert_eq!(Nanos::from_secs_f64(f64::NAN), Nanos::ZERO);
        assert_eq!(Nanos::from_secs_f64(1e30), Nanos::MAX);
    }
}
