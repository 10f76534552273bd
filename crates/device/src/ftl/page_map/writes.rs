//! Writes: admission to the buffer, the link, programs; flush, FUA and discard.

use super::PageMapDevice;
use super::audit::Census;
use crate::command::{CommandKind, Status};
use crate::events::Event;
use crate::ftl::page_map::log::ProgramUnit;
use crate::ftl::page_map::map_fetches::MapWaiter;
use crate::invariant::{Checked, ensure, places_in_use};
use crate::nand::{FlashOp, OpClass, Owner};
use crate::profile::schema::{Acknowledge, BufferRelease};
use nandscope_units::SECTOR_BYTES;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// A transfer of write data on the link.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Transfer {
    command: u32,
    first: u32,
    units: u32,
}

/// A program that was handed to the array, in order of handing over.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct InFlight {
    superblock: u32,
    program: u32,
    done: bool,
    /// Reads of old data of units that came in parts, before which it cannot begin.
    merges: u32,
    /// Pages of the map on their way that its units must be entered in.
    map_waits: u32,
    /// Places in the buffer that are free once these have come.
    held: u32,
}

/// State of the write path.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Writes {
    capacity: u32,
    pub(super) used: u32,
    /// Units of it whose data is still on the link.
    pub(super) in_transit: u32,
    /// Writes that firmware has not looked at yet.
    pub(super) in_firmware: u32,
    /// Writes and discards that are not complete.
    pub(super) outstanding: u32,
    admission: VecDeque<u32>,
    transfers: Vec<Transfer>,
    free_transfers: Vec<u32>,
    /// Sequence number of the first entry of `in_flight`.
    base: u32,
    in_flight: VecDeque<InFlight>,
    /// All programs before this sequence number are done.
    programmed: u32,
    /// Pages of the map that units of the next program must be entered in.
    gathering_map_waits: u32,
    /// Reads of old data for units of the next program.
    gathering_merges: u32,
    /// Programs that are not in the array yet: the last of those in flight.
    staged: VecDeque<ProgramUnit>,
    /// The last of them waits for the rest of its last unit.
    lingers: bool,
    /// Commands that wait until all programs before a sequence number are done, in that order.
    durable_waiters: VecDeque<(u32, u32)>,
}

impl Writes {
    pub(super) fn new(capacity: u32) -> Self {
        Writes {
            capacity,
            used: 0,
            in_transit: 0,
            in_firmware: 0,
            outstanding: 0,
            admission: VecDeque::new(),
            transfers: Vec::new(),
            free_transfers: Vec::new(),
            base: 0,
            in_flight: VecDeque::new(),
            programmed: 0,
            gathering_map_waits: 0,
            gathering_merges: 0,
            staged: VecDeque::new(),
            lingers: false,
            durable_waiters: VecDeque::new(),
        }
    }

    /// Places in the buffer are free again.
    fn give_back(&mut self, units: u32) {
        self.used = self.used.saturating_sub(units);
    }

    /// Old data that programs take is being read or decoded.
    pub(super) fn awaits_old_data(&self) -> bool {
        self.gathering_merges > 0 || self.in_flight.iter().any(|program| program.merges > 0)
    }

    /// Data is on the link or will be as soon as firmware has looked at its command.
    fn is_data_coming(&self) -> bool {
        self.in_transit > 0 || self.in_firmware > 0
    }

    /// Places in the buffer that are free.
    pub(super) fn room(&self) -> u32 {
        self.capacity.saturating_sub(self.used)
    }

