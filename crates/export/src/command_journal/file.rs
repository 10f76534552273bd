//! Journals as files: read whole, and written entry by entry.

use super::entry::{self, ENTRY, Entry, HEAD, Spot, head};
use super::error::{CommandJournalError, Damage};
use nandscope_files::{Access, WriteError, create_new};
use nandscope_units::Nanos;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

/// The contents of a journal: its start time and the operations since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandJournal {
    /// The device's time at its beginning.
    pub start: Nanos,
    /// In the order in which they were done.
    pub entries: Vec<Entry>,
}

impl CommandJournal {
    /// Parses a journal.
    ///
    /// # Errors
    /// `CommandJournalError::NotAJournal`, `Version` or `Head` if the header is invalid; `Damaged` if an entry is.
    pub fn read(bytes: &[u8]) -> Result<CommandJournal, CommandJournalError> {
        match Self::salvage(bytes)? {
            (journal, None) => Ok(journal),
            (_, Some(damage)) => Err(CommandJournalError::Damaged(damage)),
        }
    }

    /// Parses a journal up to the first damage.
    ///
    /// # Errors
    /// `CommandJournalError::NotAJournal`, `Version` or `Head` if the header is invalid.
    pub fn salvage(bytes: &[u8]) -> Result<(CommandJournal, Option<Damage>), CommandJournalError> {
        let (start, rest) = entry::split_head(bytes)?;
        let (all, _torn) = rest.as_chunks::<ENTRY>();
        let read = |(number, bytes)| Entry::read(bytes, Spot { start, number });
        let entries: Vec<_> = (0..).zip(all).map_while(read).collect();
        let damage = (entries.len() < all.len()).then(|| Damage {
            entry: entries.len() as u64,
            entries: all.len() as u64,
            offset: (HEAD + entries.len() * ENTRY) as u64,
        });
        Ok((CommandJournal { start, entries }, damage))
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
    /// Creates a journal with mode 0600.
    ///
    /// # Errors
    /// `io::Error` if the file exists or cannot be created.
    pub fn create(path: &Path, start: Nanos) -> io::Result<Self> {
        // Not synced: it must survive this process only, and clients are waiting.
        let mut file = create_new(path, Access::Owner).map_err(WriteError::into_io)?;
        file.write_all(&head(start))?;
        Ok(JournalFile {
            file,
            start,
            waiting: Vec::new(),
            entries: 0,
        })
    }

    /// Number of entries.
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

    /// Writes new entries to the file; they then survive the end of this process.
    ///
    /// # Errors
    /// `io::Error` if the write fails.
    pub fn commit(&mut self) -> io::Result<()> {
        if !self.waiting.is_empty() {
            self.file.write_all(&self.waiting)?;
            self.waiting.clear();
        }
        Ok(())
    }
}
