//! Scheduling of dies and channels.
//!
//! A die executes one array operation at a time. Without cache commands its page register is occupied until the
//! transfer has ended; with them the next array operation overlaps the transfer. Channels ([`super::channel`]) carry
//! one page at a time. Programs and erases take a token of the power budget, which limits the number of dies that draw
//! program current at once.

mod audit;
mod planes;
mod planned;
#[cfg(test)]
mod priority;
mod queues;
mod suspend;

use super::channel::{Channel, ChannelId};
use super::die::{Die, PerDie};
use super::op::{FlashOp, OpClass, Progress};
use crate::convert::{ToF64, Whole};
use crate::divisor::Divisor;
use crate::events::{Event, EventQueue};
use crate::profile::schema::NandSection;
pub(crate) use audit::Live;
use nandscope_units::Nanos;
use planes::PlaneState;
pub(crate) use planned::Transfer;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

const NONE: u32 = u32::MAX;

/// Maximum number of host reads that may overtake waiting background work (a program, an erase, a background read)
/// before one such operation is started.
const OVERTAKES_MAX: u32 = 32;

/// Maximum number of suspensions of a program or erase.
const SUSPENDS_MAX: u32 = 8;

/// Times and powers of the part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ArrayTimes {
    picos_per_byte: u64,
    overhead_ns: u64,
    cache_read: bool,
    /// Planes per die that read independently; 0 without independent plane reads.
    planes: u32,
    cache_program: bool,
    suspend: Option<Nanos>,
    /// Remaining time below which an operation is not suspended.
    suspend_threshold: Nanos,
    read_mw: u64,
    program_mw: u64,
    erase_mw: u64,
    bus_pj_per_byte: f64,
}

