//! Discards: units are forgotten map page by map page. A page of which nothing is left needs no copy in
//! flash any more; one of which nothing was mapped is not looked at.

use super::{Log, ProgramUnit, WantedPage};
use crate::ftl::page_map::ppn::Ppn;
use nandscope_units::Nanos;

impl Log {
    /// The discard of a range is recorded in the journal: one entry, whatever its length.
    pub(crate) fn note_discard(&mut self, now: Nanos, full: &mut Vec<ProgramUnit>) {
        self.gc_writes_since_host = 0;
        self.note_journal_entries(1, now, full);
    }

    /// Looks up the map pages of the units from `first` to `end` in which something is mapped, until
    /// `most` are wanted, and returns how far that is. Which pages hold nothing, the directory of the
    /// map tells.
    pub(crate) fn touch_for_discard(
        &mut self,
        first: u32,
        end: u32,
        most: usize,
        now: Nanos,
        full: &mut Vec<ProgramUnit>,
    ) -> u32 {
        if self.map_cache.is_none() {
            return end;
        }
        let per_page = self.geometry.unit_bytes / 4;
        let mut at = first;
        while at < end && self.wanted.len() < most {
            let page = at / per_page;
            let until = self.end_of_map_page(page).min(end);
            let is_mapped = |unit: u32| self.map.lookup(unit) != Ppn::UNMAPPED;
            if (at..until).any(is_mapped) {
                if self.covers_map_page(page, at, until) {
                    self.want_for_last_time(page);
                } else {
                    self.touch_map(page, true, now, full);
                }
            }
            at = until;
        }
        at
    }

    /// Forgets the logical units from `first` to `end`, and the map pages that this empties.
    pub(crate) fn discard(&mut self, first: u32, end: u32) {
        for logical in first..end {
            self.forget(logical);
        }
        if first < end {
            self.note_changed_pages(first, end - first);
        }
        if self.map_cache.is_none() || first == end {
            return;
        }
        let per_page = self.geometry.unit_bytes / 4;
        for page in first / per_page..=(end - 1) / per_page {
            let (from, until) = (
                first.max(page * per_page),
                self.end_of_map_page(page).min(end),
            );
            if self.covers_map_page(page, from, until) {
                if let Some(map_cache) = &mut self.map_cache {
                    map_cache.forget(page);
                }
                self.forget(self.layout.map_base + page);
            }
        }
    }

    fn forget(&mut self, logical: u32) {
        let old = self.map.unmap(logical);
        if old != Ppn::UNMAPPED {
            self.invalidated(self.geometry.superblock_of(old), 1);
        }
    }

    /// A page that is going to be forgotten is read once more where it is absent, for the places that
    /// become invalid, and takes no slot.
    fn want_for_last_time(&mut self, page: u32) {
        let present = self.map_cache.as_ref().is_some_and(|c| c.holds(page));
        if !present || self.layout.map_is_remote {
            self.wanted.push(WantedPage {
                page,
                absent: !present,
            });
        }
    }

    fn end_of_map_page(&self, page: u32) -> u32 {
        let per_page = self.geometry.unit_bytes / 4;
        (page + 1)
            .saturating_mul(per_page)
            .min(self.geometry.user_units)
    }

    fn covers_map_page(&self, page: u32, from: u32, until: u32) -> bool {
        let per_page = self.geometry.unit_bytes / 4;
        from == page * per_page && until == self.end_of_map_page(page)
    }
}
