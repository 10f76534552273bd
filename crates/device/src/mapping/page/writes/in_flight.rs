//! [`Programs`], program units of the host's stream from the time they are full until they are in the flash.

use crate::convert::Narrow;
use crate::flash::superblock_id::SuperblockId;
use crate::mapping::page::log::ProgramUnit;
use crate::mapping::page::program_id::ProgramId;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A program of the host's stream.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct InFlight {
    pub(super) superblock: SuperblockId,
    program: ProgramId,
    pub(super) done: bool,
    /// Reads of old data of units that came in parts, before which it cannot begin.
    pub(super) merges: u32,
    /// Pages of the map on their way that its units must be entered in.
    pub(super) map_waits: u32,
    /// Places in the buffer that are free once these have come.
    pub(super) held: u32,
}

/// Programs of the host's stream by sequence number, which wraps around, and those of map pages.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::mapping::page) struct Programs {
    /// Sequence number of the first entry of `in_flight`.
    pub(super) base: u32,
    pub(super) in_flight: VecDeque<InFlight>,
    /// Programs of map pages that are under way.
    pub(super) of_map: Vec<(SuperblockId, ProgramId)>,
    /// All programs before this sequence number are done.
    pub(super) programmed: u32,
    /// Pages of the map that units of the next program must be entered in.
    pub(super) gathering_map_waits: u32,
    /// Reads of old data for units of the next program.
    pub(super) gathering_merges: u32,
    /// Programs that are not in the array yet: the last of those in flight.
    pub(super) staged: VecDeque<ProgramUnit>,
    /// The last of them waits for the rest of its last unit.
    pub(super) lingers: bool,
}

impl Programs {
    /// Sequence number of the next program.
    #[inline]
    pub(super) fn next_sequence(&self) -> u32 {
        self.base.wrapping_add(self.in_flight.len().narrow())
    }

    /// Sequence number of the last program.
    pub(super) fn last_sequence(&self) -> u32 {
        self.next_sequence().wrapping_sub(1)
    }

    /// Adds a full program unit, which lingers.
    pub(super) fn add(&mut self, unit: ProgramUnit) {
        self.in_flight.push_back(InFlight {
            superblock: unit.superblock,
            program: unit.program,
            done: false,
            merges: std::mem::take(&mut self.gathering_merges),
            map_waits: std::mem::take(&mut self.gathering_map_waits),
            held: 0,
        });
        self.staged.push_back(unit);
        self.lingers = true;
    }

    /// Adds a program of map pages.
    pub(super) fn add_of_map(&mut self, superblock: SuperblockId, program: ProgramId) {
        self.of_map.push((superblock, program));
    }

    /// A program of map pages is done.
    pub(super) fn end_of_map(&mut self, superblock: SuperblockId, program: ProgramId) {
        self.of_map
            .retain(|under_way| *under_way != (superblock, program));
    }

    /// Whether a program unit waits for the rest of its last unit only.
    pub(in crate::mapping::page) fn lingers(&self) -> bool {
        self.lingers
    }

    /// The program unit that waits for the rest of its last unit.
    pub(super) fn lingering(&self) -> Option<ProgramUnit> {
        self.staged.back().filter(|_| self.lingers).copied()
    }

    /// The last program unit waits for the rest no longer, but for `merges` reads of old data.
    pub(super) fn end_linger(&mut self, merges: u32) {
        self.lingers = false;
        if let Some(program) = self.get_mut(self.last_sequence()) {
            program.merges += merges;
        }
    }

    /// Old data is being read for units of the next program.
    pub(super) fn add_merges(&mut self, reads: u32) {
        self.gathering_merges += reads;
    }

    /// Old data has come for a program.
    pub(super) fn end_merge(&mut self, sequence: u32) {
        match self.get_mut(sequence) {
            Some(program) => program.merges -= 1,
            None => self.gathering_merges -= 1,
        }
    }

