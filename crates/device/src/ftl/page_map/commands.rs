//! A command on its way: host path, firmware, link, completion. What it does in between is with reads, writes, discards.

use super::{PageMapDevice, Pending};
use crate::command::{Command, CommandKind, Completion, Payload, Status};
use crate::convert::{Narrow, Whole};
use crate::events::Event;
use crate::ftl::page_map::lpn::Lpn;
use nandscope_units::{Nanos, SECTOR_BYTES};

impl PageMapDevice {
    /// Whether a command lies within the device, and the logical units that it touches.
    pub(super) fn range_of(&self, command: &Command) -> (bool, Lpn, u32) {
        let start = command.lba.offset().0;
        let end = start.saturating_add(command.bytes().0);
        let in_range = end <= self.profile.device.capacity_bytes;
        if in_range && end > start {
            // A unit has a power of two of bytes.
            let shift = self.log.geometry.unit_bytes.trailing_zeros();
            let first = start >> shift;
            (
                true,
                Lpn(first.narrow()),
                (((end - 1) >> shift) + 1 - first).narrow(),
            )
        } else {
            (in_range, Lpn(0), 0)
        }
    }

    /// Takes a command that touches so many units from the first one. In both of its callers, a call of its own would be
    /// 2 % of a planned read.
    #[inline(always)]
    pub(super) fn add_pending(
        &mut self,
        command: Command,
        at: Nanos,
        status: Status,
        (first, units): (Lpn, u32),
    ) -> u32 {
        // By the time firmware asks for the entry, it has come from memory.
        if units == 1 && command.kind.is_write() {
            self.log.map.prefetch_old(first);
        } else {
            self.log.map.prefetch(first);
        }
        let pending = Pending {
            command,
            submitted: at,
            status,
            first,
            units,
            waits: 0,
            to_admit: 0,
            to_arrive: units,
            link_done: at,
        };
        if let Some(index) = self.free_pending.pop() {
            self.pending[index as usize] = pending;
            return index;
        }
        self.pending.push(pending);
        self.pending.len().narrow() - 1
    }

    /// The command leaves the host: stages of the path, then a core of the firmware.
    #[inline]
    pub(super) fn start(&mut self, index: u32) {
        let splits = self.time_of_splits(index);
        let arrival = self.awake_at(self.now + self.attachment.chain.command + splits);
        self.outstanding += 1;
        if self.outstanding == 1 {
            self.note_busy();
        }
        let p = &self.pending[index as usize];
        self.writes.in_firmware += u32::from(p.command.kind.is_write());
        if self.cores.may_book(self.now, arrival, splits) {
            return self.book_firmware(index, arrival);
        }
        if self.plan.is_active() {
            self.leave_plan();
        }
        self.cores.expect();
        self.events.push(arrival, Event::Arrived(index));
    }

    /// A command comes that others might have overtaken on its way.
    pub(super) fn on_arrival(&mut self, index: u32) {
        self.cores.arrived();
        self.book_firmware(index, self.now);
    }

    /// Gives a command that arrives at `arrival` its turn on a core.
    #[inline]
    fn book_firmware(&mut self, index: u32, arrival: Nanos) {
        let p = &self.pending[index as usize];
        let time = self.firmware_time(p.command.kind, p.units);
        let done = self.cores.book(arrival, time);
        if !self.plan_read(index, done) {
            self.events.push(done, Event::Firmware(index));
        }
    }

    /// Time that firmware takes for a command of so many units.
    #[inline]
    pub(super) fn firmware_time(&mut self, kind: CommandKind, units: u32) -> Nanos {
        let us = match kind {
            CommandKind::Write { .. } => self.controller.write_us,
            _ => self.controller.read_us,
        };
        let more = u64::from(units.saturating_sub(1).min(4096)) * self.controller.per_unit_ns;
        self.slowed((us * 1e3).floor_u64() + more)
    }

    /// A command that the host's driver splits takes the path once more for each further transfer.
    #[inline]
    fn time_of_splits(&self, index: u32) -> Nanos {
        let chain = &self.attachment.chain;
        let p = &self.pending[index as usize];
        let bytes = p.command.bytes().0;
        let moves_data = matches!(
            p.command.kind,
            CommandKind::Read | CommandKind::Write { .. }
        );
        if !moves_data || bytes <= chain.max_transfer.0 {
            return Nanos::ZERO;
        }
        let further = bytes.div_ceil(chain.max_transfer.0) - 1;
        Nanos((chain.command.0 + chain.completion.0) * further)
    }

