//! Small reads planned ahead, where the device has nothing else to do.
//!
//! A read passes the firmware, the array of its die, the channel, the decoder and the link. While small reads are
//! all that is under way, each of these steps follows from those before it, and no later command can change a
//! step earlier than its own array read can end. The steps of many reads are then computed together, one kind
//! after another, without an event for each: [`PageMapDevice::extend_plan`] up to the horizon, which is the
//! present plus the shortest array read. What other work needs, the plan cannot give: before it begins, the
//! plan is given up ([`leave`]), and what lies in the future becomes operations and events again, with the same
//! times and in the same order.
//!
//! Only devices whose reads occupy a die until their transfer is over are planned for, with the whole map in RAM,
//! a decoder for each page and a link that carries both directions at once.

mod leave;
mod submit;
#[cfg(test)]
mod tests;
mod timed;
mod usage;

use super::PageMapDevice;
use super::readahead::ReadRange;
use crate::command::{CommandKind, Completion, Status};
use crate::convert::Narrow;
use crate::flash::{Die, FlashOp, OpClass, Owner, PlaneSet, Transfer};
use nandscope_units::Nanos;
use std::collections::VecDeque;
use timed::TimedList;

/// No read.
const NONE: u32 = u32::MAX;
/// Reads that are planned at once; the lists are kept in order by insertion.
const MOST: u32 = 256;

/// How far a read is planned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// The read is not planned.
    #[default]
    None,
    /// Firmware has not looked at it.
    Firmware,
    /// It waits for another read of its die whose transfer is not booked.
    Waiting,
    /// The times of its array read are known.
    Array,
    /// Its transfer over the channel is booked.
    Transfer,
    /// Its transfer over the link is booked.
    Link,
}

/// Which event would start the array read: it decides between reads whose arrays start and end together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Trigger {
    /// When that event would be planned itself.
    planned_at: Nanos,
    /// By a command of the host, after all events of that time; otherwise by the end of another array read.
    by_host: bool,
    /// Among those of one kind.
    order: u64,
}

/// Times of an array read.
#[derive(Clone, Copy, Debug, Default)]
struct ArrayRead {
    start: Nanos,
    trigger: Trigger,
    end: Nanos,
    /// Number in the order of the ends of array reads.
    rank: u64,
}

/// Times of a transfer to the host.
#[derive(Clone, Copy, Debug, Default)]
struct LinkTransfer {
    /// End of the transfer before.
    before: Nanos,
    end: Nanos,
    /// When the host sees the completion.
    completed: Nanos,
}

/// A read under way. Times are valid as far as its stage says.
#[derive(Clone, Copy, Debug)]
struct PlannedRead {
    stage: Stage,
    /// The next read of its die.
    next: u32,
    op: FlashOp,
    submitted: Nanos,
    /// Firmware has looked at it, and number in the order of firmware.
    firmware: Nanos,
    order: u64,
    array: ArrayRead,
    transfer: Transfer,
    link: LinkTransfer,
    /// How far it is in the counters of energy and data.
    counted: Stage,
}

impl PlannedRead {
    /// A read that firmware has not handled yet, so that its flash operation is not known.
    fn unknown() -> Self {
        PlannedRead {
            stage: Stage::None,
            next: NONE,
            op: FlashOp {
                class: OpClass::Read,
                urgent: true,
                die: Die(0),
                array_ns: 0,
                bus_bytes: 0,
                transfers: 0,
                retransfers: 0,
                planes: PlaneSet::NONE,
                owner: Owner::HostRead {
                    command: NONE,
                    bytes: 0,
                },
            },
            submitted: Nanos::ZERO,
            firmware: Nanos::ZERO,
            order: 0,
            array: ArrayRead::default(),
            transfer: Transfer::default(),
            link: LinkTransfer::default(),
            counted: Stage::None,
        }
    }
}

/// The reads of a die.
#[derive(Clone, Copy, Debug)]
struct DiePlan {
    /// The last read whose transfer is not booked.
    last: u32,
    /// End of the last transfer that is booked, and end and rank of its array read.
    free: Nanos,
    array_end: Nanos,
    rank: u64,
}

