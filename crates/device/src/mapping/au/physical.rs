//! Physical AUs: which are free, how worn they are, which have failed. Factory bad blocks are
//! replaced within their plane before AUs are made of them; an AU of which a block fails later is
//! taken out of service as a whole.

use super::geometry::CardGeometry;
use crate::convert::{Narrow, ToF64};
use crate::flash::blocks::{BlockReads, NATIVE_CYCLE, State, Superblock, WearPerErase};
use crate::flash::reliability::Reliability;
use crate::invariant::{Checked, check_sum, ensure};
use crate::random::Random;
use crate::telemetry::Wear;
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Which free AU to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WearChoice {
    /// The least worn one, for host data: dynamic wear levelling.
    LeastWorn,
    /// The most worn one, for data that has not changed for long, which spares it further wear.
    MostWorn,
}

/// All physical AUs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Physical {
    all: Vec<Superblock>,
    /// Reads per group of blocks of each AU: the blocks on the planes of one die are read together.
    pub(super) reads: BlockReads,
    wear_per_erase: WearPerErase,
    /// Free AUs by wear, the least worn first.
    free: BTreeSet<(u64, u32)>,
    initial_free: u32,
    needed: u32,
    retired: u32,
    /// Total wear of all AUs, then the wear of the most worn one.
    wear: u64,
    most_wear: u64,
}

impl Physical {
    /// All AUs of a card, never used.
    pub(super) fn new(geometry: &CardGeometry, wear_per_erase: WearPerErase) -> Self {
        let (aus, needed) = (geometry.physical_aus, geometry.logical_aus);
        let fresh = Superblock::fresh();
        Physical {
            all: vec![fresh; aus as usize],
            reads: BlockReads::new(aus, geometry.au_rows()),
            wear_per_erase,
            free: (0..aus).map(|i| (0, i)).collect(),
            initial_free: aus.saturating_sub(needed),
            needed,
            retired: 0,
            wear: 0,
            most_wear: 0,
        }
    }

    /// Erases and returns the least (or most) worn free AU, for use in SLC mode or the native mode. If a block fails,
    /// the AU is retired and the next one tried. `None` if no AU is left.
    pub(super) fn take(
        &mut self,
        (which, slc): (WearChoice, bool),
        blocks: u32,
        reliability: &Reliability,
        random: &mut Random,
        now: Nanos,
    ) -> Option<u32> {
        loop {
            let free = match which {
                WearChoice::LeastWorn => self.free.pop_first(),
                WearChoice::MostWorn => self.free.pop_last(),
            };
            let (_, index) = free?;
            let block = &mut self.all[index as usize];
            let before = block.wear;
            block.count_erase(self.wear_per_erase);
            self.reads.erased(index as usize);
            block.safe_reads = 0;
            self.wear = self.wear.saturating_add(block.wear - before);
            self.most_wear = self.most_wear.max(block.wear);
            if reliability.erase_fails(block, blocks, random) {
                block.state = State::Retired;
                self.retired += 1;
                continue;
            }
            block.state = State::Closed;
            block.slc = slc;
            block.opened_at = now;
            return Some(index);
        }
    }

    /// Adds an AU without valid data to the free ones.
    pub(super) fn release(&mut self, index: u32) {
        let block = &mut self.all[index as usize];
        debug_assert_eq!(
            block.state,
            State::Closed,
            "a free or retired AU is released"
        );
        block.state = State::Free;
        let is_new = self.free.insert((block.wear, index));
        debug_assert!(is_new, "an AU is free twice");
    }

    pub(super) fn get_mut(&mut self, index: u32) -> &mut Superblock {
        &mut self.all[index as usize]
    }

    /// Wear of an AU in whole cycles of the native mode.
    pub(super) fn cycles_of(&self, index: u32) -> u32 {
        whole_cycles(self.all[index as usize].wear)
    }

    /// Wear of the most worn AU in whole cycles of the native mode.
    pub(super) fn most_worn(&self) -> u32 {
        whole_cycles(self.most_wear)
    }

    pub(super) fn free(&self) -> u32 {
        self.free.len().narrow()
    }

    pub(super) fn len(&self) -> u32 {
        self.all.len().narrow()
    }

    pub(super) fn retired(&self) -> u32 {
        self.retired
    }