    /// Checks the buffer and everything that the queues hold on its way through it; `gathers` says whether
    /// a program unit is being filled.
    pub(super) fn audit(
        &self,
        capacity: u32,
        queued: &Census,
        gathers: bool,
        superblocks: u32,
    ) -> Checked {
        ensure!(
            self.capacity == capacity,
            "a write buffer of {} units",
            self.capacity
        );
        let mut waited_for =
            places_in_use("transfers", self.transfers.len(), &self.free_transfers)?;
        let mut in_transit = 0u64;
        for index in &queued.transfers {
            let place = waited_for.get_mut(*index as usize);
            ensure!(
                place.is_some_and(|used| std::mem::replace(used, false)),
                "transfer {index} arrives twice or does not exist"
            );
            in_transit += u64::from(self.transfers[*index as usize].units);
        }
        ensure!(
            !waited_for.contains(&true) && in_transit == u64::from(self.in_transit),
            "{in_transit} units are on the link, {} were counted",
            self.in_transit
        );
        let mut under_way: BTreeMap<u32, u32> = BTreeMap::new();
        for (sequence, superblock) in &queued.programs {
            let twice = under_way.insert(sequence.wrapping_sub(self.base), *superblock);
            ensure!(twice.is_none(), "program {sequence} is under way twice");
        }
        let in_array = self.in_flight.len().saturating_sub(self.staged.len());
        for (offset, program) in (0u32..).zip(&self.in_flight) {
            let is_staged = offset as usize >= in_array;
            let found = match self
                .staged
                .get(offset.saturating_sub(in_array as u32) as usize)
            {
                Some(unit) if is_staged => Some(unit.superblock),
                _ => under_way.remove(&offset),
            };
            ensure!(
                found == (!program.done).then_some(program.superblock)
                    && program.superblock < superblocks,
                "program {offset} of the host is lost, or done twice"
            );
        }
        let first = self.programmed.wrapping_sub(self.base);
        let done = self.in_flight.iter().take_while(|p| p.done).count();
        ensure!(
            under_way.is_empty()
                && self
                    .in_flight
                    .front()
                    .is_none_or(|p| !p.done || p.map_waits > 0)
                && done == first as usize,
            "programs of the host are under way that nobody waits for"
        );
        self.audit_waits(
            &queued.map_waits,
            "pages of the map",
            |p| p.map_waits,
            self.gathering_map_waits,
        )?;
        self.audit_waits(
            &queued.merges,
            "old data",
            |p| p.merges,
            self.gathering_merges,
        )?;
        let waits = |unit: &InFlight| unit.merges > 0;
        ensure!(
            self.staged.len() <= self.in_flight.len()
                && self.in_flight.iter().take(in_array).all(|p| !waits(p))
                && (self.in_flight.get(in_array).is_none_or(waits)
                    || (self.lingers && self.staged.len() == 1))
                && !(self.lingers && self.staged.is_empty())
                && self
                    .in_flight
                    .iter()
                    .all(|p| p.held == 0 || p.map_waits > 0),
            "a program of the host never begins, or keeps places that are free"
        );
        // The unit that is being filled is closed when nothing more is on its way.
        let filling = u32::from(gathers && self.is_data_coming());
        let most = self.in_flight.len() as u32 - first + filling;
        let until = |(sequence, _): &(u32, u32)| sequence.wrapping_sub(self.programmed);
        ensure!(
            self.durable_waiters
                .iter()
                .all(|w| (1..=most).contains(&until(w)))
                && self.durable_waiters.iter().is_sorted_by_key(until),
            "commands wait for programs that are not under way"
        );
        Ok(())
    }

    /// Programs wait for as much (`what`) as is under way for them: `under_way` has a sequence number
    /// for each, `of` is the count of a program, and `gathering` that of the next one.
    fn audit_waits(
        &self,
        under_way: &[u32],
        what: &str,
        of: impl Fn(&InFlight) -> u32,
        gathering: u32,
    ) -> Checked {
        let mut counts = vec![0u32; self.in_flight.len() + 1];
        for sequence in under_way {
            let count = counts.get_mut(sequence.wrapping_sub(self.base) as usize);
            ensure!(
                count.is_some(),
                "{what} is read for program {sequence}, which is over"
            );
            if let Some(count) = count {
                *count += 1;
            }
        }
        let expected = self.in_flight.iter().map(of).chain([gathering]);
        ensure!(
            expected.eq(counts),
            "programs of the host wait for {what} that does not come"
        );
        Ok(())
    }

    /// A program unit waits for what may come, and nothing else happens to it.
    pub(super) fn lingers(&self) -> bool {
        self.lingers
    }

    /// Programs that are not in the array yet.
    pub(super) fn staged(&self) -> impl Iterator<Item = &ProgramUnit> {
        self.staged.iter()
    }

    /// Places in the buffer that are held until their units are entered in the map.
    pub(super) fn held(&self) -> u64 {
        self.in_flight.iter().map(|p| u64::from(p.held)).sum()
    }

