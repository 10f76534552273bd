//! Admission to the write buffer, the link, and gathering units into program units.

use super::buffer::Transfer;
use crate::command::{CommandKind, Status};
use crate::convert::Narrow;
use crate::events::Event;
use crate::mapping::page::PageMapDevice;
use crate::mapping::page::log::ProgramUnit;
use crate::mapping::page::lpn::Lpn;
use crate::mapping::page::map_fetches::MapWaiter;
use crate::mapping::page::scheduler::Wants;
use crate::profile::schema::Acknowledge;
use nandscope_units::SECTOR_BYTES;

impl PageMapDevice {
    pub(in crate::mapping::page) fn begin_write(&mut self, index: u32) {
        let p = &mut self.commands[index];
        p.to_admit = p.units;
        p.to_arrive = p.units;
        let (first, units) = (p.first, p.units);
        if units == 0 {
            return self.complete_at(index, self.schedule.now());
        }
        if self.log.is_read_only() {
            return self.refuse(index);
        }
        self.read_ahead.invalidate(first, units);
        self.writes.wait_for_admission(index);
        self.run(Wants::Admission);
    }

    /// Reserves buffer places for the next units of a write; returns their number, 0 without room or credit.
    pub(in crate::mapping::page) fn reserve_room(&mut self, index: u32) -> u32 {
        let in_transit = self.writes.buffer.in_transit();
        let allowance = if self.pace.is_active() && self.background.keeps_host_waiting() {
            0
        } else {
            // Superblocks that wait for erasure need no relocation, but are not free space yet.
            let space = self.log.host_space_units();
            let affordable = self.pace.affordable(|| self.log.cost_of_host_unit());
            let space = space.saturating_sub(u64::from(in_transit));
            affordable.min(space).clamp_u32()
        };
        let room = self.writes.buffer.room().min(allowance);
        let waiting = self.commands[index].to_admit;
        let chunk = waiting.min(room).min(self.log.geometry.stripe_units);
        if chunk > 0 {
            self.writes.buffer.reserve_for_transfer(chunk);
            self.pace.spend(chunk, || self.log.cost_of_host_unit());
        }
        chunk
    }

    /// Begins the transfer of the next units of the write at the head of the queue.
    pub(in crate::mapping::page) fn begin_transfer(&mut self, index: u32, units: u32) {
        let p = &mut self.commands[index];
        let first = p.first + (p.units - p.to_admit);
        p.to_admit -= units;
        if p.to_admit == 0 {
            self.writes.end_first_waiting();
        }
        let bytes = self.bytes_in(index, first, units);
        let end = self.receive(bytes, self.schedule.now());
        let transfer = self.writes.transfers.begin(Transfer {
            command: index,
            first,
            units,
        });
        self.schedule.push(end, Event::DataIn(transfer));
    }

    /// Refuses a command because the device is read-only; nothing of it was done.
    pub(in crate::mapping::page) fn refuse(&mut self, index: u32) {
        self.commands[index].request.status = Status::ReadOnly;
        self.complete_at(index, self.schedule.now());
    }

    /// Refuses all waiting writes because the device is read-only and will never have room.
    pub(in crate::mapping::page) fn refuse_waiting(&mut self) {
        while let Some(index) = self.writes.admission.pop_front() {
            let p = &mut self.commands[index];
            p.request.status = Status::ReadOnly;
            p.to_arrive -= std::mem::take(&mut p.to_admit);
            self.write_may_complete(index);
        }
    }

    pub(in crate::mapping::page) fn on_data_in(&mut self, transfer: u32) {
        let Transfer {
            command,
            first,
            units,
        } = self.writes.transfers.end(transfer);
        self.writes.buffer.note_arrival(units);
        self.log.prefetch_moves(units);
        // A write may begin and end in the middle of a unit.
        let last = first + (units - 1);
        let head = u32::from(self.is_partial(command, first));
        let tail = u32::from(last > first && self.is_partial(command, last));
        for (at, count) in [
            (first, head),
            (first + head, units - head - tail),
            (last, tail),
        ] {
            if count > 0 {
                self.take_units(command, at, count, head + tail > 0 && count == 1);
            }
        }
        self.run(Wants::Relocation);
        self.erase_invalid();
        self.commands[command].to_arrive -= units;
        self.write_may_complete(command);
        self.close_awaited_unit();
    }

