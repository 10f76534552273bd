//! Intervals of a time line: their length, and the counts in each.
//!
//! Lengths come from the grid 1, 2, 5, 10 (times a power of ten). If a run is longer than planned, neighbouring
//! intervals are merged in whole numbers, so that every count stays exact: by 2 from a length that begins with 1 or 5,
//! by 5 from one that begins with 2 (0.2 s cannot be merged into 0.5 s, so 1 s follows it). The result depends only on
//! counts and times, never on the speed of the program.

use super::Direction;
use super::buckets::{Buckets, Counting};
use nandscope_units::Nanos;

/// Maximum number of points in a series.
pub const MAX_POINTS: usize = 4000;

/// Shortest interval chosen automatically.
const SHORTEST: Nanos = Nanos::from_millis(100);

/// Division of the time line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntervalPlan {
    /// Length of an interval at the start.
    pub interval: Nanos,
    /// Number of intervals above which neighbours are merged; at least 2.
    pub max_points: usize,
}

impl Default for IntervalPlan {
    /// 0.1 s, merged as the run continues.
    fn default() -> Self {
        IntervalPlan {
            interval: SHORTEST,
            max_points: MAX_POINTS,
        }
    }
}

impl IntervalPlan {
    /// The shortest interval of the grid 0.1, 0.2, 0.5, 1, 2, 5, 10 … s that holds a run of this
    /// length within [`MAX_POINTS`].
    pub fn for_duration(duration: Nanos) -> Self {
        let mut interval = SHORTEST;
        while duration.0.div_ceil(interval.0) > MAX_POINTS as u64 {
            // 1 → 2 → 5 → 10.
            interval = match leading_digit(interval.0) {
                2 => Nanos(interval.0 / 2 * 5),
                _ => interval * 2,
            };
        }
        IntervalPlan {
            interval,
            max_points: MAX_POINTS,
        }
    }

    /// A plan with a given interval, at least 1 ns; neighbours are merged if there are too many.
    pub fn with_interval(interval: Nanos) -> Self {
        IntervalPlan {
            interval: interval.max(Nanos(1)),
            max_points: MAX_POINTS,
        }
    }
}

/// Number of neighbouring intervals of length `interval` merged into one if there are too many.
pub fn merge_factor(interval: Nanos) -> usize {
    let one = 10u64.pow(interval.0.checked_ilog10().unwrap_or(0));
    if interval.0 == 2 * one { 5 } else { 2 }
}

fn leading_digit(n: u64) -> u64 {
    n / 10u64.pow(n.checked_ilog10().unwrap_or(0))
}

/// One kind of operation within one interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectionBin {
    /// Number of operations completed in the interval.
    pub operations: u64,
    /// Bytes of the completed operations.
    pub bytes: u64,
    /// Sum of the latencies, ns.
    pub latency_sum_ns: u64,
    /// Largest latency, ns.
    pub latency_max_ns: u64,
    /// All latencies, for percentiles.
    pub latencies: Buckets,
}

impl DirectionBin {
    fn merge(&mut self, other: &DirectionBin) {
        self.operations += other.operations;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.latency_sum_ns = self.latency_sum_ns.saturating_add(other.latency_sum_ns);
        self.latency_max_ns = self.latency_max_ns.max(other.latency_max_ns);
        self.latencies.merge(&other.latencies);
    }
}

/// One interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    directions: [DirectionBin; Direction::COUNT],
}

impl Bin {
    /// Counts of one kind of operation.
    pub fn direction(&self, direction: Direction) -> &DirectionBin {
        &self.directions[direction.index()]
    }

    #[inline]
    pub(super) fn add(&mut self, direction: Direction, bytes: u32, latency: Nanos) {
        let bin = &mut self.directions[direction.index()];
        bin.operations += 1;
        bin.bytes = bin.bytes.saturating_add(u64::from(bytes));
        bin.latency_sum_ns = bin.latency_sum_ns.saturating_add(latency.0);
        bin.latency_max_ns = bin.latency_max_ns.max(latency.0);
    }

    /// Stores the latencies counted so far.
    pub(super) fn keep(&mut self, counting: &mut Counting) {
        for (direction, bin) in Direction::ALL.into_iter().zip(&mut self.directions) {
            if let Some(latencies) = counting.take(direction) {
                bin.latencies.merge(&latencies);
            }
        }
    }

    pub(super) fn merge(&mut self, other: &Bin) {
        for (mine, theirs) in self.directions.iter_mut().zip(&other.directions) {
            mine.merge(theirs);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_by_duration() {
        let cases = [
            (1, 100),
            (400, 100),
            (401, 200),
            (800, 200),
            (1_000, 500),
            (3_000, 1_000),
            (24 * 3600, 50_000),
        ];
        for (seconds, interval_ms) in cases {
            assert_eq!(
                IntervalPlan::for_duration(Nanos::from_secs(seconds)).interval,
                Nanos::from_millis(interval_ms),
                "{seconds} s"
            );
        }
        assert!(IntervalPlan::for_duration(Nanos::MAX).interval > Nanos::ZERO);
    }

    #[test]
    fn merging_stays_on_the_grid() {
        let mut ms = 100u64;
        let mut seen = vec![ms];
        for _ in 0..6 {
            ms *= merge_factor(Nanos::from_millis(ms)) as u64;
            seen.push(ms);
        }
        assert_eq!(seen, [100, 200, 1_000, 2_000, 10_000, 20_000, 100_000]);
        assert_eq!(merge_factor(Nanos::from_millis(500)), 2);
        assert_eq!(merge_factor(Nanos::from_millis(250)), 2);
    }
}
