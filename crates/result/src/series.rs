//! Names of the series that this program writes. Other names are allowed.

use crate::Operation;

/// Power of the device, W.
pub const POWER: &str = "power";
/// Power of the host, W.
pub const HOST_POWER: &str = "host power";
/// Temperature that the device reports, °C.
pub const DEVICE_TEMPERATURE: &str = "device temperature";
/// Temperature of the surface, °C.
pub const SURFACE_TEMPERATURE: &str = "surface temperature";
/// Share of full speed under thermal throttling, %.
pub const THROTTLE: &str = "throttle";
/// Data in the SLC cache, GB.
pub const SLC_CACHE_USED: &str = "SLC cache used";
/// Bytes programmed per byte that the host wrote.
pub const WRITE_AMPLIFICATION: &str = "write amplification";

/// Bytes per time, MB/s; a quantity of each operation, see [`of`].
pub const BANDWIDTH: &str = "bandwidth";
/// Operations per second; a quantity of each operation.
pub const IOPS: &str = "IOPS";
/// Mean latency, µs; a quantity of each operation. With a schedule it is the due-time latency, see [`due`].
pub const LATENCY: &str = "latency";
/// Largest latency, µs; a quantity of each operation.
pub const LATENCY_MAX: &str = "latency max";
/// Percentiles of the latency, µs, each known to 3 %; quantities of each operation.
pub const PERCENTILES: [(&str, f64); 3] = [
    ("latency p50", 50.0),
    ("latency p99", 99.0),
    ("latency p99.9", 99.9),
];

/// Series of a latency that counts from the due time of an operation instead of its submission, such as `write due latency
/// p99`.
pub fn due(operation: &Operation, quantity: &str) -> String {
    of(operation, &format!("due {quantity}"))
}

/// Series of a quantity of an operation, such as `write bandwidth`.
pub fn of(operation: &Operation, quantity: &str) -> String {
    format!("{operation} {quantity}")
}