    /// Commands of the write path: those that wait for room, with `durable` those that wait for
    /// programs.
    pub(super) fn waiting(&self) -> (impl Iterator<Item = u32>, impl Iterator<Item = u32>) {
        (
            self.admission.iter().copied(),
            self.durable_waiters.iter().map(|(_, index)| *index),
        )
    }

    /// Commands and ranges whose data is on the link; all places of the list are named by events.
    pub(super) fn arriving(&self, index: u32) -> Option<(u32, u32, u32)> {
        let transfer = self.transfers.get(index as usize)?;
        Some((transfer.command, transfer.first, transfer.units))
    }

    /// A write or discard waits for its turn.
    pub(super) fn wait_for_admission(&mut self, index: u32) {
        self.admission.push_back(index);
    }

    /// Writes wait for room.
    pub(super) fn is_waited_for(&self) -> bool {
        !self.admission.is_empty()
    }

    pub(super) fn is_in_flight(&self, superblock: u32, program: u32) -> bool {
        self.in_flight
            .iter()
            .any(|f| !f.done && f.superblock == superblock && f.program == program)
    }

    /// A program that is under way, or whose units are not all entered in the map.
    fn program(&mut self, sequence: u32) -> Option<&mut InFlight> {
        let offset = sequence.wrapping_sub(self.base) as usize;
        self.in_flight.get_mut(offset)
    }

    /// Pages of the map that a program, or the one that is gathered, waits for.
    fn map_waits_of(&mut self, sequence: u32) -> &mut u32 {
        let offset = sequence.wrapping_sub(self.base) as usize;
        match self.in_flight.get_mut(offset) {
            Some(program) => &mut program.map_waits,
            None => &mut self.gathering_map_waits,
        }
    }

    /// Places in the buffer that are free now because a program waits for no page of the map any more.
    fn take_held(&mut self, sequence: u32) -> u32 {
        match self.program(sequence) {
            Some(program) if program.map_waits == 0 => std::mem::take(&mut program.held),
            _ => 0,
        }
    }

    /// A program is done: all before `programmed` are.
    fn note_programmed(&mut self) {
        while self.program(self.programmed).is_some_and(|p| p.done) {
            self.programmed = self.programmed.wrapping_add(1);
        }
    }

    /// Forgets the first programs as far as nothing is left to do for them.
    fn drop_finished(&mut self) {
        while self
            .in_flight
            .front()
            .is_some_and(|f| f.done && f.map_waits == 0)
        {
            self.in_flight.pop_front();
            self.base = self.base.wrapping_add(1);
        }
    }

    fn next_sequence(&self) -> u32 {
        self.base.wrapping_add(self.in_flight.len() as u32)
    }

    fn transfer(&mut self, transfer: Transfer) -> u32 {
        if let Some(index) = self.free_transfers.pop() {
            self.transfers[index as usize] = transfer;
            return index;
        }
        self.transfers.push(transfer);
        self.transfers.len() as u32 - 1
    }
}

impl PageMapDevice {
    pub(super) fn begin_write(&mut self, index: u32) {
        let p = &mut self.pending[index as usize];
        p.to_admit = p.units;
        p.to_arrive = p.units;
        let (first, units) = (p.first, p.units);
        if units == 0 {
            return self.complete_at(index, self.now);
        }
        if self.log.is_read_only() {
            return self.refuse(index);
        }
        self.read_ahead.invalidate(first, units);
        self.writes.admission.push_back(index);
        self.admit();
    }

    /// Gives places in the buffer to waiting writes, first come first served, and books the link.
    pub(super) fn admit(&mut self) {
        if self.log.is_read_only() {
            return self.refuse_waiting();
        }
        while let Some(&index) = self.writes.admission.front() {
            if self.discarding.is_some() {
                break;
            }
            if self.pending[index as usize].command.kind == CommandKind::Discard {
                self.writes.admission.pop_front();
                self.admit_discard(index);
                continue;
            }
            let room = self.writes.room().min(self.host_allowance());
            let p = &self.pending[index as usize];
            let chunk = p.to_admit.min(room).min(self.log.geometry.stripe_units);
            if chunk == 0 {
                break;
            }
            let first = p.first + p.units - p.to_admit;
            let bytes = self.bytes_in(index, first, chunk);
            self.writes.used += chunk;
            self.writes.in_transit += chunk;
            self.spend_credit(chunk);
            self.relocate_for_credit();
            self.pending[index as usize].to_admit -= chunk;
            if self.pending[index as usize].to_admit == 0 {
                self.writes.admission.pop_front();
            }
            let end = self.receive(bytes, self.now);
            let transfer = self.writes.transfer(Transfer {
                command: index,
                first,
                units: chunk,
            });
            self.events.push(end, Event::DataIn(transfer));
        }
        if self.writes.is_waited_for() {
            self.end_linger(true);
        }
    }

