//! Counters of host commands, and the entries of the health log that follow from them.

use crate::command::{Command, CommandKind};
use crate::convert::Whole;
use crate::health::HealthLog;
use crate::invariant::{Checked, check_sum};
use crate::power::meter::Meter;
use crate::power::thermal::Thermal;
use nandscope_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// Kelvin at zero degrees Celsius.
const KELVIN: f64 = 273.15;
/// Size of an NVMe data unit, bytes: 1000 × 512.
const DATA_UNIT: u64 = 512_000;
/// Spare blocks below which a device sets its critical warning, percent.
const SPARE_THRESHOLD: u8 = 10;

/// Counters of commands of the host, and of the errors of their reads.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct HostCounters {
    pub(crate) read_bytes: u64,
    pub(crate) written_bytes: u64,
    pub(crate) discarded_bytes: u64,
    read_commands: u64,
    write_commands: u64,
    pub(crate) map_misses: u64,
    pub(crate) read_retries: u64,
    pub(crate) uncorrectable_reads: u64,
    /// Number of power cycles; `unsafe_shutdowns` counts those after power cuts without notice.
    power_ups: u64,
    unsafe_shutdowns: u64,
    /// Bytes read from unmapped units.
    pub(crate) unmapped_bytes: u64,
}

/// Health log entries about the flash.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlashHealth {
    /// Spare blocks left, percent.
    pub(crate) spare_percent: u8,
    /// Mean erase count as a percentage of the rated cycles.
    pub(crate) used_percent: f64,
    pub(crate) read_only: bool,
}

impl HostCounters {
    /// Counts a power cycle, with or without notice before the power loss.
    pub(crate) fn power_cycled(&mut self, with_notice: bool) {
        self.power_ups += 1;
        self.unsafe_shutdowns += u64::from(!with_notice);
    }

    /// Counts a completed read.
    #[inline]
    pub(crate) fn count_read(&mut self, bytes: Bytes) {
        self.read_bytes += bytes.0;
        self.read_commands += 1;
    }

    /// Counts a completed command.
    pub(crate) fn count(&mut self, command: &Command) {
        let bytes = command.bytes().0;
        match command.kind {
            CommandKind::Read => self.count_read(command.bytes()),
            CommandKind::Write { .. } => {
                self.written_bytes += bytes;
                self.write_commands += 1;
            }
            CommandKind::Discard => self.discarded_bytes += bytes,
            CommandKind::Flush | CommandKind::Identify | CommandKind::Health => {}
        }
    }

    /// Checks that the counters are far from overflow.
    pub(crate) fn audit(&self) -> Checked {
        let all = [
            self.read_bytes,
            self.written_bytes,
            self.discarded_bytes,
            self.read_commands,
            self.write_commands,
            self.map_misses,
            self.read_retries,
            self.uncorrectable_reads,
            self.power_ups,
            self.unsafe_shutdowns,
            self.unmapped_bytes,
        ];
        all.into_iter()
            .try_for_each(|sum| check_sum("counters of the host", sum))
    }

    /// The health log at `now`.
    pub(crate) fn health(
        &self,
        flash: FlashHealth,
        meter: &Meter,
        thermal: &Thermal,
        now: Nanos,
    ) -> HealthLog {
        let (warning, critical) = thermal.time_above();
        let minutes = |t: Nanos| (t.as_secs_f64() / 60.0).floor_u64();
        let short = flash.spare_percent < SPARE_THRESHOLD;
        let hot = thermal.is_above_warning();
        HealthLog {
            critical_warning: u8::from(short) | u8::from(hot) << 1 | u8::from(flash.read_only) << 3,
            composite_temperature_k: u16::try_from((thermal.controller_c() + KELVIN).round_u32())
                .unwrap_or(u16::MAX),
            available_spare_percent: flash.spare_percent,
            available_spare_threshold_percent: SPARE_THRESHOLD,
            percentage_used: u8::try_from(flash.used_percent.floor_u32()).unwrap_or(u8::MAX),
            data_units_read: self.read_bytes.div_ceil(DATA_UNIT),
            data_units_written: self.written_bytes.div_ceil(DATA_UNIT),
            host_read_commands: self.read_commands,
            host_write_commands: self.write_commands,
            controller_busy_minutes: minutes(meter.busy_total()),
            power_cycles: 1 + self.power_ups,
            power_on_hours: (now.as_secs_f64() / 3600.0).floor_u64(),
            unsafe_shutdowns: self.unsafe_shutdowns,
            media_errors: self.uncorrectable_reads,
            warning_temperature_minutes: minutes(warning),
            critical_temperature_minutes: minutes(critical),
        }
    }
}
