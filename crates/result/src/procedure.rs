//! Values of [`crate::ResultDocument::procedure`].

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
/// Review of a memory card.
pub const CARD_REVIEW: &str = "card review";
/// Folders written to and read from a file system.
pub const FOLDER_REVIEW: &str = "folder review";
/// flashbench's conclusions about a card.
pub const FLASHBENCH: &str = "flashbench";
/// Procedure of flashbench, with every cell of its tables in the result.
pub const FLASHBENCH_WHOLE: &str = "flashbench-whole";
/// Speed classes of SD cards.
pub const SPEED_CLASS: &str = "speed-class";
/// 128 KiB sequential read and write at queue depth 32 on every port.
pub const IOMETER: &str = "iometer";
/// Sequential access as dd does it, random access as iozone does it.
pub const PLAIN: &str = "plain";
/// Suite for solid-state drives.
pub const DRIVE: &str = "solid-state drive";
/// Suite for solid-state drives, run with several drives to compare them.
pub const DRIVES: &str = "solid-state drives side by side";
/// Latency over the fullness of a drive.
pub const FULLNESS: &str = "fullness sweep";
/// Output of fio.
pub const FIO: &str = "fio";