    /// The device is read-only: nothing of the command was done.
    pub(super) fn refuse(&mut self, index: u32) {
        self.pending[index as usize].status = Status::ReadOnly;
        self.complete_at(index, self.now);
    }

    /// The device is read-only: room for what still waits will never come.
    pub(super) fn refuse_waiting(&mut self) {
        while let Some(index) = self.writes.admission.pop_front() {
            let p = &mut self.pending[index as usize];
            p.status = Status::ReadOnly;
            p.to_arrive -= std::mem::take(&mut p.to_admit);
            self.write_may_complete(index);
        }
    }

    pub(super) fn on_data_in(&mut self, transfer: u32) {
        let Transfer {
            command,
            first,
            units,
        } = self.writes.transfers[transfer as usize];
        self.writes.free_transfers.push(transfer);
        self.writes.in_transit -= units;
        // A write may begin and end within a unit.
        let last = first + units - 1;
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
        self.pump();
        self.erase_invalid();
        self.pending[command as usize].to_arrive -= units;
        self.write_may_complete(command);
        self.close_awaited_unit();
    }

    /// Whether a command covers only a part of a unit.
    fn is_partial(&self, index: u32, unit: u32) -> bool {
        self.bytes_in(index, unit, 1) < self.unit_bytes()
    }

    /// Sectors of a unit that a command covers, from the first to the one after the last.
    fn sectors_in_unit(&self, index: u32, unit: u32) -> (u32, u32) {
        let command = &self.pending[index as usize].command;
        let per_unit = self.unit_bytes() / SECTOR_BYTES;
        let start = u64::from(unit) * per_unit;
        let end = command.lba.0 + u64::from(command.sectors);
        let from = command.lba.0.max(start) - start;
        let to = end.min(start + per_unit) - start;
        (from as u32, to as u32)
    }

