//! Commands of a request. Data is one command. Discards of large ranges are several commands, given at once.
//! Zeroes that are written are one short command after the other: with faults, the contents under each are kept until
//! the device has persisted it, so the memory for one request stays within a command and the device's write buffer.

use super::{Pending, Service};
use crate::request::{LARGEST_COMMAND, Request};
use nandscope_device::{CommandKind, SimulatedDevice};
use nandscope_units::{Bytes, Lba, Nanos, SECTOR_BYTES};
use std::ops::Range;

/// Bytes of zeroes per command: a usual limit of a transfer (MDTS) of NVMe drives.
const ZEROES: u64 = 1 << 20;

/// The commands to give at first, and the bytes of the request that they cover.
pub(super) fn first(request: &Request, kind: CommandKind) -> (Range<u64>, Vec<(Lba, u32)>) {
    let all = request.offset..request.offset + u64::from(request.length);
    if request.payload() > 0 {
        return (all.clone(), vec![command_of(&all)]);
    }
    match kind {
        CommandKind::Write { .. } => {
            let piece = next_zeroes(&all);
            (piece.clone(), vec![command_of(&piece)])
        }
        _ => (all.clone(), commands_of(all)),
    }
}

/// Whole sectors of a range of bytes: offset and length in bytes.
pub(super) fn sectors_of(range: &Range<u64>) -> (u64, u64) {
    let start = range.start / SECTOR_BYTES * SECTOR_BYTES;
    (start, range.end.next_multiple_of(SECTOR_BYTES) - start)
}

fn command_of(range: &Range<u64>) -> (Lba, u32) {
    let (start, bytes) = sectors_of(range);
    // A request has less than 4 GiB, and its sectors fit.
    let sectors = u32::try_from(bytes / SECTOR_BYTES).unwrap_or(u32::MAX);
    (Lba::containing(Bytes(start)), sectors)
}

/// Commands of a range without data, each of [`LARGEST_COMMAND`] at most.
fn commands_of(range: Range<u64>) -> Vec<(Lba, u32)> {
    let (mut at, bytes) = sectors_of(&range);
    let end = at + bytes;
    let mut commands = Vec::new();
    loop {
        let next = end.min(at + LARGEST_COMMAND);
        commands.push(command_of(&(at..next)));
        at = next;
        if at >= end {
            return commands;
        }
    }
}

/// The zeroes of the next command, which ends at a multiple of its length.
fn next_zeroes(rest: &Range<u64>) -> Range<u64> {
    let end = (rest.start + 1).next_multiple_of(ZEROES);
    rest.start..end.min(rest.end)
}

impl Pending {
    fn rest(&self) -> Range<u64> {
        self.given.end..self.request.offset + u64::from(self.request.length)
    }

    /// True if commands for the rest of the request have to follow.
    pub(super) fn has_rest(&self) -> bool {
        !self.rest().is_empty()
    }
}

impl<M: SimulatedDevice> Service<M> {
    /// The zeroes given so far are written: they become contents, and the next command is given.
    pub(super) fn continue_zeroes(&mut self, slot: usize, completed: Nanos) {
        let Some(mut pending) = self.pending[slot].take() else {
            return;
        };
        if let Err(why) = self.take_effect(&pending, true) {
            self.free.push(slot);
            self.outstanding -= 1;
            return self.refuse(pending.origin, &pending.request, why, Nanos::ZERO);
        }
        pending.given = next_zeroes(&pending.rest());
        pending.commands = 1;
        pending.write = self.number(pending.kind);
        let (kind, (lba, sectors)) = (pending.kind, command_of(&pending.given));
        self.pending[slot] = Some(pending);
        let at = completed.max(self.model.now());
        self.give(slot, kind, lba, sectors, at);
    }
}