    /// Whether a command covers a unit only in part.
    pub(super) fn is_partial(&self, index: u32, unit: Lpn) -> bool {
        self.bytes_in(index, unit, 1) < self.unit_bytes()
    }

    /// First sector of a unit that a command covers, and the sector after the last.
    pub(super) fn sectors_in_unit(&self, index: u32, unit: Lpn) -> (u32, u32) {
        let command = &self.commands[index].request.command;
        let per_unit = self.unit_bytes() / SECTOR_BYTES;
        let start = u64::from(unit) * per_unit;
        let end = command.lba.0 + u64::from(command.sectors);
        let from = command.lba.0.max(start) - start;
        let to = end.min(start + per_unit) - start;
        (from.narrow(), to.narrow())
    }

    /// Appends arrived units to the log. A partly written unit (possible if `edge`) is merged with a gathered part of
    /// the same unit; otherwise its rest is read from its old place in flash.
    pub(super) fn take_units(&mut self, command: u32, first: Lpn, units: u32, edge: bool) {
        let partial = edge && self.is_partial(command, first);
        let (from, to) = if partial {
            self.sectors_in_unit(command, first)
        } else {
            (0, 0)
        };
        if partial && self.log.takes_parts(first) {
            self.log.merge_partial(first, from, to);
            self.note_merged(command, first);
            self.end_linger(false);
            let wants = self.release(units);
            return self.run(wants);
        }
        let rest = if partial {
            self.log.run_of(first)
        } else {
            None
        };
        let old = rest.and_then(|run| self.place_of(run)).map(|run| run.first);
        let mut full = std::mem::take(&mut self.scratch.full);
        let appended = self.log.write(first, units, self.schedule.now(), &mut full);
        if partial && appended > 0 {
            self.log.note_partial(first, old, from, to);
        }
        let sequence = self.sequence_of_last(&full);
        self.log
            .note_map_change(first, appended, self.schedule.now(), &mut full);
        let wanted = self.log.window.take_wanted();
        self.note_arrival(command, (first, appended));
        if appended < units {
            self.commands[command].request.status = Status::ReadOnly;
            self.writes.buffer.give_back(units - appended);
        }
        let wants = self.submit_host_programs(&mut full);
        self.run(wants);
        self.scratch.full = full;
        // The program with the last units keeps its buffer places until the map pages for these units have been
        // fetched: until then, reads find the data only in the buffer.
        let waits = self.fetch_map(wanted, MapWaiter::Program(sequence), true);
        self.writes.programs.add_map_waits(sequence, waits);
    }

    /// Sequence number of the program with the units appended last: one of the full program units, or the current one.
    pub(super) fn sequence_of_last(&self, full: &[ProgramUnit]) -> u32 {
        let after = self
            .writes
            .programs
            .next_sequence()
            .wrapping_add(full.len().narrow());
        if self.log.is_gathering() {
            after
        } else {
            after.wrapping_sub(1)
        }
    }

    /// Handles the fetch of a map page that units of a program must be entered in.
    pub(in crate::mapping::page) fn on_map_updated(&mut self, sequence: u32) -> Wants {
        let held = self.writes.programs.end_map_wait(sequence);
        if held > 0 {
            self.release(held)
        } else {
            Wants::Nothing
        }
    }

    /// Acknowledges a write whose data has all arrived and which waits for nothing, now or after its program.
    pub(in crate::mapping::page) fn write_may_complete(&mut self, index: u32) {
        let p = &self.commands[index];
        if p.to_arrive > 0 {
            return;
        }
        if p.request.command.kind == CommandKind::Discard {
            return self.complete_at(index, self.schedule.now());
        }
        let fua = matches!(p.request.command.kind, CommandKind::Write { fua: true });
        if fua && !self.controller.power_fail_hold_up {
            return self.complete_when_persisted(index);
        }
        match self.attachment.acknowledge {
            Acknowledge::Buffered => self.complete_at(index, self.schedule.now()),
            Acknowledge::Programmed => self.complete_when_programmed(index),
        }
    }
}