    /// Puts units that have come into the log. A part of a unit (`edge`: there may be one) joins what
    /// is gathered of this unit already; otherwise its rest is at its old place, where that is in flash.
    fn take_units(&mut self, command: u32, first: u32, units: u32, edge: bool) {
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
            return self.release(units);
        }
        let rest = if partial {
            self.log.run_of(first)
        } else {
            None
        };
        let old = rest.and_then(|run| self.place_of(run)).map(|run| run.first);
        let mut full = std::mem::take(&mut self.scratch.full);
        let appended = self.log.write(first, units, self.now, &mut full);
        if partial && appended > 0 {
            self.log.note_partial(first, old, from, to);
        }
        let sequence = self.sequence_of_last(&full);
        self.log
            .note_map_change(first, appended, self.now, &mut full);
        let wanted = self.log.take_wanted();
        self.note_arrival(command, (first, appended));
        if appended < units {
            self.pending[command as usize].status = Status::ReadOnly;
            self.writes.give_back(units - appended);
        }
        self.submit_host_programs(full.drain(..));
        self.scratch.full = full;
        // The program that takes the last units keeps its places in the buffer until the pages of the map
        // have come that they are entered in: until then, reads find the data in the buffer only.
        let waits = self.fetch_map(wanted, MapWaiter::Program(sequence), true);
        *self.writes.map_waits_of(sequence) += waits;
    }

    /// Sequence number of the program that takes the units appended last: of the full ones, or the
    /// one that is being gathered.
    fn sequence_of_last(&self, full: &[ProgramUnit]) -> u32 {
        let after = self.writes.next_sequence().wrapping_add(full.len() as u32);
        if self.log.is_gathering() {
            after
        } else {
            after.wrapping_sub(1)
        }
    }

    /// A page of the map has come that units of a program are entered in.
    pub(super) fn on_map_updated(&mut self, sequence: u32) {
        *self.writes.map_waits_of(sequence) -= 1;
        let held = self.writes.take_held(sequence);
        self.writes.drop_finished();
        if held > 0 {
            self.release(held);
        }
    }

    /// All data has come and nothing is waited for: acknowledge, now or when it is programmed.
    pub(super) fn write_may_complete(&mut self, index: u32) {
        let p = &self.pending[index as usize];
        if p.to_arrive > 0 {
            return;
        }
        if p.command.kind == CommandKind::Discard {
            return self.complete_at(index, self.now);
        }
        let fua = matches!(p.command.kind, CommandKind::Write { fua: true });
        if fua && !self.controller.power_fail_hold_up {
            return self.complete_when_durable(index);
        }
        match self.attachment.acknowledge {
            Acknowledge::Buffered => self.complete_at(index, self.now),
            Acknowledge::Programmed => self.complete_when_programmed(index),
        }
    }

    pub(super) fn begin_flush(&mut self, index: u32) {
        if self.controller.power_fail_hold_up {
            return self.complete_at(index, self.now);
        }
        self.complete_when_durable(index);
    }

    fn complete_when_durable(&mut self, index: u32) {
        self.close_host_units();
        self.complete_after_programs(index);
    }

    /// Programs what is gathered.
    fn close_host_units(&mut self) {
        if self.log.is_gathering() {
            let units = self.log.close_host_units();
            self.submit_host_programs(units);
        }
    }

    /// Completes a write when its data is in the flash. While other writes are about to bring data, its
    /// program unit stays open for them; the last one closes it. With separation by heat, data may be in two
    /// program units, of which either may be the first, and both are closed at once.
    fn complete_when_programmed(&mut self, index: u32) {
        let stays_open = self.writes.is_data_coming() && !self.log.is_separated();
        if !stays_open || self.log.gathered_host_units() == 0 {
            return self.complete_when_durable(index);
        }
        let filling = self.writes.next_sequence();
        let waiter = (filling.wrapping_add(1), index);
        self.writes.durable_waiters.push_back(waiter);
    }

    /// Closes the program unit that is being filled if a command waits for it and no data is on its way.
    /// What waits for room in the buffer is not: that room may be what the unit takes.
    pub(super) fn close_awaited_unit(&mut self) {
        let next = self.writes.next_sequence();
        let last = self.writes.durable_waiters.back();
        let awaited = last.is_some_and(|(until, _)| *until == next.wrapping_add(1));
        let last_waits = last.is_some();
        if awaited && !self.writes.is_data_coming() {
            self.close_host_units();
        }
        if last_waits && !self.writes.is_data_coming() {
            self.end_linger(true);
        }
    }

    fn complete_after_programs(&mut self, index: u32) {
        self.end_linger(true);
        let sequence = self.writes.next_sequence();
        if self.writes.programmed == sequence {
            return self.complete_at(index, self.now);
        }
        self.writes.durable_waiters.push_back((sequence, index));
    }

    /// Takes program units in the order in which they were filled. Relocation begins when all of them have
    /// their sequence numbers: the pages of the map that it changes fill units of their own.
    pub(super) fn submit_host_programs(&mut self, units: impl IntoIterator<Item = ProgramUnit>) {
        for unit in units {
            self.submit_host_program(unit);
        }
        self.relocate_for_credit();
    }

    fn submit_host_program(&mut self, unit: ProgramUnit) {
        // Host data was paid for at its admission; metadata and padding take free space too.
        let units = self.log.geometry.mode(unit.slc).program_units;
        self.spend_credit(units - unit.host_units);
        self.end_linger(true);
        let sequence = self.writes.next_sequence();
        self.note_program(&unit, sequence);
        self.writes.in_flight.push_back(InFlight {
            superblock: unit.superblock,
            program: unit.program,
            done: false,
            merges: std::mem::take(&mut self.writes.gathering_merges),
            map_waits: std::mem::take(&mut self.writes.gathering_map_waits),
            held: 0,
        });
        self.writes.staged.push_back(unit);
        self.writes.lingers = true;
        self.end_linger(false);
    }

    /// The last program unit waits no longer for the rest of its last unit, which a sequential stream of
    /// small writes brings next: the buffer's place or the data is needed (`at_once`), or it has come.
    pub(super) fn end_linger(&mut self, at_once: bool) {
        let Some(&unit) = self.writes.staged.back().filter(|_| self.writes.lingers) else {
            return;
        };
        if !at_once && self.log.awaits_rest(&unit) {
            return;
        }
        self.writes.lingers = false;
        let sequence = self.writes.next_sequence().wrapping_sub(1);
        let merges = self.begin_merges(&unit, sequence);
        if let Some(program) = self.writes.program(sequence) {
            program.merges += merges;
        }
        self.program_staged();
    }

    /// Reads the old data of units that came in parts, for the program that takes them; returns how
    /// many reads that are.
    fn begin_merges(&mut self, unit: &ProgramUnit, sequence: u32) -> u32 {
        let mut reads = std::mem::take(&mut self.scratch.merges);
        self.log.take_merges(unit, &mut reads);
        let merges = reads.len() as u32;
        for run in reads.drain(..) {
            self.submit_read(run, true, Owner::MergeRead { sequence }, None);
        }
        self.scratch.merges = reads;
        merges
    }

    /// What parts of gathered units need is read before it is erased.
    pub(super) fn merge_before_erase(&mut self, superblock: u32) {
        let mut reads = std::mem::take(&mut self.scratch.merges);
        self.log.merges_before_erase(superblock, &mut reads);
        self.writes.gathering_merges += reads.len() as u32;
        let sequence = self.writes.next_sequence();
        for run in reads.drain(..) {
            self.submit_read(run, true, Owner::MergeRead { sequence }, None);
        }
        self.scratch.merges = reads;
    }

    /// Old data has come for a program that takes units written in part.
    pub(super) fn on_merge_read(&mut self, sequence: u32) {
        match self.writes.program(sequence) {
            Some(program) => program.merges -= 1,
            None => self.writes.gathering_merges -= 1,
        }
        self.program_staged();
    }

    /// Hands programs over to the array, in order, as far as their data is complete.
    fn program_staged(&mut self) {
        while let Some(&unit) = self.writes.staged.front() {
            let first = self.writes.staged.len() as u32;
            let sequence = self.writes.next_sequence().wrapping_sub(first);
            let waits = self.writes.program(sequence).is_some_and(|p| p.merges > 0);
            if waits || (first == 1 && self.writes.lingers) {
                break;
            }
            self.writes.staged.pop_front();
            let owner = Owner::HostProgram {
                sequence,
                superblock: unit.superblock,
                host_units: unit.host_units,
            };
            self.submit_program(unit, owner);
            self.program_parity(&unit);
        }
    }

    pub(super) fn submit_program(&mut self, unit: ProgramUnit, owner: Owner) {
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
            planes: 0,
            owner,
        };
        self.array.submit(op, self.now, &mut self.events);
    }

    pub(super) fn on_host_transferred(&mut self, sequence: u32, host_units: u32) {
        if self.controller.buffer_release == BufferRelease::Transferred {
            self.release_or_hold(sequence, host_units);
        }
    }

    /// Gives the places of a program back, now or when its units are entered in the map.
    fn release_or_hold(&mut self, sequence: u32, host_units: u32) {
        match self.writes.program(sequence) {
            Some(program) if program.map_waits > 0 => program.held = host_units,
            _ => self.release(host_units),
        }
    }

    pub(super) fn on_host_programmed(&mut self, sequence: u32, superblock: u32, host_units: u32) {
        self.log.program_done(superblock);
        self.note_programmed(sequence);
        if let Some(program) = self.writes.program(sequence) {
            program.done = true;
        }
        self.writes.note_programmed();
        while let Some(&(until, index)) = self.writes.durable_waiters.front() {
            let left = until.wrapping_sub(self.writes.programmed);
            if left != 0 && left < u32::MAX / 2 {
                break;
            }
            self.writes.durable_waiters.pop_front();
            self.complete_at(index, self.now);
        }
        self.erase_invalid();
        if self.controller.buffer_release == BufferRelease::Programmed {
            self.release_or_hold(sequence, host_units);
        }
        self.writes.drop_finished();
    }

    /// Places in the buffer are free again.
    pub(super) fn release(&mut self, units: u32) {
        self.writes.give_back(units);
        self.pump();
        self.admit();
    }

    /// Orderly power-off: everything buffered is programmed.
    pub(super) fn flush_for_power_off(&mut self) {
        self.close_host_units();
        self.end_linger(true);
        let mut none = Vec::new();
        while (!self.writes.in_flight.is_empty() || self.parity_programs > 0)
            && let Some(next) = self.events.next_time()
        {
            self.advance(next, &mut none);
        }
    }
}
