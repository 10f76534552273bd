//! What the device tells of itself: completions' payloads, the health log, telemetry and counters.

use super::Device;
use crate::command::{CommandKind, Payload, Status};
use crate::health::{HealthLog, Identity};
use crate::telemetry::{Counters, Telemetry};
use nandscope_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// Counted at the host's side, and what the translation does not count itself.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct HostCounters {
    read_bytes: u64,
    written_bytes: u64,
    discarded_bytes: u64,
    read_commands: u64,
    write_commands: u64,
    pub(super) map_misses: u64,
    pub(super) read_retries: u64,
    pub(super) uncorrectable_reads: u64,
}

/// Kelvin at zero degrees Celsius.
const KELVIN: f64 = 273.15;
/// NVMe data units are thousands of 512 bytes.
const DATA_UNIT: u64 = 512_000;

impl Device {
    pub(super) fn count_completion(&mut self, index: u32) {
        let p = &self.pending[index as usize];
        if p.status != Status::Ok {
            return;
        }
        let bytes = p.command.bytes().0;
        let c = &mut self.counters;
        match p.command.kind {
            CommandKind::Read => {
                c.read_bytes += bytes;
                c.read_commands += 1;
            }
            CommandKind::Write { .. } => {
                c.written_bytes += bytes;
                c.write_commands += 1;
            }
            CommandKind::Discard => c.discarded_bytes += bytes,
            CommandKind::Flush | CommandKind::Identify | CommandKind::Health => {}
        }
    }

    pub(super) fn payload(&self, kind: CommandKind) -> Option<Box<Payload>> {
        match kind {
            CommandKind::Identify => Some(Box::new(Payload::Identity(self.identity()))),
            CommandKind::Health => Some(Box::new(Payload::Health(self.health()))),
            _ => None,
        }
    }

    /// What the device says it is.
    pub fn identity(&self) -> Identity {
        Identity {
            model: self.identity.model.clone(),
            serial: self.serial.clone(),
            firmware: self.identity.firmware.clone(),
            capacity: self.capacity(),
            discard: self.attachment.chain.discard,
        }
    }

    /// The health log as NVMe gives it.
    pub fn health(&self) -> HealthLog {
        let spare = self.log.blocks.spare_percent();
        let (_, mean_erases, _) = self.log.blocks.wear();
        let used = mean_erases / f64::from(self.log.geometry.native.cycles) * 100.0;
        let (warning, critical) = self.thermal.time_above();
        let minutes = |t: Nanos| (t.as_secs_f64() / 60.0) as u64;
        let read_only = !self.log.writable();
        let hot = self.thermal.clock() < 1.0;
        HealthLog {
            critical_warning: u8::from(spare < 10) | u8::from(hot) << 1 | u8::from(read_only) << 3,
            composite_temperature_k: (self.thermal.controller_c() + KELVIN + 0.5) as u16,
            available_spare_percent: spare,
            available_spare_threshold_percent: 10,
            percentage_used: used.min(255.0) as u8,
            data_units_read: self.counters.read_bytes.div_ceil(DATA_UNIT),
            data_units_written: self.counters.written_bytes.div_ceil(DATA_UNIT),
            host_read_commands: self.counters.read_commands,
            host_write_commands: self.counters.write_commands,
            controller_busy_minutes: minutes(self.meter.busy_total),
            power_cycles: 1,
            power_on_hours: (self.now.as_secs_f64() / 3600.0) as u64,
            unsafe_shutdowns: 0,
            media_errors: self.counters.uncorrectable_reads,
            warning_temperature_minutes: minutes(warning),
            critical_temperature_minutes: minutes(critical),
        }
    }

    /// A reading of power, temperatures and counters at the present time. Heat is that of
    /// the last whole step of 100 ms.
    pub fn telemetry(&self) -> Telemetry {
        Telemetry {
            energy_j: self.energy_j(),
            smart_temperature_c: self.thermal.controller_c(),
            surface_temperature_c: self.thermal.case_c(),
            throttle: self.thermal.clock(),
            counters: self.counters(),
        }
    }

    /// Counters of the inside.
    pub fn counters(&self) -> Counters {
        let unit = self.unit_bytes();
        let of = |units: u64| Bytes(units * unit);
        let p = &self.log.programmed;
        Counters {
            host_read: Bytes(self.counters.read_bytes),
            host_written: Bytes(self.counters.written_bytes),
            host_discarded: Bytes(self.counters.discarded_bytes),
            flash_programmed: of(p.total()),
            collected: of(p.collected),
            folded: of(p.folded),
            refreshed: of(p.refreshed),
            metadata: of(p.metadata),
            padding: of(p.padding),
            erases: self.log.blocks.total_erases()
                * u64::from(self.log.geometry.dies * self.log.geometry.planes),
            page_reads: self.array.page_reads(),
            read_retries: self.counters.read_retries,
            uncorrectable_reads: self.counters.uncorrectable_reads,
            map_misses: self.counters.map_misses,
            slc_used: of(self.log.slc_used_units()),
            slc_limit: of(self.log.slc_limit_units()),
            free: of(self.log.free_units()),
        }
    }
}
