//! Looking up: which array reads a logical range needs, which parts of the map are not at hand, and
//! what changes of the map cost in journal and write-back.

use super::{Log, PageRun, ProgramUnit};
use crate::ftl::page_map::map_cache::Lookup;
use crate::ftl::page_map::ppn::Ppn;
use nandscope_units::Nanos;

impl Log {
    /// Writes the metadata (journal, map cache) that a change of map entries requires.
    pub(super) fn note_map_change(
        &mut self,
        first: u32,
        count: u32,
        now: Nanos,
        full: &mut Vec<ProgramUnit>,
    ) {
        if self.layout.journal_entries > 0 {
            self.entries_pending += count;
            while self.entries_pending >= self.layout.journal_entries {
                self.entries_pending -= self.layout.journal_entries;
                let unit = self.layout.journal_base + self.journal_next;
                self.journal_next = (self.journal_next + 1) % self.layout.journal_units;
                self.write_metadata(unit, now, full);
            }
        }
        if self.map_cache.is_some() {
            let per_page = self.geometry.unit_bytes / 4;
            for page in first / per_page..=(first + count - 1) / per_page {
                self.touch_map(page, true, now, full);
            }
        }
    }

    pub(super) fn write_metadata(&mut self, logical: u32, now: Nanos, full: &mut Vec<ProgramUnit>) {
        self.programmed.metadata += u64::from(self.append_host(logical, 1, false, now, full));
    }

    /// Looks up the map pages of a range for reading. Pages that must be fetched from flash are
    /// given to `fetch`; returns how many were not at hand.
    pub(crate) fn touch_for_read(
        &mut self,
        first: u32,
        count: u32,
        now: Nanos,
        full: &mut Vec<ProgramUnit>,
        fetch: &mut Vec<PageRun>,
    ) -> u32 {
        if self.map_cache.is_none() {
            return 0;
        }
        let per_page = self.geometry.unit_bytes / 4;
        let mut misses = 0;
        for page in first / per_page..=(first + count - 1) / per_page {
            if self.touch_map(page, false, now, full) {
                misses += 1;
                self.runs(self.layout.map_base + page, 1, |run, _| fetch.extend(run));
            }
        }
        misses
    }

    pub(super) fn touch_map(
        &mut self,
        page: u32,
        change: bool,
        now: Nanos,
        full: &mut Vec<ProgramUnit>,
    ) -> bool {
        let Some(map_cache) = self.map_cache.as_mut() else {
            return false;
        };
        match map_cache.touch(page, change) {
            Lookup::Hit => false,
            Lookup::Miss { write_back } => {
                if let Some(old) = write_back {
                    self.write_metadata(self.layout.map_base + old, now, full);
                }
                true
            }
        }
    }

    /// Splits a logical range into array reads, in order. Runs that hold nothing (or whose data is
    /// still in the write buffer) come as `None` with their length.
    pub(crate) fn runs(&self, first: u32, count: u32, mut each: impl FnMut(Option<PageRun>, u32)) {
        let g = &self.geometry;
        let mut i = 0;
        while i < count {
            let ppn = self.map.lookup(first + i);
            if ppn == Ppn::UNMAPPED {
                let mut n = 1;
                while i + n < count && self.map.lookup(first + i + n) == Ppn::UNMAPPED {
                    n += 1;
                }
                each(None, n);
                i += n;
                continue;
            }
            let superblock = g.superblock_of(ppn);
            let offset = ppn - g.ppn(superblock, 0);
            let slc = self.blocks.get(superblock).slc;
            let place = g.place(superblock, offset, slc);
            let left_in_page = g.stripe_units - offset % g.stripe_units;
            let most = left_in_page.min(count - i);
            let mut n = 1;
            while n < most && self.map.lookup(first + i + n) == ppn + n {
                n += 1;
            }
            let (first_plane, last_plane) = (g.plane_of(offset), g.plane_of(offset + n - 1));
            let planes = (2 << last_plane) - (1 << first_plane);
            let array_ns = g.read_ns(slc, place.program, place.stripe);
            each(
                Some(PageRun {
                    superblock,
                    program: place.program,
                    die: place.die,
                    array_ns,
                    units: n,
                    planes,
                }),
                n,
            );
            i += n;
        }
    }
}
