//! Choice of the next superblock to relocate, and its cause: folding, collection, refresh, wear levelling; and the
//! credit that relocation gives the host.

use super::{Cause, Log, Pool, RefreshTarget, Stream, Victim};
use crate::convert::{Narrow, ToF64};
use crate::flash::blocks::{NATIVE_CYCLE, State};
use crate::flash::superblock_id::SuperblockId;
use crate::invariant::{Checked, check_sum};
use crate::mapping::page::geometry::OPEN_SUPERBLOCKS;
use crate::policy::pacing::{CREDIT_PER_UNIT, Room};
use crate::policy::victim::Closed;
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};

/// Number of collections after which a waiting refresh is done. A refresh makes no room, but must not be deferred for
/// ever.
const COLLECTIONS_BEFORE_REFRESH: u32 = 16;

/// Number of victims in the decaying mean of the yield.
const VICTIMS_IN_MEAN: u64 = 8;

/// History of garbage collection, used to decide about refreshes, credit and the end of life.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Collection {
    /// Units moved since the last write or discard of the host.
    moved_since_host: u64,
    /// Number of victims since the last relocation for another cause.
    victims_in_row: u32,
    /// Mean credit per moved unit of the latest victims.
    mean_yield: u64,
}

impl Collection {
    /// Records a write or discard of the host.
    #[inline]
    pub(super) fn host_wrote(&mut self) {
        self.moved_since_host = 0;
    }

    /// Counts units moved by garbage collection.
    pub(super) fn count_moved(&mut self, units: u32) {
        self.moved_since_host += u64::from(units);
    }

    /// Whether more than `all` units were moved without any write of the host.
    pub(super) fn is_futile(&self, all: u64) -> bool {
        self.moved_since_host > all
    }

    fn count_victim(&mut self, cause: Cause) {
        self.victims_in_row = match cause {
            Cause::Collect => self.victims_in_row.saturating_add(1),
            Cause::Fold | Cause::Refresh => 0,
        };
    }

    fn add_yield(&mut self, yield_per_move: u64) {
        self.mean_yield = match self.mean_yield {
            0 => yield_per_move,
            mean => mean - mean / VICTIMS_IN_MEAN + yield_per_move / VICTIMS_IN_MEAN,
        };
    }

    pub(super) fn audit(&self) -> Checked {
        check_sum("units collected", self.moved_since_host)
    }
}

impl Log {
    /// Free superblocks at which collection starts, including those that the static SLC cache could use but does not.
    pub(super) fn gc_low_watermark(&self) -> u32 {
        self.layout.gc.start + self.layout.slc.fixed.saturating_sub(self.slc.count())
    }

    /// Whether relocation must make room while the host writes.
    pub(crate) fn needs_relocation(&self) -> bool {
        self.blocks.free_count() + self.to_erase.len().narrow() <= self.gc_low_watermark()
            || self.must_fold()
    }

    /// Whether garbage collection continues in idle time beyond its start, because it still frees more than it moves.
    pub(crate) fn collects_in_idle_time(&self) -> bool {
        let free = self.blocks.free_count() + self.to_erase.len().narrow();
        let least = || self.victims.least().map(|s| self.blocks.get(s).valid);
        free < self.layout.gc.idle_free
            && least().is_some_and(|valid| valid <= self.geometry.native.superblock_units / 2)
    }

    /// Whether host writes are limited to the rate at which relocation makes room.
    pub(crate) fn host_is_paced(&self) -> bool {
        self.needs_relocation()
    }

    /// Free space that one unit of the host takes, native units.
    pub(crate) fn cost_of_host_unit(&self) -> u64 {
        let slc = self.streams.of_data().any(|s| s.slc);
        let data = u64::from(if slc {
            self.geometry.native.superblock_units / self.geometry.slc.superblock_units
        } else {
            1
        });
        data + self.checkpoint_cost()
    }