    pub(super) fn on_firmware(&mut self, index: u32) {
        let p = &self.pending[index as usize];
        let kind = p.command.kind;
        self.writes.in_firmware -= u32::from(kind.is_write());
        if p.status == Status::Ok {
            self.begin(index, kind);
        } else {
            self.complete_at(index, self.now);
        }
        if kind.is_write() {
            self.close_awaited_unit();
        }
    }

    fn begin(&mut self, index: u32, kind: CommandKind) {
        match kind {
            CommandKind::Read => self.begin_read(index),
            CommandKind::Write { .. } => self.begin_write(index),
            CommandKind::Flush => self.begin_flush(index),
            CommandKind::Discard => self.begin_discard(index),
            CommandKind::Identify | CommandKind::Health => self.complete_at(index, self.now),
        }
    }

    /// Something that a command waited for has come.
    pub(super) fn on_wait_over(&mut self, index: u32) {
        let p = &mut self.pending[index as usize];
        p.waits -= 1;
        if p.waits > 0 {
            return;
        }
        match p.command.kind {
            CommandKind::Read => self.dispatch_read(index),
            _ => self.complete_at(index, self.now),
        }
    }

    /// The device is done with a command at `at`; the host sees it after the path back.
    pub(super) fn complete_at(&mut self, index: u32, at: Nanos) {
        let stops = self.attachment.stops(&self.pending[index as usize].command);
        self.events.push(
            at + stops + self.attachment.chain.completion,
            Event::Complete(index),
        );
    }

    /// A command is over for the host.
    #[inline]
    pub(super) fn complete(&mut self, index: u32) {
        let kind = self.pending[index as usize].command.kind;
        debug_assert_eq!(
            self.pending[index as usize].waits, 0,
            "a command ends while it waits"
        );
        let payload = self.payload(kind);
        self.note_completed(index);
        self.count_completion(index);
        self.hand_back(index, payload);
        if self.outstanding < self.attachment.chain.queue_depth && !self.host_queue.is_empty() {
            self.start_waiting();
        }
        if self.outstanding == 0 {
            self.note_busy();
        }
        if kind.changes_data() {
            self.writes.outstanding -= 1;
            if self.writes.outstanding == 0 {
                self.plan_idle();
            }
        }
    }

    /// The host gets the completion of a command, which is outstanding no longer.
    #[inline]
    pub(super) fn hand_back(&mut self, index: u32, payload: Option<Box<Payload>>) {
        let p = &self.pending[index as usize];
        self.done.push(Completion {
            tag: p.command.tag,
            status: p.status,
            submitted: p.submitted,
            completed: self.now,
            payload,
        });
        self.free_pending.push(index);
        self.outstanding -= 1;
    }

    /// Books the link towards the host for `bytes`, not before `ready`; returns the end.
    pub(super) fn send(&mut self, bytes: u64, ready: Nanos) -> Nanos {
        let end = self.link_out.max(ready) + self.time_on_link(bytes);
        self.link_out = end;
        if self.attachment.chain.half_duplex {
            self.link_in = end;
        }
        self.meter.count_link(bytes);
        end
    }

    /// Books the link from the host for `bytes`, not before `ready`; returns the end.
    pub(super) fn receive(&mut self, bytes: u64, ready: Nanos) -> Nanos {
        let end = self.link_in.max(ready) + self.time_on_link(bytes);
        self.link_in = end;
        if self.attachment.chain.half_duplex {
            self.link_out = end;
        }
        self.meter.count_link(bytes);
        end
    }

    /// Bytes of the command that lie in units `first..first + units`.
    #[inline]
    pub(super) fn bytes_in(&self, index: u32, first: Lpn, units: u32) -> u64 {
        let p = &self.pending[index as usize];
        let start = p.command.lba.0 * SECTOR_BYTES;
        let end = start + p.command.bytes().0;
        let from = (u64::from(first) * self.unit_bytes()).max(start);
        let to = (u64::from(first + units) * self.unit_bytes()).min(end);
        to.saturating_sub(from)
    }
}
