//! The page-mapped log: host data is appended to an open superblock, in SLC mode while the cache
//! has room; relocation (collection, folding, wear levelling, refresh) moves valid units to an
//! open superblock of its own. Superblocks without valid units are handed back for erasure.
//!
//! The log says *what* must be read, programmed and erased; *when* is the device's affair.
//! This file holds its state; [`append`] the host's side, [`lookup`] what reads ask, [`slc`] the
//! cache's rules, [`partial`] writes of less than a unit, [`map_blocks`] superblocks of map pages, [`map_updates`] changes of the
//! map that wait in RAM, [`discard`] what is forgotten, [`choice`] whom to relocate, [`heat`] which data is kept apart, [`relocation`] how, [`life`] what becomes of a
//! superblock after that, [`audit`] the check of it all.

mod append;
mod audit;
mod checkpoint;
mod choice;
mod discard;
mod heat;
mod journal;
mod life;
mod lookup;
mod map_blocks;
mod map_updates;
mod open;
mod partial;
mod relocation;
mod slc;

use super::map::{LostRun, Map};
use super::map_cache::MapCache;
use super::ppn::Ppn;
use super::victims::Victims;
use crate::convert::{Narrow, Whole};
use crate::ftl::blocks::Superblocks;
use crate::ftl::page_map::geometry::{Geometry, checkpoints, open_superblocks};
use crate::ftl::page_map::lpn::Lpn;
use crate::ftl::page_map::program_id::ProgramId;
use crate::ftl::superblock_id::SuperblockId;
use crate::nand::{Die, PlaneSet};
use crate::profile::schema::{FtlSection, MapLocation, Profile, VictimPolicy};
use crate::random::Random;
use checkpoint::Checkpoint;
use heat::Heat;
pub(crate) use heat::Pool;
use map_updates::MapUpdates;
use nandscope_units::Nanos;
use partial::Partial;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A program unit that is full (or was closed) and must be programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProgramUnit {
    pub(crate) superblock: SuperblockId,
    pub(crate) program: ProgramId,
    pub(crate) die: Die,
    pub(crate) slc: bool,
    pub(crate) pool: Pool,
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
    /// Where its first unit is.
    pub(crate) first: Ppn,
    pub(crate) superblock: SuperblockId,
    pub(crate) program: ProgramId,
    pub(crate) die: Die,
    pub(crate) array_ns: u32,
    pub(crate) units: u32,
    /// Planes whose pages are read: those pages are transferred, and their blocks disturbed.
    pub(crate) planes: PlaneSet,
}

/// A page of the map that a look-up did not find in the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WantedPage {
    pub(crate) page: u32,
    /// It is in the flash only, not in host memory.
    pub(crate) absent: bool,
}

/// A superblock from which data is being moved.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Victim {
    pub(crate) superblock: SuperblockId,
    pub(crate) cause: Cause,
    cursor: Ppn,
    end: Ppn,
    /// The erase block to which the relocation is limited, where only that one is refreshed.
    only: Option<u32>,
    /// Where its data goes.
    pub(crate) pool: Pool,
    /// It held no valid data when it was chosen.
    empty: bool,
    /// Credit of the host for each unit moved out of this victim.
    pub(crate) yield_per_move: u64,
}

impl Victim {
    /// All of its space becomes the host's.
    pub(crate) fn held_nothing(&self) -> bool {
        self.empty
    }
}

/// How far the map entries of a victim's units have been fetched from memory.
#[derive(Clone, Copy, Debug, Default)]
struct Fetched {
    /// The place after the last unit whose entry was fetched; of no meaning outside what is left of the victim.
    to: Ppn,
    /// Entries that are not needed yet.
    ahead: u32,
}

/// What is to be rewritten for refresh or wear levelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RefreshTarget {
    pub(crate) superblock: SuperblockId,
    /// One erase block of it, or all.
    pub(crate) block: Option<u32>,
}

/// An open superblock and how far it is filled.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Stream {
    superblock: SuperblockId,
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
    pub(crate) gc_writes: u64,
    pub(crate) folded: u64,
    pub(crate) refreshed: u64,
    pub(crate) metadata: u64,
    pub(crate) padding: u64,
    pub(crate) parity: u64,
}

