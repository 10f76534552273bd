//! What a device says of itself: identity and health, as NVMe's identify and SMART log page give them.

use nandscope_units::Bytes;
use serde::{Deserialize, Serialize};

/// Identity of a device, as identify (NVMe, ATA) or CID and CSD (SD, eMMC) give it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Model name.
    pub model: String,
    /// Serial number.
    pub serial: String,
    /// Firmware revision.
    pub firmware: String,
    /// Addressable capacity.
    pub capacity: Bytes,
    /// Whether discards reach the medium over this host path.
    pub discard: bool,
}

/// The NVMe SMART / health information log page (02h), in its own units.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HealthLog {
    /// Bit field of critical warnings: bit 0 spare, bit 1 temperature, bit 2 reliability, bit 3 read-only.
    pub critical_warning: u8,
    /// Composite temperature in kelvin, as the log page holds it.
    pub composite_temperature_k: u16,
    /// Remaining spare blocks, percent of the spare the device began with.
    pub available_spare_percent: u8,
    /// Spare percentage below which bit 0 of the critical warning is set.
    pub available_spare_threshold_percent: u8,
    /// Rated endurance used, percent; may exceed 100, stays at 255.
    pub percentage_used: u8,
    /// Data read by the host, in units of 1000 x 512 bytes, rounded up.
    pub data_units_read: u64,
    /// Data written by the host, in units of 1000 x 512 bytes, rounded up.
    pub data_units_written: u64,
    /// Read commands completed.
    pub host_read_commands: u64,
    /// Write commands completed.
    pub host_write_commands: u64,
    /// Minutes in which commands were outstanding.
    pub controller_busy_minutes: u64,
    /// Power cycles.
    pub power_cycles: u64,
    /// Hours powered on.
    pub power_on_hours: u64,
    /// Power losses without notice.
    pub unsafe_shutdowns: u64,
    /// Reads that could not be corrected.
    pub media_errors: u64,
    /// Minutes above the warning temperature.
    pub warning_temperature_minutes: u64,
    /// Minutes above the critical temperature.
    pub critical_temperature_minutes: u64,
}
