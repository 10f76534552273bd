//! Writes: admission to the buffer, the link, programs; flush, FUA and discard.

use super::PageMapDevice;
use crate::command::{CommandKind, Status};
use crate::events::Event;
use crate::ftl::page_map::log::ProgramUnit;
use crate::ftl::page_map::map_fetches::MapWaiter;
use crate::invariant::{Checked, ensure, places_in_use};
use crate::nand::{FlashOp, OpClass, Owner};
use crate::profile::schema::{Acknowledge, BufferRelease};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// More than relocation ever grants, native units.
const MOST_CREDIT: u64 = 1 << 40;

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
    /// Units that the host may write while relocation sets the pace, in native units.
    pub(super) credit: i64,
    /// Sequence number of the first entry of `in_flight`.
    base: u32,
    in_flight: VecDeque<InFlight>,
    /// All programs before this sequence number are done.
    programmed: u32,
    /// Pages of the map that units of the next program must be entered in.
    gathering_map_waits: u32,
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
            credit: 0,
            base: 0,
            in_flight: VecDeque::new(),
            programmed: 0,
            gathering_map_waits: 0,
            durable_waiters: VecDeque::new(),
        }
    }

    /// Places in the buffer are free again.
    fn give_back(&mut self, units: u32) {
        self.used = self.used.saturating_sub(units);
    }

    /// Data is on the link or will be as soon as firmware has looked at its command.
    fn is_data_coming(&self) -> bool {
        self.in_transit > 0 || self.in_firmware > 0
    }

    /// Places in the buffer that are free.
    pub(super) fn room(&self) -> u32 {
        self.capacity.saturating_sub(self.used)
    }

    /// Checks the buffer and everything that is on its way through it; `arriving` are the transfers on
    /// the link, `programs` the operations of the array that program data of the host, and `gathers` says
    /// whether a program unit is being filled.
    pub(super) fn audit(
        &self,
        capacity: u32,
        arriving: &[u32],
        programs: &[(u32, u32)],
        map_waits: &[u32],
        gathers: bool,
        superblocks: u32,
    ) -> Checked {
        ensure!(
            self.capacity == capacity && self.credit.unsigned_abs() <= MOST_CREDIT,
            "a write buffer of {} units with a credit of {}",
            self.capacity,
            self.credit
        );
        let mut waited_for =
            places_in_use("transfers", self.transfers.len(), &self.free_transfers)?;
        let mut in_transit = 0u64;
        for index in arriving {
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
        for (sequence, superblock) in programs {
            let twice = under_way.insert(sequence.wrapping_sub(self.base), *superblock);
            ensure!(twice.is_none(), "program {sequence} is under way twice");
        }
        for (offset, program) in (0u32..).zip(&self.in_flight) {
            let found = under_way.remove(&offset);
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
        self.audit_map_waits(map_waits)?;
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

    /// Programs wait for as many pages of the map as are fetched for them (`map_waits`: a sequence
    /// number for each).
    fn audit_map_waits(&self, map_waits: &[u32]) -> Checked {
        let mut counts = vec![0u32; self.in_flight.len() + 1];
        for sequence in map_waits {
            let count = counts.get_mut(sequence.wrapping_sub(self.base) as usize);
            ensure!(
                count.is_some(),
                "a page of the map is fetched for program {sequence}, which is over"
            );
            if let Some(count) = count {
                *count += 1;
            }
        }
        let of_programs = self.in_flight.iter().map(|p| p.map_waits);
        ensure!(
            of_programs.chain([self.gathering_map_waits]).eq(counts)
                && self
                    .in_flight
                    .iter()
                    .all(|p| p.held == 0 || p.map_waits > 0),
            "programs of the host wait for pages of the map that do not come"
        );
        Ok(())
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
        self.merge_partial_units(index);
        self.writes.admission.push_back(index);
        self.admit();
    }

    /// A write that does not cover its first or last unit needs the old data around it.
    fn merge_partial_units(&mut self, index: u32) {
        let p = &self.pending[index as usize];
        let (first, last) = (p.first, p.first + p.units - 1);
        let partial = |unit: u32| self.bytes_in(index, unit, 1) < self.unit_bytes();
        let mut edges = [
            partial(first).then_some(first),
            (last != first && partial(last)).then_some(last),
        ];
        let mut runs = std::mem::take(&mut self.scratch.runs);
        for unit in edges.iter_mut().filter_map(Option::take) {
            self.log.runs(unit, 1, |run, n| runs.push((run, n)));
        }
        for (run, _) in runs.drain(..) {
            if let Some(run) = run
                && !self.is_buffered(&run)
            {
                self.submit_read(run, true, Owner::MergeRead { command: index }, Some(index));
                self.pending[index as usize].waits += 1;
            }
        }
        self.scratch.runs = runs;
    }

    /// Gives places in the buffer to waiting writes, first come first served, and books the link.
    pub(super) fn admit(&mut self) {
        if self.log.is_read_only() {
            return self.refuse_waiting();
        }
        while let Some(&index) = self.writes.admission.front() {
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
    }

    /// The device is read-only: nothing of the command was done.
    fn refuse(&mut self, index: u32) {
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
        let mut full = std::mem::take(&mut self.scratch.full);
        let gathered = self.log.gathered_host_units();
        let appended = self.log.write(first, units, self.now, &mut full);
        let sequence = self.sequence_of_last(&full);
        self.log
            .note_map_change(first, appended, self.now, &mut full);
        let wanted = self.log.take_wanted();
        self.note_arrival(command, (first, appended), gathered, &full);
        if appended < units {
            self.pending[command as usize].status = Status::ReadOnly;
            self.writes.give_back(units - appended);
        }
        for unit in full.drain(..) {
            self.submit_host_program(unit);
        }
        self.scratch.full = full;
        // The program that takes the last units keeps its places in the buffer until the pages of the map
        // have come that they are entered in: until then, reads find the data in the buffer only.
        let waits = self.fetch_map(wanted, MapWaiter::Program(sequence), true);
        *self.writes.map_waits_of(sequence) += waits;
        self.pump();
        self.erase_invalid();
        self.pending[command as usize].to_arrive -= units;
        self.write_may_complete(command);
        self.close_awaited_unit();
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
        if p.to_arrive > 0 || p.waits > 0 {
            return;
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
        if let Some(unit) = self.log.close_host_unit() {
            self.submit_host_program(unit);
        }
        self.complete_after_programs(index);
    }

    /// Completes a write when its data is in the flash. While other writes are about to bring data, its
    /// program unit stays open for them; the last one closes it.
    fn complete_when_programmed(&mut self, index: u32) {
        if !self.writes.is_data_coming() || self.log.gathered_host_units() == 0 {
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
        if awaited
            && !self.writes.is_data_coming()
            && let Some(unit) = self.log.close_host_unit()
        {
            self.submit_host_program(unit);
        }
    }

    fn complete_after_programs(&mut self, index: u32) {
        let sequence = self.writes.next_sequence();
        if self.writes.programmed == sequence {
            return self.complete_at(index, self.now);
        }
        self.writes.durable_waiters.push_back((sequence, index));
    }

    pub(super) fn begin_discard(&mut self, index: u32) {
        if !self.attachment.chain.discard {
            self.pending[index as usize].status = Status::Unsupported;
            return self.complete_at(index, self.now);
        }
        if self.log.is_read_only() {
            return self.refuse(index);
        }
        let p = &self.pending[index as usize];
        let unit = self.unit_bytes();
        let start = p.command.lba.offset().0;
        // Units that are covered only in part keep their data.
        let first = start.div_ceil(unit) as u32;
        let end = ((start + p.command.bytes().0) / unit) as u32;
        if end > first {
            self.read_ahead.invalidate(first, end - first);
            let mut full = std::mem::take(&mut self.scratch.full);
            self.log.discard(first, end - first, self.now, &mut full);
            let wanted = self.log.take_wanted();
            for unit in full.drain(..) {
                self.submit_host_program(unit);
            }
            self.scratch.full = full;
            let waits = self.fetch_map(wanted, MapWaiter::Command(index), true);
            self.pending[index as usize].waits = waits;
            self.erase_invalid();
        }
        if self.pending[index as usize].waits == 0 {
            self.complete_at(index, self.now);
        }
    }

    pub(super) fn submit_host_program(&mut self, unit: ProgramUnit) {
        // Host data was paid for at its admission; metadata and padding take free space too.
        let units = self.log.geometry.mode(unit.slc).program_units;
        self.spend_credit(units - unit.host_units);
        let sequence = self.writes.next_sequence();
        self.note_program(&unit, sequence);
        self.writes.in_flight.push_back(InFlight {
            superblock: unit.superblock,
            program: unit.program,
            done: false,
            map_waits: std::mem::take(&mut self.writes.gathering_map_waits),
            held: 0,
        });
        let owner = Owner::HostProgram {
            sequence,
            superblock: unit.superblock,
            host_units: unit.host_units,
        };
        self.submit_program(unit, owner);
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
        if let Some(unit) = self.log.close_host_unit() {
            self.submit_host_program(unit);
        }
        let mut none = Vec::new();
        while !self.writes.in_flight.is_empty()
            && let Some(next) = self.events.next_time()
        {
            self.advance(next, &mut none);
        }
    }
}
