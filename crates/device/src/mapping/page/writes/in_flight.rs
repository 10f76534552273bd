//! [`Programs`], program units of the host's stream from full to programmed.

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
    /// Reads of old data of partly written units, which must end before the program begins.
    pub(super) merges: u32,
    /// Fetches of map pages that the units must be entered in.
    pub(super) map_waits: u32,
    /// Buffer places to free when these fetches have ended.
    pub(super) held: u32,
}

/// Programs of the host's stream by sequence number (which wraps around), and programs of map pages.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::mapping::page) struct Programs {
    /// Sequence number of the first entry of `in_flight`.
    pub(super) base: u32,
    pub(super) in_flight: VecDeque<InFlight>,
    /// Programs of map pages under way.
    pub(super) of_map: Vec<(SuperblockId, ProgramId)>,
    /// Sequence number before which all programs are done.
    pub(super) programmed: u32,
    /// Fetches of map pages that units of the next program must be entered in.
    pub(super) gathering_map_waits: u32,
    /// Reads of old data for units of the next program.
    pub(super) gathering_merges: u32,
    /// Programs that are not in the array yet: the latest of `in_flight`.
    pub(super) staged: VecDeque<ProgramUnit>,
    /// Whether the last staged program waits for the rest of its last unit.
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

    /// Adds a full program unit, which waits for the rest of its last unit.
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

    /// Ends a program of map pages.
    pub(super) fn end_of_map(&mut self, superblock: SuperblockId, program: ProgramId) {
        self.of_map
            .retain(|under_way| *under_way != (superblock, program));
    }

    /// Whether a program unit waits only for the rest of its last unit.
    pub(in crate::mapping::page) fn lingers(&self) -> bool {
        self.lingers
    }

    /// The program unit that waits for the rest of its last unit.
    pub(super) fn lingering(&self) -> Option<ProgramUnit> {
        self.staged.back().filter(|_| self.lingers).copied()
    }

    /// Ends the wait of the last program unit for its rest; it waits for `merges` reads of old data instead.
    pub(super) fn end_linger(&mut self, merges: u32) {
        self.lingers = false;
        if let Some(program) = self.get_mut(self.last_sequence()) {
            program.merges += merges;
        }
    }

    /// Counts reads of old data for units of the next program.
    pub(super) fn add_merges(&mut self, reads: u32) {
        self.gathering_merges += reads;
    }

    /// Counts an ended read of old data for a program.
    pub(super) fn end_merge(&mut self, sequence: u32) {
        match self.get_mut(sequence) {
            Some(program) => program.merges -= 1,
            None => self.gathering_merges -= 1,
        }
    }

    /// Removes and returns the next program unit if its data is complete, with its sequence number. Programs begin in
    /// order.
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

    /// Marks a program as done.
    pub(super) fn end(&mut self, sequence: u32) {
        if let Some(program) = self.get_mut(sequence) {
            program.done = true;
        }
        while self.get_mut(self.programmed).is_some_and(|p| p.done) {
            self.programmed = self.programmed.wrapping_add(1);
        }
    }

    /// Whether all programs before a sequence number are done.
    pub(super) fn are_done_before(&self, sequence: u32) -> bool {
        let left = sequence.wrapping_sub(self.programmed);
        left == 0 || left >= u32::MAX / 2
    }

    /// Whether all programs of the host's stream are done.
    pub(super) fn are_all_done(&self) -> bool {
        self.programmed == self.next_sequence()
    }

    /// Whether no program is under way, including those of map pages.
    pub(super) fn is_empty(&self) -> bool {
        self.in_flight.is_empty() && self.of_map.is_empty()
    }

    /// Whether old data for programs is being read or decoded.
    pub(in crate::mapping::page) fn await_old_data(&self) -> bool {
        self.gathering_merges > 0 || self.in_flight.iter().any(|program| program.merges > 0)
    }

    /// Programs that are not in the array yet.
    pub(in crate::mapping::page) fn staged(&self) -> impl Iterator<Item = &ProgramUnit> {
        self.staged.iter()
    }

    /// Buffer places kept until their units are entered in the map.
    pub(in crate::mapping::page) fn held(&self) -> u64 {
        self.in_flight.iter().map(|p| u64::from(p.held)).sum()
    }

    /// Whether a program unit is full and not yet programmed.
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

    /// Adds fetches of map pages that units of a program (or of the next one) must be entered in.
    pub(super) fn add_map_waits(&mut self, sequence: u32, pages: u32) {
        *self.map_waits_of(sequence) += pages;
    }

    /// Counts an ended fetch of a map page. Returns the number of buffer places that become free, 0 while the program
    /// waits for other pages.
    pub(super) fn end_map_wait(&mut self, sequence: u32) -> u32 {
        *self.map_waits_of(sequence) -= 1;
        let held = match self.get_mut(sequence) {
            Some(program) if program.map_waits == 0 => std::mem::take(&mut program.held),
            _ => 0,
        };
        self.drop_finished();
        held
    }

    /// Gives up buffer places of a program. Returns true if they are free now, false if they are kept until the units
    /// are entered in the map.
    pub(super) fn give_up_places(&mut self, sequence: u32, units: u32) -> bool {
        match self.get_mut(sequence) {
            Some(program) if program.map_waits > 0 => {
                program.held = units;
                false
            }
            _ => true,
        }
    }

    /// Removes the programs at the front that are done and entered in the map.
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
