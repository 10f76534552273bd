//! Looking up: which array reads a logical range needs, which parts of the map are not loaded, and
//! what changes of the map cost in write-back.

use super::{Log, PageRun, Pool, ProgramUnit, WantedPage};
use crate::ftl::page_map::lpn::Lpn;
use crate::ftl::page_map::map_cache::Lookup;
use crate::ftl::page_map::ppn::Ppn;
use crate::ftl::page_map::program_id::ProgramId;
use crate::ftl::superblock_id::SuperblockId;
use crate::nand::PlaneSet;
use nandscope_units::Nanos;
use std::ops::RangeInclusive;

impl Log {
    /// Writes the metadata (journal, map cache) that a change of map entries requires.
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
        if self.map_cache.is_some() {
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
        self.programmed.metadata += u64::from(units);
    }

    /// Page of the map that has the entry of a unit. It holds a power of two of them, as a unit does of bytes.
    #[inline]
    pub(super) fn map_page_of(&self, logical: Lpn) -> u32 {
        logical.0 >> self.geometry.entries_per_unit().trailing_zeros()
    }

    /// Pages of the map that have the entries of `count` units, of which there is at least one.
    #[inline]
    pub(super) fn map_pages(&self, first: Lpn, count: u32) -> RangeInclusive<u32> {
        self.map_page_of(first)..=self.map_page_of(first + (count - 1))
    }

    /// Whether no look-up ever waits for a page of the map.
    #[inline]
    pub(crate) fn holds_whole_map(&self) -> bool {
        self.map_cache.is_none()
    }

    /// Looks up the map pages of a range for reading.
    pub(crate) fn touch_for_read(
        &mut self,
        first: Lpn,
        count: u32,
        now: Nanos,
        full: &mut Vec<ProgramUnit>,
    ) {
        if self.map_cache.is_none() {
            return;
        }
        for page in self.map_pages(first, count) {
            self.touch_map(page, false, now, full);
        }
    }

    /// Looks up the map pages of units that were moved to `to`. Where pages of the map itself lie
    /// is kept in RAM.
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
                if logical < self.layout.map_base {
                    self.note_changed_pages(logical, 1);
                }
            }
        }
        if self.map_cache.is_none() {
            return;
        }
        let mut last = None;
        for i in 0..count {
            let logical = self.map.owner(to + i);
            let page = self.map_page_of(logical);
            if logical >= self.layout.map_base || self.collect_update(page) {
                continue;
            }
            if last != Some(page) {
                self.touch_map(page, true, now, full);
                last = Some(page);
            }
        }
        self.choose_updates(now, full);
    }

    /// Looks a map page up. What it must wait for is among the wanted pages afterwards.
    pub(super) fn touch_map(
        &mut self,
        page: u32,
        change: bool,
        now: Nanos,
        full: &mut Vec<ProgramUnit>,
    ) {
        let Some(map_cache) = self.map_cache.as_mut() else {
            return;
        };
        let lookup = map_cache.touch(page, change);
        if change && let Some(updates) = &mut self.map_updates {
            // They are entered in the page while it is loaded.
            updates.take(page);
        }
        let absent = matches!(lookup, Lookup::Miss { .. });
        // What has left host memory counts as absent here, too.
        let near = self.near_map.as_mut();
        let is_near = near.is_some_and(|near| near.touch(page, false) == Lookup::Hit);
        if lookup != Lookup::Hit || (self.layout.map_is_remote && !is_near) {
            self.wanted.push(WantedPage { page, absent });
        }
        if let Lookup::Miss {
            write_back: Some(old),
        } = lookup
        {
            self.write_map_page(old, now, full);
        }
    }

    /// Takes the map pages that the look-ups since the last call wait for.
    pub(crate) fn take_wanted(&mut self) -> Vec<WantedPage> {
        std::mem::take(&mut self.wanted)
    }

    /// Nothing waits for the look-ups since the last call: starting states take no time.
    pub(crate) fn forget_wanted(&mut self) {
        self.wanted.clear();
    }

    /// Gives the list of [`Log::take_wanted`] back, so that its memory is used again.
    pub(crate) fn return_wanted(&mut self, mut wanted: Vec<WantedPage>) {
        wanted.clear();
        if self.wanted.is_empty() {
            self.wanted = wanted;
        }
    }

    /// The array read that fetches a map page; `None` if it was never written to flash.
    pub(crate) fn map_page_run(&self, page: u32) -> Option<PageRun> {
        self.run_of(self.layout.map_base + page)
    }

    /// The array read of one logical unit as [`Log::runs`] finds it; `None` if nothing is mapped.
    #[inline(always)]
    pub(crate) fn run_of(&self, logical: Lpn) -> Option<PageRun> {
        let ppn = self.map.lookup(logical);
        (ppn != Ppn::UNMAPPED).then(|| self.unit_run(ppn))
    }

    /// Superblock and program unit of a logical unit that is mapped.
    pub(crate) fn program_of(&self, logical: Lpn) -> (SuperblockId, ProgramId) {
        debug_assert!(self.is_mapped(logical), "unit {logical} is nowhere");
        let run = self.unit_run(self.map.lookup(logical));
        (run.superblock, run.program)
    }

    /// The fetch of a map page that is on its way.
    pub(crate) fn map_fetch_of(&self, page: u32) -> Option<u32> {
        self.map_cache.as_ref()?.fetch_of(page)
    }

    /// A map page is being fetched.
    pub(crate) fn note_map_fetch(&mut self, page: u32, fetch: u32) {
        if let Some(map_cache) = &mut self.map_cache {
            map_cache.note_fetch(page, fetch);
        }
    }

    /// The fetch of a map page is over.
    pub(crate) fn note_map_fetched(&mut self, page: u32, fetch: u32) {
        if let Some(map_cache) = &mut self.map_cache {
            map_cache.note_fetched(page, fetch);
        }
    }

    /// Whether a unit holds data, in flash or on its way there.
    pub(crate) fn is_mapped(&self, unit: Lpn) -> bool {
        self.map.lookup(unit) != Ppn::UNMAPPED
    }

    /// Splits a logical range into array reads, in order. Runs that hold nothing (or whose data is
    /// still in the write buffer) come as `None` with their length.
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
