//! How long a device lasts under a workload: the wear per written byte in the steady state of the workload, times the
//! bytes per day, against the rated cycles.
//!
//! The workload is repeated in rounds until the wear per byte is level; only those last rounds count. What is extrapolated is therefore the
//! steady state, at a small part of the length of a life, and the estimate states its error.

mod level;
mod rating;
mod steady;

pub use rating::Rating;
pub use steady::{Estimate, LifetimeError, LifetimeOptions, LifetimeProgress, Rounds, measure};

use nandscope_device::Counters;
use nandscope_units::Bytes;
use serde::Serialize;

/// Days of a year.
pub const DAYS_PER_YEAR: f64 = 365.25;
/// Longest life that is stated, years: beyond it, age ends the life of electronics before wear does.
pub const LONGEST_YEARS: f64 = 1000.0;

/// Years until blocks that wear by `per_day` cycles a day have made `cycles`.
pub fn years(cycles: f64, per_day: f64) -> f64 {
    match per_day > 0.0 {
        true => cycles / per_day / DAYS_PER_YEAR,
        false => f64::INFINITY,
    }
}

/// Cycles per block and day of a device of this capacity, if `media_per_day` bytes are programmed each day and wear is even.
pub fn cycles_per_day(media_per_day: Bytes, capacity: Bytes) -> f64 {
    media_per_day.0 as f64 / capacity.0.max(1) as f64
}

/// Years as an interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Years {
    /// With the least plausible rating, and the greatest plausible wear.
    pub low: f64,
    /// With the rating of the profile.
    pub rated: f64,
    /// With the greatest plausible rating, and the least plausible wear.
    pub high: f64,
}

impl Years {
    /// The years until the mean block reaches its rating, at a wear of `per_day` cycles with this relative error.
    pub fn of(rating: &Rating, per_day: f64, error: f64) -> Years {
        let most = |years: f64| years.min(LONGEST_YEARS);
        Years {
            low: most(years(rating.low, per_day * (1.0 + error))),
            rated: most(years(rating.cycles, per_day)),
            high: most(years(rating.high, per_day * (1.0 - error).max(0.0))),
        }
    }
}

/// Causes of programmed data, as shares of the data that the host wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Causes {
    /// Data of the host itself.
    pub host: f64,
    /// Valid data moved by garbage collection, or copied to a new allocation unit.
    pub collection: f64,
    /// Data moved from SLC blocks.
    pub folding: f64,
    /// Data moved by wear levelling and refresh.
    pub levelling: f64,
    /// Map and journal.
    pub metadata: f64,
    /// Program units that a flush closed early.
    pub padding: f64,
    /// Parity across dies.
    pub parity: f64,
}

impl Causes {
    /// The causes in a difference of counters.
    pub fn of(counters: &Counters) -> Causes {
        let host = counters.host_written.0.max(1) as f64;
        let share = |bytes: Bytes| bytes.0 as f64 / host;
        let moved = [
            counters.gc_writes,
            counters.folded,
            counters.refreshed,
            counters.metadata,
            counters.padding,
            counters.parity,
        ];
        let moved_bytes = moved.iter().fold(0, |sum: u64, b| sum.saturating_add(b.0));
        let own = counters.flash_programmed.0.saturating_sub(moved_bytes);
        let [collection, folding, levelling, metadata, padding, parity] = moved.map(share);
        Causes {
            host: share(Bytes(own)),
            collection,
            folding,
            levelling,
            metadata,
            padding,
            parity,
        }
    }

    /// The causes by name, the largest first.
    pub fn ranked(&self) -> Vec<(&'static str, f64)> {
        let mut all = vec![
            ("data of the host", self.host),
            ("garbage collection and copies", self.collection),
            ("folding of the SLC cache", self.folding),
            ("wear levelling and refresh", self.levelling),
            ("map and journal", self.metadata),
            ("padding at flushes", self.padding),
            ("parity", self.parity),
        ];
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tesla's MCUv1: an eMMC of 8 GB with 3,000 cycles; 0.7 P/E cycles per block and day are nominal, 1.5 the 95th
    /// percentile (tuxera.com): 11 to 12 and 5 to 6 years.
    #[test]
    fn the_public_case_of_an_emmc_in_a_car() {
        assert!((years(3000.0, 0.7) - 11.7).abs() < 0.05);
        assert!((years(3000.0, 1.5) - 5.5).abs() < 0.05);
        let nominal = cycles_per_day(Bytes(5_600_000_000), Bytes(8_000_000_000));
        assert!((nominal - 0.7).abs() < 1e-9);
    }

    /// Home Assistant with its recorder: 187.3 kB/s are 16.2 GB a day (community.home-assistant.io/t/21302).
    #[test]
    fn the_public_case_of_home_assistant() {
        let per_day: f64 = 187.3e3 * 86_400.0;
        assert!((per_day / 1e9 - 16.2).abs() < 0.05);
        let card = cycles_per_day(Bytes(per_day as u64), Bytes(16_000_000_000));
        // A card of 16 GB with 1,000 cycles, if it amplified nothing.
        assert!((years(1000.0, card) - 2.7).abs() < 0.05);
    }

    #[test]
    fn an_unworn_device_lasts_and_the_interval_is_ordered() {
        assert_eq!(years(3000.0, 0.0), f64::INFINITY);
        let rating = Rating {
            cycles: 1000.0,
            low: 291.0,
            high: 4634.0,
            source: String::new(),
        };
        let all = Years::of(&rating, 1.0, 0.1);
        assert!(all.low < all.rated && all.rated < all.high);
        assert!((all.low - 291.0 / 1.1 / 365.25).abs() < 1e-9);
        assert_eq!(Years::of(&rating, 0.0, 0.1).rated, LONGEST_YEARS);
    }
}
