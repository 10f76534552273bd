//! Writes: what is in the buffer, on the link and on its way into the array. [`admission`] takes data in, [`programs`] hands
//! program units to the array, [`durable`] knows what flushes wait for.

mod admission;
mod audit;
mod durable;
mod programs;

use crate::convert::Narrow;
use crate::ftl::page_map::log::ProgramUnit;
use crate::ftl::page_map::lpn::Lpn;
use crate::ftl::page_map::program_id::ProgramId;
use crate::ftl::superblock_id::SuperblockId;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A transfer of write data on the link.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Transfer {
    command: u32,
    first: Lpn,
    units: u32,
}

/// A program that was handed to the array, in order of handing over.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct InFlight {
    superblock: SuperblockId,
    program: ProgramId,
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
pub(in crate::ftl::page_map) struct Writes {
    capacity: u32,
    pub(in crate::ftl::page_map) used: u32,
    /// Units of it whose data is still on the link.
    pub(in crate::ftl::page_map) in_transit: u32,
    /// Writes that firmware has not looked at yet.
    pub(in crate::ftl::page_map) in_firmware: u32,
    /// Writes and discards that are not complete.
    pub(in crate::ftl::page_map) outstanding: u32,
    admission: VecDeque<u32>,
    transfers: Vec<Transfer>,
    free_transfers: Vec<u32>,
    /// Sequence number of the first entry of `in_flight`.
    base: u32,
    in_flight: VecDeque<InFlight>,
    /// Programs of map pages that are under way.
    map_programs: Vec<(SuperblockId, ProgramId)>,
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
    pub(in crate::ftl::page_map) fn new(capacity: u32) -> Self {
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
            map_programs: Vec::new(),
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
        debug_assert!(units <= self.used, "places are given back twice");
        self.used = self.used.saturating_sub(units);
    }

    /// Old data that programs take is being read or decoded.
    pub(in crate::ftl::page_map) fn awaits_old_data(&self) -> bool {
        self.gathering_merges > 0 || self.in_flight.iter().any(|program| program.merges > 0)
    }

    /// Data is on the link or will be as soon as firmware has looked at its command.
    fn is_data_coming(&self) -> bool {
        self.in_transit > 0 || self.in_firmware > 0
    }

    /// Places in the buffer that are free.
    pub(in crate::ftl::page_map) fn room(&self) -> u32 {
        self.capacity.saturating_sub(self.used)
    }

    /// A program unit waits for what may come, and nothing else happens to it.
    pub(in crate::ftl::page_map) fn lingers(&self) -> bool {
        self.lingers
    }

    /// Programs that are not in the array yet.
    pub(in crate::ftl::page_map) fn staged(&self) -> impl Iterator<Item = &ProgramUnit> {
        self.staged.iter()
    }

    /// Places in the buffer that are held until their units are entered in the map.
    pub(in crate::ftl::page_map) fn held(&self) -> u64 {
        self.in_flight.iter().map(|p| u64::from(p.held)).sum()
    }

    /// Commands of the write path: those that wait for room, with `durable` those that wait for
    /// programs.
    pub(in crate::ftl::page_map) fn waiting(
        &self,
    ) -> (impl Iterator<Item = u32>, impl Iterator<Item = u32>) {
        (
            self.admission.iter().copied(),
            self.durable_waiters.iter().map(|(_, index)| *index),
        )
    }

    /// Commands and ranges whose data is on the link; all places of the list are named by events.
    pub(in crate::ftl::page_map) fn arriving(&self, index: u32) -> Option<(u32, Lpn, u32)> {
        let transfer = self.transfers.get(index as usize)?;
        Some((transfer.command, transfer.first, transfer.units))
    }

    /// A write or discard waits for its turn.
    pub(in crate::ftl::page_map) fn wait_for_admission(&mut self, index: u32) {
        self.admission.push_back(index);
    }

    /// The write or discard whose turn is next.
    pub(in crate::ftl::page_map) fn first_waiting(&self) -> Option<u32> {
        self.admission.front().copied()
    }

    /// The write or discard whose turn it is waits no longer.
    pub(in crate::ftl::page_map) fn end_first_waiting(&mut self) {
        self.admission.pop_front();
    }

    /// Writes wait for room.
    pub(in crate::ftl::page_map) fn is_waited_for(&self) -> bool {
        !self.admission.is_empty()
    }

    pub(in crate::ftl::page_map) fn is_in_flight(
        &self,
        superblock: SuperblockId,
        program: ProgramId,
    ) -> bool {
        self.in_flight
            .iter()
            .any(|f| !f.done && f.superblock == superblock && f.program == program)
            || self.map_programs.contains(&(superblock, program))
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
        self.base.wrapping_add(self.in_flight.len().narrow())
    }

    fn transfer(&mut self, transfer: Transfer) -> u32 {
        if let Some(index) = self.free_transfers.pop() {
            self.transfers[index as usize] = transfer;
            return index;
        }
        self.transfers.push(transfer);
        self.transfers.len().narrow() - 1
    }
}