    /// Mean wear, cycles of the native mode.
    pub(super) fn mean_wear(&self) -> f64 {
        self.wear.to_f64() / (self.all.len().max(1).to_f64() * NATIVE_CYCLE.to_f64())
    }

    /// Wear of the AUs that are not retired, with this rating.
    pub(super) fn wear_of_all(&self, rated: u32) -> Wear {
        let used = self.all.iter().filter(|b| b.state != State::Retired);
        Wear::of(used.map(|b| b.wear), NATIVE_CYCLE, rated)
    }

    /// Spare AUs left, percent of those at the start.
    pub(super) fn spare_percent(&self) -> u8 {
        let left = self
            .len()
            .saturating_sub(self.retired)
            .saturating_sub(self.needed);
        (u64::from(left) * 100 / u64::from(self.initial_free.max(1))).min(100) as u8
    }

    /// Checks the counts.
    pub(super) fn audit(&self, geometry: &CardGeometry, now: Nanos) -> Checked {
        let (aus, needed) = (geometry.physical_aus, geometry.logical_aus);
        self.reads.audit(aus, geometry.au_rows())?;
        let count = |state: State| self.all.iter().filter(|b| b.state == state).count();
        ensure!(
            self.all.len() == aus as usize
                && (self.needed, self.initial_free) == (needed, aus.saturating_sub(needed))
                && self.retired as usize == count(State::Retired)
                && self.free.len() == count(State::Free)
                && self.retired as usize + self.free.len() + count(State::Closed) == aus as usize,
            "{} physical AUs, {} of them free and {} retired, are not those of the card",
            self.all.len(),
            self.free.len(),
            self.retired
        );
        for (wear, index) in &self.free {
            let block = self.all.get(*index as usize);
            ensure!(
                block.is_some_and(|b| b.state == State::Free && b.wear == *wear),
                "the free AU {index} is listed with a wear of {wear}"
            );
        }
        let most = self.all.iter().map(|b| b.wear).max().unwrap_or(0);
        let sum = self
            .all
            .iter()
            .fold(0, |sum: u64, b| sum.saturating_add(b.wear));
        ensure!(
            (self.most_wear, self.wear) == (most, sum),
            "the most worn AU has a wear of {most}, not {}",
            self.most_wear
        );
        check_sum("wear", self.wear)?;
        self.all.iter().try_for_each(|block| block.audit(now))
    }

    /// Whether an AU is free, retired, or does not exist.
    pub(super) fn is_out_of_use(&self, index: u32) -> bool {
        let block = self.all.get(index as usize);
        block.is_none_or(|block| block.state != State::Closed)
    }
}

fn whole_cycles(wear: u64) -> u32 {
    u32::try_from(wear / NATIVE_CYCLE).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::AuMapDevice;
    use super::super::map::MapContext;
    use super::super::op_counts::OpCounts;

    /// Highest and lowest erase count of an AU after `hot` AU-sized writes to two AUs of a full card.
    fn spread(wear_spread_cycles: u32, hot: u64) -> (u32, u32) {
        let mut d = AuMapDevice::small(|card| {
            card.wear_spread_cycles = wear_spread_cycles;
            card.wear_batch_aus = 8;
        });
        let sectors = d.map.geometry.au_sectors;
        for i in 0..hot {
            let mut context = MapContext {
                reliability: &d.errors.model,
                random: &mut d.errors.random,
                now: d.schedule.now(),
            };
            let first = i % 2 * u64::from(sectors);
            let ops = &mut OpCounts::default();
            let wrote = d.map.write(first, sectors, true, &mut context, ops);
            assert!(wrote.is_ok());
        }
        d.audit().expect("sound");
        let erases = || d.map.physical.all.iter().map(|b| b.erases);
        (erases().max().unwrap_or(0), erases().min().unwrap_or(0))
    }

    #[test]
    fn static_wear_levelling_bounds_the_spread() {
        let (most, least) = spread(0, 3000);
        assert!(most > 100 && least <= 1, "{most} and {least} without it");
        let (most, least) = spread(20, 3000);
        // Each further erase of the most worn AU moves a batch of eight: 38 cold AUs take five.
        assert!(most - least <= 20 + 5 + 1, "{most} and {least} with it");
    }
}
