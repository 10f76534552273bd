//! States and wear of superblocks: free, open, closed, being collected, being erased, retired.
//! Factory bad blocks are replaced within their plane, so that superblocks are made of good
//! blocks; as many superblocks are lost as the worst plane has bad blocks.

use crate::convert::{Narrow, ToF64, Whole};
use crate::flash::PlaneSet;
use crate::flash::superblock_id::SuperblockId;
use crate::invariant::{Checked, check_sum, ensure};
use crate::mapping::page::geometry::Geometry;
use crate::random::Random;
use crate::telemetry::Wear;
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::Range;

/// Upper bound of a block's erase count.
const MOST_ERASES: u32 = 1 << 30;

/// Wear of one erase cycle in the native mode.
pub(crate) const NATIVE_CYCLE: u64 = 1 << 16;

/// Wear of an erase cycle by the mode that the block was used in: the rated cycles of each mode use up the life of a
/// block (Miner's rule).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WearPerErase {
    slc: u64,
}

impl WearPerErase {
    /// Wear for blocks that are rated for `native_cycles` and, used as SLC, `slc_cycles`.
    pub(crate) fn new(native_cycles: u32, slc_cycles: u32) -> Self {
        let slc = NATIVE_CYCLE * u64::from(native_cycles.max(1)) / u64::from(slc_cycles.max(1));
        WearPerErase { slc: slc.max(1) }
    }

    fn of(self, slc: bool) -> u64 {
        if slc { self.slc } else { NATIVE_CYCLE }
    }
}

/// State of a superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum State {
    Free,
    Open,
    Closed,
    Collecting,
    Erasing,
    Retired,
}

/// One superblock.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Superblock {
    pub(crate) state: State,
    pub(crate) slc: bool,
    /// Units that hold valid data.
    pub(crate) valid: u32,
    /// Number of erase cycles.
    pub(crate) erases: u32,
    /// Wear by all erase cycles, in 65,536ths of a native-mode cycle; see [`WearPerErase`].
    pub(crate) wear: u64,
    /// Number of programs under way.
    pub(crate) programs_pending: u32,
    /// Sequence number of the closing among all closings.
    pub(crate) closed_order: u64,
    /// Time at which the superblock was opened, when its oldest data was programmed.
    pub(crate) opened_at: Nanos,
    /// Number of reads of one of its blocks up to which, before `safe_until`, no read needs a retry.
    pub(crate) safe_reads: u32,
    /// End of the time for which `safe_reads` is valid.
    pub(crate) safe_until: Nanos,
}

impl Superblock {
    /// A superblock that was never used.
    pub(crate) fn fresh() -> Self {
        Superblock {
            state: State::Free,
            slc: false,
            valid: 0,
            erases: 0,
            wear: 0,
            programs_pending: 0,
            closed_order: 0,
            opened_at: Nanos::ZERO,
            safe_reads: 0,
            safe_until: Nanos::ZERO,
        }
    }
}

impl Superblock {
    /// Counts an erase, with the wear of the mode in which the block was used.
    pub(crate) fn count_erase(&mut self, wear: WearPerErase) {
        self.erases += 1;
        self.wear = self.wear.saturating_add(wear.of(self.slc));
    }

    /// Checks the invariants of a single block.
    pub(crate) fn audit(&self, now: Nanos) -> Checked {
        ensure!(
            self.erases <= MOST_ERASES && self.opened_at <= now,
            "a block with {} cycles was opened at {}",
            self.erases,
            self.opened_at
        );
        Ok(())
    }
}

/// Disturbance of the blocks of a page read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Disturbed {
    /// Reads since the erase of the block that was read most.
    pub(crate) most_reads: u32,
    /// Planes whose blocks have reached the refresh limit.
    pub(crate) due: PlaneSet,
}

/// Page reads of each block since its last erase.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct BlockReads {
    per_superblock: u32,
    reads: Vec<u32>,
}

impl BlockReads {
    /// Read counts of `superblocks` superblocks (or AUs) with `per_superblock` blocks each.
    pub(crate) fn new(superblocks: u32, per_superblock: u32) -> Self {
        BlockReads {
            per_superblock,
            reads: vec![0; superblocks as usize * per_superblock as usize],
        }
    }

