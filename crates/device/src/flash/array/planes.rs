//! Independent plane reads: each plane of a die reads its own page at its own time. Programs and erases take the whole
//! die, and begin when no plane reads.
//!
//! The order is that of a die without independent plane reads: host reads precede background work, one operation of
//! which is started after at most `OVERTAKES_MAX` host reads.

use super::{Array, Die, NONE, OVERTAKES_MAX};
use crate::events::{Event, EventQueue};
use crate::flash::{OpClass, Progress};
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};

/// A plane of a die.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct PlaneState {
    /// Read in the array of the plane, or whose page is in its register; or [`NONE`].
    pub(super) read: u32,
    /// End of the last transfer out of the plane's register.
    pub(super) bus_until: Nanos,
}

impl PlaneState {
    pub(super) const IDLE: PlaneState = PlaneState {
        read: NONE,
        bus_until: Nanos::ZERO,
    };
}

impl Array {
    /// Indices of a die's planes in the list of all planes.
    pub(super) fn planes_of(&self, die: Die) -> std::ops::Range<usize> {
        let planes = self.times.planes as usize;
        die.index() * planes..(die.index() + 1) * planes
    }

    /// The planes of a die that an operation reads.
    pub(super) fn planes_read(&self, index: u32) -> impl Iterator<Item = usize> + use<> {
        let op = self.slots[index as usize].op;
        let first = self.planes_of(op.die).start;
        op.planes.iter().map(move |plane| first + plane.index())
    }

    fn has_free_planes(&self, index: u32) -> bool {
        self.planes_read(index)
            .all(|plane| self.planes[plane].read == NONE)
    }

    /// Handles an operation added to the queue of its die.
    pub(super) fn submitted_to_planes(&mut self, index: u32, now: Nanos, events: &mut EventQueue) {
        let op = self.slots[index as usize].op;
        if self.dies[op.die].array == NONE {
            return self.start_on_planes(op.die, now, events);
        }
        if op.urgent && self.may_suspend(op.die, now) {
            let lead = self.take_suspended(op.die, now);
            self.dies[op.die].reads_from = now + lead;
            self.start_on_planes(op.die, now, events);
        } else if op.class == OpClass::Program {
            self.stage_behind(op.die, now, events);
        }
    }

    /// Starts all operations that may begin in a die without a program or erase under way.
    pub(super) fn start_on_planes(&mut self, die: Die, now: Nanos, events: &mut EventQueue) {
        while let Some(index) = self.next_on_planes(die, OVERTAKES_MAX) {
            self.start_plane_read(index, now, events);
        }
        if self.dies[die].reading > 0 || self.start_work(die, now, events) {
            return;
        }
        // The background operation's data is on the channel, or there is no power for it.
        while let Some(index) = self.next_on_planes(die, u32::MAX) {
            self.start_plane_read(index, now, events);
        }
    }

    /// Removes and returns the next read whose planes are free. Host reads overtake waiting background work while fewer
    /// than `most` have.
    fn next_on_planes(&mut self, die: Die, most: u32) -> Option<u32> {
        let d = &self.dies[die];
        let holds = d.staged != NONE || d.suspended.op != NONE;
        let work_waits = holds || d.normal.head != NONE;
        if !work_waits || d.overtakes < most {
            if let Some(index) = self.take_urgent(die) {
                let overtakes = &mut self.dies[die].overtakes;
                *overtakes = (*overtakes + u32::from(work_waits)).min(OVERTAKES_MAX);
                return Some(index);
            }
            if d_is_waiting(self, die) {
                return None;
            }
        }
        let head = self.dies[die].normal.head;
        let is_read = head != NONE && self.slots[head as usize].op.class == OpClass::Read;
        if holds || !is_read || !self.has_free_planes(head) {
            return None;
        }
        self.dies[die].overtakes = 0;
        Some(self.pop(die, false))
    }

    /// Removes and returns the first host read whose planes are free.
    fn take_urgent(&mut self, die: Die) -> Option<u32> {
        let mut before = NONE;
        let mut at = self.dies[die].urgent.head;
        while at != NONE && !self.has_free_planes(at) {
            (before, at) = (at, self.slots[at as usize].next);
        }
        if at == NONE || before == NONE {
            return (at != NONE).then(|| self.pop(die, true));
        }
        let after = std::mem::replace(&mut self.slots[at as usize].next, NONE);
        self.slots[before as usize].next = after;
        if after == NONE {
            self.dies[die].urgent.tail = before;
        }
        Some(at)
    }

    pub(super) fn start_plane_read(&mut self, index: u32, now: Nanos, events: &mut EventQueue) {
        let op = self.slots[index as usize].op;
        self.page_reads += 1;
        self.energy_pj += u64::from(op.array_ns) * self.times.read_mw;
        self.dies[op.die].reading += 1;
        let from = self.dies[op.die].reads_from.max(now);
        let mut until = from + Nanos(u64::from(op.array_ns));
        for plane in self.planes_read(index) {
            debug_assert_eq!(self.planes[plane].read, NONE, "a plane reads two pages");
            self.planes[plane].read = index;
            // The array's data can leave the page register only when the previous transfer is over.
            until = until.max(self.planes[plane].bus_until);
        }
        events.push(until, Event::PlaneRead(index));
    }

    /// Handles the end of the array read of one or several planes for one operation.
    pub(crate) fn on_plane_read(
        &mut self,
        index: u32,
        now: Nanos,
        events: &mut EventQueue,
    ) -> Option<Progress> {
        let until = self.transfer_out(index, now);
        events.push(until, Event::Bus(index));
        for plane in self.planes_read(index) {
            self.planes[plane].bus_until = until;
        }
        if self.times.cache_read {
            self.free_planes(index, now, events);
        }
        None
    }

    /// Frees the planes of a read for the next ones.
    pub(super) fn free_planes(&mut self, index: u32, now: Nanos, events: &mut EventQueue) {
        let die = self.slots[index as usize].op.die;
        for plane in self.planes_read(index) {
            debug_assert_eq!(self.planes[plane].read, index, "another read has the plane");
            self.planes[plane].read = NONE;
        }
        self.dies[die].reading -= 1;
        self.start_on_planes(die, now, events);
    }
}

/// Whether a host read of the die waits for its planes.
fn d_is_waiting(array: &Array, die: Die) -> bool {
    array.dies[die].urgent.head != NONE
}
