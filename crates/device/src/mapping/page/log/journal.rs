//! Journal of the map: one page per `ftl.journal_entries` changed entries, and the pages to read after a power cut.
//! Without `ftl.journal_pages`, checkpoint writes of a map in DRAM are not modelled.

use super::checkpoint::Checkpoint;
use super::layout::JournalLayout;
use super::{Log, Pool, ProgramUnit, Stream};
use crate::convert::Narrow;
use crate::invariant::{Checked, ensure};
use crate::mapping::page::lpn::Lpn;
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};

/// Write position in the journal.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Journal {
    /// Number of the next page; pages are written in rotation.
    next: u32,
    /// Changed entries not yet in a journal page.
    entries_pending: u32,
}

impl Journal {
    fn add(&mut self, entries: u32) {
        self.entries_pending += entries;
    }

    /// Removes `entries` (one page) from the pending entries if there are that many; returns whether there were.
    fn fills_page(&mut self, entries: u32) -> bool {
        let fills = self.entries_pending >= entries;
        if fills {
            self.entries_pending -= entries;
        }
        fills
    }

    /// Removes all pending entries; returns whether there were any.
    fn flush(&mut self) -> bool {
        std::mem::take(&mut self.entries_pending) > 0
    }

    /// Number of the next page to write, below `pages`; advances to the following one.
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
    /// Writes the journal pages that pending entries fill.
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

    /// Number of further entries that fill the current journal page.
    pub(super) fn entries_to_journal_page(&self) -> u32 {
        match self.layout.journal.entries {
            0 => u32::MAX,
            entries => entries - self.journal.entries_pending,
        }
    }

    /// Writes the partly filled journal page, if flushes do so and it has entries.
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

    /// Marks the map pages of changed units for the checkpoint.
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

    /// Number of host units that fit in `room`, besides the journal pages that they fill and the map pages that the
    /// checkpoint writes with each.
    pub(super) fn beside_checkpoints(&self, room: u64) -> u64 {
        let Some(checkpoint) = &self.checkpoint else {
            return room;
        };
        let entries = u64::from(self.layout.journal.entries);
        room * entries / (entries + 1 + u64::from(checkpoint.due_max()))
    }

    /// Native units of journal and checkpoint pages per host unit, rounded down.
    pub(super) fn checkpoint_cost(&self) -> u64 {
        let entries = u64::from(self.layout.journal.entries.max(1));
        let due = |checkpoint: &Checkpoint| (1 + u64::from(checkpoint.due_max())) / entries;
        self.checkpoint.as_ref().map_or(0, due)
    }

    /// Writes the changed map pages that the checkpoint passes with one journal page.
    fn checkpoint_with(&mut self, journal_page: u32, now: Nanos, full: &mut Vec<ProgramUnit>) {
        let due = |checkpoint: &Checkpoint| checkpoint.due(journal_page);
        let mut left = self.checkpoint.as_ref().map_or(0, due);
        while let Some(page) = self.checkpoint.as_mut().and_then(|c| c.pass(&mut left)) {
            let unit = self.layout.map.base + page;
            self.write_metadata((Pool::Cold, unit), now, full);
        }
    }

    /// Number of pages to read after a power cut to complete the map: the journal pages of the last round, and pages
    /// with units that no journal page names; without a journal, all programmed pages of the open superblocks.
    pub(crate) fn pages_to_replay(&self) -> u64 {
        let stripe = u64::from(self.geometry.stripe_units);
        if self.layout.journal.entries > 0 {
            let unnamed = u64::from(self.journal.entries_pending).div_ceil(stripe);
            // A rolling checkpoint has passed every map page within the last round.
            let written = match self.checkpoint {
                Some(_) => self.journal_pages_written(),
                None => self.journal.next,
            };
            return u64::from(written) + unnamed;
        }
        let programmed = |stream: &Stream| u64::from(stream.next - stream.filling).div_ceil(stripe);
        self.streams.iter().map(programmed).sum()
    }

    /// Number of written journal pages.
    fn journal_pages_written(&self) -> u32 {
        let base = self.layout.journal.base;
        let pages = base.and_next(self.layout.journal.units);
        pages.filter(|page| self.is_mapped(*page)).count().narrow()
    }
}
