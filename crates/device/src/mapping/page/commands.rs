//! Path of a command: host, firmware, link, completion. Reads, writes and discards have their own modules.

use super::{PageMapDevice, Pending};
use crate::command::{Command, CommandKind, Payload, Status};
use crate::convert::{Narrow, Whole};
use crate::events::Event;
use crate::host::Request;
use crate::host::adapter::Ending;
use crate::mapping::page::lpn::Lpn;
use nandscope_units::{Nanos, SECTOR_BYTES};

impl PageMapDevice {
    /// First logical unit of a command and number of units; 0 units if the command is out of range.
    pub(super) fn units_of(&self, command: &Command) -> (Lpn, u32) {
        let start = command.lba.offset().0;
        let end = start.saturating_add(command.bytes().0);
        if end <= self.profile.device.capacity_bytes && end > start {
            // The size of a unit is a power of two bytes.
            let shift = self.log.geometry.unit_bytes.trailing_zeros();
            let first = start >> shift;
            (
                Lpn(first.narrow()),
                (((end - 1) >> shift) + 1 - first).narrow(),
            )
        } else {
            (Lpn(0), 0)
        }
    }

    /// Adds a command submitted now, with its first logical unit and number of units. Inlined into both callers: a call
    /// would take 2 % of the time of a planned read.
    #[inline(always)]
    pub(super) fn add_command(&mut self, command: Command, (first, units): (Lpn, u32)) -> u32 {
        let now = self.schedule.now();
        // Prefetched: the entry is in the cache when the firmware needs it.
        if units == 1 && command.kind.is_write() {
            self.log.map.prefetch_old(first);
        } else {
            self.log.map.prefetch(first);
        }
        self.commands.add(Pending {
            request: Request::new(command, now, self.profile.device.capacity_bytes),
            first,
            units,
            waits: 0,
            to_admit: 0,
            to_arrive: units,
            link_done: now,
        })
    }

    /// Sends a command from the host through the stages of the path to a core of the firmware.
    #[inline]
    pub(super) fn start(&mut self, index: u32) {
        let splits = self.time_of_splits(index);
        let chain = &self.attachment.chain;
        let reached = self.schedule.now() + chain.command + splits;
        let passed = self.adapter.pass(reached, chain);
        let arrival = self.awake_at(passed);
        self.commands.start();
        if self.commands.outstanding() == 1 {
            self.note_busy();
        }
        let p = &self.commands[index];
        self.writes.in_firmware += u32::from(p.request.command.kind.is_write());
        if self.cores.may_book(self.schedule.now(), arrival, splits) {
            return self.book_firmware(index, arrival);
        }
        if self.plan.is_active() {
            self.leave_plan();
        }
        self.cores.expect();
        self.schedule.push(arrival, Event::Arrived(index));
    }

    /// Handles the arrival of a command that others might have overtaken on its way.
    pub(super) fn on_arrival(&mut self, index: u32) {
        self.cores.arrived();
        self.book_firmware(index, self.schedule.now());
    }

    /// Books a core for a command that arrives at `arrival`.
    #[inline]
    fn book_firmware(&mut self, index: u32, arrival: Nanos) {
        let p = &self.commands[index];
        let time = self.firmware_time(p.request.command.kind, p.units);
        let done = self.cores.book(arrival, time);
        if !self.plan_read(index, done) {
            self.schedule.push(done, Event::Firmware(index));
        }
    }

    /// Firmware time of a command of `units` mapping units.
    #[inline]
    pub(super) fn firmware_time(&mut self, kind: CommandKind, units: u32) -> Nanos {
        let c = &self.controller;
        let (us, single_ns) = if kind.is_write() {
            (c.write_us, c.single_write_ns)
        } else {
            (c.read_us, c.single_read_ns)
        };
        let further = units.saturating_sub(1).min(4096);
        let single = further.min(c.single_units.unwrap_or(1) - 1);
        let more = u64::from(further - single) * c.per_unit_ns
            + u64::from(single) * u64::from(single_ns.unwrap_or(0));
        self.slowed((us * 1e3).floor_u64() + more)
    }