impl ArrayTimes {
    pub(crate) fn new(nand: &NandSection) -> Self {
        ArrayTimes {
            picos_per_byte: (1e6 / nand.bus_mt_per_s).round_u64(),
            overhead_ns: nand.bus_overhead_ns,
            cache_read: nand.cache_read,
            planes: if nand.independent_plane_reads {
                nand.planes
            } else {
                0
            },
            cache_program: nand.cache_program,
            suspend: nand
                .suspend
                .then(|| Nanos::from_micros_f64(nand.suspend_us)),
            suspend_threshold: Nanos::from_micros_f64(nand.suspend_threshold_us.unwrap_or(0.0)),
            read_mw: nand.energy.read_mw.round_u64(),
            program_mw: nand.energy.program_mw.round_u64(),
            erase_mw: nand.energy.erase_mw.round_u64(),
            bus_pj_per_byte: nand.energy.bus_pj_per_byte,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Queue {
    head: u32,
    tail: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct DieState {
    urgent: Queue,
    normal: Queue,
    /// Operation in the array, or [`NONE`].
    array: u32,
    array_until: Nanos,
    /// Page register in use by a transfer that must end before the next operation begins.
    register: u32,
    /// End of the last transfer out of this die.
    bus_until: Nanos,
    /// Program or erase removed from its queue, whose data is on the channel or in the die.
    staged: u32,
    staged_ready: bool,
    suspended: Suspended,
    overtakes: u32,
    waits_for_power: bool,
    /// Independent plane reads under way; then the time from which they may begin after a suspension.
    reading: u32,
    reads_from: Nanos,
}

/// The suspended program or erase of a die.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Suspended {
    /// The operation, or [`NONE`].
    op: u32,
    /// Remaining array time.
    left: Nanos,
    /// Number of suspensions of the present operation.
    count: u32,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Slot {
    op: FlashOp,
    next: u32,
}

/// Duration of transfers at a share of the clock, in 1024ths of their duration at the full clock.
fn slowdown(share: f64) -> u64 {
    (1024.0 / share.max(0.001)).round_u64()
}

/// All dies and channels.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Array {
    times: ArrayTimes,
    dies: PerDie<DieState>,
    /// State of each plane; empty without independent plane reads.
    planes: Vec<PlaneState>,
    channels: Vec<Channel>,
    by_channels: Divisor,
    slots: Vec<Slot>,
    free_slot: u32,
    outstanding: u32,
    active_dies_max: u32,
    active_dies: u32,
    power_queue: VecDeque<Die>,
    /// Duration of transfers in 1024ths of their normal duration (thermal throttling).
    slowdown: u64,
    energy_pj: u64,
    bus_bytes: u64,
    page_reads: u64,
}

impl Array {
    pub(crate) fn new(times: ArrayTimes, channels: u32, dies: u32) -> Self {
        let empty = Queue {
            head: NONE,
            tail: NONE,
        };
        let die = DieState {
            urgent: empty,
            normal: empty,
            array: NONE,
            array_until: Nanos::ZERO,
            register: NONE,
            bus_until: Nanos::ZERO,
            staged: NONE,
            staged_ready: false,
            suspended: Suspended {
                op: NONE,
                left: Nanos::ZERO,
                count: 0,
            },
            overtakes: 0,
            waits_for_power: false,
            reading: 0,
            reads_from: Nanos::ZERO,
        };
        Array {
            planes: vec![PlaneState::IDLE; (dies * times.planes) as usize],
            times,
            dies: PerDie::new(die, dies),
            channels: vec![Channel::default(); channels as usize],
            by_channels: Divisor::new(channels),
            slots: Vec::new(),
            free_slot: NONE,
            outstanding: 0,
            active_dies_max: dies,
            active_dies: 0,
            power_queue: VecDeque::new(),
            slowdown: 1024,
            energy_pj: 0,
            bus_bytes: 0,
            page_reads: 0,
        }
    }

    /// Limits the number of dies that may program or erase at once.
    pub(crate) fn set_active_dies(&mut self, most: u32) {
        self.active_dies_max = most.max(1);
    }

    /// Sets the share of the clock that throttling leaves, 0 to 1.
    pub(crate) fn set_clock(&mut self, share: f64) {
        self.slowdown = slowdown(share);
    }

    /// Number of operations queued or under way.
    pub(crate) fn outstanding(&self) -> u32 {
        self.outstanding
    }

    /// Energy of arrays and channels so far, joules, plus an uncounted part: energy of arrays, and bytes on channels.
    pub(crate) fn energy_j(&self, arrays_pj: u64, bus_bytes: u64) -> f64 {
        let arrays_pj = self.energy_pj + arrays_pj;
        let bus_bytes = self.bus_bytes + bus_bytes;
        arrays_pj.to_f64() * 1e-12 + bus_bytes.to_f64() * self.times.bus_pj_per_byte * 1e-12
    }

    /// Bytes transferred over the channels so far.
    pub(crate) fn bus_bytes(&self) -> u64 {
        self.bus_bytes
    }

    /// Number of page reads so far.
    pub(crate) fn page_reads(&self) -> u64 {
        self.page_reads
    }

    /// Puts an operation into the queue of its die.
    #[inline(always)]
    pub(crate) fn submit(&mut self, op: FlashOp, now: Nanos, events: &mut EventQueue) {
        let slot = self.allocate(op);
        self.submitted(slot, now, events);
    }

    fn submitted(&mut self, slot: u32, now: Nanos, events: &mut EventQueue) {
        self.outstanding += 1;
        if self.times.planes > 0 {
            self.enqueue(slot);
            return self.submitted_to_planes(slot, now, events);
        }
        let op = &self.slots[slot as usize].op;
        let (die, urgent) = (op.die, op.urgent);
        if op.class == OpClass::Read && self.has_nothing_to_do(die) {
            // Started at once, with the count of overtakes that the queue would give.
            let overtakes = &mut self.dies[die].overtakes;
            *overtakes = if urgent { *overtakes } else { 0 };
            return self.start_read(die, slot, Nanos::ZERO, now, events);
        }
        self.submit_to_queue(slot, now, events);
    }

    fn submit_to_queue(&mut self, slot: u32, now: Nanos, events: &mut EventQueue) {
        self.enqueue(slot);
        let op = &self.slots[slot as usize].op;
        let (die, urgent, class) = (op.die, op.urgent, op.class);
        if self.is_idle(die) {
            self.start_next(die, now, events);
        } else if urgent && self.may_suspend(die, now) {
            self.suspend(die, now, events);
        } else if class == OpClass::Program {
            self.stage_behind(die, now, events);
        }
    }

    /// Handles the end of a die's array operation. Stale events (of an operation suspended since) have no effect.
    pub(crate) fn on_array(
        &mut self,
        die: Die,
        now: Nanos,
        events: &mut EventQueue,
    ) -> Option<Progress> {
        let d = die;
        let index = self.dies[d].array;
        if index == NONE || self.dies[d].array_until != now {
            return None;
        }
        self.dies[d].array = NONE;
        match self.slots[index as usize].op.class {
            OpClass::Read => {
                let until = self.transfer_out(index, now);
                events.push(until, Event::Bus(index));
                self.dies[d].bus_until = until;
                if !self.times.cache_read {
                    self.dies[d].register = index;
                    return None;
                }
                self.start_next(d, now, events);
                None
            }
            OpClass::Program | OpClass::Erase => {
                self.release_power(now, events);
                self.dies[d].suspended.count = 0;
                let finished = self.finish(index);
                // The die may already be busy, started by the power queue.
                if self.is_idle(d) {
                    self.start_next(d, now, events);
                }
                Some(finished)
            }
        }
    }

    /// Handles the end of a transfer.
    pub(crate) fn on_bus(
        &mut self,
        index: u32,
        now: Nanos,
        events: &mut EventQueue,
    ) -> Option<Progress> {
        let op = &self.slots[index as usize].op;
        let (d, class, owner) = (op.die, op.class, op.owner);
        if class == OpClass::Program {
            if let Some(end) = self.channel(d).end_program(index, now) {
                events.push(end, Event::Bus(index));
                return None;
            }
            self.dies[d].staged_ready = true;
            if self.is_idle(d) {
                self.start_next(d, now, events);
            }
            return Some(Progress::Transferred(owner));
        }
        if self.times.planes > 0 {
            if !self.times.cache_read {
                self.free_planes(index, now, events);
            }
            return Some(self.finish(index));
        }
        let finished = self.finish(index);
        if self.dies[d].register == index {
            self.dies[d].register = NONE;
            self.start_next(d, now, events);
        }
        Some(finished)
    }

    fn is_idle(&self, die: Die) -> bool {
        let d = &self.dies[die];
        d.array == NONE && d.register == NONE && d.reading == 0
    }

    /// Whether no operation is in the die or waits for it.
    fn has_nothing_to_do(&self, die: Die) -> bool {
        let d = &self.dies[die];
        d.array == NONE
            && d.register == NONE
            && d.urgent.head == NONE
            && d.normal.head == NONE
            && d.staged == NONE
            && d.suspended.op == NONE
    }

    fn start_next(&mut self, die: Die, now: Nanos, events: &mut EventQueue) {
        debug_assert!(self.is_idle(die));
        if self.times.planes > 0 {
            return self.start_on_planes(die, now, events);
        }
        let d = &mut self.dies[die];
        let reads_wait = d.urgent.head != NONE;
        let work_waits = d.normal.head != NONE || d.staged != NONE || d.suspended.op != NONE;
        if reads_wait && d.overtakes < OVERTAKES_MAX {
            d.overtakes += u32::from(work_waits);
            return self.start_urgent_read(die, Nanos::ZERO, now, events);
        }
        if !self.start_work(die, now, events) && reads_wait {
            // The background operation's data is on the channel, or there is no power for it.
            self.start_urgent_read(die, Nanos::ZERO, now, events);
        }
    }

    /// Starts a background operation, which host reads may overtake. Returns whether the array is busy.
    fn start_work(&mut self, die: Die, now: Nanos, events: &mut EventQueue) -> bool {
        if self.dies[die].suspended.op != NONE {
            self.resume(die, now, events);
            return true;
        }
        if self.dies[die].staged == NONE {
            self.stage(die, now, events);
        }
        if self.dies[die].staged != NONE {
            return self.dies[die].staged_ready && self.start_staged(die, now, events);
        }
        if self.dies[die].normal.head == NONE {
            return false;
        }
        let index = self.pop(die, false);
        self.dies[die].overtakes = 0;
        self.start_read(die, index, Nanos::ZERO, now, events);
        true
    }

    fn start_urgent_read(&mut self, die: Die, lead: Nanos, now: Nanos, events: &mut EventQueue) {
        let index = self.pop(die, true);
        self.start_read(die, index, lead, now, events);
    }

    fn start_read(
        &mut self,
        die: Die,
        index: u32,
        lead: Nanos,
        now: Nanos,
        events: &mut EventQueue,
    ) {
        let op = &self.slots[index as usize].op;
        debug_assert_eq!(op.class, OpClass::Read);
        self.page_reads += 1;
        self.energy_pj += u64::from(op.array_ns) * self.times.read_mw;
        // The array's data can leave the page register only when the previous transfer is over.
        let until = (now + lead + Nanos(u64::from(op.array_ns))).max(self.dies[die].bus_until);
        self.occupy(die, index, until, events);
    }

    /// Takes the program or erase at the head of the queue and starts the transfer of its data to the die.
    fn stage(&mut self, die: Die, now: Nanos, events: &mut EventQueue) {
        let head = self.dies[die].normal.head;
        if head == NONE || self.slots[head as usize].op.class == OpClass::Read {
            return;
        }
        let index = self.pop(die, false);
        let class = self.slots[index as usize].op.class;
        self.dies[die].staged = index;
        self.dies[die].staged_ready = class == OpClass::Erase;
        if class == OpClass::Program {
            self.transfer_in(index, now, events);
        }
    }

    /// With cache programming, starts the transfer of the next program's data while the array is programming.
    fn stage_behind(&mut self, die: Die, now: Nanos, events: &mut EventQueue) {
        let busy = self.dies[die].array;
        let head = self.dies[die].normal.head;
        if self.times.cache_program
            && self.dies[die].staged == NONE
            && busy != NONE
            && self.slots[busy as usize].op.class == OpClass::Program
            && head != NONE
            && self.slots[head as usize].op.class == OpClass::Program
        {
            self.stage(die, now, events);
        }
    }

    /// Starts the staged program or erase; returns false if there is no power for it.
    fn start_staged(&mut self, die: Die, now: Nanos, events: &mut EventQueue) -> bool {
        if self.active_dies >= self.active_dies_max {
            if !self.dies[die].waits_for_power {
                self.dies[die].waits_for_power = true;
                self.power_queue.push_back(die);
            }
            return false;
        }
        self.active_dies += 1;
        let index = self.dies[die].staged;
        debug_assert!(
            self.dies[die].staged_ready,
            "a program begins without its data"
        );
        self.dies[die].staged = NONE;
        self.dies[die].staged_ready = false;
        self.dies[die].overtakes = 0;
        let op = &self.slots[index as usize].op;
        let mw = if op.class == OpClass::Erase {
            self.times.erase_mw
        } else {
            self.times.program_mw
        };
        let time = u64::from(op.array_ns);
        self.energy_pj += time * mw;
        self.occupy(die, index, now + Nanos(time), events);
        self.stage_behind(die, now, events);
        true
    }

    fn release_power(&mut self, now: Nanos, events: &mut EventQueue) {
        self.active_dies -= 1;
        // A die that is reading, or was started since it queued for power, does not use the token.
        while self.active_dies < self.active_dies_max {
            let Some(die) = self.power_queue.pop_front() else {
                break;
            };
            let d = die;
            self.dies[d].waits_for_power = false;
            if self.is_idle(d) {
                self.start_next(d, now, events);
            }
        }
    }

    fn occupy(&mut self, die: Die, index: u32, until: Nanos, events: &mut EventQueue) {
        debug_assert_eq!(self.dies[die].array, NONE, "a die does two things");
        self.dies[die].array = index;
        self.dies[die].array_until = until;
        events.push(until, Event::Array(die));
    }

    /// Time of a transfer of `bytes` in `pages` on a channel.
    #[inline]
    pub(crate) fn transfer_time(&self, bytes: u32, pages: u32) -> Nanos {
        let data_ns = (u64::from(bytes) * self.times.picos_per_byte + 500) / 1000;
        let normal = data_ns + u64::from(pages) * self.times.overhead_ns;
        Nanos(normal * self.slowdown / 1024)
    }

    #[inline]
    fn channel_of(&self, die: Die) -> ChannelId {
        ChannelId(self.by_channels.remainder(die.0))
    }

    #[inline]
    fn channel(&mut self, die: Die) -> &mut Channel {
        let channel = self.channel_of(die);
        &mut self.channels[channel.index()]
    }

    /// Books the channel for the pages of a read; returns the end of their transfer.
    fn transfer_out(&mut self, index: u32, now: Nanos) -> Nanos {
        let op = &self.slots[index as usize].op;
        let attempts = 1 + u64::from(op.retransfers);
        let time = self.transfer_time(op.bus_bytes, op.transfers) * attempts;
        let (die, bytes) = (op.die, op.bytes_on_bus());
        self.bus_bytes += bytes;
        self.channel(die).book_read(time, now)
    }

    /// Books the channel for the data of a program, and plans the event at its end.
    fn transfer_in(&mut self, index: u32, now: Nanos, events: &mut EventQueue) {
        let op = &self.slots[index as usize].op;
        let (die, bytes, pages) = (op.die, op.bus_bytes, op.transfers.max(1));
        let page = self.transfer_time(bytes / pages, 1);
        self.bus_bytes += u64::from(bytes);
        let end = self.channel(die).book_program(index, page, pages, now);
        events.push(end, Event::Bus(index));
    }
}
