//! The journal of the map: a page for every so many entries that change, and what must be read of it after a power cut.
//! What a checkpoint writes where the whole map is in DRAM is not modelled.

use super::{Log, ProgramUnit, Stream};
use nandscope_units::Nanos;

impl Log {
    /// Writes the pages that entries of the journal fill.
    pub(super) fn note_journal_entries(
        &mut self,
        count: u32,
        now: Nanos,
        full: &mut Vec<ProgramUnit>,
    ) {
        if self.layout.journal_entries == 0 {
            return;
        }
        self.entries_pending += count;
        while self.entries_pending >= self.layout.journal_entries {
            self.entries_pending -= self.layout.journal_entries;
            let unit = self.layout.journal_base + self.journal_next;
            self.journal_next = (self.journal_next + 1) % self.layout.journal_units;
            self.write_metadata(unit, now, full);
        }
    }

    /// Pages that complete the map after a power cut: those of the journal since it last went round, and those whose
    /// units it does not name yet; without a journal, all that is programmed of the open superblocks.
    pub(crate) fn pages_to_replay(&self) -> u64 {
        let stripe = u64::from(self.geometry.stripe_units);
        if self.layout.journal_entries > 0 {
            let unnamed = u64::from(self.entries_pending).div_ceil(stripe);
            return u64::from(self.journal_next) + unnamed;
        }
        let programmed = |stream: &Stream| u64::from(stream.next - stream.filling).div_ceil(stripe);
        let open = self.host.iter().chain(&self.relocation);
        open.flatten().map(programmed).sum()
    }
}
