//! Journals as files: read whole, and written entry by entry.

use super::entry::{self, COUNT_AT, ENTRY, Entry, HEAD, Split, Spot, head};
use super::error::{CommandJournalError, Damage};
use nandscope_files::{Access, WriteError, begin_unsynced, lock};
use nandscope_units::Nanos;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
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
        let Split {
            start,
            committed,
            rest,
        } = entry::split_head(bytes)?;
        // Entries after the committed ones were not carried out: the server was killed while it wrote them.
        let (all, _torn) = rest.as_chunks::<ENTRY>();
        let read = |(number, bytes)| Entry::read(bytes, Spot { start, number });
        let numbered = (0..committed).zip(all);
        let entries: Vec<_> = numbered.map_while(read).collect();
        let damage = ((entries.len() as u64) < committed).then(|| Damage {
            entry: entries.len() as u64,
            entries: committed,
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
    /// Entries that are in the file.
    committed: u64,
}

impl JournalFile {
    /// Creates a journal with mode 0600.
    ///
    /// # Errors
    /// `io::Error` if the file exists or cannot be created.
    pub fn create(path: &Path, start: Nanos) -> io::Result<Self> {
        // Not synced: it must survive this process only, and clients are waiting.
        let file =
            begin_unsynced(path, &head(start), Access::Owner).map_err(WriteError::into_io)?;
        lock(&file);
        Ok(JournalFile {
            file,
            start,
            waiting: Vec::new(),
            entries: 0,
            committed: 0,
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

    /// Writes new entries to the file, and then their number into its head: all of them survive the end of this
    /// process, or none. A file with fewer entries than that was cut.
    ///
    /// # Errors
    /// `io::Error` if the write fails.
    pub fn commit(&mut self) -> io::Result<()> {
        if !self.waiting.is_empty() {
            let end = HEAD as u64 + self.committed * ENTRY as u64;
            self.file.write_all_at(&self.waiting, end)?;
            let count = entry::count(self.entries, self.start);
            self.file.write_all_at(&count, COUNT_AT)?;
            self.committed = self.entries;
            self.waiting.clear();
        }
        Ok(())
    }
}
