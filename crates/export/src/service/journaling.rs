//! The service's side of its journal: what it gives the device is noted, and is in the file before
//! anything is answered.

use super::{Pending, Service};
use crate::command_journal::keeping::{CommandJournals, Keeping, MOST_ENTRIES};
use crate::command_journal::{Entry, Held};
use nandscope_device::Command;
use nandscope_device::SimulatedDevice;
use nandscope_units::{Lba, Nanos, SECTOR_BYTES};
use std::io;

impl<M: SimulatedDevice> Service<M> {
    /// Enables the journal.
    ///
    /// # Errors
    /// `io::Error` if the first journal cannot be created.
    pub fn with_journals(self, journals: Box<dyn CommandJournals>) -> io::Result<Self> {
        self.with_journals_of(journals, MOST_ENTRIES)
    }

    /// As [`Service::with_journals`], with journals of up to `most` entries.
    ///
    /// # Errors
    /// As [`Service::with_journals`].
    pub fn with_journals_of(
        mut self,
        journals: Box<dyn CommandJournals>,
        most: u64,
    ) -> io::Result<Self> {
        self.keeping = Some(Keeping::new(journals, most, self.model.now())?);
        Ok(self)
    }

    /// Writes all new commands to the journal; call it before sending replies.
    ///
    /// # Errors
    /// The error of the system if the write fails. No reply may be sent after it.
    pub fn commit(&mut self) -> io::Result<()> {
        let Some(keeping) = &mut self.keeping else {
            return Ok(());
        };
        if !keeping.commit()? {
            return Ok(());
        }
        let pending = (0..).zip(&self.pending);
        let under_way = pending.filter_map(|(tag, pending)| Some(held(tag, pending.as_ref()?)));
        keeping.turn_over(self.model.now(), under_way)
    }

    /// True if no event is planned for `at` or earlier.
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
            keeping.note(&Entry::Command {
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
            keeping.note(&Entry::PowerCut { at, settled });
        }
    }
}

/// A request under way as it is noted at the beginning of a journal.
fn held(tag: u64, pending: &Pending) -> Held {
    let lba = Lba(pending.request.offset / SECTOR_BYTES);
    let sectors = pending.given.end.div_ceil(SECTOR_BYTES) - lba.0;
    Held {
        tag,
        kind: pending.kind,
        lba,
        // A request has less than 4 GiB.
        sectors: u32::try_from(sectors).unwrap_or(u32::MAX),
        commands: pending.commands,
        continued: pending.flush_after || pending.has_rest(),
    }
}
