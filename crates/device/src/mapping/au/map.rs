//! Map of a card: which physical AU holds a logical one, which AUs are open, which merges are deferred. It gives the
//! flash operations of each write; it has no notion of time.
//!
//! A deferred merge is entered in the map at once. No command can see the difference, because the check of a profile
//! requires the spare AUs that the merge occupies until it is done.

mod audit;

use super::geometry::{CardGeometry, native};
use super::op_counts::OpCounts;
use super::open::{OpenAu, OpenAuPolicy};
use super::physical::{Physical, WearChoice};
use super::shared_log::SharedLog;
use crate::convert::Narrow;
use crate::flash::blocks::WearPerErase;
use crate::flash::reliability::Reliability;
use crate::profile::card::{CardSection, OutOfOrder};
use crate::profile::schema::Profile;
use crate::random::Random;
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

pub(super) const UNMAPPED: u32 = u32::MAX;

/// Error model, random numbers and present time for changes of the map.
pub(super) struct MapContext<'a> {
    pub(super) reliability: &'a Reliability,
    pub(super) random: &'a mut Random,
    pub(super) now: Nanos,
}

/// The FAT area.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Fat {
    first: u32,
    aus: u32,
    apart: u32,
    open_most: u32,
    policy: OpenAuPolicy,
    slc: bool,
}

/// The card has no AU left to write to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoSpare;

/// A deferred merge.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct DeferredMerge {
    au: u32,
    ops: OpCounts,
    /// Pages of the merge that cannot be deferred.
    at_once: u32,
}

/// AUs whose state the controller has in RAM.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct StatesInRam {
    /// AU numbers, the most recently used first.
    aus: VecDeque<u32>,
    most: usize,
}

impl StatesInRam {
    /// Loads the state of an AU into RAM. Returns whether the state of another AU was evicted.
    fn use_state(&mut self, au: u32) -> bool {
        if self.aus.front() == Some(&au) {
            return false;
        }
        let mut leaves = false;
        match self.aus.iter().position(|s| *s == au) {
            Some(i) => {
                self.aus.remove(i);
            }
            None => {
                leaves = self.aus.len() >= self.most;
                self.aus.truncate(self.most.saturating_sub(1));
            }
        }
        self.aus.push_front(au);
        leaves
    }
}

/// Deferred merges, the oldest first, and their maximum number.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct DeferredMerges {
    merges: VecDeque<DeferredMerge>,
    most: u32,
}

/// Small writes: their clusters are rewritten in a separate AU.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Clusters {
    /// Largest small write, sectors; 0 if no write counts as small.
    up_to: u32,
    /// Pages of a cluster.
    pages: u32,
    /// AU that takes the rewritten clusters.
    au: Option<u32>,
    /// Used pages of the AU of clusters.
    used: u32,
}

/// Wear levelling and refresh.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct WearLevelling {
    /// Erase cycles by which the least worn AU may lag behind the most worn; 0 for no limit.
    spread: u32,
    /// Number of AUs moved in one levelling.
    batch: u32,
    /// Reads of a block after which its AU is rewritten; 0 if never.
    pub(super) refresh_reads: u32,
    /// Erase cycles of the most worn AU at the last levelling.
    levelled_at: u32,
}

/// The map of a card.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Map {
    pub(super) geometry: CardGeometry,
    pub(super) table: Vec<u32>,
    pub(super) physical: Physical,
    blocks_of_au: u32,
    data_policy: OpenAuPolicy,
    pub(super) data_open_most: u32,
    fat: Option<Fat>,
    open: Vec<(OpenAu, u32)>,
    states: StatesInRam,
    deferred: DeferredMerges,
    clusters: Clusters,
    pub(super) wear: WearLevelling,
    pub(super) uses: u64,
    /// Log shared by data AUs that find no free open AU; `None` if the card has none.
    pub(super) shared_log: Option<SharedLog>,
}

