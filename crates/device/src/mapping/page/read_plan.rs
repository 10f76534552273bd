//! Small reads planned ahead, while the device executes nothing else.
//!
//! A read passes the firmware, the array of its die, the channel, the decoder and the link. If only small reads are
//! under way, each step follows from earlier steps, and no later command can change a step that comes before the end of
//! the shortest array read started now. The steps of many reads are therefore computed together, without an event for
//! each: [`PageMapDevice::extend_plan`] up to the horizon, which is the present plus the shortest array read. Other
//! work needs operations and events: before it begins, the plan is abandoned ([`leave`]), and its future steps become
//! operations and events with the same times and in the same order.
//!
//! Reads are planned only on devices whose reads occupy a die until their transfer ends, with the whole map in RAM,
//! unlimited decoders and a full-duplex link.

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

/// Index for "no read".
const NONE: u32 = u32::MAX;
/// Maximum number of planned reads; the sorted lists are maintained by insertion.
const MOST: u32 = 256;

/// How far a read is planned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// The read is not planned.
    #[default]
    None,
    /// The firmware has not handled the read.
    Firmware,
    /// The read waits for another read of its die whose transfer is not booked.
    Waiting,
    /// The times of the array read are known.
    Array,
    /// The transfer over the channel is booked.
    Transfer,
    /// The transfer over the link is booked.
    Link,
}

/// Event that would start the array read: decides the order of reads whose array times are equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Trigger {
    /// Time at which that event would be planned.
    planned_at: Nanos,
    /// True for a command of the host, which comes after all events of its time; false for the end of another array
    /// read.
    by_host: bool,
    /// Sequence number among triggers of the same kind.
    order: u64,
}

/// Times of an array read.
#[derive(Clone, Copy, Debug, Default)]
struct ArrayRead {
    start: Nanos,
    trigger: Trigger,
    end: Nanos,
    /// Rank among all array reads by their ends.
    rank: u64,
}

/// Times of a transfer to the host.
#[derive(Clone, Copy, Debug, Default)]
struct LinkTransfer {
    /// End of the previous transfer on the link.
    before: Nanos,
    end: Nanos,
    /// Time at which the host sees the completion.
    completed: Nanos,
}

/// A read under way. Times of later stages than `stage` are invalid.
#[derive(Clone, Copy, Debug)]
struct PlannedRead {
    stage: Stage,
    /// Next read of the same die.
    next: u32,
    op: FlashOp,
    submitted: Nanos,
    /// End of the firmware time; then the sequence number in the order of the firmware.
    firmware: Nanos,
    order: u64,
    array: ArrayRead,
    transfer: Transfer,
    link: LinkTransfer,
    /// Stage up to which the read is counted in energy and data counters.
    counted: Stage,
}

impl PlannedRead {
    /// A read not yet handled by the firmware: its flash operation is unknown.
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

/// Planned reads of a die.
#[derive(Clone, Copy, Debug)]
struct DiePlan {
    /// Last read whose transfer is not booked.
    last: u32,
    /// End of the last booked transfer; then end and rank of its array read.
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

/// All planned reads.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadPlan {
    /// Planned reads, by command number.
    reads: Vec<PlannedRead>,
    dies: Vec<DiePlan>,
    /// Number of reads under way.
    active: u32,
    /// Commands in the order in which the firmware handles them; then the time of the last one planned.
    firmware: VecDeque<u32>,
    last_firmware: Nanos,
    /// Commands sorted by time: by end of the array read until the transfer is booked, by end of the transfer until the
    /// link is booked, by completion.
    arrays: TimedList,
    transfers: TimedList,
    completions: TimedList,
    /// Next sequence number.
    order: u64,
    rank: u64,
    /// Time up to which all planned steps have happened.
    settled: Nanos,
    /// Time before which all steps are planned.
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

    /// Time of the next planned step.
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

    /// Plans the start of a read that the firmware has handled: when its die becomes free.
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

    /// Starts the array read of a command. Of array reads that end together, the one started first comes first.
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

    /// Plans the link transfer of a read whose channel transfer is booked; its array read is the next one to end.
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
    /// Plans a command whose firmware time ends at `firmware`, if it is a small read and only such reads are under way.
    /// Otherwise abandons the plan and returns false.
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

    /// Whether only the first read is under way, and reads of this device can be planned.
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
            && self.attachment.chain.gap.is_zero()
            && self.attachment.chain.moderation.is_none()
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
    /// was abandoned meanwhile, at the present time.
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

    /// Executes all planned steps up to a time before the horizon. Returns false if the plan was abandoned.
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

    /// Handles a read for which the firmware time has ended. Returns false if the plan was abandoned.
    #[inline]
    fn dispatch_planned(&mut self, command: u32) -> bool {
        let p = &self.commands[command];
        let (first, from) = (p.first, p.request.command.lba.0);
        // The command lies within one mapping unit.
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

    /// Abandons the plan for a read that it does not support.
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

    /// Plans all steps that later commands cannot change: those before the end of the shortest array read started now,
    /// and before the next possible change of the clock.
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

    /// Completes all reads of a time at the host.
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

    /// As [`PageMapDevice::complete`], for a read: no other command waits for it, and it changes no data.
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
