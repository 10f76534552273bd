//! Identifiers of the figures of a run: `STEP.JOB.OPERATION.QUANTITY`, and `STEP.energy-per-gb`.

use crate::Operation;

/// Bytes per time, MB/s.
pub const BANDWIDTH: &str = "bandwidth";
/// Operations per second.
pub const IOPS: &str = "iops";
/// Latency from submission; [`MEAN`] or [`P99`] follows.
pub const LATENCY: &str = "latency";
/// Latency from the due time; [`MEAN`] or [`P99`] follows.
pub const DUE_LATENCY: &str = "due-latency";
/// Arithmetic mean of a latency, µs.
pub const MEAN: &str = "mean";
/// 99th percentile of a latency, µs.
pub const P99: &str = "p99";
/// Energy per data read and written, J/GB; a figure of a step.
pub const ENERGY_PER_GB: &str = "energy-per-gb";

/// The figure of a quantity of a job's operations.
pub fn of(step: &str, job: &str, operation: &Operation, quantity: &str) -> String {
    format!("{step}.{job}.{operation}.{quantity}")
}

/// The energy figure of a step.
pub fn energy_per_gb(step: &str) -> String {
    format!("{step}.{ENERGY_PER_GB}")
}

/// The quantity of a latency, such as `latency.p99`.
pub fn latency(kind: &str, statistic: &str) -> String {
    format!("{kind}.{statistic}")
}