impl Map {
    pub(super) fn new(profile: &Profile, card: &CardSection, geometry: CardGeometry) -> Self {
        let planes = profile.nand.planes;
        let wear = WearPerErase::new(native(profile).cycles, profile.nand.slc.cycles);
        let spare = geometry.physical_aus.saturating_sub(geometry.logical_aus);
        // Needed: an old and a full block per open AU, one per deferred merge, and two that are erased while others are
        // in use. Small writes need one more AU.
        let clusters = u32::from(card.small_writes.is_some());
        let log_aus = card.shared_log_aus();
        let full_block_waits =
            spare >= 2 * card.open_aus + card.deferred_merges + 2 + clusters + log_aus;
        let policy = |out_of_order, log_kib: Option<u32>, log_first| {
            let log_pages = match out_of_order {
                OutOfOrder::Map => geometry.au_pages,
                _ => log_kib.unwrap_or(0) * 2 / geometry.page_sectors,
            };
            OpenAuPolicy {
                out_of_order,
                log_pages,
                log_first,
                full_block_waits,
                partial_programs: card.partial_programs,
                au_pages: geometry.au_pages,
                page_sectors: geometry.page_sectors,
                au_superblocks: geometry.au_superblocks,
                log_superblocks: (geometry.au_superblocks * log_pages)
                    .div_ceil(geometry.au_pages.max(1)),
            }
        };
        let fat = card.fat.as_ref().map(|f| Fat {
            first: f.first_au,
            aus: f.aus,
            apart: f.apart_aus.max(1),
            open_most: f.open_aus,
            policy: policy(f.out_of_order, f.log_kib, f.log_first),
            slc: f.slc,
        });
        let small = card.small_writes.as_ref();
        Map {
            table: vec![UNMAPPED; geometry.logical_aus as usize],
            physical: Physical::new(&geometry, wear),
            blocks_of_au: geometry.au_superblocks * geometry.dies * planes,
            data_policy: policy(card.out_of_order, card.log_kib, false),
            data_open_most: card.open_aus - fat.as_ref().map_or(0, |f| f.open_most),
            fat,
            open: Vec::new(),
            states: StatesInRam {
                aus: VecDeque::new(),
                most: card.states_in_ram as usize,
            },
            deferred: DeferredMerges {
                merges: VecDeque::new(),
                most: card.deferred_merges,
            },
            clusters: Clusters {
                up_to: small.map_or(0, |s| s.up_to_kib * 2),
                pages: small.map_or(0, |s| (s.cluster_kib * 2).div_ceil(geometry.page_sectors)),
                au: None,
                used: 0,
            },
            wear: WearLevelling {
                spread: card.wear_spread_cycles,
                batch: card.wear_batch_aus,
                refresh_reads: card.refresh_reads,
                levelled_at: 0,
            },
            uses: 0,
            shared_log: SharedLog::new(card, &geometry),
            geometry,
        }
    }

    /// Writes sectors and adds the flash operations to `ops`; `continues` if the write follows the one before without a
    /// gap.
    ///
    /// # Errors
    /// [`NoSpare`] if no AU is left to write to; earlier sectors have been written.
    pub(super) fn write(
        &mut self,
        sector: u64,
        sectors: u32,
        continues: bool,
        context: &mut MapContext,
        ops: &mut OpCounts,
    ) -> Result<(), NoSpare> {
        let (mut at, end) = (sector, sector + u64::from(sectors));
        let size = u64::from(self.geometry.au_sectors);
        while at < end {
            let au = (at / size).narrow();
            let from = (at % size).narrow();
            let to = (end - u64::from(au) * size).min(size).narrow();
            if !continues && sectors <= self.clusters.up_to && self.is_mapped(au) {
                self.write_cluster(context, ops)?;
            } else {
                self.write_to_au(au, from, to, context, ops)?;
            }
            at += u64::from(to - from);
        }
        Ok(())
    }