    /// Requests a rewrite because of wear or reads. Cached data is rewritten by whole superblocks, which folds it.
    /// Returns true if the request is new.
    pub(crate) fn ask_refresh(&mut self, target: RefreshTarget) -> bool {
        let block = self.blocks.get(target.superblock);
        let target = RefreshTarget {
            block: target.block.filter(|_| !block.slc),
            ..target
        };
        // Blocks of a superblock under refresh may be queued too; they are refreshed one after another.
        let possible = match block.state {
            State::Closed => true,
            State::Collecting => target.block.is_some(),
            _ => false,
        };
        possible && self.moving.queue_refresh(target)
    }

    /// Whether a rewrite for refresh or wear levelling waits.
    pub(crate) fn has_refresh(&self) -> bool {
        self.moving.has_refresh()
    }

    /// Whether a refresh or wear levelling is under way.
    pub(crate) fn is_refreshing(&self) -> bool {
        self.moving.is_refreshing()
    }

    /// Queues the least worn closed superblock for wear levelling, if it lags behind the mean by `spread` cycles.
    pub(crate) fn level_wear(&mut self, spread: u32) {
        let limit = (self.blocks.mean_wear() - f64::from(spread)) * NATIVE_CYCLE.to_f64();
        let coldest = self
            .blocks
            .iter()
            .filter(|(_, b)| b.state == State::Closed && !b.slc)
            .min_by_key(|(_, b)| b.wear)
            .map(|(i, b)| (i, b.wear));
        if let Some((superblock, wear)) = coldest
            && wear.to_f64() <= limit
        {
            self.ask_refresh(RefreshTarget {
                superblock,
                block: None,
            });
        }
    }

    /// The superblock under relocation, or a new one: one that makes room, and in idle time (`idle`) also one that
    /// folding can empty.
    pub(crate) fn current_victim(&mut self, idle: bool, now: Nanos) -> Option<&Victim> {
        if self.moving.victim.is_none() {
            self.moving.victim = self.choose_victim(idle, now);
        }
        self.moving.victim.as_ref()
    }

    /// Whether a victim is under way.
    pub(crate) fn relocating(&self) -> bool {
        self.moving.victim.is_some()
    }

    fn choose_victim(&mut self, idle: bool, now: Nanos) -> Option<Victim> {
        let (superblock, cause, only) = if let Some(superblock) = self.map_victim() {
            (superblock, Cause::Collect, None)
        } else if self.must_fold() || (idle && !self.needs_relocation() && self.has_slc_data()) {
            (self.slc.take_oldest()?, Cause::Fold, None)
        } else if self.needs_relocation() && !self.refresh_is_due() {
            let (superblock, cause) = self.gc_victim(now)?;
            (superblock, cause, None)
        } else if let Some(target) = self.refresh_victim() {
            (target.superblock, Cause::Refresh, target.block)
        } else if self.needs_relocation() {
            let (superblock, cause) = self.gc_victim(now)?;
            (superblock, cause, None)
        } else if idle && self.collects_in_idle_time() {
            (self.victims.least()?, Cause::Collect, None)
        } else {
            return None;
        };
        self.collection.count_victim(cause);
        let pool = self.pool_of_victim(superblock);
        self.victims.remove(superblock);
        self.map_blocks.remove(superblock);
        let block = self.blocks.get_mut(superblock);
        block.state = State::Collecting;
        let valid = u64::from(block.valid);
        let start = self.geometry.ppn(superblock, 0);
        let gained = u64::from(self.geometry.native.superblock_units).saturating_sub(valid);
        let yield_per_move = (gained * CREDIT_PER_UNIT).checked_div(valid).unwrap_or(0);
        if cause == Cause::Collect && pool != Pool::Map {
            self.collection.add_yield(yield_per_move);
        }
        Some(Victim {
            superblock,
            cause,
            cursor: start,
            end: start + self.geometry.native.superblock_units,
            only,
            pool,
            empty: valid == 0 && only.is_none(),
            yield_per_move: match (cause, pool) {
                // Refresh and collection of map pages free no space for data of the host.
                (Cause::Refresh, _) | (Cause::Collect, Pool::Map) => self.loan_per_move(),
                (Cause::Collect | Cause::Fold, _) => yield_per_move,
            },
        })
    }

