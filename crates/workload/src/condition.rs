//! Conditions that end a thread before its work and its time end, or that change its pace.

use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};

/// `rate_min` and `rate_iops_min`: a job that falls below is ended with an error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LowestRates {
    /// Bytes per second of reads, writes and trims; 0 is no limit.
    pub bytes: [u64; 3],
    /// Operations per second of reads, writes and trims; 0 is no limit.
    pub operations: [u64; 3],
    /// Time over which a rate is taken (`rate_cycle`).
    pub cycle: Nanos,
}

impl Default for LowestRates {
    fn default() -> Self {
        LowestRates {
            bytes: [0; 3],
            operations: [0; 3],
            cycle: Nanos::from_secs(1),
        }
    }
}

/// `latency_target`: search for the largest queue depth that keeps a latency.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyTarget {
    /// The latency; zero disables the search.
    pub latency: Nanos,
    /// Time for which a queue depth is tried (`latency_window`).
    pub window: Nanos,
    /// Percentage of the operations that must keep the latency (`latency_percentile`).
    pub percentile: f64,
    /// The search continues to the end of the job (`latency_run`). Otherwise the job ends once the queue
    /// depth was found and tried for one more window, which alone is reported.
    pub keeps_searching: bool,
}

impl Default for LatencyTarget {
    fn default() -> Self {
        LatencyTarget {
            latency: Nanos::ZERO,
            window: Nanos::ZERO,
            percentile: 100.0,
            keeps_searching: false,
        }
    }
}

/// `steadystate`: a job ends once its rate has become steady.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteadyState {
    /// Bandwidth is judged instead of operations per second.
    pub bandwidth: bool,
    /// The slope of a fitted line is judged instead of the largest deviation from the mean.
    pub slope: bool,
    /// The slope or deviation must be below this.
    pub limit: f64,
    /// The limit is a percentage of the mean.
    pub percent: bool,
    /// Length of the judged window in seconds, one value each (`steadystate_duration`); 0 for never.
    pub seconds: u32,
    /// Time before which nothing is judged (`steadystate_ramp_time`).
    pub ramp: Nanos,
}

impl Default for SteadyState {
    fn default() -> Self {
        SteadyState {
            bandwidth: false,
            slope: true,
            limit: 0.01,
            percent: true,
            seconds: 0,
            ramp: Nanos::ZERO,
        }
    }
}
