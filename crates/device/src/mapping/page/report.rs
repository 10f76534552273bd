//! Identity, health log, telemetry and counters of a page-mapped device.

use super::PageMapDevice;
use crate::command::{CommandKind, Payload, Status};
use crate::health::{HealthLog, Identity};
use crate::host::counters::FlashHealth;
use crate::registers::CardRegisters;
use crate::telemetry::{Counters, Telemetry, Wear};
use nandscope_units::Bytes;

impl PageMapDevice {
    pub(super) fn count_completion(&mut self, index: u32) {
        let p = &self.commands[index];
        if p.request.status == Status::Ok {
            self.counters.count(&p.request.command);
        }
    }

    pub(super) fn payload(&self, kind: CommandKind) -> Option<Box<Payload>> {
        Payload::of(kind, || self.identity(), || self.health())
    }

    /// Answer to the identify command.
    pub(crate) fn identity(&self) -> Identity {
        Identity::of(
            &self.profile.device,
            &self.profile.power_state,
            &self.serial,
            &self.attachment.chain,
        )
    }

    /// The health log as NVMe gives it.
    pub(crate) fn health(&self) -> HealthLog {
        let flash = FlashHealth {
            spare_percent: self.log.blocks.spare_percent(),
            used_percent: self.log.blocks.mean_wear() / f64::from(self.log.geometry.native.cycles)
                * 100.0,
            read_only: self.log.is_read_only(),
        };
        self.counters.health(
            flash,
            &self.power.meter,
            &self.power.thermal,
            self.schedule.now(),
        )
    }

    /// The registers of a card.
    pub(crate) fn registers(&self) -> Option<CardRegisters> {
        CardRegisters::of(
            &self.profile,
            &self.attachment,
            &self.serial,
            &self.health(),
        )
    }

    /// A reading of power, temperatures and counters at the present time. Heat is that of
    /// the last whole step of 100 ms.
    pub(crate) fn telemetry(&self) -> Telemetry {
        Telemetry {
            read_only_since: self.log.read_only_since(),
            power_state: self.power_state(),
            ..Telemetry::of(&self.power.thermal, self.energy_j(), self.counters())
        }
    }

    /// Wear of the superblocks.
    pub(crate) fn wear(&self) -> Wear {
        self.log.blocks.wear_of_all(self.log.geometry.native.cycles)
    }

    /// Counters of the translation layer.
    pub(crate) fn counters(&self) -> Counters {
        let unit = self.unit_bytes();
        let of = |units: u64| Bytes(units * unit);
        let p = self.log.accounts.programmed();
        Counters {
            host_read: Bytes(self.counters.read_bytes),
            host_written: Bytes(self.counters.written_bytes),
            host_discarded: Bytes(self.counters.discarded_bytes),
            flash_programmed: of(p.total()),
            gc_writes: of(p.gc_writes),
            folded: of(p.folded),
            refreshed: of(p.refreshed),
            metadata: of(p.metadata),
            padding: of(p.padding),
            parity: of(p.parity),
            erases: self.log.blocks.total_erases() * u64::from(self.blocks_per_superblock()),
            page_reads: self.array.page_reads() + self.uncounted().page_reads,
            read_retries: self.counters.read_retries,
            uncorrectable_reads: self.counters.uncorrectable_reads,
            unmapped_read: Bytes(self.counters.unmapped_bytes),
            map_misses: self.counters.map_misses,
            slc_used: of(self.log.slc_used_units()),
            slc_limit: of(self.log.slc_limit_units()),
            free: of(self.log.free_units()),
        }
    }
}
