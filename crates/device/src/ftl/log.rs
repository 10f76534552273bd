//! The page-mapped log: host data is appended to an open superblock, in SLC mode while the cache
//! has room; relocation (collection, folding, wear levelling, refresh) moves valid units to an
//! open superblock of its own. Superblocks without valid units are handed back for erasure.
//!
//! The log says *what* must be read, programmed and erased; *when* is the device's affair.

mod audit;

use super::blocks::{State, Superblocks};
use super::map::Map;
use super::victims::Victims;
use super::window::{Lookup, Window};
use crate::geometry::{Geometry, JOURNAL_UNITS, OPEN_SUPERBLOCKS, Ppa, UNMAPPED};
use crate::profile::schema::{CollectionPolicy, MapLocation, Profile};
use crate::random::Random;
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A program unit that is full (or was closed) and must be programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProgramUnit {
    pub(crate) superblock: u32,
    pub(crate) program: u32,
    pub(crate) die: u32,
    pub(crate) slc: bool,
    /// Units of host data in it, which take places in the write buffer; the rest is metadata,
    /// relocated data and padding.
    pub(crate) host_units: u32,
}

/// Why data is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Cause {
    Fold,
    Collect,
    Refresh,
}

/// A run of mapping units in one page across planes: one array read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageRun {
    pub(crate) superblock: u32,
    pub(crate) program: u32,
    pub(crate) die: u32,
    pub(crate) array_ns: u32,
    pub(crate) units: u32,
    pub(crate) planes: u32,
}

/// A superblock from which data is being moved.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Victim {
    pub(crate) superblock: u32,
    pub(crate) cause: Cause,
    cursor: Ppa,
    end: Ppa,
    /// Units that the host may write for each unit moved out of this victim, in 1024ths.
    pub(crate) yield_per_move: u64,
}

/// An open superblock and how far it is filled.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Stream {
    superblock: u32,
    next: u32,
    slc: bool,
    /// Units in the program unit that is being filled, padding not counted.
    filling: u32,
    /// Of these: host data.
    host_units: u32,
}

/// What was programmed, by cause, in mapping units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Programmed {
    pub(crate) host: u64,
    pub(crate) collected: u64,
    pub(crate) folded: u64,
    pub(crate) refreshed: u64,
    pub(crate) metadata: u64,
    pub(crate) padding: u64,
}

impl Programmed {
    pub(crate) fn total(&self) -> u64 {
        self.host + self.collected + self.folded + self.refreshed + self.metadata + self.padding
    }
}

/// How the SLC cache is governed, in superblocks.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct SlcPolicy {
    fixed: u32,
    most: u32,
    /// Superblocks of the over-provisioning that cached data may take up before it must go.
    lent: u32,
}

/// The log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Log {
    pub(crate) geometry: Geometry,
    pub(crate) map: Map,
    pub(crate) blocks: Superblocks,
    victims: Victims,
    /// Closed superblocks in SLC mode, in order of closing.
    slc_closed: VecDeque<u32>,
    slc_count: u32,
    host: Option<Stream>,
    relocation: Option<Stream>,
    victim: Option<Victim>,
    refresh_queue: VecDeque<u32>,
    /// Superblocks without valid data that wait for their erasure.
    dead: Vec<u32>,
    window: Option<Window>,
    map_base: u32,
    journal_base: u32,
    journal_units: u32,
    journal_next: u32,
    journal_entries: u32,
    entries_pending: u32,
    policy: CollectionPolicy,
    collection_start: u32,
    slc: SlcPolicy,
    /// Superblocks beyond the logical capacity.
    spare: u32,
    closings: u64,
    pub(crate) programmed: Programmed,
}

