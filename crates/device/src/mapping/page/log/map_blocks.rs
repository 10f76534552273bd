//! Superblocks of map pages. If only a part of the map is loaded, its pages have their own superblocks, the translation
//! blocks of DFTL (Gupta, Kim and Urgaonkar, "DFTL: A Flash Translation Layer Employing Demand-based Selective Caching
//! of Page-level Address Mappings", ASPLOS 2009). Map pages are rewritten far more often than data; mixed with data,
//! each rewritten page would leave a hole that only collection of that data could reclaim.
//!
//! There is space for about twice as many pages as are valid ([`Geometry::map_superblocks`]), reserved for map pages.
//! Above it, the map superblock with the fewest valid pages is collected. That changes no map entry, since the places
//! of map pages are in RAM.
//!
//! [`Geometry::map_superblocks`]: crate::mapping::page::geometry::Geometry::map_superblocks

use super::{Cause, Log, Pool, ProgramUnit};
use crate::flash::superblock_id::SuperblockId;
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};

/// Number of streams of map pages: new pages, and pages moved by collection.
const MAP_STREAMS: u32 = 2;

/// Closed superblocks of map pages, which are not among the victims.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct MapBlocks {
    closed: Vec<SuperblockId>,
}

impl MapBlocks {
    /// Adds a closed superblock of map pages.
    pub(super) fn closed(&mut self, superblock: SuperblockId) {
        self.closed.push(superblock);
    }

    /// Removes a superblock, if it is listed.
    pub(super) fn remove(&mut self, superblock: SuperblockId) {
        self.closed.retain(|s| *s != superblock);
    }

    /// Closed superblocks, in order of closing.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = SuperblockId> {
        self.closed.iter().copied()
    }
}

impl Log {
    /// Number of streams of map pages, each of which may open a superblock before it frees one.
    #[inline]
    pub(super) fn map_streams(&self) -> u32 {
        if self.window.is_whole_map() {
            0
        } else {
            MAP_STREAMS
        }
    }

    /// Whether the valid units of a superblock are map pages; these are never mixed with data.
    pub(super) fn holds_map_pages(&self, superblock: SuperblockId) -> bool {
        if self.window.is_whole_map() {
            return false;
        }
        let start = self.geometry.ppn(superblock, 0);
        let end = start + self.geometry.native.superblock_units;
        let first = self.map.next_valid(start, end);
        first.is_some_and(|ppn| {
            let owner = self.map.owner(ppn);
            (self.layout.map.base..self.layout.journal.base).contains(&owner)
        })
    }

    /// Whether room must be made for the host or for the map.
    pub(crate) fn makes_room(&self) -> bool {
        self.needs_relocation() || self.collects_map()
    }

    /// Whether a map superblock is being collected, or must be.
    fn collects_map(&self) -> bool {
        let begun = |v: &super::Victim| v.pool == Pool::Map && v.cause == Cause::Collect;
        self.map_is_full() || self.moving.victim.as_ref().is_some_and(begun)
    }

    #[inline]
    fn map_is_full(&self) -> bool {
        self.map_blocks.iter().len() > self.layout.map.superblocks as usize
    }

    /// Map superblock to collect next, if there are more than the limit.
    pub(super) fn map_victim(&self) -> Option<SuperblockId> {
        let valid = |superblock: &SuperblockId| self.blocks.get(*superblock).valid;
        let emptiest = self.map_blocks.iter().min_by_key(valid);
        emptiest.filter(|_| self.map_is_full())
    }

    /// Writes a page of the map to its superblocks.
    pub(super) fn write_map_page(&mut self, page: u32, now: Nanos, full: &mut Vec<ProgramUnit>) {
        let unit = self.layout.map.base + page;
        self.write_metadata((Pool::Map, unit), now, full);
    }
}