const IDLE: DiePlan = DiePlan {
    last: NONE,
    free: Nanos::ZERO,
    array_end: Nanos::ZERO,
    rank: 0,
};

/// All reads that are planned.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadPlan {
    /// By number of the command.
    reads: Vec<PlannedRead>,
    dies: Vec<DiePlan>,
    /// How many are under way.
    active: u32,
    /// Commands in the order in which firmware looks at them, and when it looks at the last one that was planned.
    firmware: VecDeque<u32>,
    last_firmware: Nanos,
    /// Times and commands in order: ends of array reads whose transfer is not booked, ends of transfers that are
    /// not on the link, completions.
    arrays: TimedList,
    transfers: TimedList,
    completions: TimedList,
    /// Numbers given so far.
    order: u64,
    rank: u64,
    /// Everything up to this time has happened.
    settled: Nanos,
    /// Everything before this time is planned.
    horizon: Nanos,
    #[cfg(test)]
    pub(super) refused: bool,
}

impl ReadPlan {
    /// Whether reads are planned.
    #[inline]
    pub(super) fn is_active(&self) -> bool {
        self.active > 0
    }

    /// Time of the next step of a read.
    pub(super) fn next_time(&self) -> Option<Nanos> {
        let next_of = |read: &PlannedRead| {
            let steps = [
                (Stage::Firmware, read.firmware),
                (Stage::Array, read.array.end),
                (Stage::Transfer, read.transfer.end),
                (Stage::Link, read.link.completed),
            ];
            let known = steps.into_iter().filter(|step| step.0 <= read.stage);
            known.map(|step| step.1).find(|at| *at > self.settled)
        };
        self.under_way().filter_map(|(_, read)| next_of(read)).min()
    }

    fn under_way(&self) -> impl Iterator<Item = (u32, &PlannedRead)> {
        let numbered = (0..).zip(&self.reads);
        numbered.filter(|(_, read)| read.stage != Stage::None)
    }

    #[inline]
    fn add(&mut self, command: u32, now: Nanos, firmware: Nanos) {
        if command as usize >= self.reads.len() {
            self.reads
                .resize(command as usize + 1, PlannedRead::unknown());
        }
        let read = &mut self.reads[command as usize];
        read.stage = Stage::Firmware;
        read.next = NONE;
        read.submitted = now;
        read.firmware = firmware;
        read.order = self.order;
        read.counted = Stage::None;
        self.order += 1;
        self.firmware.push_back(command);
        self.last_firmware = firmware;
        self.active += 1;
    }

    /// Firmware has looked at a read: it starts when its die is free.
    #[inline]
    fn dispatch(&mut self, command: u32, op: FlashOp) {
        let read = &mut self.reads[command as usize];
        debug_assert_eq!(read.stage, Stage::Firmware);
        read.op = op;
        let die = &mut self.dies[op.die.index()];
        let last = std::mem::replace(&mut die.last, command);
        if last != NONE {
            read.stage = Stage::Waiting;
            self.reads[last as usize].next = command;
            return;
        }
        let (firmware, submitted) = (read.firmware, read.submitted);
        let waits = firmware < die.free || firmware == die.free && submitted < die.array_end;
        let trigger = if waits {
            Trigger {
                planned_at: die.array_end,
                by_host: false,
                order: die.rank,
            }
        } else {
            Trigger {
                planned_at: submitted,
                by_host: true,
                order: read.order,
            }
        };
        let start = firmware.max(die.free);
        self.start(command, start, trigger);
    }

    /// The array read of a command starts at a time. Of array reads that end together, the one that starts first
    /// comes first.
    #[inline(always)]
    fn start(&mut self, command: u32, start: Nanos, trigger: Trigger) {
        let read = &mut self.reads[command as usize];
        read.stage = Stage::Array;
        read.array.start = start;
        read.array.trigger = trigger;
        read.array.end = start + Nanos(u64::from(read.op.array_ns));
        let end = read.array.end;
        let reads = &self.reads;
        self.arrays.insert(end, command, |other| {
            let other = &reads[other as usize];
            (start, trigger) < (other.array.start, other.array.trigger)
        });
    }

