//! [`Moving`], the superblock from which data is being moved, and those that wait for a refresh.

use super::{Cause, Pool};
use crate::flash::superblock_id::SuperblockId;
use crate::mapping::page::ppn::Ppn;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A superblock from which data is being moved.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Victim {
    pub(crate) superblock: SuperblockId,
    pub(crate) cause: Cause,
    /// The next unit to look at, and the end of the superblock.
    pub(super) cursor: Ppn,
    pub(super) end: Ppn,
    /// The erase block to which the relocation is limited, if only one is refreshed.
    pub(super) only: Option<u32>,
    /// Pool that its data goes to.
    pub(crate) pool: Pool,
    /// Whether it held no valid data when it was chosen.
    pub(super) empty: bool,
    /// Credit of the host for each unit moved out of this victim.
    pub(crate) yield_per_move: u64,
}

impl Victim {
    /// Whether it held no valid data when it was chosen; then the host gets credit for all of its space.
    pub(crate) fn held_nothing(&self) -> bool {
        self.empty
    }
}

/// How far the map entries of a victim's units have been fetched from memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fetched {
    /// The place after the last unit whose entry was fetched; meaningless outside the rest of the victim.
    pub(super) to: Ppn,
    /// Entries that are not needed yet.
    pub(super) ahead: u32,
}

/// A superblock or erase block that refresh or wear levelling will rewrite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RefreshTarget {
    pub(crate) superblock: SuperblockId,
    /// One erase block of it; `None` for all.
    pub(crate) block: Option<u32>,
}

/// The superblock from which data is being moved, and those that wait for a refresh.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Moving {
    pub(super) victim: Option<Victim>,
    #[serde(skip)]
    pub(super) fetched: Fetched,
    refresh_queue: VecDeque<RefreshTarget>,
}

impl Moving {
    /// Adds a target to the queue of refreshes, unless it is there.
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

    /// Whether a refresh has begun with a superblock.
    pub(super) fn is_refreshing(&self) -> bool {
        self.victim.is_some_and(|v| v.cause == Cause::Refresh)
    }

    /// The target at a place of the queue.
    pub(super) fn refresh_at(&self, place: usize) -> Option<RefreshTarget> {
        self.refresh_queue.get(place).copied()
    }

    /// Takes the target at a place of the queue out.
    pub(super) fn remove_refresh_at(&mut self, place: usize) {
        self.refresh_queue.remove(place);
    }

    /// Drops the refreshes of a superblock that was erased.
    pub(super) fn forget_refreshes_of(&mut self, superblock: SuperblockId) {
        self.refresh_queue
            .retain(|target| target.superblock != superblock);
    }

    /// The superblocks and erase blocks that wait for a refresh, in order.
    pub(super) fn refreshes(&self) -> impl ExactSizeIterator<Item = &RefreshTarget> {
        self.refresh_queue.iter()
    }
}
