//! The journal of a served device: every command that it was given since its state was last kept,
//! with the device's time of it. A device does the same for the same commands at the same times, so
//! that the kept state and the journal together are the state at the last entry, however the server
//! ended. A request is answered only after its commands stand in the file.
//!
//! Contents are not in it. Of a request that was under way at the last entry the old or the new data
//! may be read, but for discards and zeroes, which can be done again ([`Replayed::lost_discards`]).
//!
//! The file: a head with the device's time at which it begins, then entries of 32 bytes, each with
//! a checksum. A part of an entry at its end has never been acted upon and is left out: the server was
//! killed while it wrote it. Whatever else is wrong is damage: commands were acknowledged that cannot
//! be read any more, which is an error.

mod entry;
mod keeping;
mod replay;

pub use entry::{ENTRY, Entry, Held};
use entry::{HEAD, Spot, head};
pub use keeping::Journals;
pub(crate) use keeping::Keeping;
use nandscope_files::{Access, WriteError, create_new};
use nandscope_units::Nanos;
pub use replay::{Replay, Replayed};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use thiserror::Error;

/// A journal that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum JournalError {
    /// It does not begin like one.
    #[error("this is no journal of a served device")]
    NotAJournal,
    /// It was written by another version of nandscope.
    #[error(
        "this is a journal of version {0}; this nandscope reads version 2: serve once more with the one that wrote it"
    )]
    Version(char),
    /// Its head does not have its checksum.
    #[error("the head of the journal is damaged")]
    Head,
    /// An entry does not have its checksum.
    #[error("{0}")]
    Damaged(Damage),
    /// It belongs to another state than it was replayed on.
    #[error("the journal does not fit the state of the device: {0}")]
    Misfit(String),
}

/// Entries of a journal that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "entry {entry} of {entries} (byte {offset}) is damaged, and {} acknowledged commands with it",
    entries - entry
)]
pub struct Damage {
    /// The first of them, counted from 0: all before it are as they were written.
    pub entry: u64,
    /// All entries of the journal.
    pub entries: u64,
    /// Where it begins in the file.
    pub offset: u64,
}

/// A journal as it was read: where it begins, and what was done since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journal {
    /// The device's time at its beginning.
    pub start: Nanos,
    /// In the order in which they were done.
    pub entries: Vec<Entry>,
}

impl Journal {
    /// Reads a journal.
    ///
    /// # Errors
    /// Where the bytes do not begin as a journal, or are damaged.
    pub fn read(bytes: &[u8]) -> Result<Journal, JournalError> {
        match Self::salvage(bytes)? {
            (journal, None) => Ok(journal),
            (_, Some(damage)) => Err(JournalError::Damaged(damage)),
        }
    }

    /// Reads a journal up to where it is damaged, if it is.
    ///
    /// # Errors
    /// Where the bytes do not begin as a journal.
    pub fn salvage(bytes: &[u8]) -> Result<(Journal, Option<Damage>), JournalError> {
        let (start, rest) = entry::split_head(bytes)?;
        let (all, _torn) = rest.as_chunks::<ENTRY>();
        let read = |(number, bytes)| Entry::read(bytes, Spot { start, number });
        let entries: Vec<_> = (0..).zip(all).map_while(read).collect();
        let damage = (entries.len() < all.len()).then(|| Damage {
            entry: entries.len() as u64,
            entries: all.len() as u64,
            offset: (HEAD + entries.len() * ENTRY) as u64,
        });
        Ok((Journal { start, entries }, damage))
    }

    /// The device's time of the last entry that has one.
    pub fn end(&self) -> Nanos {
        let time = |entry: &Entry| match entry {
            Entry::Command { at, .. } | Entry::PowerCut { at, .. } | Entry::Passed { at } => {
                Some(*at)
            }
            Entry::Held(_) => None,
        };
        self.entries
            .iter()
            .rev()
            .find_map(time)
            .unwrap_or(self.start)
    }
}

/// The file of a journal that is being written.
#[derive(Debug)]
pub struct JournalFile {
    file: File,
    start: Nanos,
    waiting: Vec<u8>,
    entries: u64,
}

impl JournalFile {
    /// A new journal for its owner alone.
    ///
    /// # Errors
    /// Where there is a file of that name, or the system refuses.
    pub fn create(path: &Path, start: Nanos) -> io::Result<Self> {
        // Not synced: it is to survive the end of this process, and clients wait meanwhile.
        let mut file = create_new(path, Access::Owner).map_err(WriteError::into_io)?;
        file.write_all(&head(start))?;
        Ok(JournalFile {
            file,
            start,
            waiting: Vec::new(),
            entries: 0,
        })
    }

    /// Entries so far.
    pub const fn entries(&self) -> u64 {
        self.entries
    }

    pub(crate) fn note(&mut self, entry: &Entry) {
        let spot = Spot {
            start: self.start,
            number: self.entries,
        };
        self.waiting.extend(entry.write(spot));
        self.entries += 1;
    }

    /// Hands what was noted to the system, from where it survives the end of this process.
    ///
    /// # Errors
    /// Where the system refuses.
    pub fn commit(&mut self) -> io::Result<()> {
        if !self.waiting.is_empty() {
            self.file.write_all(&self.waiting)?;
            self.waiting.clear();
        }
        Ok(())
    }
}
