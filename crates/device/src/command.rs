//! Commands of the host, and their completions.

use crate::health::{HealthLog, Identity};
use nandscope_units::{Bytes, Lba, Nanos};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Operation of a command, with its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CommandKind {
    /// Read logical blocks.
    Read,
    /// Write logical blocks; with `fua` the completion means that the data is on the medium.
    Write {
        /// Force unit access.
        fua: bool,
    },
    /// Everything completed before is on the medium when this completes.
    Flush,
    /// The blocks hold nothing of value any more (TRIM, discard, erase).
    Discard,
    /// Identification of the device, returned in [`Completion::payload`].
    Identify,
    /// The health log (NVMe SMART log page 02h), returned in [`Completion::payload`].
    Health,
}

impl CommandKind {
    /// Whether the command is a write.
    pub(crate) const fn is_write(self) -> bool {
        matches!(self, CommandKind::Write { .. })
    }

    /// Whether background work waits for the end of such commands.
    pub(crate) const fn changes_data(self) -> bool {
        matches!(self, CommandKind::Write { .. } | CommandKind::Discard)
    }
}

/// One command as the host's driver sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Command {
    /// Number chosen by the caller and returned in the completion; the device does not interpret it.
    pub tag: u64,
    /// Operation.
    pub kind: CommandKind,
    /// First logical block.
    pub lba: Lba,
    /// Length in logical blocks of 512 bytes; zero for flush, identify and health.
    pub sectors: u32,
}

impl Command {
    /// The bytes that the command covers.
    pub const fn bytes(&self) -> Bytes {
        Bytes(self.sectors as u64 * nandscope_units::SECTOR_BYTES)
    }

    /// Whether all of it lies within a device of `capacity` bytes.
    #[inline]
    pub(crate) fn is_within(&self, capacity: u64) -> bool {
        self.lba.offset().0.saturating_add(self.bytes().0) <= capacity
    }
}

/// Status of a completed command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Status {
    /// Done.
    Ok,
    /// The range reaches beyond the device; nothing was done.
    LbaOutOfRange,
    /// A page could not be read: more raw bit errors than the ECC and all read retries can mend.
    UncorrectableRead,
    /// The device has reached its end of life and is read-only; the range was not written or
    /// discarded. NVMe: "Namespace is Write Protected" with critical warning bit 3 set; SD and eMMC:
    /// `WP_VIOLATION` of a card whose CSD has `TMP_WRITE_PROTECT` set. Of a flush: acknowledged data
    /// is still in the controller's RAM, because no block is left to program it into.
    ReadOnly,
    /// The host path passes no such command on (a reader without discard); nothing was done.
    Unsupported,
}

/// A command was submitted at a time at which the device cannot take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SubmitError {
    /// Before the device's present time.
    #[error("the command is submitted at {at}, but the clock of the device is already at {now}")]
    InThePast {
        /// Time at which the command was submitted.
        at: Nanos,
        /// Present time of the device.
        now: Nanos,
    },
    /// An event of the device comes before that time: advance the device first.
    #[error(
        "the command is for {at}, and the device has an event at {event} before it: advance it first"
    )]
    EventBefore {
        /// Time at which the command was submitted.
        at: Nanos,
        /// Time of the device's next event.
        event: Nanos,
    },
}

impl SubmitError {
    /// Checks that a device at `now`, whose next event is `next`, may take a command at `at`.
    #[inline]
    pub(crate) fn check(now: Nanos, next: Option<Nanos>, at: Nanos) -> Result<(), Self> {
        if at < now {
            return Err(SubmitError::InThePast { at, now });
        }
        match next {
            Some(event) if event < at => Err(SubmitError::EventBefore { at, event }),
            _ => Ok(()),
        }
    }
}

/// A finished command.
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    /// The tag of the command.
    pub tag: u64,
    /// Status of the command.
    pub status: Status,
    /// Time at which the host submitted the command.
    pub submitted: Nanos,
    /// Time at which the host saw the completion.
    pub completed: Nanos,
    /// Answer to identify and health commands; `None` for other commands.
    pub payload: Option<Box<Payload>>,
}

impl Completion {
    /// From submission to completion.
    pub fn latency(&self) -> Nanos {
        self.completed.saturating_sub(self.submitted)
    }
}

/// Appends the completions `done` to `completions`; swaps the lists if `completions` is empty, which copies nothing.
#[inline]
pub(crate) fn hand_over(done: &mut Vec<Completion>, completions: &mut Vec<Completion>) {
    if completions.is_empty() {
        std::mem::swap(done, completions);
    } else {
        completions.append(done);
    }
}

/// The data that identify and health return.
#[derive(Clone, Debug, PartialEq)]
pub enum Payload {
    /// Answer to [`CommandKind::Identify`].
    Identity(Identity),
    /// Answer to [`CommandKind::Health`].
    Health(HealthLog),
}

impl Payload {
    /// The answer to a command of this kind, if it has one.
    #[inline]
    pub(crate) fn of(
        kind: CommandKind,
        identity: impl FnOnce() -> Identity,
        health: impl FnOnce() -> HealthLog,
    ) -> Option<Box<Payload>> {
        match kind {
            CommandKind::Identify => Some(Box::new(Payload::Identity(identity()))),
            CommandKind::Health => Some(Box::new(Payload::Health(health()))),
            _ => None,
        }
    }
}
