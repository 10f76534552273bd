//! Packed writes of eMMC (JESD84-B51, packed commands): writes that wait at the host travel as one command, whose first
//! block lists them, and complete together when the device has accepted all of their data. The command overhead of the
//! path is paid once. Packed reads are not modelled: Linux never sent any.
//!
//! As in Linux 3.9 to 4.9, consecutive writes of the queue are packed, up to the limits of the device and of one
//! transfer; a forced write (FUA), a flush or a read ends the pack. A single write is not packed.

use super::PageMapDevice;
use crate::command::CommandKind;
use crate::convert::Narrow;
use crate::invariant::{Checked, ensure};
use nandscope_units::SECTOR_BYTES;
use serde::{Deserialize, Serialize};

/// The packed command that is under way.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct PackedWrites {
    /// Number of writes in the command; 0 if no packed command is under way.
    members: u32,
    /// Finished writes, which wait for the other writes of the packed command.
    done: Vec<u32>,
}

impl PackedWrites {
    /// Writes beyond the queue depth that have started.
    pub(super) fn beyond_depth(&self) -> u32 {
        self.members.saturating_sub(1)
    }

    /// Finished writes of the packed command.
    pub(super) fn done(&self) -> &[u32] {
        &self.done
    }

    /// Checks that device and host allow the packed command.
    pub(super) fn audit(&self, most: u32) -> Checked {
        let members = self.members as usize;
        ensure!(
            self.members == 0 || (2..=most).contains(&self.members),
            "a packed command has {members} writes"
        );
        ensure!(
            self.done.len() < members || (members == 0 && self.done.is_empty()),
            "{} of {members} packed writes are done",
            self.done.len()
        );
        Ok(())
    }
}

impl PageMapDevice {
    /// Starts commands that wait at the host, after a command has ended.
    pub(super) fn start_waiting(&mut self) {
        let packed = self.writes_to_pack();
        if packed < 2 {
            if let Some(next) = self.commands.take_waiting() {
                self.start(next);
            }
            return;
        }
        self.packed.members = packed;
        // The block that lists the writes precedes their data.
        let sent = self.schedule.now() + self.attachment.chain.command;
        self.receive(SECTOR_BYTES, sent);
        for _ in 0..packed {
            if let Some(next) = self.commands.take_waiting() {
                self.start(next);
            }
        }
    }

    /// Writes at the head of the host's queue that fit in one packed command.
    fn writes_to_pack(&self) -> u32 {
        let most = self.attachment.packed_writes;
        let mut room = self
            .attachment
            .chain
            .max_transfer
            .0
            .saturating_sub(SECTOR_BYTES);
        let fitting = self
            .commands
            .waiting()
            .take(most as usize)
            .take_while(|index| {
                let command = &self.commands[*index].request.command;
                let is_plain = command.kind == CommandKind::Write { fua: false };
                let fits = is_plain && command.bytes().0 <= room;
                room = room.saturating_sub(command.bytes().0);
                fits
            });
        fitting.count().narrow()
    }

    /// Completes a command at the host, or all writes of a packed command when the last one is done.
    #[inline]
    pub(super) fn on_complete(&mut self, index: u32) {
        if self.packed.members == 0 {
            return self.complete(index);
        }
        self.packed.done.push(index);
        if self.packed.done.len() < self.packed.members as usize {
            return;
        }
        let mut done = std::mem::take(&mut self.packed.done);
        self.packed.members = 0;
        // `members` is 0 by now, so the last of these completions starts the next command.
        for index in done.drain(..) {
            self.complete(index);
        }
        self.packed.done = done;
    }
}