    /// Takes the next program unit whose data is complete, with its sequence number. They begin in order.
    pub(super) fn take_complete(&mut self) -> Option<(u32, ProgramUnit)> {
        let unit = *self.staged.front()?;
        let first = self.staged.len().narrow();
        let sequence = self.next_sequence().wrapping_sub(first);
        let waits = self.get_mut(sequence).is_some_and(|p| p.merges > 0);
        if waits || (first == 1 && self.lingers) {
            return None;
        }
        self.staged.pop_front();
        Some((sequence, unit))
    }

    /// A program is in the flash.
    pub(super) fn end(&mut self, sequence: u32) {
        if let Some(program) = self.get_mut(sequence) {
            program.done = true;
        }
        while self.get_mut(self.programmed).is_some_and(|p| p.done) {
            self.programmed = self.programmed.wrapping_add(1);
        }
    }

    /// Whether all programs before a sequence number are in the flash.
    pub(super) fn are_done_before(&self, sequence: u32) -> bool {
        let left = sequence.wrapping_sub(self.programmed);
        left == 0 || left >= u32::MAX / 2
    }

    /// Whether all programs are in the flash.
    pub(super) fn are_all_done(&self) -> bool {
        self.programmed == self.next_sequence()
    }

    /// Whether no program is under way, those of map pages included.
    pub(super) fn is_empty(&self) -> bool {
        self.in_flight.is_empty() && self.of_map.is_empty()
    }

    /// Whether old data that programs take is being read or decoded.
    pub(in crate::mapping::page) fn await_old_data(&self) -> bool {
        self.gathering_merges > 0 || self.in_flight.iter().any(|program| program.merges > 0)
    }

    /// Programs that are not in the array yet.
    pub(in crate::mapping::page) fn staged(&self) -> impl Iterator<Item = &ProgramUnit> {
        self.staged.iter()
    }

    /// Places in the buffer that are held until their units are entered in the map.
    pub(in crate::mapping::page) fn held(&self) -> u64 {
        self.in_flight.iter().map(|p| u64::from(p.held)).sum()
    }

    /// Whether a program unit is full and not in the flash.
    pub(in crate::mapping::page) fn is_in_flight(
        &self,
        superblock: SuperblockId,
        program: ProgramId,
    ) -> bool {
        self.in_flight
            .iter()
            .any(|f| !f.done && f.superblock == superblock && f.program == program)
            || self.of_map.contains(&(superblock, program))
    }

    /// Units of a program, or of the next one, must be entered in pages of the map that are on their way.
    pub(super) fn add_map_waits(&mut self, sequence: u32, pages: u32) {
        *self.map_waits_of(sequence) += pages;
    }

    /// A page of the map has come. Returns the places in the buffer that are free now, if the program waits for no other.
    pub(super) fn end_map_wait(&mut self, sequence: u32) -> u32 {
        *self.map_waits_of(sequence) -= 1;
        let held = match self.get_mut(sequence) {
            Some(program) if program.map_waits == 0 => std::mem::take(&mut program.held),
            _ => 0,
        };
        self.drop_finished();
        held
    }

    /// Places of a program in the buffer are needed no longer, except for its entries in the map. Returns whether they are
    /// free now.
    pub(super) fn give_up_places(&mut self, sequence: u32, units: u32) -> bool {
        match self.get_mut(sequence) {
            Some(program) if program.map_waits > 0 => {
                program.held = units;
                false
            }
            _ => true,
        }
    }

    /// Forgets the first programs that are done and entered in the map.
    pub(super) fn drop_finished(&mut self) {
        while self
            .in_flight
            .front()
            .is_some_and(|f| f.done && f.map_waits == 0)
        {
            self.in_flight.pop_front();
            self.base = self.base.wrapping_add(1);
        }
    }

    fn get_mut(&mut self, sequence: u32) -> Option<&mut InFlight> {
        let offset = sequence.wrapping_sub(self.base) as usize;
        self.in_flight.get_mut(offset)
    }

    fn map_waits_of(&mut self, sequence: u32) -> &mut u32 {
        let offset = sequence.wrapping_sub(self.base) as usize;
        match self.in_flight.get_mut(offset) {
            Some(program) => &mut program.map_waits,
            None => &mut self.gathering_map_waits,
        }
    }
}
