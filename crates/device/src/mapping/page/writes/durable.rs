//! Flushes, forced writes (FUA), and writes acknowledged after their program: they close program units and wait for
//! their programs.

use crate::mapping::page::PageMapDevice;

impl PageMapDevice {
    pub(in crate::mapping::page) fn begin_flush(&mut self, index: u32) {
        if self.controller.power_fail_hold_up {
            return self.complete_at(index, self.schedule.now());
        }
        self.complete_when_persisted(index);
    }

    /// Completes a flush or a forced write when all earlier data is in the flash; with `ftl.journal_on_flush` also its
    /// journal entries.
    pub(super) fn complete_when_persisted(&mut self, index: u32) {
        let mut full = std::mem::take(&mut self.scratch.full);
        self.log.flush_journal(self.schedule.now(), &mut full);
        let wants = self.submit_host_programs(&mut full);
        self.run(wants);
        self.scratch.full = full;
        self.complete_when_durable(index);
    }

    pub(super) fn complete_when_durable(&mut self, index: u32) {
        self.close_host_units();
        self.complete_after_programs(index);
    }

    /// Pads and programs the data gathered in open program units.
    pub(super) fn close_host_units(&mut self) {
        if self.log.is_gathering() {
            let mut full = std::mem::take(&mut self.scratch.full);
            full.extend(self.log.close_host_units());
            let wants = self.submit_host_programs(&mut full);
            self.run(wants);
            self.scratch.full = full;
        }
    }

    /// Completes a write when its data is in the flash. While data of other writes is coming, its program unit stays
    /// open for them; the last one closes it. With separation by heat, data may be in two program units in either
    /// order, and both are closed at once.
    pub(super) fn complete_when_programmed(&mut self, index: u32) {
        let stays_open = self.writes.is_data_coming() && !self.log.is_separated();
        if !stays_open || self.log.gathered_host_units() == 0 {
            return self.complete_when_durable(index);
        }
        let filling = self.writes.programs.next_sequence();
        self.writes
            .wait_for_programs(filling.wrapping_add(1), index);
    }

    /// Closes the current program unit if a command waits for it and no data is coming. A write that waits for room in
    /// the buffer does not count, because it may need the places of this unit.
    pub(in crate::mapping::page) fn close_awaited_unit(&mut self) {
        let next = self.writes.programs.next_sequence();
        let last = self.writes.durable_waiters.back();
        let awaited = last.is_some_and(|(until, _)| *until == next.wrapping_add(1));
        let last_waits = last.is_some();
        if awaited && !self.writes.is_data_coming() {
            self.close_host_units();
        }
        if last_waits && !self.writes.is_data_coming() {
            self.end_linger(true);
        }
    }

    pub(super) fn complete_after_programs(&mut self, index: u32) {
        self.end_linger(true);
        if self.writes.programs.are_all_done() {
            return self.complete_at(index, self.schedule.now());
        }
        let sequence = self.writes.programs.next_sequence();
        self.writes.wait_for_programs(sequence, index);
    }

    /// Programs everything buffered, for an orderly power-off.
    pub(in crate::mapping::page) fn flush_for_power_off(&mut self) {
        self.close_host_units();
        self.end_linger(true);
        let mut none = Vec::new();
        while (!self.writes.programs.is_empty() || self.parity.count() > 0)
            && let Some(next) = self.schedule.next_time()
        {
            self.advance(next, &mut none);
        }
    }
}
