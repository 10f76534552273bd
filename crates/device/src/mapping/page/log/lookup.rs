//! Look-ups: the array reads of a logical range, the map pages that are not loaded, and the write-back that map changes
//! cause.

use super::{Log, PageRun, Pool, ProgramUnit};
use crate::flash::PlaneSet;
use crate::flash::superblock_id::SuperblockId;
use crate::mapping::page::lpn::Lpn;
use crate::mapping::page::ppn::Ppn;
use crate::mapping::page::program_id::ProgramId;
use nandscope_units::Nanos;
use std::ops::RangeInclusive;

impl Log {
    /// Writes the metadata (journal, map pages) that a change of map entries requires.
    pub(crate) fn note_map_change(
        &mut self,
        first: Lpn,
        count: u32,
        now: Nanos,
        full: &mut Vec<ProgramUnit>,
    ) {
        if count == 0 {
            return;
        }
        self.note_changed_pages(first, count);
        self.note_journal_entries(count, now, full);
        if !self.window.is_whole_map() {
            for page in self.map_pages(first, count) {
                self.touch_map(page, true, now, full);
            }
        }
    }

    pub(super) fn write_metadata(
        &mut self,
        (pool, logical): (Pool, Lpn),
        now: Nanos,
        full: &mut Vec<ProgramUnit>,
    ) {
        let units = self.append_host(pool, (logical, 1), false, now, full);
        self.accounts.count_metadata(units);
    }

    /// Map page with the entry of a unit. The number of entries per page is a power of two.
    #[inline]
    pub(super) fn map_page_of(&self, logical: Lpn) -> u32 {
        logical.0 >> self.geometry.entries_per_unit().trailing_zeros()
    }

    /// Map pages with the entries of `count` units, at least one.
    #[inline]
    pub(super) fn map_pages(&self, first: Lpn, count: u32) -> RangeInclusive<u32> {
        self.map_page_of(first)..=self.map_page_of(first + (count - 1))
    }

    /// Looks up the map pages of a range for reading.
    pub(crate) fn touch_for_read(
        &mut self,
        first: Lpn,
        count: u32,
        now: Nanos,
        full: &mut Vec<ProgramUnit>,
    ) {
        if self.window.is_whole_map() {
            return;
        }
        for page in self.map_pages(first, count) {
            self.touch_map(page, false, now, full);
        }
    }

    /// Looks up the map pages of units that were moved to `to`. The places of map pages themselves are always in RAM.
    pub(super) fn touch_for_move(
        &mut self,
        to: Ppn,
        count: u32,
        now: Nanos,
        full: &mut Vec<ProgramUnit>,
    ) {
        if self.checkpoint.is_some() {
            for i in 0..count {
                let logical = self.map.owner(to + i);
                if logical < self.layout.map.base {
                    self.note_changed_pages(logical, 1);
                }
            }
        }
        if self.window.is_whole_map() {
            return;
        }
        let mut last = None;
        for i in 0..count {
            let logical = self.map.owner(to + i);
            let page = self.map_page_of(logical);
            if logical >= self.layout.map.base || self.collect_update(page) {
                continue;
            }
            if last != Some(page) {
                self.touch_map(page, true, now, full);
                last = Some(page);
            }
        }
        self.choose_updates(now, full);
    }

    /// Looks a map page up; if it must be fetched, it is among the wanted pages afterwards.
    pub(super) fn touch_map(
        &mut self,
        page: u32,
        change: bool,
        now: Nanos,
        full: &mut Vec<ProgramUnit>,
    ) {
        if change && let Some(updates) = self.updates.waiting_mut() {
            // Pending changed entries are written to the page while it is loaded.
            updates.take(page);
        }
        let is_remote = self.layout.map.is_remote;
        if let Some(old) = self.window.touch(page, change, is_remote) {
            self.write_map_page(old, now, full);
        }
    }

    /// The array read that fetches a map page; `None` if it was never written to flash.
    pub(crate) fn map_page_run(&self, page: u32) -> Option<PageRun> {
        self.run_of(self.layout.map.base + page)
    }

    /// The array read of one logical unit as [`Log::runs`] finds it; `None` if nothing is mapped.
    #[inline(always)]
    pub(crate) fn run_of(&self, logical: Lpn) -> Option<PageRun> {
        let ppn = self.map.lookup(logical);
        (ppn != Ppn::UNMAPPED).then(|| self.unit_run(ppn))
    }

    /// Superblock and program unit of a mapped logical unit.
    pub(crate) fn program_of(&self, logical: Lpn) -> (SuperblockId, ProgramId) {
        debug_assert!(
            self.is_mapped(logical),
            "the map has no location for unit {logical}"
        );
        let run = self.unit_run(self.map.lookup(logical));
        (run.superblock, run.program)
    }

    /// Whether a unit holds data, in flash or on its way there.
    pub(crate) fn is_mapped(&self, unit: Lpn) -> bool {
        self.map.lookup(unit) != Ppn::UNMAPPED
    }

    /// Splits a logical range into array reads, in order. Runs that are unmapped, or still in the write buffer, are
    /// `None` with their length.
    pub(crate) fn runs(&self, first: Lpn, count: u32, mut each: impl FnMut(Option<PageRun>, u32)) {
        let g = &self.geometry;
        let mut i = 0;
        while i < count {
            let ppn = self.map.lookup(first + i);
            if ppn == Ppn::UNMAPPED {
                let n = self.map.units_in_run(first + i, count - i);
                each(None, n);
                i += n;
                continue;
            }
            let superblock = g.superblock_of(ppn);
            let offset = ppn - g.ppn(superblock, 0);
            let slc = self.blocks.get(superblock).slc;
            let place = g.place(superblock, offset, slc);
            let in_stripe = g.place_in_stripe(offset);
            let most = (g.stripe_units - in_stripe).min(count - i);
            let n = self.map.units_in_run(first + i, most);
            let first_plane = g.plane_in_stripe(in_stripe);
            let last_plane = g.plane_in_stripe(in_stripe + n - 1);
            let planes = PlaneSet::from_to(first_plane, last_plane);
            let array_ns = g.read_ns(slc, place.program, place.stripe);
            each(
                Some(PageRun {
                    first: ppn,
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