    /// The transfer of a read is booked, whose array is the next one that is done.
    fn on_booked(&mut self, command: u32, transfer: Transfer) {
        let rank = self.rank;
        self.rank += 1;
        let read = &mut self.reads[command as usize];
        debug_assert_eq!(read.stage, Stage::Array);
        read.stage = Stage::Transfer;
        read.array.rank = rank;
        read.transfer = transfer;
        let (next, array_end) = (read.next, read.array.end);
        let die = &mut self.dies[read.op.die.index()];
        die.free = transfer.end;
        die.array_end = array_end;
        die.rank = rank;
        self.transfers.insert(transfer.end, command, |_| false);
        if next == NONE {
            self.dies[self.reads[command as usize].op.die.index()].last = NONE;
            return;
        }
        let trigger = Trigger {
            planned_at: array_end,
            by_host: false,
            order: rank,
        };
        self.start(next, transfer.end, trigger);
    }
}

impl PageMapDevice {
    /// Plans a command that firmware will have looked at at `firmware`, if it is a small read and the device does
    /// nothing but such reads. Otherwise what is planned is given up.
    #[inline]
    pub(super) fn plan_read(&mut self, index: u32, firmware: Nanos) -> bool {
        let p = &self.commands[index];
        let is_small = p.units == 1 && p.request.command.kind == CommandKind::Read;
        let may = is_small && p.request.status == Status::Ok && firmware > self.schedule.now();
        if !self.plan.is_active() {
            if !(may && self.may_plan_reads()) {
                return false;
            }
            self.begin_plan();
        } else if !may || self.plan.active >= MOST || firmware < self.plan.last_firmware {
            self.leave_plan();
            return false;
        }
        self.plan.add(index, self.schedule.now(), firmware);
        true
    }

    /// Whether the device has nothing to do but the first of the reads, and is one whose reads are planned.
    fn may_plan_reads(&self) -> bool {
        #[cfg(test)]
        if self.plan.refused {
            return false;
        }
        self.commands.outstanding() == 1
            && self.schedule.next_time().is_none()
            && self.array.may_plan_reads()
            && self.log.window.is_whole_map()
            && self.decoders.are_unlimited()
            && !self.attachment.chain.half_duplex
            && !self.background.working()
            && !self.commands.any_waits()
            && self.log.geometry.shortest_read_ns() > 1
    }

    fn begin_plan(&mut self) {
        let dies = self.log.geometry.dies as usize;
        self.plan.dies.resize(dies, IDLE);
        self.plan.settled = self.schedule.now();
        self.plan.horizon = self.schedule.now();
    }

    /// As [`PageMapDevice::advance`], while reads are planned. `None` if no read is planned at the start, or the plan
    /// was given up on the way, at the present time.
    pub(super) fn advance_plan(
        &mut self,
        until: Nanos,
        completions: &mut Vec<Completion>,
    ) -> Option<Nanos> {
        while self.plan.is_active() {
            let next = self.plan.completions.first().map_or(Nanos::MAX, |c| c.0);
            let limit = next.min(until);
            if limit < self.plan.horizon {
                if !self.settle_plan(limit) {
                    return None;
                }
                if next <= until {
                    self.complete_planned(next);
                    self.commands.hand_over(completions);
                }
                return Some(self.schedule.now());
            }
            let horizon = self.plan.horizon;
            if horizon > self.schedule.now() && !self.settle_plan(horizon - Nanos(1)) {
                return None;
            }
            if horizon == self.power.meter.next_step() {
                self.pass_time(horizon);
            }
            self.extend_plan();
        }
        None
    }

    /// Lets everything up to a time before the horizon happen. Returns false if the plan was given up.
    #[inline]
    fn settle_plan(&mut self, to: Nanos) -> bool {
        while let Some(&command) = self.plan.firmware.front() {
            let at = self.plan.reads[command as usize].firmware;
            if at > to {
                break;
            }
            self.plan.firmware.pop_front();
            self.plan.settled = at;
            self.schedule.set_now(at);
            if !self.dispatch_planned(command) {
                return false;
            }
        }
        self.plan.settled = to;
        self.schedule.set_now(to);
        true
    }

