//! Values of [`crate::ResultDocument::procedure`] beside the names of suites.

/// Job file.
pub const RUN: &str = "run";
/// Inference of a device's internals.
pub const PROBE: &str = "probe";
/// Detection of counterfeits.
pub const VERIFY: &str = "verify";
/// Workloads on Linux file systems, on simulated devices.
pub const FILE_SYSTEMS: &str = "fs";
/// Two fills of the whole device.
pub const FILL: &str = "fill";
/// Output of fio.
pub const FIO: &str = "fio";