    /// Rewrites a cluster: its pages go to the AU for clusters, which is erased when it is full. By then, all of its
    /// pages count as rewritten in later clusters.
    fn write_cluster(
        &mut self,
        context: &mut MapContext,
        ops: &mut OpCounts,
    ) -> Result<(), NoSpare> {
        let mut left = self.clusters.pages;
        while left > 0 {
            let room = self.geometry.au_pages - self.clusters.used;
            if self.clusters.au.is_none() || room == 0 {
                if let Some(full) = self.clusters.au.take() {
                    self.physical.release(full);
                }
                let fresh = self.take_erased(WearChoice::LeastWorn, false, context, ops)?;
                self.clusters.au = Some(fresh);
                self.clusters.used = 0;
                continue;
            }
            let pages = left.min(room);
            ops.clusters += pages;
            self.clusters.used += pages;
            left -= pages;
        }
        Ok(())
    }

    fn write_to_au(
        &mut self,
        au: u32,
        from: u32,
        to: u32,
        context: &mut MapContext,
        ops: &mut OpCounts,
    ) -> Result<(), NoSpare> {
        if self.goes_to_shared_log(au) {
            self.uses += 1;
            self.note_state(au, ops);
            return self.write_to_shared_log(au, from, to, context, ops);
        }
        let slot = self.open_slot(au, context, ops)?;
        self.uses += 1;
        self.note_state(au, ops);
        let policy = *self.policy(au);
        let slc = self.is_slc(au);
        let (open, _) = &mut self.open[slot];
        open.last_used = self.uses;
        let mut in_slc = OpCounts::default();
        open.write(from, to, &policy, if slc { &mut in_slc } else { ops });
        if open.is_complete(&policy) {
            self.close(slot);
        }
        if slc {
            ops.add(in_slc.in_slc());
        }
        Ok(())
    }

    pub(super) fn is_fat(&self, au: u32) -> bool {
        self.fat.as_ref().is_some_and(|f| f.covers(au))
    }

