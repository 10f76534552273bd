//! The SLC cache: when it may grow, when it must give blocks back, what it holds.

use super::Log;
use crate::ftl::page_map::geometry::OPEN_SUPERBLOCKS;

impl Log {
    /// Free superblocks at or below which the SLC cache may not grow: over-provisioning is never
    /// borrowed, beyond the part of it that is the static cache, nor is the reserve.
    pub(super) fn slc_floor(&self) -> u32 {
        self.layout
            .spare
            .saturating_sub(self.layout.slc.fixed)
            .saturating_add(self.layout.slc.reserve)
            .max(self.layout.gc_start + OPEN_SUPERBLOCKS)
    }

    pub(super) fn slc_may_grow(&self) -> bool {
        if self.slc_count < self.layout.slc.fixed {
            return self.blocks.free_count() > self.layout.gc_start + 1;
        }
        self.slc_count < self.layout.slc.most && self.blocks.free_count() > self.slc_floor()
    }

    /// Dynamic cache must give blocks back: the unmapped capacity that it borrowed is being used,
    /// and of the over-provisioning as much as it may lend.
    pub(super) fn must_fold(&self) -> bool {
        if self.slc_count <= self.layout.slc.fixed || self.slc_closed.is_empty() {
            return false;
        }
        let least = (self.layout.gc_start + OPEN_SUPERBLOCKS)
            .max(self.slc_floor().saturating_sub(self.layout.slc.lent));
        self.blocks.free_count() <= least
    }

    /// Units of valid data in SLC superblocks.
    pub(crate) fn slc_used_units(&self) -> u64 {
        let open = self.host_streams().filter(|s| s.slc);
        let open = open.map(|s| s.superblock);
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
        let superblocks =
            (self.slc_count + borrowed).clamp(self.layout.slc.fixed, self.layout.slc.most);
        u64::from(superblocks) * u64::from(self.geometry.slc.superblock_units)
    }

    /// There is data that folding in idle time would move.
    pub(crate) fn has_slc_data(&self) -> bool {
        !self.slc_closed.is_empty()
    }
}
