//! The SLC cache: when it may grow, when folding must free its blocks, and its contents.

use super::Log;
use crate::flash::superblock_id::SuperblockId;
use crate::mapping::page::geometry::OPEN_SUPERBLOCKS;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The superblocks in SLC mode.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct SlcCache {
    /// Closed superblocks, in order of closing.
    closed: VecDeque<SuperblockId>,
    /// Number of superblocks in SLC mode that are not free.
    count: u32,
}

impl SlcCache {
    /// A superblock was opened in SLC mode.
    pub(super) fn opened(&mut self) {
        self.count += 1;
    }

    /// A superblock in SLC mode was closed.
    pub(super) fn closed(&mut self, superblock: SuperblockId) {
        self.closed.push_back(superblock);
    }

    /// A superblock in SLC mode was erased.
    pub(super) fn erased(&mut self) {
        self.count -= 1;
    }

    /// Superblocks in SLC mode that are not free.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Removes and returns the superblock that was closed first.
    pub(super) fn take_oldest(&mut self) -> Option<SuperblockId> {
        self.closed.pop_front()
    }

    /// Removes a superblock from the closed ones.
    pub(super) fn remove(&mut self, superblock: SuperblockId) {
        self.closed.retain(|s| *s != superblock);
    }

    /// Closed superblocks, in order of closing.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = SuperblockId> {
        self.closed.iter().copied()
    }

    fn is_empty(&self) -> bool {
        self.closed.is_empty()
    }
}

impl Log {
    /// Number of free superblocks at or below which the SLC cache may not grow: neither the reserve nor
    /// over-provisioning beyond the static cache is borrowed.
    pub(super) fn slc_floor(&self) -> u32 {
        self.layout
            .spare
            .saturating_sub(self.layout.slc.fixed)
            .saturating_add(self.layout.slc.reserve)
            .max(self.layout.gc.start + OPEN_SUPERBLOCKS)
    }

    pub(super) fn slc_may_grow(&self) -> bool {
        if self.slc.count < self.layout.slc.fixed {
            return self.blocks.free_count() > self.layout.gc.start + 1;
        }
        self.slc.count < self.layout.slc.most && self.blocks.free_count() > self.slc_floor()
    }

    /// Whether dynamic cache must be folded: the unmapped capacity that it borrowed is being used, and so is the part
    /// of the over-provisioning that it may use.
    pub(super) fn must_fold(&self) -> bool {
        if self.slc.count <= self.layout.slc.fixed || self.slc.is_empty() {
            return false;
        }
        let least = (self.layout.gc.start + OPEN_SUPERBLOCKS)
            .max(self.slc_floor().saturating_sub(self.layout.slc.lent));
        self.blocks.free_count() <= least
    }

    /// Units of valid data in SLC superblocks.
    pub(crate) fn slc_used_units(&self) -> u64 {
        let open = self.streams.of_data().filter(|s| s.slc);
        let open = open.map(|s| s.superblock);
        self.slc
            .iter()
            .chain(open)
            .map(|s| u64::from(self.blocks.get(s).valid))
            .sum()
    }

    /// Units that the SLC cache may hold at present.
    pub(crate) fn slc_limit_units(&self) -> u64 {
        let borrowed = self.blocks.free_count().saturating_sub(self.slc_floor());
        let superblocks =
            (self.slc.count + borrowed).clamp(self.layout.slc.fixed, self.layout.slc.most);
        u64::from(superblocks) * u64::from(self.geometry.slc.superblock_units)
    }

    /// Whether folding in idle time would move data.
    pub(crate) fn has_slc_data(&self) -> bool {
        !self.slc.is_empty()
    }
}
