//! The service's side of its journal: what it gives the device is noted, and stands in the file
//! before anything is answered.

use super::{Entry, Held, JournalFile};
use crate::service::Service;
use nandscope_device::{Command, SimulatedDevice};
use nandscope_units::{Lba, Nanos, SECTOR_BYTES};
use std::fmt::Debug;
use std::io;

/// Entries after which a new journal begins: 32 MiB, done again in a second or two.
const MOST_ENTRIES: u64 = 1 << 20;

/// Opens journals, one after the other.
pub trait Journals: Debug {
    /// The next journal, which begins at the device's time `start`; the one before is complete, and
    /// the state at its end can be kept.
    ///
    /// # Errors
    /// Where the system refuses.
    fn next(&mut self, start: Nanos) -> io::Result<JournalFile>;
}

/// The journal that is being written, and where the next comes from.
#[derive(Debug)]
pub(crate) struct Keeping {
    journals: Box<dyn Journals>,
    file: JournalFile,
    most: u64,
}

impl<M: SimulatedDevice> Service<M> {
    /// Keeps a journal from now on.
    ///
    /// # Errors
    /// Where the first one cannot be opened.
    pub fn with_journals(self, journals: Box<dyn Journals>) -> io::Result<Self> {
        self.with_journals_of(journals, MOST_ENTRIES)
    }

    /// As [`Service::with_journals`], with journals of so many entries.
    ///
    /// # Errors
    /// As there.
    pub fn with_journals_of(
        mut self,
        mut journals: Box<dyn Journals>,
        most: u64,
    ) -> io::Result<Self> {
        let file = journals.next(self.model.now())?;
        self.keeping = Some(Keeping {
            journals,
            file,
            most,
        });
        Ok(self)
    }

    /// Hands what the device was given since the last time to the system; to be called before any
    /// answer is sent.
    ///
    /// # Errors
    /// Where the system refuses: then nothing may be answered any more.
    pub fn commit(&mut self) -> io::Result<()> {
        let Some(keeping) = &mut self.keeping else {
            return Ok(());
        };
        keeping.file.commit()?;
        if keeping.file.entries() < keeping.most {
            return Ok(());
        }
        let now = self.model.now();
        keeping.file.note(&Entry::Passed { at: now });
        keeping.file.commit()?;
        keeping.file = keeping.journals.next(now)?;
        for (tag, pending) in (0..).zip(&self.pending) {
            let Some(pending) = pending else { continue };
            let request = &pending.request;
            let end = request.offset + u64::from(request.length);
            let lba = Lba(request.offset / SECTOR_BYTES);
            keeping.file.note(&Entry::Held(Held {
                tag,
                kind: pending.kind,
                lba,
                // A request has less than 4 GiB.
                sectors: (end.div_ceil(SECTOR_BYTES) - lba.0) as u32,
                commands: pending.commands,
                continued: pending.flush_after,
            }));
        }
        keeping.file.commit()
    }

    /// Whether nothing is planned for `at` or before any more.
    pub(crate) fn is_settled(&self, at: Nanos) -> bool {
        self.model.next_event().is_none_or(|event| event > at)
    }

    /// The device was given a command.
    pub(crate) fn note_command(
        &mut self,
        command: Command,
        at: Nanos,
        settled: bool,
        continued: bool,
    ) {
        if let Some(keeping) = &mut self.keeping {
            keeping.file.note(&Entry::Command {
                command,
                at,
                settled,
                continued,
            });
        }
    }

    /// Power is about to be cut.
    pub(crate) fn note_power_cut(&mut self) {
        let at = self.model.now();
        let settled = self.is_settled(at);
        if let Some(keeping) = &mut self.keeping {
            keeping.file.note(&Entry::PowerCut { at, settled });
        }
    }
}