    /// Native units that can be written without another relocation: free superblocks, the rest of open ones, and the
    /// part of the present victim that relocation has passed.
    pub(crate) fn free_room(&self) -> u64 {
        let native = u64::from(self.geometry.native.superblock_units);
        let free = self.blocks.free_count() + self.to_erase.len().narrow();
        let left = |stream: &Stream| {
            let units = self.geometry.mode(stream.slc).superblock_units;
            u64::from(stream.units_left(&self.geometry)) * native / u64::from(units)
        };
        let open = self.streams.iter().map(left);
        let victim = self.moving.victim.filter(|v| v.only.is_none());
        let given_up = victim.map_or(0, |v| native - u64::from(v.end - v.cursor));
        u64::from(free) * native + open.sum::<u64>() + given_up
    }

    /// Credit per moved unit for a victim that makes little or no room: the host continues on free superblocks that
    /// collection can spare.
    fn loan_per_move(&self) -> u64 {
        let native = u64::from(self.geometry.native.superblock_units);
        let kept = OPEN_SUPERBLOCKS + self.map_streams() + self.layout.gc.checkpoint_burst;
        let least = u64::from(kept) * native;
        let start = u64::from(self.gc_low_watermark()) * native;
        let lent = self.free_room().min(start).saturating_sub(least);
        self.collection.mean_yield / start.saturating_sub(least).max(1) * lent
    }

    /// Free space, now and at the limits of garbage collection.
    pub(crate) fn room_to_write(&self) -> Room {
        let native = u64::from(self.geometry.native.superblock_units);
        let last = u64::from(1 + self.map_streams() + self.layout.gc.checkpoint_burst);
        Room {
            free: self.free_room(),
            start: u64::from(self.gc_low_watermark()) * native,
            last: last * native,
        }
    }

    /// Whether a refresh has waited long enough, and there is space to move a superblock without any gain.
    fn refresh_is_due(&self) -> bool {
        self.has_refresh()
            && self.collection.victims_in_row >= COLLECTIONS_BEFORE_REFRESH
            && self.blocks.free_count() > 1
    }

    /// Removes and returns the first target whose superblock is closed. A superblock under collection may be closed
    /// again if another of its blocks is being refreshed; targets of erased superblocks are dropped.
    pub(super) fn refresh_victim(&mut self) -> Option<RefreshTarget> {
        let mut at = 0;
        while let Some(target) = self.moving.refresh_at(at) {
            let block = self.blocks.get(target.superblock);
            let other_data = block.slc && target.block.is_some();
            match block.state {
                State::Closed if !other_data => {
                    self.moving.remove_refresh_at(at);
                    self.slc.remove(target.superblock);
                    return Some(target);
                }
                State::Collecting => at += 1,
                _ => {
                    self.moving.remove_refresh_at(at);
                }
            }
        }
        None
    }

    /// SLC data first: folding three or four SLC superblocks frees more than it takes.
    fn gc_victim(&mut self, now: Nanos) -> Option<(SuperblockId, Cause)> {
        if self.slc.count() > self.layout.slc.fixed
            && let Some(superblock) = self.slc.take_oldest()
        {
            return Some((superblock, Cause::Fold));
        }
        let closed = Closed::new(
            &self.victims,
            &self.blocks,
            self.geometry.native.superblock_units,
            self.closings,
        );
        match self.chooser.choose(&closed, now) {
            Some(superblock) => Some((superblock, Cause::Collect)),
            None => self.slc.take_oldest().map(|s| (s, Cause::Fold)),
        }
    }
}