impl Log {
    pub(crate) fn new(profile: &Profile, geometry: Geometry, random: &mut Random) -> Self {
        let blocks = Superblocks::new(&geometry, profile.nand.factory_bad_percent, random);
        let map_in_flash = profile.ftl.map.location != MapLocation::Dram;
        let journal = profile.ftl.journal_entries > 0;
        let metadata = geometry.metadata_units(map_in_flash, journal);
        let logical = geometry.user_units + metadata;
        let journal_units = if journal {
            JOURNAL_UNITS.min(geometry.native.superblock_units)
        } else {
            0
        };
        let entries_per_unit = geometry.unit_bytes / 4;
        let map_pages = geometry.user_units.div_ceil(entries_per_unit);
        let window = profile.ftl.map.window_kib.map(|kib| {
            let slots =
                (u64::from(kib) * 1024 / u64::from(geometry.unit_bytes)).min(u64::from(map_pages));
            Window::new(slots as u32, map_pages)
        });
        let superblocks = blocks.len();
        let native_units = geometry.native.superblock_units;
        let spare = superblocks.saturating_sub(logical.div_ceil(native_units));
        let slc = profile
            .ftl
            .slc_cache
            .as_ref()
            .map_or(SlcPolicy::default(), |s| SlcPolicy {
                fixed: geometry.slc_superblocks_for(s.static_gb),
                most: geometry.slc_superblocks_for(s.static_gb + s.dynamic_gb),
                lent: (f64::from(spare) * s.lends_spare_percent / 100.0) as u32,
            });
        Log {
            map: Map::new(logical, superblocks * native_units),
            victims: Victims::new(superblocks, native_units),
            spare,
            map_base: geometry.user_units,
            journal_base: logical - journal_units,
            journal_units,
            journal_next: 0,
            journal_entries: profile.ftl.journal_entries,
            entries_pending: 0,
            policy: profile.ftl.collection,
            collection_start: profile.ftl.collection_start,
            slc,
            slc_closed: VecDeque::new(),
            slc_count: 0,
            host: None,
            relocation: None,
            victim: None,
            refresh_queue: VecDeque::new(),
            dead: Vec::new(),
            window,
            closings: 0,
            programmed: Programmed::default(),
            geometry,
            blocks,
        }
    }

    // ---- host side -------------------------------------------------------------------------

    /// Appends `count` logical units from `first`; full program units go to `full`. Returns false
    /// where the device has no block left to write to.
    pub(crate) fn write(
        &mut self,
        first: u32,
        count: u32,
        now: Nanos,
        full: &mut Vec<ProgramUnit>,
    ) -> bool {
        let mut at = first;
        while at < first + count {
            let appended = self.append_host(at, first + count - at, true, now, full);
            if appended == 0 {
                return false;
            }
            self.programmed.host += u64::from(appended);
            at += appended;
        }
        self.note_map_change(first, count, now, full);
        true
    }

    /// Forgets `count` logical units from `first`.
    pub(crate) fn discard(
        &mut self,
        first: u32,
        count: u32,
        now: Nanos,
        full: &mut Vec<ProgramUnit>,
    ) -> u32 {
        let mut gone = 0;
        for logical in first..first + count {
            let old = self.map.unmap(logical);
            if old != UNMAPPED {
                self.invalidated(self.geometry.superblock_of(old), 1);
                gone += 1;
            }
        }
        if gone > 0 {
            self.note_map_change(first, count, now, full);
        }
        gone
    }

    /// Closes the host's program unit with padding, so that what it holds can be programmed.
    pub(crate) fn close_host_unit(&mut self, now: Nanos) -> Option<ProgramUnit> {
        let mut stream = self.host.take()?;
        let unit = self.close_unit(&mut stream);
        self.host = self.keep_or_close(stream, now);
        unit
    }

    /// Appends what fits of `count` logical units from `first` into the program unit that is being
    /// filled; returns how many, zero where no block is left.
    fn append_host(
        &mut self,
        first: u32,
        count: u32,
        host_data: bool,
        now: Nanos,
        full: &mut Vec<ProgramUnit>,
    ) -> u32 {
        if self.host.is_none() && !self.open_host() {
            return 0;
        }
        // The stream was opened right above where there was none.
        let Some(mut stream) = self.host.take() else {
            return 0;
        };
        let fitting = count.min(self.room(&stream));
        stream.host_units += if host_data { fitting } else { 0 };
        self.append(&mut stream, first, fitting);
        full.extend(self.take_full_unit(&mut stream));
        self.host = self.keep_or_close(stream, now);
        fitting
    }

    /// Units that fit into the program unit that is being filled.
    fn room(&self, stream: &Stream) -> u32 {
        self.geometry.mode(stream.slc).program_units - stream.filling
    }

