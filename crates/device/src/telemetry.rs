//! Readings of instruments outside of the device (power at the plug, temperatures), and counters of
//! its flash translation layer.

use crate::convert::ToF64;
use crate::power::thermal::Thermal;
use nandscope_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// A reading at one instant. Energy counts from the start of the device's life, so that the mean
/// power between two readings is their difference over the time between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Telemetry {
    /// Energy drawn so far by device and host adapter (reader), joules.
    pub energy_j: f64,
    /// Temperature that SMART reports, degrees Celsius.
    pub smart_temperature_c: f64,
    /// Temperature of the case's surface, degrees Celsius.
    pub surface_temperature_c: f64,
    /// Share of full speed that thermal throttling leaves, 0 to 1; 1 is unthrottled.
    pub throttle: f64,
    /// NVMe power state; 0 for devices without.
    pub power_state: u32,
    /// When the device reached its end of life and became read-only, on its own clock.
    pub read_only_since: Option<Nanos>,
    /// Counters of the translation layer.
    pub counters: Counters,
}

impl Telemetry {
    pub(crate) fn of(thermal: &Thermal, energy_j: f64, counters: Counters) -> Self {
        Telemetry {
            energy_j,
            smart_temperature_c: thermal.controller_c(),
            surface_temperature_c: thermal.case_c(),
            throttle: thermal.clock(),
            power_state: 0,
            read_only_since: None,
            counters,
        }
    }
}

/// Wear of the blocks that are in use, in cycles of the native cell mode: a cycle in SLC mode counts as the share of a
/// native one that its rating gives (Miner's rule).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wear {
    /// Mean over the superblocks (cards: allocation units) that are not retired, cycles.
    pub mean: f64,
    /// The least worn superblock, cycles.
    pub least: f64,
    /// The most worn superblock, cycles.
    pub most: f64,
    /// Superblocks (cards: allocation units) that are not retired.
    pub blocks: u64,
    /// Rated cycles of the native cell mode.
    pub rated: u32,
}

impl Wear {
    /// The wear of superblocks, given in parts of which `cycle` are a cycle of the native mode.
    pub(crate) fn of(parts: impl Iterator<Item = u64>, cycle: u64, rated: u32) -> Self {
        let (mut blocks, mut sum, mut least, mut most) = (0_u64, 0.0, u64::MAX, 0);
        for wear in parts {
            blocks += 1;
            sum += wear.to_f64();
            least = least.min(wear);
            most = most.max(wear);
        }
        let cycle = cycle.to_f64();
        Wear {
            mean: sum / (blocks.max(1).to_f64() * cycle),
            least: least.min(most).to_f64() / cycle,
            most: most.to_f64() / cycle,
            blocks,
            rated,
        }
    }
}

/// Counters of the translation layer since the start of the device's life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Data of completed read commands.
    pub host_read: Bytes,
    /// Data of completed write commands.
    pub host_written: Bytes,
    /// Ranges of completed discards.
    pub host_discarded: Bytes,
    /// Data programmed into flash, for all causes.
    pub flash_programmed: Bytes,
    /// Part of `flash_programmed`: GC writes.
    pub gc_writes: Bytes,
    /// Part of `flash_programmed`: moved from SLC blocks to TLC/QLC blocks.
    pub folded: Bytes,
    /// Part of `flash_programmed`: moved by wear levelling and refresh.
    pub refreshed: Bytes,
    /// Part of `flash_programmed`: mapping table and other metadata.
    pub metadata: Bytes,
    /// Part of `flash_programmed`: padding of program units that a flush closed early.
    pub padding: Bytes,
    /// Part of `flash_programmed`: parity across dies.
    pub parity: Bytes,
    /// Erase blocks erased.
    pub erases: u64,
    /// Page reads from the array.
    pub page_reads: u64,
    /// Page reads repeated at other read voltages.
    pub read_retries: u64,
    /// Uncorrectable page reads, after all retries.
    pub uncorrectable_reads: u64,
    /// Bytes that the host read where nothing is mapped: no flash was read for them. Counted by
    /// page-mapped devices only: an AU map reads flash there as well.
    pub unmapped_read: Bytes,
    /// Mapping-table look-ups that had to read flash (or host memory).
    pub map_misses: u64,
    /// Bytes of valid data in SLC blocks now.
    pub slc_used: Bytes,
    /// Bytes the SLC cache may hold now.
    pub slc_limit: Bytes,
    /// Free bytes in erased blocks now, at the native cell mode.
    pub free: Bytes,
}

impl Counters {
    /// Bytes programmed per byte written by the host, since the start; 1 if nothing was written.
    pub fn write_amplification(&self) -> f64 {
        if self.host_written == Bytes::ZERO {
            1.0
        } else {
            self.flash_programmed.0.to_f64() / self.host_written.0.to_f64()
        }
    }

    /// Increase since `before`, an earlier reading of the same device. States (SLC use and limit, free space) stay those of
    /// this reading. The expression names every field, so that a new one cannot be forgotten.
    pub fn since(&self, before: &Counters) -> Counters {
        let count = |now: u64, before: u64| now.saturating_sub(before);
        let bytes = |now: Bytes, before: Bytes| Bytes(count(now.0, before.0));
        Counters {
            host_read: bytes(self.host_read, before.host_read),
            host_written: bytes(self.host_written, before.host_written),
            host_discarded: bytes(self.host_discarded, before.host_discarded),
            flash_programmed: bytes(self.flash_programmed, before.flash_programmed),
            gc_writes: bytes(self.gc_writes, before.gc_writes),
            folded: bytes(self.folded, before.folded),
            refreshed: bytes(self.refreshed, before.refreshed),
            metadata: bytes(self.metadata, before.metadata),
            padding: bytes(self.padding, before.padding),
            parity: bytes(self.parity, before.parity),
            erases: count(self.erases, before.erases),
            page_reads: count(self.page_reads, before.page_reads),
            read_retries: count(self.read_retries, before.read_retries),
            uncorrectable_reads: count(self.uncorrectable_reads, before.uncorrectable_reads),
            unmapped_read: bytes(self.unmapped_read, before.unmapped_read),
            map_misses: count(self.map_misses, before.map_misses),
            slc_used: self.slc_used,
            slc_limit: self.slc_limit,
            free: self.free,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_is_what_the_run_added() {
        let lifetime = |n: u64| Counters {
            host_read: Bytes(n),
            host_written: Bytes(2 * n),
            host_discarded: Bytes(3 * n),
            flash_programmed: Bytes(4 * n),
            gc_writes: Bytes(5 * n),
            folded: Bytes(6 * n),
            refreshed: Bytes(7 * n),
            metadata: Bytes(8 * n),
            padding: Bytes(9 * n),
            parity: Bytes(16 * n),
            erases: 10 * n,
            page_reads: 11 * n,
            read_retries: 12 * n,
            uncorrectable_reads: 13 * n,
            map_misses: 14 * n,
            unmapped_read: Bytes(15 * n),
            slc_used: Bytes(15),
            slc_limit: Bytes(16),
            free: Bytes(17),
        };
        assert_eq!(lifetime(1000).since(&lifetime(900)), lifetime(100));
    }
}
