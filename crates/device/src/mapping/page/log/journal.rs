//! The journal of the map: one page per `ftl.journal_entries` changed entries, and the pages that must be read after a
//! power cut. Without `ftl.journal_pages`, the writes of a checkpoint of a map in DRAM are not modelled.

use super::checkpoint::Checkpoint;
use super::layout::JournalLayout;
use super::{Log, Pool, ProgramUnit, Stream};
use crate::convert::Narrow;
use crate::invariant::{Checked, ensure};
use crate::mapping::page::lpn::Lpn;
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};

/// The end of the journal.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Journal {
    /// Number of the next page; the pages are written in turn.
    next: u32,
    /// Entries that no page has yet.
    entries_pending: u32,
}

impl Journal {
    fn add(&mut self, entries: u32) {
        self.entries_pending += entries;
    }

    /// Takes `entries`, the entries of a page, out if that many are pending; returns whether it did.
    fn fills_page(&mut self, entries: u32) -> bool {
        let fills = self.entries_pending >= entries;
        if fills {
            self.entries_pending -= entries;
        }
        fills
    }

    /// Takes all entries out; returns whether there were any.
    fn flush(&mut self) -> bool {
        std::mem::take(&mut self.entries_pending) > 0
    }

    /// Number of the page that is written next, below `pages`; advances to the one after it.
    fn take_page(&mut self, pages: u32) -> u32 {
        let page = self.next;
        self.next = (page + 1) % pages;
        page
    }

    pub(super) fn audit(&self, layout: &JournalLayout) -> Checked {
        ensure!(
            self.next < layout.units.max(1) && self.entries_pending < layout.entries.max(1),
            "the journal is at {} with {} entries",
            self.next,
            self.entries_pending
        );
        Ok(())
    }
}

impl Log {
    /// Writes the pages that entries of the journal fill.
    pub(super) fn note_journal_entries(
        &mut self,
        count: u32,
        now: Nanos,
        full: &mut Vec<ProgramUnit>,
    ) {
        if self.layout.journal.entries == 0 {
            return;
        }
        self.journal.add(count);
        while self.journal.fills_page(self.layout.journal.entries) {
            self.write_journal_page(now, full);
        }
    }

    /// Entries that fill the page of the journal.
    pub(super) fn entries_to_journal_page(&self) -> u32 {
        match self.layout.journal.entries {
            0 => u32::MAX,
            entries => entries - self.journal.entries_pending,
        }
    }

    /// Writes the page of the journal that is being filled, if flushes do so and it holds anything.
    pub(crate) fn flush_journal(&mut self, now: Nanos, full: &mut Vec<ProgramUnit>) {
        if self.layout.journal.on_flush && self.journal.flush() {
            self.write_journal_page(now, full);
        }
    }

    fn write_journal_page(&mut self, now: Nanos, full: &mut Vec<ProgramUnit>) {
        let page = self.journal.take_page(self.layout.journal.units);
        let unit = self.layout.journal.base + page;
        self.write_metadata((Pool::Cold, unit), now, full);
        self.checkpoint_with(page, now, full);
    }

    /// Notes for the checkpoint that the entries of units have changed.
    #[inline]
    pub(super) fn note_changed_pages(&mut self, first: Lpn, count: u32) {
        if self.checkpoint.is_none() {
            return;
        }
        let pages = self.map_pages(first, count);
        if let Some(checkpoint) = &mut self.checkpoint {
            for page in pages {
                checkpoint.note(page);
            }
        }
    }

    /// Host units for which there is room beside the pages of the journal that they fill, and those of the map that a
    /// checkpoint writes with each.
    pub(super) fn beside_checkpoints(&self, room: u64) -> u64 {
        let Some(checkpoint) = &self.checkpoint else {
            return room;
        };
        let entries = u64::from(self.layout.journal.entries);
        room * entries / (entries + 1 + u64::from(checkpoint.due_max()))
    }

    /// Native units for pages of the journal and the checkpoint per host unit, rounded down.
    pub(super) fn checkpoint_cost(&self) -> u64 {
        let entries = u64::from(self.layout.journal.entries.max(1));
        let due = |checkpoint: &Checkpoint| (1 + u64::from(checkpoint.due_max())) / entries;
        self.checkpoint.as_ref().map_or(0, due)
    }

    /// Writes the pages of a map in DRAM that the checkpoint passes with one page of the journal.
    fn checkpoint_with(&mut self, journal_page: u32, now: Nanos, full: &mut Vec<ProgramUnit>) {
        let due = |checkpoint: &Checkpoint| checkpoint.due(journal_page);
        let mut left = self.checkpoint.as_ref().map_or(0, due);
        while let Some(page) = self.checkpoint.as_mut().and_then(|c| c.pass(&mut left)) {
            let unit = self.layout.map.base + page;
            self.write_metadata((Pool::Cold, unit), now, full);
        }
    }

    /// Pages that complete the map after a power cut: those of the journal since it last went round, and those whose
    /// units it does not name yet; without a journal, all that is programmed of the open superblocks.
    pub(crate) fn pages_to_replay(&self) -> u64 {
        let stripe = u64::from(self.geometry.stripe_units);
        if self.layout.journal.entries > 0 {
            let unnamed = u64::from(self.journal.entries_pending).div_ceil(stripe);
            // A checkpoint that rolls has passed each page of the map within the last round.
            let written = match self.checkpoint {
                Some(_) => self.journal_pages_written(),
                None => self.journal.next,
            };
            return u64::from(written) + unnamed;
        }
        let programmed = |stream: &Stream| u64::from(stream.next - stream.filling).div_ceil(stripe);
        self.streams.iter().map(programmed).sum()
    }

    /// Pages of the journal that hold something.
    fn journal_pages_written(&self) -> u32 {
        let base = self.layout.journal.base;
        let pages = base.and_next(self.layout.journal.units);
        pages.filter(|page| self.is_mapped(*page)).count().narrow()
    }
}