    /// Appends logical units that fit. Invalid units of one superblock are booked together.
    fn append(&mut self, stream: &mut Stream, first: u32, count: u32) {
        let ppa = self.geometry.ppa(stream.superblock, stream.next);
        let superblock_units = self.geometry.native.superblock_units;
        let (mut lost, mut lost_from, mut lost_units) = (0, 0, 0);
        for i in 0..count {
            let old = self.map.point(first + i, ppa + i);
            if old == UNMAPPED {
                continue;
            }
            if lost_units == 0 || old.wrapping_sub(lost_from) >= superblock_units {
                self.invalidated(lost, lost_units);
                lost = self.geometry.superblock_of(old);
                lost_from = self.geometry.ppa(lost, 0);
                lost_units = 0;
            }
            lost_units += 1;
        }
        self.invalidated(lost, lost_units);
        self.advance_stream(stream, ppa, count);
    }

    /// Units were put at the end of a stream, from `ppa`.
    fn advance_stream(&mut self, stream: &mut Stream, ppa: Ppa, count: u32) {
        self.map.mark_valid(ppa, count);
        self.blocks.get_mut(stream.superblock).valid += count;
        stream.next += count;
        stream.filling += count;
    }

    fn take_full_unit(&mut self, stream: &mut Stream) -> Option<ProgramUnit> {
        if self.room(stream) == 0 {
            self.take_unit(stream)
        } else {
            None
        }
    }

    fn close_unit(&mut self, stream: &mut Stream) -> Option<ProgramUnit> {
        if stream.filling == 0 {
            return None;
        }
        let program_units = self.geometry.mode(stream.slc).program_units;
        let padded = stream.next.next_multiple_of(program_units);
        self.programmed.padding += u64::from(padded - stream.next);
        stream.next = padded;
        self.take_unit(stream)
    }

    fn take_unit(&mut self, stream: &mut Stream) -> Option<ProgramUnit> {
        let program_units = self.geometry.mode(stream.slc).program_units;
        let program = stream.next / program_units - 1;
        stream.filling = 0;
        let host_units = std::mem::take(&mut stream.host_units);
        self.blocks.get_mut(stream.superblock).programs_pending += 1;
        let die = program % self.geometry.dies;
        Some(ProgramUnit {
            superblock: stream.superblock,
            program,
            die,
            slc: stream.slc,
            host_units,
        })
    }

    fn keep_or_close(&mut self, stream: Stream, now: Nanos) -> Option<Stream> {
        if stream.next < self.geometry.mode(stream.slc).superblock_units {
            return Some(stream);
        }
        self.closings += 1;
        let block = self.blocks.get_mut(stream.superblock);
        block.state = State::Closed;
        block.closed_order = self.closings;
        block.closed_at = now;
        let valid = block.valid;
        if valid == 0 {
            self.bury(stream.superblock);
        } else if stream.slc {
            self.slc_closed.push_back(stream.superblock);
        } else {
            self.victims.insert(stream.superblock, valid);
        }
        None
    }

    fn open_host(&mut self) -> bool {
        let slc = self.slc_may_grow();
        let Some(superblock) = self.blocks.open(slc) else {
            return false;
        };
        self.slc_count += u32::from(slc);
        self.host = Some(Stream {
            superblock,
            next: 0,
            slc,
            filling: 0,
            host_units: 0,
        });
        true
    }

    /// Journal and window: what a change of map entries costs in metadata writes.
    fn note_map_change(&mut self, first: u32, count: u32, now: Nanos, full: &mut Vec<ProgramUnit>) {
        if self.journal_entries > 0 {
            self.entries_pending += count;
            while self.entries_pending >= self.journal_entries {
                self.entries_pending -= self.journal_entries;
                let unit = self.journal_base + self.journal_next;
                self.journal_next = (self.journal_next + 1) % self.journal_units;
                self.write_metadata(unit, now, full);
            }
        }
        if self.window.is_some() {
            let per_page = self.geometry.unit_bytes / 4;
            for page in first / per_page..=(first + count - 1) / per_page {
                self.touch_map(page, true, now, full);
            }
        }
    }

