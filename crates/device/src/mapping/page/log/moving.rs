//! [`Moving`], the superblock under relocation, and the queue of refreshes.

use super::{Cause, Pool};
use crate::flash::superblock_id::SuperblockId;
use crate::mapping::page::ppn::Ppn;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A superblock under relocation.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Victim {
    pub(crate) superblock: SuperblockId,
    pub(crate) cause: Cause,
    /// Next unit to examine, then the end of the superblock.
    pub(super) cursor: Ppn,
    pub(super) end: Ppn,
    /// Erase block to which the relocation is limited; `None` for the whole superblock.
    pub(super) only: Option<u32>,
    /// Target pool of the data.
    pub(crate) pool: Pool,
    /// Whether the victim had no valid data when it was chosen.
    pub(super) empty: bool,
    /// Credit of the host for each unit moved out of this victim.
    pub(crate) yield_per_move: u64,
}

impl Victim {
    /// Whether the victim had no valid data when it was chosen; the host then gets credit for all of its space.
    pub(crate) fn held_nothing(&self) -> bool {
        self.empty
    }
}

/// Progress of prefetching the map entries of a victim's units.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fetched {
    /// Place after the last unit whose entry was prefetched; valid only within the rest of the victim.
    pub(super) to: Ppn,
    /// Number of prefetched entries not used yet.
    pub(super) ahead: u32,
}

/// A superblock or erase block that refresh or wear levelling will rewrite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RefreshTarget {
    pub(crate) superblock: SuperblockId,
    /// Erase block within the superblock; `None` for all blocks.
    pub(crate) block: Option<u32>,
}

/// The superblock under relocation, and the queue of refreshes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Moving {
    pub(super) victim: Option<Victim>,
    #[serde(skip)]
    pub(super) fetched: Fetched,
    refresh_queue: VecDeque<RefreshTarget>,
}

impl Moving {
    /// Adds a target to the queue of refreshes, unless it is queued already.
    pub(super) fn queue_refresh(&mut self, target: RefreshTarget) -> bool {
        let is_new = !self.refresh_queue.contains(&target);
        if is_new {
            self.refresh_queue.push_back(target);
        }
        is_new
    }

    /// Whether a refresh waits.
    pub(super) fn has_refresh(&self) -> bool {
        !self.refresh_queue.is_empty()
    }

    /// Whether the superblock is being refreshed.
    pub(super) fn is_refreshing(&self) -> bool {
        self.victim.is_some_and(|v| v.cause == Cause::Refresh)
    }

    /// Target at an index of the queue.
    pub(super) fn refresh_at(&self, place: usize) -> Option<RefreshTarget> {
        self.refresh_queue.get(place).copied()
    }

    /// Removes the target at an index of the queue.
    pub(super) fn remove_refresh_at(&mut self, place: usize) {
        self.refresh_queue.remove(place);
    }

    /// Drops the refreshes of a superblock that was erased.
    pub(super) fn forget_refreshes_of(&mut self, superblock: SuperblockId) {
        self.refresh_queue
            .retain(|target| target.superblock != superblock);
    }

    /// Superblocks and erase blocks queued for a refresh, in order.
    pub(super) fn refreshes(&self) -> impl ExactSizeIterator<Item = &RefreshTarget> {
        self.refresh_queue.iter()
    }
}
