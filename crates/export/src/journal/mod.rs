//! The journal of a served device: every command that it was given since its state was last kept,
//! with the device's time of it. A device does the same for the same commands at the same times, so
//! that the kept state and the journal together are the state at the last entry, however the server
//! ended. A request is answered only after its commands stand in the file.
//!
//! Contents are not in it. Of a request that was under way at the last entry the old or the new data
//! may be read, but for discards and zeroes, which can be done again ([`Replayed::lost_discards`]).
//!
//! The file: a head with the device's time at which it begins, then entries of 32 bytes, each with
//! a checksum. What is cut off or damaged at its end has never been acted upon and is left out.

mod entry;
mod keeping;
mod replay;

use entry::{ENTRY, head};
pub use entry::{Entry, Held};
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
    /// It does not begin like one of this version.
    #[error("this is no journal of a served device, or one of another version")]
    NotAJournal,
    /// It belongs to another state than it was replayed on.
    #[error("the journal does not fit the state of the device: {0}")]
    Misfit(String),
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
    /// Reads a journal up to its end or to where it is damaged.
    ///
    /// # Errors
    /// Where the bytes do not begin as a journal.
    pub fn read(bytes: &[u8]) -> Result<Journal, JournalError> {
        let (start, rest) = entry::split_head(bytes).ok_or(JournalError::NotAJournal)?;
        let entries = rest
            .chunks_exact(ENTRY)
            .map_while(|bytes| Entry::read(bytes.try_into().ok()?))
            .collect();
        Ok(Journal { start, entries })
    }
}

/// The file of a journal that is being written.
#[derive(Debug)]
pub struct JournalFile {
    file: File,
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
            waiting: Vec::new(),
            entries: 0,
        })
    }

    /// Entries so far.
    pub const fn entries(&self) -> u64 {
        self.entries
    }

    pub(crate) fn note(&mut self, entry: &Entry) {
        self.waiting.extend(entry.write());
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
