//! Host program units on their way into the array, the old data of partly written units, and the buffer places freed.

use crate::convert::Narrow;
use crate::flash::PlaneSet;
use crate::flash::superblock_id::SuperblockId;
use crate::flash::{FlashOp, OpClass, Owner};
use crate::mapping::page::PageMapDevice;
use crate::mapping::page::log::{Pool, ProgramUnit};
use crate::mapping::page::program_id::ProgramId;
use crate::mapping::page::scheduler::Wants;
use crate::profile::schema::BufferRelease;

impl PageMapDevice {
    /// Stages program units in the order in which they were filled. Relocation may begin only when all of them have
    /// sequence numbers, because map pages that it changes fill further units.
    #[inline]
    pub(in crate::mapping::page) fn submit_host_programs(
        &mut self,
        units: &mut Vec<ProgramUnit>,
    ) -> Wants {
        for unit in &*units {
            if unit.pool == Pool::Map {
                self.submit_map_program(*unit);
            } else {
                self.submit_host_program(*unit);
            }
        }
        units.clear();
        Wants::Credit
    }

    pub(super) fn submit_host_program(&mut self, unit: ProgramUnit) {
        // Host data was charged at its admission; metadata and padding take free space too.
        let units = self.log.geometry.mode(unit.slc).program_units;
        self.pace
            .spend(units - unit.host_units, || self.log.cost_of_host_unit());
        self.end_linger(true);
        let sequence = self.writes.programs.next_sequence();
        self.note_program(&unit, sequence);
        self.writes.programs.add(unit);
        self.end_linger(false);
    }

    /// Submits a program of map pages. They take no place in the write buffer, and no flush waits for them: the journal
    /// and the tags next to data repeat their entries. The host pays no credit for them, since their superblocks have
    /// reserved space.
    fn submit_map_program(&mut self, unit: ProgramUnit) {
        let (superblock, program) = (unit.superblock, unit.program);
        self.writes.programs.add_of_map(superblock, program);
        self.submit_program(
            unit,
            Owner::MapProgram {
                superblock,
                program,
            },
        );
        self.program_parity(&unit);
    }

    pub(in crate::mapping::page) fn on_map_programmed(
        &mut self,
        superblock: SuperblockId,
        program: ProgramId,
    ) {
        self.writes.programs.end_of_map(superblock, program);
        self.log.program_done(superblock);
        self.erase_invalid();
    }

    /// Ends the wait of the last program unit for the rest of its last unit, which a sequential stream of small writes
    /// brings next: because the rest has come, or because its buffer place or data is needed (`at_once`).
    pub(in crate::mapping::page) fn end_linger(&mut self, at_once: bool) {
        let Some(unit) = self.writes.programs.lingering() else {
            return;
        };
        if !at_once && self.log.awaits_rest(&unit) {
            return;
        }
        let sequence = self.writes.programs.last_sequence();
        let merges = self.begin_merges(&unit, sequence);
        self.writes.programs.end_linger(merges);
        self.program_staged();
    }

    /// Reads the old data of partly written units for their program; returns the number of reads.
    pub(super) fn begin_merges(&mut self, unit: &ProgramUnit, sequence: u32) -> u32 {
        let mut reads = std::mem::take(&mut self.scratch.merges);
        self.log.take_merges(unit, &mut reads);
        let merges = reads.len().narrow();
        for run in reads.drain(..) {
            self.submit_read(run, true, Owner::MergeRead { sequence }, None);
        }
        self.scratch.merges = reads;
        merges
    }

    /// Reads the old data of partly written, gathered units before their superblock is erased.
    pub(in crate::mapping::page) fn merge_before_erase(&mut self, superblock: SuperblockId) {
        let mut reads = std::mem::take(&mut self.scratch.merges);
        self.log.merges_before_erase(superblock, &mut reads);
        self.writes.programs.add_merges(reads.len().narrow());
        let sequence = self.writes.programs.next_sequence();
        for run in reads.drain(..) {
            self.submit_read(run, true, Owner::MergeRead { sequence }, None);
        }
        self.scratch.merges = reads;
    }

    /// Handles old data read for a program with partly written units.
    pub(in crate::mapping::page) fn on_merge_read(&mut self, sequence: u32) {
        self.writes.programs.end_merge(sequence);
        self.program_staged();
    }

    /// Submits staged programs to the array, in order, while their data is complete.
    pub(super) fn program_staged(&mut self) {
        while let Some((sequence, unit)) = self.writes.programs.take_complete() {
            let owner = Owner::HostProgram {
                sequence,
                superblock: unit.superblock,
                host_units: unit.host_units,
            };
            self.submit_program(unit, owner);
            self.program_parity(&unit);
        }
    }

    pub(in crate::mapping::page) fn submit_program(&mut self, unit: ProgramUnit, owner: Owner) {
        let g = &self.log.geometry;
        let units = g.mode(unit.slc).program_units;
        let op = FlashOp {
            class: OpClass::Program,
            urgent: false,
            die: unit.die,
            array_ns: g.program_ns(unit.slc, unit.program),
            bus_bytes: units * g.unit_bytes,
            transfers: units / g.units_per_page,
            retransfers: 0,
            planes: PlaneSet::NONE,
            owner,
        };
        self.submit_flash(op);
    }

    pub(in crate::mapping::page) fn on_host_transferred(
        &mut self,
        sequence: u32,
        host_units: u32,
    ) -> Wants {
        if self.controller.buffer_release == BufferRelease::Transferred {
            self.release_or_hold(sequence, host_units)
        } else {
            Wants::Nothing
        }
    }

    /// Frees the buffer places of a program, now or when its units are entered in the map.
    pub(super) fn release_or_hold(&mut self, sequence: u32, host_units: u32) -> Wants {
        if self.writes.programs.give_up_places(sequence, host_units) {
            self.release(host_units)
        } else {
            Wants::Nothing
        }
    }

    pub(in crate::mapping::page) fn on_host_programmed(
        &mut self,
        sequence: u32,
        superblock: SuperblockId,
        host_units: u32,
    ) -> Wants {
        self.log.program_done(superblock);
        self.note_programmed(sequence);
        self.writes.programs.end(sequence);
        while let Some(index) = self.writes.take_durable() {
            self.complete_at(index, self.schedule.now());
        }
        self.erase_invalid();
        let wants = if self.controller.buffer_release == BufferRelease::Programmed {
            self.release_or_hold(sequence, host_units)
        } else {
            Wants::Nothing
        };
        self.writes.programs.drop_finished();
        wants
    }

    /// Frees buffer places.
    pub(in crate::mapping::page) fn release(&mut self, units: u32) -> Wants {
        self.writes.buffer.give_back(units);
        Wants::Room
    }
}
