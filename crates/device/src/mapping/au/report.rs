//! Identity, health and telemetry of a card. SD cards have no health log; the one given here is that of a card with NVMe.

use super::AuMapDevice;
use crate::command::{CommandKind, Payload};
use crate::health::{HealthLog, Identity};
use crate::host::counters::FlashHealth;
use crate::registers::CardRegisters;
use crate::telemetry::{Counters, Telemetry, Wear};
use nandscope_units::Bytes;

impl AuMapDevice {
    pub(super) fn payload(&self, kind: CommandKind) -> Option<Box<Payload>> {
        Payload::of(kind, || self.identity(), || self.health())
    }

    pub(crate) fn identity(&self) -> Identity {
        Identity::of(&self.identity, &[], &self.serial, &self.attachment.chain)
    }

    pub(crate) fn health(&self) -> HealthLog {
        let cycles = super::geometry::native(&self.profile).cycles;
        let flash = FlashHealth {
            spare_percent: self.map.physical.spare_percent(),
            used_percent: self.map.physical.mean_wear() / f64::from(cycles) * 100.0,
            read_only: self.read_only_since.is_some(),
        };
        self.counters.health(
            flash,
            &self.power.meter,
            &self.power.thermal,
            self.schedule.now(),
        )
    }

    pub(crate) fn registers(&self) -> Option<CardRegisters> {
        CardRegisters::of(
            &self.profile,
            &self.attachment,
            &self.serial,
            &self.health(),
        )
    }

    pub(crate) fn telemetry(&self) -> Telemetry {
        Telemetry {
            read_only_since: self.read_only_since,
            ..Telemetry::of(&self.power.thermal, self.energy_j(), self.counters())
        }
    }

    pub(crate) fn wear(&self) -> Wear {
        self.map
            .physical
            .wear_of_all(super::geometry::native(&self.profile).cycles)
    }

    pub(crate) fn counters(&self) -> Counters {
        let au = u64::from(self.map.geometry.au_sectors) * nandscope_units::SECTOR_BYTES;
        Counters {
            host_read: Bytes(self.counters.read_bytes),
            host_written: Bytes(self.counters.written_bytes),
            host_discarded: Bytes(self.counters.discarded_bytes),
            read_retries: self.counters.read_retries,
            uncorrectable_reads: self.counters.uncorrectable_reads,
            free: Bytes(u64::from(self.map.physical.free()) * au),
            ..self.flash_counters
        }
    }
}