    /// Counts a read of a page on each plane of `planes`, of which the blocks of a superblock
    /// (or AU) at a position follow `first`. A block is due at each multiple of `refresh_reads`; 0 is never.
    #[inline]
    pub(crate) fn count(
        &mut self,
        position: usize,
        first: u32,
        planes: PlaneSet,
        refresh_reads: u32,
    ) -> Disturbed {
        let start = position * self.per_superblock as usize + first as usize;
        let mut disturbed = Disturbed {
            most_reads: 0,
            due: PlaneSet::NONE,
        };
        for plane in planes.iter() {
            let reads = &mut self.reads[start + plane.index()];
            *reads = reads.saturating_add(1);
            disturbed.most_reads = disturbed.most_reads.max(*reads);
            if refresh_reads > 0 && *reads >= refresh_reads && reads.is_multiple_of(refresh_reads) {
                disturbed.due.insert(plane);
            }
        }
        disturbed
    }

    /// Resets the read counts of an erased superblock's blocks.
    pub(crate) fn erased(&mut self, position: usize) {
        let blocks = self.blocks_of(position);
        self.reads[blocks].fill(0);
    }

    /// Largest read count among the blocks of a superblock.
    pub(crate) fn most(&self, position: usize) -> u32 {
        let blocks = &self.reads[self.blocks_of(position)];
        blocks.iter().copied().max().unwrap_or(0)
    }

    fn blocks_of(&self, position: usize) -> Range<usize> {
        let blocks = self.per_superblock as usize;
        position * blocks..(position + 1) * blocks
    }

    /// Checks that every block has a count.
    pub(crate) fn audit(&self, superblocks: u32, per_superblock: u32) -> Checked {
        ensure!(
            self.per_superblock == per_superblock
                && self.reads.len() == superblocks as usize * per_superblock as usize,
            "reads are counted for {} blocks of {} each",
            self.reads.len(),
            self.per_superblock
        );
        Ok(())
    }
}

/// All superblocks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Superblocks {
    all: Vec<Superblock>,
    reads: BlockReads,
    wear_per_erase: WearPerErase,
    /// Free superblocks by wear, the least worn first.
    free: BTreeSet<(u64, SuperblockId)>,
    /// Good blocks left to replace failed ones, in the plane that has the fewest.
    spare_blocks: u32,
    initial_spare_blocks: u32,
    retired: u32,
    erases: u64,
}

impl Superblocks {
    /// Draws factory bad blocks and builds superblocks from the good ones.
    pub(crate) fn new(geometry: &Geometry, bad_percent: f64, random: &mut Random) -> Self {
        let planes = geometry.dies * geometry.planes;
        let threshold = (bad_percent / 100.0 * 18_446_744_073_709_551_615.0).floor_u64();
        // A part with fewer good blocks than its data sheet's minimum is not sold.
        let least = geometry.expected_good_superblocks(bad_percent);
        let good_in_plane = |random: &mut Random| {
            let good = (0..geometry.blocks_per_plane)
                .filter(|_| bad_percent <= 0.0 || random.bits() >= threshold)
                .count();
            good.narrow().max(least)
        };
        let good: Vec<u32> = (0..planes).map(|_| good_in_plane(random)).collect();
        let usable = least;
        let fresh = Superblock::fresh();
        // Every plane keeps its surplus of good blocks for blocks that fail in use.
        let spare = good.iter().map(|g| g - usable).min().unwrap_or(0);
        Superblocks {
            all: vec![fresh; usable as usize],
            reads: BlockReads::new(usable, geometry.blocks_per_superblock()),
            wear_per_erase: WearPerErase::new(geometry.native.cycles, geometry.slc.cycles),
            free: (0..usable).map(|i| (0, SuperblockId(i))).collect(),
            spare_blocks: spare,
            initial_spare_blocks: spare,
            retired: 0,
            erases: 0,
        }
    }

    pub(crate) fn len(&self) -> u32 {
        self.all.len().narrow()
    }

    pub(crate) fn get(&self, superblock: SuperblockId) -> &Superblock {
        &self.all[superblock.index()]
    }

    pub(crate) fn get_mut(&mut self, superblock: SuperblockId) -> &mut Superblock {
        &mut self.all[superblock.index()]
    }