    pub(super) fn open_aus(&self) -> impl Iterator<Item = u32> + '_ {
        self.open.iter().map(|(open, _)| open.au)
    }

    fn is_slc(&self, au: u32) -> bool {
        self.fat.as_ref().is_some_and(|f| f.slc && f.covers(au))
    }

    fn policy(&self, au: u32) -> &OpenAuPolicy {
        match &self.fat {
            Some(fat) if fat.covers(au) => &fat.policy,
            _ => &self.data_policy,
        }
    }

    /// Index of an open AU, which is opened first if necessary; if no slot is free, the AU written least recently is
    /// closed.
    fn open_slot(
        &mut self,
        au: u32,
        context: &mut MapContext,
        ops: &mut OpCounts,
    ) -> Result<usize, NoSpare> {
        if let Some(slot) = self.open.iter().position(|(o, _)| o.au == au) {
            return Ok(slot);
        }
        if let Some(i) = self.deferred.merges.iter().position(|d| d.au == au)
            && let Some(merge) = self.deferred.merges.remove(i)
        {
            ops.add(merge.ops);
        }
        let is_fat = |au| self.is_fat(au);
        let class = is_fat(au);
        let most = match &self.fat {
            Some(fat) if class => fat.open_most,
            _ => self.data_open_most,
        };
        let same = || (0..self.open.len()).filter(|i| is_fat(self.open[*i].0.au) == class);
        if same().count() >= most as usize
            && let Some(oldest) = same().min_by_key(|i| self.open[*i].0.last_used)
        {
            let merge = self.close(oldest);
            self.defer(merge, ops);
        }
        let fresh = self.take_fresh(self.is_slc(au), context, ops)?;
        let has_old = self.is_mapped(au);
        let open = OpenAu::new(au, has_old, self.policy(au), self.uses);
        self.open.push((open, fresh));
        Ok(self.open.len() - 1)
    }

    /// Closes an open AU: its new block takes the place of the old one.
    fn close(&mut self, slot: usize) -> DeferredMerge {
        let (open, fresh) = self.open.swap_remove(slot);
        let old = std::mem::replace(&mut self.table[open.au as usize], fresh);
        if old != UNMAPPED {
            self.physical.release(old);
        }
        let ops = open.close(self.policy(open.au));
        DeferredMerge {
            au: open.au,
            at_once: open.moves_at_once(self.policy(open.au)).min(ops.merged),
            ops: if self.is_slc(open.au) {
                ops.in_slc()
            } else {
                ops
            },
        }
    }

    /// Closes the open data AUs that were last written to before this use of the map.
    pub(super) fn close_data_aus_unused_since(&mut self, since: u64, ops: &mut OpCounts) {
        loop {
            let unused = |open: &OpenAu| open.last_used < since && !self.is_fat(open.au);
            let Some(slot) = self.open.iter().position(|(open, _)| unused(open)) else {
                return;
            };
            let merge = self.close(slot);
            self.defer(merge, ops);
        }
    }

    pub(super) fn forget_deferred_merge(&mut self, au: u32) {
        self.deferred.merges.retain(|merge| merge.au != au);
    }

    /// Defers a merge; if too many are deferred, does them all.
    fn defer(&mut self, mut merge: DeferredMerge, ops: &mut OpCounts) {
        if merge.ops.is_none() {
            return;
        }
        ops.add(merge.ops.split_merged(merge.at_once));
        self.deferred.merges.push_back(merge);
        if self.deferred.merges.len() > self.deferred.most as usize {
            for merge in self.deferred.merges.drain(..) {
                ops.add(merge.ops);
            }
        }
    }

    /// Removes the oldest deferred merge, for execution in idle time.
    pub(super) fn take_deferred_merge(&mut self) -> Option<OpCounts> {
        self.deferred.merges.pop_front().map(|merge| merge.ops)
    }

    pub(super) fn has_deferred_merges(&self) -> bool {
        !self.deferred.merges.is_empty()
    }

    fn note_state(&mut self, au: u32, ops: &mut OpCounts) {
        ops.switches += u32::from(self.states.use_state(au));
    }

    pub(super) fn take_fresh(
        &mut self,
        slc: bool,
        context: &mut MapContext,
        ops: &mut OpCounts,
    ) -> Result<u32, NoSpare> {
        let fresh = self.take_erased(WearChoice::LeastWorn, slc, context, ops)?;
        if self.wear.spread > 0 {
            self.level_wear(context, ops);
        }
        Ok(fresh)
    }

    /// Takes an erased AU, for use in SLC mode or the native mode.
    fn take_erased(
        &mut self,
        which: WearChoice,
        slc: bool,
        context: &mut MapContext,
        ops: &mut OpCounts,
    ) -> Result<u32, NoSpare> {
        ops.erases += self.geometry.au_superblocks;
        self.physical
            .take(
                (which, slc),
                self.blocks_of_au,
                context.reliability,
                context.random,
                context.now,
            )
            .ok_or(NoSpare)
    }

    /// Static wear levelling: moves the data of the least worn AUs to the most worn ones. The former then take part in
    /// writes again, and the latter are spared.
    fn level_wear(&mut self, context: &mut MapContext, ops: &mut OpCounts) {
        let most = self.physical.most_worn();
        let limit = most.saturating_sub(self.wear.spread);
        if limit == 0 || most == self.wear.levelled_at {
            return;
        }
        self.wear.levelled_at = most;
        let mut cold: Vec<(u32, u32)> = (0..self.geometry.logical_aus)
            .filter(|au| self.is_mapped(*au) && !self.is_open(*au))
            .map(|au| (self.physical.cycles_of(self.table[au as usize]), au))
            .filter(|(cycles, _)| *cycles < limit)
            .collect();
        cold.sort_unstable();
        for (_, au) in cold.into_iter().take(self.wear.batch as usize) {
            if self
                .relocate(au, WearChoice::MostWorn, context, ops)
                .is_err()
            {
                break;
            }
        }
    }

    fn relocate(
        &mut self,
        au: u32,
        which: WearChoice,
        context: &mut MapContext,
        ops: &mut OpCounts,
    ) -> Result<(), NoSpare> {
        let fresh = self.take_erased(which, self.is_slc(au), context, ops)?;
        let old = std::mem::replace(&mut self.table[au as usize], fresh);
        self.physical.release(old);
        ops.relocated += self.geometry.au_pages;
        Ok(())
    }

    /// Physical AU that has a page of a logical AU; `None` if the page was never written.
    pub(super) fn locate(&self, au: u32, page: u32) -> Option<u32> {
        if let Some((open, fresh)) = self.open.iter().find(|(o, _)| o.au == au)
            && open.holds(page)
        {
            return Some(*fresh);
        }
        if let Some(block) = self.shared_log.as_ref().and_then(|l| l.locate(au, page)) {
            return Some(block);
        }
        let physical = self.table[au as usize];
        (physical != UNMAPPED).then_some(physical)
    }

    /// Rewrites an AU, or reclaims the log that has its data, if one of its blocks has reached the read limit of
    /// refresh.
    pub(super) fn refresh_if_due(&mut self, au: u32, context: &mut MapContext) -> Option<OpCounts> {
        if self.is_shared_log_worn_by_reads(au) {
            let mut ops = OpCounts::default();
            self.reclaim_shared_log(context, &mut ops).ok()?;
            return Some(ops);
        }
        let physical = self.table[au as usize];
        if self.wear.refresh_reads == 0 || physical == UNMAPPED || self.is_open(au) {
            return None;
        }
        if self.physical.reads.most(physical as usize) < self.wear.refresh_reads {
            return None;
        }
        let mut ops = OpCounts::default();
        self.relocate(au, WearChoice::LeastWorn, context, &mut ops)
            .ok()?;
        Some(ops)
    }

    /// Unmaps the AUs that lie entirely in the range; returns their number.
    pub(super) fn discard(&mut self, sector: u64, sectors: u32) -> u32 {
        let size = u64::from(self.geometry.au_sectors);
        let end = sector + u64::from(sectors);
        let (first, last) = (sector.div_ceil(size), end / size);
        let mut forgotten = 0;
        for au in first..last.min(u64::from(self.geometry.logical_aus)) {
            forgotten += u32::from(self.forget(au.narrow()));
        }
        forgotten
    }

    fn forget(&mut self, au: u32) -> bool {
        let mut held = false;
        if let Some(slot) = self.open.iter().position(|(o, _)| o.au == au) {
            let (_, fresh) = self.open.swap_remove(slot);
            self.physical.release(fresh);
            held = true;
        }
        if let Some(log) = &mut self.shared_log {
            held |= log.forget(au);
        }
        self.forget_deferred_merge(au);
        let old = std::mem::replace(&mut self.table[au as usize], UNMAPPED);
        if old != UNMAPPED {
            self.physical.release(old);
            held = true;
        }
        held
    }

    /// Closes every open AU and does the deferred merges; the shared log is not touched.
    pub(super) fn close_all(&mut self) -> OpCounts {
        let mut ops = OpCounts::default();
        while !self.open.is_empty() {
            ops.add(self.close(0).ops);
        }
        for merge in self.deferred.merges.drain(..) {
            ops.add(merge.ops);
        }
        self.states.aus.clear();
        ops
    }

    pub(super) fn is_mapped(&self, au: u32) -> bool {
        self.table[au as usize] != UNMAPPED
    }

    pub(super) fn is_open(&self, au: u32) -> bool {
        self.open_aus().any(|open| open == au)
    }
}

impl Fat {
    fn covers(&self, au: u32) -> bool {
        let after = au.checked_sub(self.first);
        after.is_some_and(|n| n.is_multiple_of(self.apart) && n / self.apart < self.aus)
    }
}
