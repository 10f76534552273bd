//! Fast path of a small read into an existing plan: [`PageMapDevice::submit`] without the steps that such a read never
//! needs.

use super::MOST;
use crate::command::{Command, CommandKind};
use crate::mapping::page::PageMapDevice;
use nandscope_units::Nanos;

impl PageMapDevice {
    /// Accepts a command at the present if it is a small read that can be planned with those under way. Otherwise
    /// returns false, with nothing changed.
    #[inline]
    pub(in crate::mapping::page) fn submit_planned(&mut self, command: &Command) -> bool {
        // A read out of range has 0 units, so that `units` is not 1.
        let (first, units) = self.units_of(command);
        let chain = &self.attachment.chain;
        let may = command.kind == CommandKind::Read
            && units == 1
            && self.commands.outstanding() < chain.queue_depth
            && self.plan.active < MOST
            && command.bytes().0 <= chain.max_transfer.0;
        // With reads under way, the device is in no idle power state.
        let arrival = (self.schedule.now() + chain.command).max(self.awake);
        if !may
            || !self
                .cores
                .may_book(self.schedule.now(), arrival, Nanos::ZERO)
        {
            return false;
        }
        let time = self.firmware_time(CommandKind::Read, 1);
        let firmware = self.cores.end_of(arrival, time);
        if firmware <= self.schedule.now() || firmware < self.plan.last_firmware {
            return false;
        }
        self.cores.book(arrival, time);
        let index = self.add_command(*command, (first, units));
        self.commands.start();
        self.plan.add(index, self.schedule.now(), firmware);
        true
    }
}