    /// Counts a page read; see [`BlockReads::count`].
    #[inline]
    pub(crate) fn disturb(
        &mut self,
        superblock: SuperblockId,
        first: u32,
        planes: PlaneSet,
        refresh_reads: u32,
    ) -> Disturbed {
        let position = superblock.index();
        self.reads.count(position, first, planes, refresh_reads)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (SuperblockId, &Superblock)> {
        (0..).map(SuperblockId).zip(&self.all)
    }

    pub(crate) fn free_count(&self) -> u32 {
        self.free.len().narrow()
    }

    /// Free superblocks, each with its wear in the list.
    pub(crate) fn free_list(&self) -> impl Iterator<Item = (u64, SuperblockId)> + '_ {
        self.free.iter().copied()
    }

    pub(crate) fn retired(&self) -> u32 {
        self.retired
    }

    pub(crate) fn total_erases(&self) -> u64 {
        self.erases
    }

    /// Spare blocks left, percent of those at the start.
    pub(crate) fn spare_percent(&self) -> u8 {
        if self.initial_spare_blocks == 0 {
            return if self.retired == 0 { 100 } else { 0 };
        }
        let percent = self.spare_blocks * 100 / self.initial_spare_blocks;
        // The spare blocks never become more.
        u8::try_from(percent).unwrap_or(100)
    }

    /// Takes the least worn free superblock.
    pub(crate) fn open(&mut self, slc: bool, now: Nanos) -> Option<SuperblockId> {
        let (_, superblock) = self.free.pop_first()?;
        let block = &mut self.all[superblock.index()];
        debug_assert_eq!((block.state, block.valid), (State::Free, 0));
        block.state = State::Open;
        block.slc = slc;
        block.opened_at = now;
        Some(superblock)
    }

    /// Ends an erase, in which one block of the superblock may have failed.
    pub(crate) fn erased(&mut self, superblock: SuperblockId, block_failed: bool) {
        self.erases += 1;
        if block_failed {
            if self.spare_blocks == 0 {
                self.retired += 1;
                self.all[superblock.index()].state = State::Retired;
                return;
            }
            self.spare_blocks -= 1;
        }
        let block = &mut self.all[superblock.index()];
        debug_assert_eq!(block.state, State::Erasing);
        block.state = State::Free;
        block.count_erase(self.wear_per_erase);
        block.safe_reads = 0;
        block.safe_until = Nanos::ZERO;
        let is_new = self.free.insert((block.wear, superblock));
        debug_assert!(is_new, "a superblock is free twice");
        self.reads.erased(superblock.index());
    }

    /// Checks what a recount cannot: that the number of superblocks follows from the number of good blocks, and that
    /// every count is possible.
    pub(crate) fn audit(&self, geometry: &Geometry, bad_percent: f64, now: Nanos) -> Checked {
        let good = geometry.expected_good_superblocks(bad_percent);
        ensure!(
            self.len() == good,
            "{} superblocks, and the flash makes {good}",
            self.len()
        );
        ensure!(
            self.spare_blocks <= self.initial_spare_blocks
                && self.initial_spare_blocks <= geometry.blocks_per_plane,
            "{} of {} spare blocks are left",
            self.spare_blocks,
            self.initial_spare_blocks
        );
        check_sum("erases", self.erases)?;
        self.reads.audit(good, geometry.blocks_per_superblock())?;
        ensure!(
            self.wear_per_erase == WearPerErase::new(geometry.native.cycles, geometry.slc.cycles),
            "the wear per erase differs from the profile"
        );
        self.all.iter().try_for_each(|block| block.audit(now))
    }

    /// Wear of the superblocks that are not retired, with this rating.
    pub(crate) fn wear_of_all(&self, rated: u32) -> Wear {
        let used = self.all.iter().filter(|b| b.state != State::Retired);
        Wear::of(used.map(|b| b.wear), NATIVE_CYCLE, rated)
    }

    /// Mean wear of all superblocks except retired ones, in native-mode cycles.
    pub(crate) fn mean_wear(&self) -> f64 {
        let used = || self.all.iter().filter(|b| b.state != State::Retired);
        let sum: f64 = used().map(|b| b.wear.to_f64()).sum();
        sum / (used().count().max(1).to_f64() * NATIVE_CYCLE.to_f64())
    }
}
