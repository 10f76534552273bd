//! Discards: units are unmapped one map page after another. A map page without entries needs no copy in flash; a map
//! page without mapped units is not read.

use super::{Log, ProgramUnit, WantedPage};
use crate::mapping::page::lpn::Lpn;
use crate::mapping::page::ppn::Ppn;
use nandscope_units::Nanos;

impl Log {
    /// Records the discard of a range in the journal: one entry of any length.
    pub(crate) fn note_discard(&mut self, now: Nanos, full: &mut Vec<ProgramUnit>) {
        self.collection.host_wrote();
        self.note_journal_entries(1, now, full);
    }

    /// Looks up the map pages of units from `first` to `end` that have mapped units, until `most` must be fetched;
    /// returns the end of the units covered. The map's directory says which pages have none.
    pub(crate) fn touch_for_discard(
        &mut self,
        first: Lpn,
        end: Lpn,
        most: usize,
        now: Nanos,
        full: &mut Vec<ProgramUnit>,
    ) -> Lpn {
        if self.window.is_whole_map() {
            return end;
        }
        let mut at = first;
        while at < end && self.window.wanted() < most {
            let page = self.map_page_of(at);
            let until = self.end_of_map_page(page).min(end);
            let is_mapped = |unit| self.map.lookup(unit) != Ppn::UNMAPPED;
            if at.and_next(until - at).any(is_mapped) {
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

    /// Unmaps the logical units from `first` to `end`, and drops the map pages that become empty.
    pub(crate) fn discard(&mut self, first: Lpn, end: Lpn) {
        for logical in first.and_next(end - first) {
            self.forget(logical);
        }
        if first < end {
            self.note_changed_pages(first, end - first);
        }
        if self.window.is_whole_map() || first == end {
            return;
        }
        for page in self.map_pages(first, end - first) {
            let (from, until) = (
                first.max(self.start_of_map_page(page)),
                self.end_of_map_page(page).min(end),
            );
            if self.covers_map_page(page, from, until) {
                self.window.forget(page);
                if let Some(updates) = self.updates.waiting_mut() {
                    updates.take(page);
                }
                self.forget(self.layout.map.base + page);
            }
        }
    }

    fn forget(&mut self, logical: Lpn) {
        let old = self.map.unmap(logical);
        if old != Ppn::UNMAPPED {
            self.invalidated(self.geometry.superblock_of(old), 1);
        }
    }

    /// Fetches an absent map page that will be dropped, since its entries say which units become invalid; it gets no
    /// slot.
    fn want_for_last_time(&mut self, page: u32) {
        let present = self.window.holds(page);
        if !present || self.layout.map.is_remote {
            self.window.want(WantedPage {
                page,
                absent: !present,
            });
        }
    }

    fn start_of_map_page(&self, page: u32) -> Lpn {
        Lpn(page * self.geometry.entries_per_unit())
    }

    fn end_of_map_page(&self, page: u32) -> Lpn {
        let end = (page + 1).saturating_mul(self.geometry.entries_per_unit());
        Lpn(end.min(self.geometry.user_units))
    }

    fn covers_map_page(&self, page: u32, from: Lpn, until: Lpn) -> bool {
        from == self.start_of_map_page(page) && until == self.end_of_map_page(page)
    }
}
