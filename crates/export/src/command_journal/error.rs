//! Errors of a journal.

use thiserror::Error;

/// A journal that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CommandJournalError {
    /// The file does not begin like a journal.
    #[error("not a journal of a served device")]
    NotAJournal,
    /// The journal was written by another version of nandscope.
    #[error(
        "the journal has version {0}, but this nandscope reads version 3; serve once with the nandscope that wrote it"
    )]
    Version(char),
    /// The checksum of the journal's head is wrong.
    #[error("the header of the journal is damaged")]
    Head,
    /// The checksum of an entry is wrong.
    #[error("{0}")]
    Damaged(Damage),
    /// The journal belongs to another state of the device than the one on which it was replayed.
    #[error("the journal does not fit the state of the device: {0}")]
    Misfit(String),
}

/// Entries of a journal that cannot be read, or were cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "entry {entry} of {entries} (byte {offset}) is damaged or missing, and {} acknowledged commands with it",
    entries - entry
)]
pub struct Damage {
    /// The first of them, counted from 0: all before it are as they were written.
    pub entry: u64,
    /// All entries of the journal.
    pub entries: u64,
    /// Offset in the file.
    pub offset: u64,
}
