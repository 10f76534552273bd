//! Packed writes of eMMC (JESD84-B51, packed commands): writes that wait at the host travel as one command, whose first
//! block lists them, and are over together when the device has accepted all of their data. What the path costs for each
//! command is paid once. Packed reads are not modelled: Linux never sent any.
//!
//! As in Linux 3.9 to 4.9, the writes that follow one another in the queue are packed, up to what the device takes and
//! one transfer carries; a forced write (FUA), a flush or a read ends the pack. A single write is not packed.

use super::PageMapDevice;
use crate::command::CommandKind;
use crate::convert::Narrow;
use crate::invariant::{Checked, ensure};
use nandscope_units::SECTOR_BYTES;
use serde::{Deserialize, Serialize};

/// The packed command that is under way.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct PackedWrites {
    /// Number of its writes; 0 without a packed command.
    members: u32,
    /// Finished writes that wait for the other writes of the packed command.
    done: Vec<u32>,
}

impl PackedWrites {
    /// Writes beyond the queue depth that have started.
    pub(super) fn beyond_depth(&self) -> u32 {
        self.members.saturating_sub(1)
    }

    /// Writes that are done and wait for the others.
    pub(super) fn done(&self) -> &[u32] {
        &self.done
    }

    /// Checks that a pack is one that device and host could have made.
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
    /// Starts what waits at the host, now that a command has ended.
    pub(super) fn start_waiting(&mut self) {
        let packed = self.writes_to_pack();
        if packed < 2 {
            if let Some(next) = self.commands.take_waiting() {
                self.start(next);
            }
            return;
        }
        self.packed.members = packed;
        // The block that lists the writes comes before their data.
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

    /// The host hears of a command, or of all writes of a packed one when the last of them is done.
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
        // The next command starts with the last of them.
        for index in done.drain(..) {
            self.complete(index);
        }
        self.packed.done = done;
    }
}
