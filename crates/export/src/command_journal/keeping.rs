//! Journals of a device that is being served, one after the other.

use super::entry::{Entry, Held};
use super::file::JournalFile;
use nandscope_units::Nanos;
use std::fmt::Debug;
use std::io;

/// Entries after which a new journal begins: 32 MiB, done again in a second or two.
pub(crate) const MOST_ENTRIES: u64 = 1 << 20;

/// Opens journals, one after the other.
pub trait CommandJournals: Debug {
    /// Starts the next journal at the device's time `start`; the previous one is complete, and its final
    /// state can be saved.
    ///
    /// # Errors
    /// `io::Error` if the journal cannot be created.
    fn next(&mut self, start: Nanos) -> io::Result<JournalFile>;
}

/// The current journal and the source of further ones.
#[derive(Debug)]
pub(crate) struct Keeping {
    journals: Box<dyn CommandJournals>,
    file: JournalFile,
    most: u64,
}

impl Keeping {
    /// Begins the first journal at `start`; each has up to `most` entries.
    ///
    /// # Errors
    /// `io::Error` if the journal cannot be created.
    pub fn new(
        mut journals: Box<dyn CommandJournals>,
        most: u64,
        start: Nanos,
    ) -> io::Result<Self> {
        let file = journals.next(start)?;
        Ok(Keeping {
            journals,
            file,
            most,
        })
    }

    /// Adds an entry.
    pub fn note(&mut self, entry: &Entry) {
        self.file.note(entry);
    }

    /// Passes the entries to the system; whether the journal is full.
    ///
    /// # Errors
    /// `io::Error` if the write fails.
    pub fn commit(&mut self) -> io::Result<bool> {
        self.file.commit()?;
        Ok(self.file.entries() >= self.most)
    }

    /// Ends this journal at `now` and begins the next with the requests under way.
    ///
    /// # Errors
    /// `io::Error` if a write fails or the next journal cannot be created.
    pub fn turn_over(
        &mut self,
        now: Nanos,
        under_way: impl Iterator<Item = Held>,
    ) -> io::Result<()> {
        self.file.note(&Entry::Passed { at: now });
        self.file.commit()?;
        self.file = self.journals.next(now)?;
        for held in under_way {
            self.file.note(&Entry::Held(held));
        }
        self.file.commit()
    }
}