impl Programmed {
    pub(crate) fn total(&self) -> u64 {
        let moved = self.gc_writes + self.folded + self.refreshed;
        self.host + moved + self.metadata + self.padding + self.parity
    }
}

/// How the SLC cache is governed, in superblocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct SlcPolicy {
    fixed: u32,
    most: u32,
    /// Superblocks of the over-provisioning that cached data may take up before it must go.
    lent: u32,
    /// Superblocks of unmapped capacity that it may not take up.
    reserve: u32,
}

/// What follows from the profile and the number of superblocks alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Layout {
    /// Logical units: the host's, pages of the map, pages of its journal.
    logical: u32,
    map_base: Lpn,
    map_pages: u32,
    /// Pages of the map that are loaded, if not all of them are.
    map_cache_slots: Option<u32>,
    /// Changed entries that are collected in RAM, if they are.
    update_entries: Option<u32>,
    /// Closed superblocks of map pages beyond which they are collected, and how many of them hold no valid pages.
    map_superblocks: u32,
    map_reserve: u32,
    /// These are in host memory: the controller fetches a page for every look-up that its own memory does not answer.
    map_is_remote: bool,
    /// Pages of the map in the controller's own memory, where it keeps any of what is in host memory.
    near_map_slots: Option<u32>,
    journal_base: Lpn,
    journal_units: u32,
    journal_entries: u32,
    /// Flushes and forced writes complete the page of the journal that is being filled.
    journal_on_flush: bool,
    policy: VictimPolicy,
    gc_start: u32,
    /// Free superblocks of these that journal and checkpoint may take at once.
    checkpoint_burst: u32,
    /// Free superblocks up to which garbage collection goes on in idle time.
    idle_free: u32,
    slc: SlcPolicy,
    /// Superblocks beyond the logical capacity.
    spare: u32,
    /// Superblocks that may be open at once, and one.
    open: u32,
}

impl Layout {
    fn new(ftl: &FtlSection, geometry: &Geometry, superblocks: u32) -> Self {
        let logical = geometry.user_units + geometry.metadata_units(ftl);
        let journal_units = geometry.journal_units(ftl);
        let map_pages = geometry.map_units();
        let slots = |kib: u32| {
            let slots = u64::from(kib) * 1024 / u64::from(geometry.unit_bytes);
            slots.min(u64::from(map_pages)).narrow()
        };
        let spare = superblocks.saturating_sub(logical.div_ceil(geometry.native.superblock_units));
        let slc = ftl
            .slc_cache
            .as_ref()
            .map_or(SlcPolicy::default(), |s| SlcPolicy {
                fixed: geometry.slc_superblocks_for(s.static_gb),
                most: geometry.slc_superblocks_for(s.static_gb + s.dynamic_gb),
                lent: (f64::from(spare) * s.lends_spare_percent / 100.0).floor_u32(),
                reserve: geometry.native_superblocks_in(s.reserve_gb),
            });
        Layout {
            logical,
            map_base: Lpn(geometry.user_units),
            map_pages,
            map_cache_slots: ftl.map.window_kib.map(slots),
            update_entries: ftl.map.update_entries,
            map_superblocks: geometry.map_superblocks(ftl),
            map_reserve: geometry.map_reserve(ftl),
            map_is_remote: ftl.map.location == MapLocation::HostMemory,
            near_map_slots: ftl.map.sram_kib.map(slots),
            journal_base: Lpn(logical - journal_units),
            journal_units,
            journal_entries: ftl.journal_entries,
            journal_on_flush: ftl.journal_on_flush,
            policy: ftl.collection,
            gc_start: geometry.collection_start(ftl),
            checkpoint_burst: geometry.checkpoint_burst(ftl),
            idle_free: ftl.idle_collection,
            slc,
            spare,
            open: open_superblocks(ftl),
        }
    }
}

