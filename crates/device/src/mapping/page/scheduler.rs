//! The scheduler: passes each event to its handler, and starts relocation and admission when a handler requests it. No
//! other file starts either.

use super::PageMapDevice;
use crate::command::CommandKind;
use crate::events::Event;
use crate::flash::{FlashOp, Owner, Progress};
use nandscope_units::Nanos;

/// Work that a handler requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the scheduler must be told"]
pub(super) enum Wants {
    Nothing,
    /// Relocation, if the host has spent its credit.
    Credit,
    /// Relocation.
    Relocation,
    /// Admission of waiting writes.
    Admission,
    /// Relocation, then admission, after room has become free.
    Room,
}

impl PageMapDevice {
    /// Handles an event at the present time, on the way to `until`.
    pub(super) fn handle(&mut self, event: Event, until: Nanos) {
        match event {
            Event::Arrived(index) => self.on_arrival(index),
            Event::Firmware(index) => self.on_firmware(index),
            Event::DataIn(transfer) => self.on_data_in(transfer),
            Event::Array(die) => {
                let (now, events) = self.schedule.parts();
                let progress = self.array.on_array(die, now, events);
                self.on_progress(progress);
            }
            Event::PlaneRead(op) => {
                let (now, events) = self.schedule.parts();
                let progress = self.array.on_plane_read(op, now, events);
                self.on_progress(progress);
            }
            Event::Bus(op) => {
                let (now, events) = self.schedule.parts();
                let progress = self.array.on_bus(op, now, events);
                self.on_progress(progress);
            }
            Event::MapFetched(fetch) => self.on_map_fetched(fetch),
            Event::RelocationDecoded(job) => self.on_relocation_read(job),
            Event::MergeDecoded(sequence) => self.on_merge_read(sequence),
            Event::Relocated(job) => self.on_units_handled(job, until),
            Event::Complete(index) => self.on_end(index),
            Event::Interrupt => self.on_interrupt(),
            Event::Idle => {
                let wants = self.on_idle();
                self.run(wants);
            }
            Event::RefreshDue => self.run(Wants::Relocation),
        }
        if self.writes.is_waited_for() {
            self.end_stall();
        }
    }

    /// Handles the progress of a flash operation.
    fn on_progress(&mut self, progress: Option<Progress>) {
        let (owner, pages) = match progress {
            None => return,
            Some(Progress::Transferred(owner)) => {
                if let Owner::HostProgram {
                    sequence,
                    host_units,
                    ..
                } = owner
                {
                    let wants = self.on_host_transferred(sequence, host_units);
                    self.run(wants);
                }
                return;
            }
            Some(Progress::Finished(owner, pages)) => (owner, pages),
        };
        match owner {
            Owner::HostRead { command, bytes } => self.on_host_read(command, bytes, pages),
            Owner::MapRead { fetch } => self.decode_map_page(fetch, pages),
            Owner::MergeRead { sequence } => self.decode_old_data(sequence, pages),
            Owner::ReadAhead { segment } => self.on_read_ahead(segment, pages),
            Owner::HostProgram {
                sequence,
                superblock,
                host_units,
            } => {
                let wants = self.on_host_programmed(sequence, superblock, host_units);
                self.run(wants);
            }
            Owner::MapProgram {
                superblock,
                program,
            } => self.on_map_programmed(superblock, program),
            Owner::RelocationRead { job } => self.decode_for_relocation(job, pages),
            Owner::RelocationProgram { job } => {
                let wants = self.on_relocation_programmed(job);
                self.run(wants);
            }
            Owner::ParityProgram { superblock } => self.on_parity_programmed(superblock),
            Owner::Erase { superblock } => {
                let wants = self.on_erase(superblock);
                self.run(wants);
            }
        }
        if self.array.outstanding() == 0 {
            self.note_busy();
        }
    }

    /// Puts an operation into the queue of its die.
    #[inline(always)]
    pub(super) fn submit_flash(&mut self, op: FlashOp) {
        let (now, events) = self.schedule.parts();
        self.array.submit(op, now, events);
    }

    /// Executes the request of a handler. Neither relocation nor admission calls this function again.
    #[inline]
    pub(super) fn run(&mut self, wants: Wants) {
        match wants {
            Wants::Nothing => {}
            Wants::Credit => self.relocate_for_credit(),
            Wants::Relocation => self.relocate(),
            Wants::Admission => self.admit(),
            Wants::Room => {
                self.relocate();
                self.admit();
            }
        }
    }

    /// Relocates if the host has no credit left.
    #[inline]
    fn relocate_for_credit(&mut self) {
        if self.pace.is_active() && !self.pace.has_credit(self.log.cost_of_host_unit()) {
            self.relocate();
        }
    }

    /// Starts relocation jobs while there are buffers and reasons for them.
    #[inline]
    fn relocate(&mut self) {
        // Called after nearly every event, mostly without anything to relocate.
        if self.background.jobs.filling().is_some() || self.may_relocate() {
            self.start_jobs();
        }
    }

    fn start_jobs(&mut self) {
        while self.may_relocate() && self.relocate_some() {}
        self.finish_filling_job();
    }

    /// Gives places in the buffer to waiting writes, first come first served, and books the link.
    fn admit(&mut self) {
        if self.log.is_read_only() {
            return self.refuse_waiting();
        }
        while let Some(index) = self.writes.first_waiting() {
            if self.discarding.is_some() {
                break;
            }
            if self.commands[index].request.command.kind == CommandKind::Discard {
                self.writes.end_first_waiting();
                self.admit_discard(index);
                continue;
            }
            if self.pace.follow(self.log.host_is_paced()) {
                self.relocate();
            }
            let chunk = self.reserve_room(index);
            if chunk == 0 {
                break;
            }
            self.relocate_for_credit();
            self.begin_transfer(index, chunk);
        }
        if self.writes.is_waited_for() {
            self.end_linger(true);
        }
    }

    /// Ends a stall, in which writes wait for room and no operation under way can make any. Relocates regardless of the
    /// host's credit; if that makes no room, the host gets the remaining space; without remaining space, the
    /// device has reached its end of life.
    fn end_stall(&mut self) {
        if self.log.is_read_only() {
            return self.refuse_waiting();
        }
        if !self.is_stalled() {
            return;
        }
        self.pace.take_credit();
        self.relocate();
        if !self.is_stalled() {
            return;
        }
        self.background.end_burst();
        self.pace.lend(self.log.cost_of_host_unit());
        self.admit();
        if self.is_stalled() {
            self.log.end_life(self.schedule.now());
            self.refuse_waiting();
        }
    }

    fn is_stalled(&self) -> bool {
        self.writes.is_waited_for()
            && self.array.outstanding() == 0
            && !self.background.working()
            && !self.map_fetches.under_way()
            && !self.writes.programs.await_old_data()
            && self.writes.buffer.in_transit() == 0
    }
}