    /// Additional path time of a command that the host's driver splits: one pass per further transfer.
    #[inline]
    fn time_of_splits(&self, index: u32) -> Nanos {
        let chain = &self.attachment.chain;
        let p = &self.commands[index];
        let bytes = p.request.command.bytes().0;
        let moves_data = matches!(
            p.request.command.kind,
            CommandKind::Read | CommandKind::Write { .. }
        );
        if !moves_data || bytes <= chain.max_transfer.0 {
            return Nanos::ZERO;
        }
        let further = bytes.div_ceil(chain.max_transfer.0) - 1;
        Nanos((chain.command.0 + chain.completion.0) * further)
    }

    pub(super) fn on_firmware(&mut self, index: u32) {
        let p = &self.commands[index];
        let kind = p.request.command.kind;
        self.writes.in_firmware -= u32::from(kind.is_write());
        if p.request.status == Status::Ok {
            self.begin(index, kind);
        } else {
            self.complete_at(index, self.schedule.now());
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
            CommandKind::Identify | CommandKind::Health => {
                self.complete_at(index, self.schedule.now())
            }
        }
    }

    /// Ends one of the waits of a command.
    pub(super) fn on_wait_over(&mut self, index: u32) {
        let p = &mut self.commands[index];
        p.waits -= 1;
        if p.waits > 0 {
            return;
        }
        match p.request.command.kind {
            CommandKind::Read => self.dispatch_read(index),
            _ => self.complete_at(index, self.schedule.now()),
        }
    }

    /// Completes a command in the device at `at`; the host sees the completion after the path back.
    pub(super) fn complete_at(&mut self, index: u32, at: Nanos) {
        let stops = self.attachment.stops(&self.commands[index].request.command);
        self.schedule.push(
            at + stops + self.attachment.chain.completion,
            Event::Complete(index),
        );
    }

    /// Reports a command that has ended to the host, unless an adapter holds its completion back.
    #[inline]
    pub(super) fn on_end(&mut self, index: u32) {
        let Some(moderation) = &self.attachment.chain.moderation else {
            return self.on_complete(index);
        };
        match self.adapter.end(index, self.schedule.now(), moderation) {
            Ending::Seen => self.on_complete(index),
            Ending::Held => {}
            Ending::Opens(at) => self.schedule.push(at, Event::Interrupt),
        }
    }

    /// Reports all commands whose completions an adapter has held.
    pub(super) fn on_interrupt(&mut self) {
        for index in self.adapter.interrupt() {
            self.on_complete(index);
        }
    }

    /// Completes a command at the host.
    #[inline]
    pub(super) fn complete(&mut self, index: u32) {
        let kind = self.commands[index].request.command.kind;
        debug_assert_eq!(
            self.commands[index].waits, 0,
            "a command ends while it waits"
        );
        let payload = self.payload(kind);
        self.note_completed(index);
        self.count_completion(index);
        self.hand_back(index, payload);
        if self.commands.outstanding() < self.attachment.chain.queue_depth
            && self.commands.any_waits()
        {
            self.start_waiting();
        }
        if self.commands.outstanding() == 0 {
            self.note_busy();
        }
        if kind.changes_data() {
            self.writes.outstanding -= 1;
            if self.writes.outstanding == 0 {
                self.plan_idle();
            }
        }
    }

    /// Gives the host the completion of a command and frees its index.
    #[inline]
    pub(super) fn hand_back(&mut self, index: u32, payload: Option<Box<Payload>>) {
        let request = &self.commands[index].request;
        let completion = request.completion(self.schedule.now(), payload);
        self.commands.finish(index, completion);
    }

    /// Books the link towards the host for `bytes`, not before `ready`; returns the end.
    pub(super) fn send(&mut self, bytes: u64, ready: Nanos) -> Nanos {
        self.power.meter.count_link(bytes);
        self.link.send(bytes, ready, &self.attachment.chain)
    }

    /// Books the link from the host for `bytes`, not before `ready`; returns the end.
    pub(super) fn receive(&mut self, bytes: u64, ready: Nanos) -> Nanos {
        self.power.meter.count_link(bytes);
        self.link.receive(bytes, ready, &self.attachment.chain)
    }

    /// Bytes of the command that lie in units `first..first + units`.
    #[inline]
    pub(super) fn bytes_in(&self, index: u32, first: Lpn, units: u32) -> u64 {
        let p = &self.commands[index];
        let start = p.request.command.lba.0 * SECTOR_BYTES;
        let end = start + p.request.command.bytes().0;
        let from = (u64::from(first) * self.unit_bytes()).max(start);
        let to = (u64::from(first + units) * self.unit_bytes()).min(end);
        to.saturating_sub(from)
    }
}
