//! Identity and health reported by a device, as in NVMe's identify data and SMART log page.

use crate::convert::{Narrow, Whole};
use crate::link::Protocol;
use crate::profile::host::Chain;
use crate::profile::power_state::PowerStateSection;
use crate::profile::schema::DeviceSection;
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
    /// True if discards reach the medium over this host path.
    pub discard: bool,
    /// NVMe power states, PS0 first; none on other links.
    pub power_states: Vec<PowerState>,
}

/// An NVMe power state descriptor of the identify data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowerState {
    /// Greatest power, in units of 0.1 mW (MP with MXPS set).
    pub max_power: u32,
    /// Whether commands are executed in this state.
    pub operational: bool,
    /// Entry latency, µs.
    pub entry_us: u32,
    /// Exit latency, µs.
    pub exit_us: u32,
}

impl PowerState {
    fn of(section: &PowerStateSection) -> Self {
        let rounded = |value: f64| value.round_u32();
        PowerState {
            max_power: rounded(section.max_mw * 10.0),
            operational: section.operational,
            entry_us: rounded(section.entry_us),
            exit_us: rounded(section.exit_us),
        }
    }
}

impl Identity {
    pub(crate) fn of(
        device: &DeviceSection,
        power_states: &[PowerStateSection],
        serial: &str,
        chain: &Chain,
    ) -> Self {
        let is_nvme = chain.link.protocol == Protocol::Nvme;
        let power_states = power_states.iter().filter(|_| is_nvme);
        Identity {
            model: device.model.clone(),
            serial: serial.to_string(),
            firmware: device.firmware.clone(),
            capacity: Bytes(device.capacity_bytes),
            discard: chain.discard,
            power_states: power_states.map(PowerState::of).collect(),
        }
    }
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
    /// Number of times power was applied, including the first.
    pub power_cycles: u64,
    /// Whole hours with power, including idle hours.
    pub power_on_hours: u64,
    /// Number of power losses without notice (NVMe: unsafe shutdowns).
    pub unsafe_shutdowns: u64,
    /// Number of uncorrectable reads.
    pub media_errors: u64,
    /// Minutes above the warning temperature.
    pub warning_temperature_minutes: u64,
    /// Minutes above the critical temperature.
    pub critical_temperature_minutes: u64,
}

impl HealthLog {
    /// True if the device has placed its media in read-only mode: NVMe's critical warning bit 3;
    /// `TMP_WRITE_PROTECT` in the CSD of an SD card.
    pub const fn is_read_only(&self) -> bool {
        self.critical_warning >> 3 & 1 == 1
    }

    /// `PRE_EOL_INFO` of eMMC in EXT_CSD byte 267 (JESD84-B51): 1 normal, 2 at 80 % and 3 at 90 % of the
    /// spare blocks used.
    pub const fn pre_eol_info(&self) -> u8 {
        match self.available_spare_percent {
            0..=10 => 3,
            11..=20 => 2,
            _ => 1,
        }
    }

    /// The log page as NVMe puts it on the wire: 512 bytes, little endian (NVM Express base
    /// specification, SMART / health information log). Counters are 128 bits wide there.
    pub fn to_page(&self) -> [u8; 512] {
        let mut page = [0; 512];
        page[0] = self.critical_warning;
        page[1..3].copy_from_slice(&self.composite_temperature_k.to_le_bytes());
        page[3] = self.available_spare_percent;
        page[4] = self.available_spare_threshold_percent;
        page[5] = self.percentage_used;
        for (at, counter) in [
            (32, self.data_units_read),
            (48, self.data_units_written),
            (64, self.host_read_commands),
            (80, self.host_write_commands),
            (96, self.controller_busy_minutes),
            (112, self.power_cycles),
            (128, self.power_on_hours),
            (144, self.unsafe_shutdowns),
            (160, self.media_errors),
        ] {
            page[at..at + 8].copy_from_slice(&counter.to_le_bytes());
        }
        let minutes = |n: u64| n.clamp_u32().to_le_bytes();
        page[192..196].copy_from_slice(&minutes(self.warning_temperature_minutes));
        page[196..200].copy_from_slice(&minutes(self.critical_temperature_minutes));
        page[200..202].copy_from_slice(&self.composite_temperature_k.to_le_bytes());
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_its_fields_where_nvme_has_them() {
        // 745,421 data units are 381.66 GB, as smartctl shows for such a log.
        let log = HealthLog {
            composite_temperature_k: 373,
            percentage_used: 3,
            data_units_read: 745_421,
            media_errors: 2,
            ..HealthLog::default()
        };
        let page = log.to_page();
        assert_eq!(u16::from_le_bytes([page[1], page[2]]), 373);
        assert_eq!(page[5], 3);
        assert_eq!(&page[32..40], &745_421u64.to_le_bytes());
        assert_eq!((page[160], page[200]), (2, 117));
        assert_eq!((log.pre_eol_info(), log.is_read_only()), (3, false));
        assert_eq!(page[202..].iter().filter(|b| **b != 0).count(), 0);
    }
}