    fn write_metadata(&mut self, logical: u32, now: Nanos, full: &mut Vec<ProgramUnit>) {
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
        if self.window.is_none() {
            return 0;
        }
        let per_page = self.geometry.unit_bytes / 4;
        let mut misses = 0;
        for page in first / per_page..=(first + count - 1) / per_page {
            if self.touch_map(page, false, now, full) {
                misses += 1;
                self.runs(self.map_base + page, 1, |run, _| fetch.extend(run));
            }
        }
        misses
    }

    fn touch_map(
        &mut self,
        page: u32,
        change: bool,
        now: Nanos,
        full: &mut Vec<ProgramUnit>,
    ) -> bool {
        let Some(window) = self.window.as_mut() else {
            return false;
        };
        match window.touch(page, change) {
            Lookup::Hit => false,
            Lookup::Miss { write_back } => {
                if let Some(old) = write_back {
                    self.write_metadata(self.map_base + old, now, full);
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
            let ppa = self.map.lookup(first + i);
            if ppa == UNMAPPED {
                let mut n = 1;
                while i + n < count && self.map.lookup(first + i + n) == UNMAPPED {
                    n += 1;
                }
                each(None, n);
                i += n;
                continue;
            }
            let superblock = g.superblock_of(ppa);
            let offset = ppa - superblock * g.native.superblock_units;
            let slc = self.blocks.get(superblock).slc;
            let place = g.place(superblock, offset, slc);
            let left_in_page = g.stripe_units - offset % g.stripe_units;
            let most = left_in_page.min(count - i);
            let mut n = 1;
            while n < most && self.map.lookup(first + i + n) == ppa + n {
                n += 1;
            }
            let planes = (offset % g.stripe_units + n - 1) / g.units_per_page
                - offset % g.stripe_units / g.units_per_page
                + 1;
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

    // ---- SLC cache ---------------------------------------------------------------------------

    /// Free superblocks at or below which the SLC cache may not grow: over-provisioning is never
    /// borrowed, beyond the part of it that is the static cache.
    fn slc_floor(&self) -> u32 {
        self.spare
            .saturating_sub(self.slc.fixed)
            .max(self.collection_start + OPEN_SUPERBLOCKS as u32)
    }

    fn slc_may_grow(&self) -> bool {
        if self.slc_count < self.slc.fixed {
            return self.blocks.free_count() > self.collection_start + 1;
        }
        self.slc_count < self.slc.most && self.blocks.free_count() > self.slc_floor()
    }

    /// Dynamic cache must give blocks back: the unmapped capacity that it borrowed is being used,
    /// and of the over-provisioning as much as it may lend.
    fn must_fold(&self) -> bool {
        let least = (self.collection_start + OPEN_SUPERBLOCKS as u32)
            .max(self.slc_floor().saturating_sub(self.slc.lent));
        self.slc_count > self.slc.fixed
            && self.blocks.free_count() <= least
            && !self.slc_closed.is_empty()
    }

    /// Units of valid data in SLC superblocks.
    pub(crate) fn slc_used_units(&self) -> u64 {
        let open = self.host.filter(|s| s.slc).map(|s| s.superblock);
        self.slc_closed
            .iter()
            .copied()
            .chain(open)
            .map(|s| u64::from(self.blocks.get(s).valid))
            .sum()
    }

    /// Units that the SLC cache may hold at present.
    pub(crate) fn slc_limit_units(&self) -> u64 {
        let borrowed = self.blocks.free_count().saturating_sub(self.slc_floor());
        let superblocks = (self.slc_count + borrowed).clamp(self.slc.fixed, self.slc.most);
        u64::from(superblocks) * u64::from(self.geometry.slc.superblock_units)
    }

    /// There is data that folding in idle time would move.
    pub(crate) fn has_slc_data(&self) -> bool {
        !self.slc_closed.is_empty()
    }

    // ---- relocation --------------------------------------------------------------------------

    /// Free superblocks at which collection starts: blocks that the static SLC cache does not use
    /// now are kept free for it.
    fn collection_level(&self) -> u32 {
        self.collection_start + self.slc.fixed.saturating_sub(self.slc_count)
    }

    /// Space must be made while the host writes.
    pub(crate) fn needs_relocation(&self) -> bool {
        self.blocks.free_count() + self.dead.len() as u32 <= self.collection_level()
            || self.must_fold()
    }

    /// Host writes may go on only as fast as relocation makes room.
    pub(crate) fn host_is_paced(&self) -> bool {
        self.needs_relocation()
    }

    /// What a host unit takes from the free space, in native units.
    pub(crate) fn cost_of_host_unit(&self) -> u64 {
        let slc = self.host.is_some_and(|s| s.slc);
        u64::from(if slc {
            self.geometry.native.superblock_units / self.geometry.slc.superblock_units
        } else {
            1
        })
    }

    /// Superblocks whose wear or reads ask for a rewrite.
    pub(crate) fn ask_refresh(&mut self, superblock: u32) {
        if self.blocks.get(superblock).state == State::Closed
            && !self.refresh_queue.contains(&superblock)
        {
            self.refresh_queue.push_back(superblock);
        }
    }

    /// Whether a rewrite for refresh or wear levelling waits.
    pub(crate) fn has_refresh(&self) -> bool {
        !self.refresh_queue.is_empty()
    }

    /// Wear levelling: the least worn closed superblock, where it lags the mean by `spread` cycles.
    pub(crate) fn level_wear(&mut self, spread: u32) {
        let (_, mean, _) = self.blocks.wear();
        let coldest = self
            .blocks
            .iter()
            .filter(|(_, b)| b.state == State::Closed && !b.slc)
            .min_by_key(|(_, b)| b.erases)
            .map(|(i, b)| (i, b.erases));
        if let Some((superblock, erases)) = coldest
            && f64::from(erases) + f64::from(spread) <= mean
        {
            self.ask_refresh(superblock);
        }
    }

    /// The superblock that is being relocated, or a new one: in the foreground what makes room, in
    /// idle time (`idle`) also what folding can move.
    pub(crate) fn current_victim(&mut self, now: Nanos, idle: bool) -> Option<Victim> {
        if self.victim.is_none() {
            self.victim = self.choose_victim(now, idle);
        }
        self.victim
    }

    /// Whether a victim is under way.
    pub(crate) fn relocating(&self) -> bool {
        self.victim.is_some()
    }

    fn choose_victim(&mut self, now: Nanos, idle: bool) -> Option<Victim> {
        let (superblock, cause) =
            if self.must_fold() || (idle && !self.needs_relocation() && self.has_slc_data()) {
                (self.slc_closed.pop_front()?, Cause::Fold)
            } else if self.needs_relocation() {
                self.collection_victim(now)?
            } else {
                (self.refresh_victim()?, Cause::Refresh)
            };
        self.victims.remove(superblock);
        let block = self.blocks.get_mut(superblock);
        block.state = State::Collecting;
        let valid = u64::from(block.valid);
        let start = self.geometry.ppa(superblock, 0);
        let gained = u64::from(self.geometry.native.superblock_units).saturating_sub(valid);
        Some(Victim {
            superblock,
            cause,
            cursor: start,
            end: start + self.geometry.native.superblock_units,
            yield_per_move: (gained * 1024).checked_div(valid).unwrap_or(0),
        })
    }

    fn refresh_victim(&mut self) -> Option<u32> {
        while let Some(superblock) = self.refresh_queue.pop_front() {
            if self.blocks.get(superblock).state == State::Closed {
                self.slc_closed.retain(|s| *s != superblock);
                return Some(superblock);
            }
        }
        None
    }

    /// SLC data goes first: folding three or four SLC superblocks frees more than it takes.
    fn collection_victim(&mut self, now: Nanos) -> Option<(u32, Cause)> {
        if self.slc_count > self.slc.fixed
            && let Some(superblock) = self.slc_closed.pop_front()
        {
            return Some((superblock, Cause::Fold));
        }
        let victim = match self.policy {
            CollectionPolicy::Greedy => self.victims.least(),
            CollectionPolicy::Fifo => self
                .victims
                .iter()
                .min_by_key(|s| self.blocks.get(*s).closed_order),
            CollectionPolicy::CostBenefit => self.best_cost_benefit(now),
        };
        match victim {
            Some(superblock) => Some((superblock, Cause::Collect)),
            None => self.slc_closed.pop_front().map(|s| (s, Cause::Fold)),
        }
    }

    fn best_cost_benefit(&self, _now: Nanos) -> Option<u32> {
        let units = f64::from(self.geometry.native.superblock_units);
        let score = |superblock: &u32| {
            let block = self.blocks.get(*superblock);
            let used = f64::from(block.valid) / units;
            let age = (self.closings - block.closed_order + 1) as f64;
            age * (1.0 - used) / (2.0 * used + 1e-9)
        };
        let mut best: Option<(f64, u32)> = None;
        for superblock in self.victims.iter() {
            let value = score(&superblock);
            if best.is_none_or(|(b, _)| value > b) {
                best = Some((value, superblock));
            }
        }
        best.map(|(_, s)| s)
    }

    /// Moves valid units out of the current victim into the relocation stream, until a program unit
    /// is full. `read` gets the array reads, in order. Returns the units moved, the program unit
    /// that became full, and whether the victim is exhausted.
    pub(crate) fn relocate(
        &mut self,
        now: Nanos,
        read: &mut Vec<PageRun>,
    ) -> (u32, Option<ProgramUnit>, bool) {
        let Some(mut victim) = self.victim.take() else {
            return (0, None, true);
        };
        let mut full = None;
        let mut moved = 0;
        let some_valid = self.map.next_valid(victim.cursor, victim.end).is_some();
        if some_valid && let Some(mut stream) = self.relocation_stream() {
            moved = self.move_units(&mut victim, &mut stream, read);
            full = self.take_full_unit(&mut stream);
            self.relocation = self.keep_or_close(stream, now);
        }
        self.count_moved(victim.cause, moved);
        let exhausted = self.map.next_valid(victim.cursor, victim.end).is_none();
        if !exhausted {
            self.victim = Some(victim);
        }
        (moved, full, exhausted)
    }

    /// The open stream of relocation, taken out of the log, or a new one; `None` where no block is left.
    fn relocation_stream(&mut self) -> Option<Stream> {
        if let Some(stream) = self.relocation.take() {
            return Some(stream);
        }
        let superblock = self.blocks.open(false)?;
        Some(Stream {
            superblock,
            next: 0,
            slc: false,
            filling: 0,
            host_units: 0,
        })
    }

    /// Fills the stream's program unit from the victim; returns the units moved.
    fn move_units(
        &mut self,
        victim: &mut Victim,
        stream: &mut Stream,
        read: &mut Vec<PageRun>,
    ) -> u32 {
        let to = self.geometry.ppa(stream.superblock, stream.next);
        let most = self.room(stream);
        let mut moved = 0;
        // The run that is being joined, and where its page ends.
        let mut joining: Option<(Ppa, PageRun)> = None;
        while moved < most {
            let Some(from) = self.map.next_valid(victim.cursor, victim.end) else {
                break;
            };
            victim.cursor = from + 1;
            self.map.move_unit(from, to + moved);
            moved += 1;
            match &mut joining {
                Some((page_end, run)) if from < *page_end => run.units += 1,
                _ => {
                    read.extend(joining.map(|(_, run)| self.joined(run)));
                    joining = Some(self.first_of_page(from, victim.superblock));
                }
            }
        }
        read.extend(joining.map(|(_, run)| self.joined(run)));
        // A victim is neither open nor listed: nothing else follows from what it loses.
        self.blocks.get_mut(victim.superblock).valid -= moved;
        self.advance_stream(stream, to, moved);
        moved
    }

    /// An array read of one unit, to be joined by others of its page, and where that page ends.
    fn first_of_page(&self, ppa: Ppa, superblock: u32) -> (Ppa, PageRun) {
        let g = &self.geometry;
        let offset = ppa - g.ppa(superblock, 0);
        let slc = self.blocks.get(superblock).slc;
        let place = g.place(superblock, offset, slc);
        let run = PageRun {
            superblock,
            program: place.program,
            die: place.die,
            array_ns: g.read_ns(slc, place.program, place.stripe),
            units: 1,
            planes: 1,
        };
        (ppa - offset % g.stripe_units + g.stripe_units, run)
    }

    fn joined(&self, run: PageRun) -> PageRun {
        PageRun {
            planes: run.units.div_ceil(self.geometry.units_per_page),
            ..run
        }
    }

    /// Closes the relocation stream's program unit with padding.
    pub(crate) fn close_relocation_unit(&mut self, now: Nanos) -> Option<ProgramUnit> {
        let mut stream = self.relocation.take()?;
        let unit = self.close_unit(&mut stream);
        self.relocation = self.keep_or_close(stream, now);
        unit
    }

    fn count_moved(&mut self, cause: Cause, units: u32) {
        let count = match cause {
            Cause::Fold => &mut self.programmed.folded,
            Cause::Collect => &mut self.programmed.collected,
            Cause::Refresh => &mut self.programmed.refreshed,
        };
        *count += u64::from(units);
    }

    // ---- life of a superblock ------------------------------------------------------------------

    /// `units` of a superblock hold no valid data any more.
    #[inline]
    fn invalidated(&mut self, superblock: u32, units: u32) {
        if units == 0 {
            return;
        }
        let block = self.blocks.get_mut(superblock);
        block.valid -= units;
        let (valid, state, slc) = (block.valid, block.state, block.slc);
        if state == State::Closed {
            if !slc {
                self.victims.reduce(superblock, units);
            }
            if valid == 0 {
                self.bury(superblock);
            }
        }
    }

    /// A program of the superblock is done.
    pub(crate) fn program_done(&mut self, superblock: u32) {
        self.blocks.get_mut(superblock).programs_pending -= 1;
    }

    /// The data moved out of a collected superblock is safe elsewhere.
    pub(crate) fn collected(&mut self, superblock: u32) {
        self.bury(superblock);
    }

    fn bury(&mut self, superblock: u32) {
        self.victims.remove(superblock);
        let slc = self.blocks.get(superblock).slc;
        if slc {
            self.slc_closed.retain(|s| *s != superblock);
        }
        self.blocks.get_mut(superblock).state = State::Erasing;
        self.dead.push(superblock);
    }

    /// A superblock that can be erased now, its programs being done.
    pub(crate) fn take_dead(&mut self) -> Option<u32> {
        let ready = self
            .dead
            .iter()
            .position(|s| self.blocks.get(*s).programs_pending == 0)?;
        Some(self.dead.swap_remove(ready))
    }

    /// The erase of a superblock is over.
    pub(crate) fn erased(&mut self, superblock: u32, block_failed: bool) {
        if self.blocks.get(superblock).slc {
            self.slc_count -= 1;
        }
        self.blocks.erased(superblock, block_failed);
    }

    /// The program unit is still being filled: its data is in the write buffer.
    pub(crate) fn is_filling(&self, superblock: u32, program: u32) -> bool {
        [self.host, self.relocation].into_iter().flatten().any(|s| {
            s.superblock == superblock
                && s.filling > 0
                && s.next / self.geometry.mode(s.slc).program_units == program
        })
    }

    /// Native units that can be written without any relocation.
    pub(crate) fn free_units(&self) -> u64 {
        let open = self
            .host
            .map_or(0, |s| self.geometry.mode(s.slc).superblock_units - s.next);
        u64::from(self.blocks.free_count()) * u64::from(self.geometry.native.superblock_units)
            + u64::from(open)
    }

    /// Whether the device can still take writes: enough blocks are left to collect with, as many
    /// as the check of a profile asks for.
    pub(crate) fn writable(&self) -> bool {
        let least = self.collection_start + OPEN_SUPERBLOCKS as u32 + self.slc.fixed;
        self.blocks.retired() + least <= self.spare
    }

    /// Does everything that relocation and erasure must do, at once and without time: for starting
    /// states (preconditioning), not for measurements.
    pub(crate) fn settle_instantly(&mut self, now: Nanos, idle: bool) {
        let mut reads = Vec::new();
        loop {
            self.erase_dead_instantly();
            if !(self.needs_relocation() || idle && (self.has_slc_data() || self.victim.is_some()))
            {
                break;
            }
            let Some(victim) = self.current_victim(now, idle) else {
                break;
            };
            reads.clear();
            let (_, full, exhausted) = self.relocate(now, &mut reads);
            if let Some(unit) = full {
                self.program_done(unit.superblock);
            }
            if exhausted {
                self.collected(victim.superblock);
            }
        }
    }

    /// See [`Log::settle_instantly`].
    pub(crate) fn erase_dead_instantly(&mut self) {
        while let Some(superblock) = self.take_dead() {
            self.erased(superblock, false);
        }
    }
}
