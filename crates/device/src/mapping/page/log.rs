//! The page-mapped log: host data is appended to an open superblock, in SLC mode while the cache
//! has room; relocation (collection, folding, wear levelling, refresh) moves valid units to an
//! open superblock of its own. Superblocks without valid units wait for their erasure.
//!
//! The log decides *what* must be read, programmed and erased; the device decides *when*.
//!
//! State: [`open`] has the open superblocks, [`slc`] the SLC cache, [`moving`] the victim and the queue of refreshes,
//! [`window`] the loaded pages of the map, [`map_blocks`] the superblocks of its pages, [`map_updates`] the changed
//! entries that wait in RAM, [`journal`] and [`checkpoint`] the copies of changes in flash, [`partial`] the units of which
//! a part has come, [`heat`] the counts of writes, [`accounts`] the programmed units by cause, [`layout`] all limits.
//!
//! Work: [`append`] writes of the host, [`discard`] discards, [`lookup`] the map, [`choice`] the choice of victims,
//! [`relocation`] moves, [`life`] superblocks after they are closed, [`audit`] the check of all invariants.

mod accounts;
mod append;
mod audit;
mod checkpoint;
mod choice;
mod discard;
mod journal;
mod layout;
mod life;
mod lookup;
mod map_blocks;
mod map_updates;
mod moving;
mod open;
mod partial;
mod pools;
mod relocation;
mod slc;
mod window;

use super::map::{LostRun, Map};
use super::ppn::Ppn;
use crate::flash::blocks::Superblocks;
use crate::flash::superblock_id::SuperblockId;
use crate::flash::{Die, PlaneSet};
use crate::mapping::page::geometry::{Geometry, checkpoints};
use crate::mapping::page::program_id::ProgramId;
use crate::policy::heat::Heat;
use crate::policy::victim::Chooser;
use crate::policy::victims::Victims;
use crate::profile::schema::{FtlSection, Profile};
use crate::random::Random;
use accounts::Accounts;
use checkpoint::Checkpoint;
use choice::Collection;
use journal::Journal;
use layout::Layout;
use map_blocks::MapBlocks;
use map_updates::PendingUpdates;
use moving::Moving;
pub(crate) use moving::{RefreshTarget, Victim};
use nandscope_units::Nanos;
use open::{Stream, Streams};
use partial::Partials;
pub(crate) use pools::Pool;
use serde::{Deserialize, Serialize};
use slc::SlcCache;
use window::MapWindow;
pub(crate) use window::WantedPage;

/// A full (or closed) program unit, ready to be programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProgramUnit {
    pub(crate) superblock: SuperblockId,
    pub(crate) program: ProgramId,
    pub(crate) die: Die,
    pub(crate) slc: bool,
    pub(crate) pool: Pool,
    /// Units of host data, which occupy places of the write buffer; the rest is metadata, relocated data and padding.
    pub(crate) host_units: u32,
}

/// Cause of a relocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Cause {
    Fold,
    Collect,
    Refresh,
}

/// A run of mapping units in one page across planes: one array read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageRun {
    /// Physical number of the first unit.
    pub(crate) first: Ppn,
    pub(crate) superblock: SuperblockId,
    pub(crate) program: ProgramId,
    pub(crate) die: Die,
    pub(crate) array_ns: u32,
    pub(crate) units: u32,
    /// Planes that read: their pages are transferred and their blocks disturbed.
    pub(crate) planes: PlaneSet,
}

/// The log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Log {
    pub(crate) geometry: Geometry,
    pub(crate) map: Map,
    pub(crate) blocks: Superblocks,
    victims: Victims,
    slc: SlcCache,
    streams: Streams,
    map_blocks: MapBlocks,
    updates: PendingUpdates,
    /// Write counts; `None` unless data is separated by heat.
    heat: Option<Heat>,
    moving: Moving,
    /// Superblocks without valid data, to be erased.
    to_erase: Vec<SuperblockId>,
    pub(crate) window: MapWindow,
    /// Rolling checkpoint; `None` unless a map in DRAM is written to flash.
    checkpoint: Option<Checkpoint>,
    partials: Partials,
    /// Reused memory for the results of [`Map::point_run`] and [`Map::point_each`].
    #[serde(skip)]
    lost_runs: Vec<LostRun>,
    #[serde(skip)]
    lost: Vec<Ppn>,
    layout: Layout,
    journal: Journal,
    /// Number of superblocks closed since the device was made.
    closings: u64,
    /// Time at which the device became read-only, with too few blocks left for collection.
    read_only_since: Option<Nanos>,
    collection: Collection,
    pub(crate) chooser: Chooser,
    pub(crate) accounts: Accounts,
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
            map: Map::new(layout.logical, superblocks * native_units),
            victims: Victims::new(superblocks),
            slc: SlcCache::default(),
            streams: Streams::default(),
            map_blocks: MapBlocks::default(),
            updates: PendingUpdates::new(&layout.map),
            heat: ftl.separate_by_heat.then(|| Heat::new(geometry.user_units)),
            moving: Moving::default(),
            to_erase: Vec::new(),
            window: MapWindow::new(&layout.map),
            checkpoint: checkpoints(ftl)
                .then(|| Checkpoint::new(layout.map.pages, layout.journal.units)),
            partials: Partials::default(),
            lost_runs: Vec::new(),
            lost: Vec::new(),
            layout,
            journal: Journal::default(),
            closings: 0,
            read_only_since: None,
            collection: Collection::default(),
            chooser: Chooser::new(&ftl.collection),
            accounts: Accounts::default(),
            geometry,
            blocks,
        };
        log.note_retired(Nanos::ZERO);
        log
    }
}