/// The log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Log {
    pub(crate) geometry: Geometry,
    pub(crate) map: Map,
    pub(crate) blocks: Superblocks,
    victims: Victims,
    /// Closed superblocks in SLC mode, in order of closing.
    slc_closed: VecDeque<SuperblockId>,
    slc_count: u32,
    /// By [`Pool`], as is `relocation`.
    host: [Option<Stream>; Pool::COUNT],
    relocation: [Option<Stream>; Pool::COUNT],
    /// Closed superblocks of map pages, which are not among the victims.
    map_closed: Vec<SuperblockId>,
    /// Changes of map entries that are collected in RAM.
    map_updates: Option<MapUpdates>,
    /// Pages of the map that are written with these changes in the present step.
    #[serde(skip)]
    updated: Vec<u32>,
    /// Only where data is separated by heat.
    heat: Option<Heat>,
    victim: Option<Victim>,
    #[serde(skip)]
    fetched: Fetched,
    refresh_queue: VecDeque<RefreshTarget>,
    /// Superblocks without valid data that wait for their erasure.
    to_erase: Vec<SuperblockId>,
    map_cache: Option<MapCache>,
    /// What the controller keeps of a map in host memory. A page is there only if it is in `map_cache`, too.
    near_map: Option<MapCache>,
    /// Only of a map in DRAM that is written to flash.
    checkpoint: Option<Checkpoint>,
    /// Units gathered in the host's stream of which only a part has come.
    partials: Vec<Partial>,
    /// Pages of the map that the look-ups of the present step wait for.
    #[serde(skip)]
    wanted: Vec<WantedPage>,
    /// Room for what [`Map::point_run`] and [`Map::point_each`] find.
    #[serde(skip)]
    lost_runs: Vec<LostRun>,
    #[serde(skip)]
    lost: Vec<Ppn>,
    layout: Layout,
    journal_next: u32,
    entries_pending: u32,
    closings: u64,
    /// When the device became read-only: it had too few blocks left to collect with.
    read_only_since: Option<Nanos>,
    /// Units that garbage collection has moved since the host wrote or discarded something.
    gc_writes_since_host: u64,
    /// Collections since something else was relocated.
    gc_victims_in_row: u32,
    /// Mean yield of the last victims of garbage collection.
    mean_yield: u64,
    pub(crate) programmed: Programmed,
    /// Units appended to superblocks so far, those of them that were erased, and those that are not in
    /// `programmed`.
    appended: u64,
    erased_units: u64,
    uncounted: u64,
}

impl Log {
    pub(crate) fn new(
        profile: &Profile,
        ftl: &FtlSection,
        geometry: Geometry,
        random: &mut Random,
    ) -> Self {
        let blocks = Superblocks::new(&geometry, profile.nand.factory_bad_percent, random);
        let superblocks = blocks.len();
        let native_units = geometry.native.superblock_units;
        let layout = Layout::new(ftl, &geometry, superblocks);
        let mut log = Log {
            read_only_since: None,
            gc_writes_since_host: 0,
            map: Map::new(layout.logical, superblocks * native_units),
            victims: Victims::new(superblocks),
            map_cache: layout
                .map_cache_slots
                .map(|slots| MapCache::new(slots, layout.map_pages)),
            near_map: layout
                .near_map_slots
                .map(|slots| MapCache::new(slots, layout.map_pages)),
            checkpoint: checkpoints(ftl)
                .then(|| Checkpoint::new(layout.map_pages, layout.journal_units)),
            partials: Vec::new(),
            wanted: Vec::new(),
            lost_runs: Vec::new(),
            lost: Vec::new(),
            layout,
            journal_next: 0,
            entries_pending: 0,
            slc_closed: VecDeque::new(),
            slc_count: 0,
            host: [None; Pool::COUNT],
            relocation: [None; Pool::COUNT],
            map_closed: Vec::new(),
            map_updates: layout
                .update_entries
                .map(|entries| MapUpdates::new(entries, layout.map_pages)),
            updated: Vec::new(),
            heat: ftl.separate_by_heat.then(|| Heat::new(geometry.user_units)),
            victim: None,
            fetched: Fetched::default(),
            refresh_queue: VecDeque::new(),
            to_erase: Vec::new(),
            closings: 0,
            gc_victims_in_row: 0,
            mean_yield: 0,
            programmed: Programmed::default(),
            appended: 0,
            erased_units: 0,
            uncounted: 0,
            geometry,
            blocks,
        };
        log.note_retired(Nanos::ZERO);
        log
    }
}