    /// Firmware has looked at a read. Returns false if the plan was given up.
    #[inline]
    fn dispatch_planned(&mut self, command: u32) -> bool {
        let p = &self.commands[command];
        let (first, from) = (p.first, p.request.command.lba.0);
        // All of the command is in one unit.
        let bytes = p.request.command.bytes().0.narrow();
        let range = ReadRange {
            command,
            sectors: (from, from + u64::from(p.request.command.sectors)),
            first,
            units: 1,
        };
        let run = self.log.run_of(first).filter(|run| self.is_settled(run));
        let Some(run) = run.filter(|_| self.read_ahead.takes_alone(&range)) else {
            return self.dispatch_unplanned(command);
        };
        let owner = Owner::HostRead { command, bytes };
        let (op, _) = self.read_operation(run, true, owner, Some(command));
        self.plan.dispatch(command, op);
        if self.schedule.next_time().is_some() {
            // The read has found a block that must be refreshed.
            let submitted = self.plan.reads[command as usize].submitted;
            self.leave_plan_during(submitted);
            return false;
        }
        true
    }

    /// A read needs more than a plan can give.
    #[cold]
    fn dispatch_unplanned(&mut self, command: u32) -> bool {
        let read = &mut self.plan.reads[command as usize];
        read.stage = Stage::None;
        let submitted = read.submitted;
        self.plan.active -= 1;
        self.leave_plan_during(submitted);
        self.on_firmware(command);
        false
    }

    /// Plans everything that reads which come later cannot change: whatever happens before the shortest array read
    /// that starts now can end, and before the clock may change.
    fn extend_plan(&mut self) {
        let shortest = Nanos(u64::from(self.log.geometry.shortest_read_ns()));
        let horizon = (self.plan.settled + shortest).min(self.power.meter.next_step());
        while let Some((at, command)) = self.plan.arrays.first()
            && at < horizon
        {
            self.plan.arrays.remove_first();
            let op = &self.plan.reads[command as usize].op;
            let transfer = self.array.plan_transfer(op, at);
            self.plan.on_booked(command, transfer);
        }
        let decode = self.decode_time();
        while let Some((at, command)) = self.plan.transfers.first()
            && at < horizon
        {
            self.plan.transfers.remove_first();
            let bytes = match self.plan.reads[command as usize].op.owner {
                Owner::HostRead { bytes, .. } => u64::from(bytes),
                _ => 0,
            };
            let before = self.link.sent_until();
            let end = self.link.send(bytes, at + decode, &self.attachment.chain);
            let stops = self
                .attachment
                .stops(&self.commands[command].request.command);
            let completed = end + stops + self.attachment.chain.completion;
            let read = &mut self.plan.reads[command as usize];
            read.stage = Stage::Link;
            read.link.before = before;
            read.link.end = end;
            read.link.completed = completed;
            self.plan.completions.insert(completed, command, |_| false);
        }
        debug_assert!(horizon > self.plan.horizon, "a plan makes no progress");
        self.plan.horizon = horizon;
    }

    /// The host sees all completions of a time.
    fn complete_planned(&mut self, at: Nanos) {
        while let Some((next, command)) = self.plan.completions.first()
            && next == at
        {
            self.plan.completions.remove_first();
            self.count_planned(command, Stage::Link);
            self.plan.reads[command as usize].stage = Stage::None;
            self.plan.active -= 1;
            self.complete_read(command);
        }
    }

    /// As [`PageMapDevice::complete`], of a read: no other command waits for it, and it changes nothing.
    #[inline]
    fn complete_read(&mut self, index: u32) {
        debug_assert!(
            !self.commands.any_waits(),
            "commands wait at the host while reads are planned"
        );
        let p = &self.commands[index];
        if p.request.status == Status::Ok {
            self.counters.count_read(p.request.command.bytes());
        }
        self.hand_back(index, None);
        if self.commands.outstanding() == 0 {
            self.note_busy();
        }
    }
}
