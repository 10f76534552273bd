//! Data rates.

use crate::number::significant;
use crate::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A data rate in bytes per second. MB/s is 10^6 bytes per second throughout.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Rate(pub u64);

impl Rate {
    /// A rate in MB/s (10^6 bytes per second).
    pub fn from_mb_per_s(mb: f64) -> Self {
        Rate((mb * 1e6 + 0.5) as u64)
    }

    /// The same rate in MB/s (10^6 bytes per second).
    pub fn as_mb_per_s(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The rate at which `bytes` were moved in `time`; zero if no time passed.
    pub fn of(bytes: Bytes, time: Nanos) -> Self {
        if time.is_zero() {
            return Rate(0);
        }
        Rate((bytes.0 as u128 * 1_000_000_000 / time.0 as u128).min(u64::MAX as u128) as u64)
    }

    /// The time that `bytes` take at this rate, rounded to the nearest nanosecond; zero at rate zero, which means that
    /// there is no limit.
    pub fn time_for(self, bytes: Bytes) -> Nanos {
        if self.0 == 0 {
            return Nanos::ZERO;
        }
        let ns = (bytes.0 as u128 * 1_000_000_000 + self.0 as u128 / 2) / self.0 as u128;
        Nanos(ns.min(u64::MAX as u128) as u64)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} MB/s", significant(self.as_mb_per_s(), 3, 2)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_and_time_are_inverse() {
        let rate = Rate::from_mb_per_s(800.0);
        assert_eq!(rate.time_for(Bytes(4096)), Nanos(5_120));
        assert_eq!(Rate::of(Bytes(4096), Nanos(5_120)), rate);
        assert_eq!(Rate(0).time_for(Bytes(1)), Nanos::ZERO);
        assert_eq!(Rate::of(Bytes(1), Nanos::ZERO), Rate(0));
    }
}
