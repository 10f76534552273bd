//! [`Layout`], the sizes and limits of a log.

use crate::convert::{Narrow, Whole};
use crate::mapping::page::geometry::{Geometry, open_superblocks};
use crate::mapping::page::lpn::Lpn;
use crate::profile::schema::{FtlSection, MapLocation};
use serde::{Deserialize, Serialize};

/// Limits of the SLC cache, in superblocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct SlcPolicy {
    pub(super) fixed: u32,
    pub(super) most: u32,
    /// Superblocks of over-provisioning that cached data may take up before folding is forced.
    pub(super) lent: u32,
    /// Superblocks of unmapped capacity that the cache may not use.
    pub(super) reserve: u32,
}

/// Location of the map pages, and capacities of the memories that hold them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct MapLayout {
    /// Logical unit of the first page.
    pub(super) base: Lpn,
    pub(super) pages: u32,
    /// Number of map pages in the window; `None` if the whole map is loaded.
    pub(super) cache_slots: Option<u32>,
    /// Capacity of RAM for changed entries; `None` if they are not gathered.
    pub(super) update_entries: Option<u32>,
    /// Number of closed map superblocks above which they are collected.
    pub(super) superblocks: u32,
    /// Part of `superblocks` beyond the valid map pages.
    pub(super) reserve: u32,
    /// Whether the window is in host memory: the controller fetches a page for each look-up that its own memory does
    /// not answer.
    pub(super) is_remote: bool,
    /// Number of pages of a window in host memory that the controller caches; `None` for no cache.
    pub(super) near_slots: Option<u32>,
}

/// Place and size of the map's journal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct JournalLayout {
    /// Logical unit of the first page.
    pub(super) base: Lpn,
    /// Number of journal pages.
    pub(super) units: u32,
    /// Entries per journal page; 0 without a journal.
    pub(super) entries: u32,
    /// Whether flushes and forced writes complete the current journal page.
    pub(super) on_flush: bool,
}

/// Limits of garbage collection, in free superblocks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct CollectionLimits {
    /// Number at which collection starts.
    pub(super) start: u32,
    /// Largest number that journal and checkpoint take at once.
    pub(super) checkpoint_burst: u32,
    /// Number up to which collection continues in idle time.
    pub(super) idle_free: u32,
}

/// Sizes and limits that follow from the profile and the number of superblocks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Layout {
    /// Number of logical units: the host's, map pages, journal pages.
    pub(super) logical: u32,
    pub(super) map: MapLayout,
    pub(super) journal: JournalLayout,
    pub(super) gc: CollectionLimits,
    pub(super) slc: SlcPolicy,
    /// Superblocks beyond the logical capacity.
    pub(super) spare: u32,
    /// Maximum number of open superblocks, plus one.
    pub(super) open: u32,
}

impl Layout {
    pub(super) fn new(ftl: &FtlSection, geometry: &Geometry, superblocks: u32) -> Self {
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
            map: MapLayout {
                base: Lpn(geometry.user_units),
                pages: map_pages,
                cache_slots: ftl.map.window_kib.map(slots),
                update_entries: ftl.map.update_entries,
                superblocks: geometry.map_superblocks(ftl),
                reserve: geometry.map_reserve(ftl),
                is_remote: ftl.map.location == MapLocation::HostMemory,
                near_slots: ftl.map.sram_kib.map(slots),
            },
            journal: JournalLayout {
                base: Lpn(logical - journal_units),
                units: journal_units,
                entries: ftl.journal_entries,
                on_flush: ftl.journal_on_flush,
            },
            gc: CollectionLimits {
                start: geometry.collection_start(ftl),
                checkpoint_burst: geometry.checkpoint_burst(ftl),
                idle_free: ftl.idle_collection,
            },
            slc,
            spare,
            open: open_superblocks(ftl),
        }
    }
}
