//! Starting states without simulated time: a filled device, or one after many random writes. The bookkeeping is that of
//! a timed run; clock, queues and heat do not advance.

use super::PageMapDevice;
use crate::convert::{Narrow, Whole};
use crate::fill::{Afterwards, Fill, FillError, FillProgress, FillStep, STEP};
use crate::mapping::page::log::ProgramUnit;
use crate::mapping::page::lpn::Lpn;
use crate::random::Random;
use nandscope_units::{Bytes, Nanos};

/// Length of the idle time after a fill. A device that folds only after a longer idle time keeps its SLC cache full.
const REST: Nanos = Nanos::from_secs(3600);
/// Number of units written together; their map entries are prefetched together.
const BATCH: usize = 32;

impl PageMapDevice {
    /// Fills the first `share` (0 to 1) of the capacity without simulated time, then completes folding and collection
    /// as in a long idle time. No command may be outstanding.
    pub(crate) fn precondition(
        &mut self,
        share: f64,
        fill: Fill,
        step: &mut FillStep<'_>,
    ) -> Result<FillProgress, FillError> {
        let units = (f64::from(self.log.geometry.user_units) * share.clamp(0.0, 1.0)).floor_u32();
        match fill {
            Fill::Sequential => self.write_instantly((0..units).map(Lpn), Afterwards::Idle, step),
            Fill::Random { seed } => {
                let order = Shuffle::new(units, seed);
                let places = (0..units).map(|i| Lpn(order.at(i)));
                self.write_instantly(places, Afterwards::Idle, step)
            }
        }
    }

    /// Overwrites `count` units drawn uniformly from the whole capacity, without simulated time. Several times the
    /// capacity give the steady state of random writes. With [`Afterwards::Load`] more units are overwritten, until
    /// collection would pace a host. No command may be outstanding.
    pub(crate) fn overwrite_randomly(
        &mut self,
        count: u64,
        seed: u64,
        afterwards: Afterwards,
        step: &mut FillStep<'_>,
    ) -> Result<FillProgress, FillError> {
        let user_units = u64::from(self.log.geometry.user_units);
        let mut random = Random::new(seed);
        let mut draw = || Lpn(random.below(user_units).narrow());
        let done = self.write_instantly((0..count).map(|_| draw()), afterwards, step)?;
        match afterwards {
            Afterwards::Idle => Ok(done),
            Afterwards::Load => {
                let more = self.use_up_free_space(std::iter::from_fn(|| Some(draw())));
                Ok(FillProgress {
                    written: done.written + more.written,
                    programmed: done.programmed + more.programmed,
                })
            }
        }
    }

    fn write_instantly(
        &mut self,
        mut units: impl Iterator<Item = Lpn>,
        afterwards: Afterwards,
        step: &mut FillStep<'_>,
    ) -> Result<FillProgress, FillError> {
        if self.commands.outstanding() == 0 && self.writes.programs.lingers() {
            self.flush_for_power_off();
        }
        if self.commands.outstanding() > 0
            || self.array.outstanding() > 0
            || self.writes.programs.await_old_data()
        {
            return Err(FillError::Busy);
        }
        let now = self.schedule.now();
        self.log.forget_partials();
        let mut full = std::mem::take(&mut self.scratch.full);
        let mut next = Batch::of(&mut units);
        let (mut written, mut stops) = (0, false);
        let before = self.log.accounts.programmed().total();
        while next.count > 0 && !stops {
            let batch = std::mem::replace(&mut next, Batch::of(&mut units));
            // Prefetched while the batch before is written.
            self.log.map.prefetch_all(next.units());
            self.log.map.warm(batch.units());
            if !self.write_batch(batch.units(), &mut full) {
                break;
            }
            written += batch.units().len() as u64;
            if written % STEP < BATCH as u64 {
                stops = step(self.progress_since(before, written)).is_break();
            }
        }
        for unit in self.log.close_host_units() {
            self.log.program_done(unit.superblock);
        }
        self.scratch.full = full;
        if afterwards == Afterwards::Idle {
            let folds = self.background.folds_within(REST);
            while !stops && self.log.settle_step(now, folds) {
                stops = step(self.progress_since(before, written)).is_break();
            }
        }
        let progress = self.progress_since(before, written);
        // Counters cover commands of hosts only, so writes of the precondition are not counted.
        self.log.restart_counters();
        match stops {
            true => Err(FillError::Stopped),
            false => Ok(progress),
        }
    }

    /// Bytes that can be written before more must be relocated.
    pub(crate) fn free_room(&self) -> Bytes {
        Bytes(self.log.free_room() * self.unit_bytes())
    }

    /// Number of erase blocks in a superblock.
    pub(crate) fn blocks_per_superblock(&self) -> u32 {
        self.log.geometry.blocks_per_superblock()
    }

    fn progress_since(&self, programmed: u64, written: u64) -> FillProgress {
        FillProgress {
            written,
            programmed: self.log.accounts.programmed().total() - programmed,
        }
    }

    /// Writes units without relocation, until collection would begin.
    fn use_up_free_space(&mut self, mut units: impl Iterator<Item = Lpn>) -> FillProgress {
        let now = self.schedule.now();
        let mut full = std::mem::take(&mut self.scratch.full);
        let (mut written, most) = (0, self.log.free_units());
        while written < most && !self.log.needs_relocation() {
            let Some(unit) = units.next() else { break };
            if self.log.write(unit, 1, now, &mut full) == 0 {
                break;
            }
            self.log.note_map_change(unit, 1, now, &mut full);
            self.log.window.forget_wanted();
            for unit in full.drain(..) {
                self.log.program_done(unit.superblock);
            }
            written += 1;
        }
        for unit in self.log.close_host_units() {
            self.log.program_done(unit.superblock);
        }
        self.scratch.full = full;
        let progress = self.progress_since(0, written);
        self.log.restart_counters();
        progress
    }

    /// Writes a batch of units; returns false if no block is left.
    fn write_batch(&mut self, mut units: &[Lpn], full: &mut Vec<ProgramUnit>) -> bool {
        let now = self.schedule.now();
        while let Some(&unit) = units.first() {
            if self.log.is_read_only() {
                return false;
            }
            let mut written = self.log.write_units(units, now, full);
            if written == 0 {
                written = 1;
                if self.log.write(unit, 1, now, full) == 0 {
                    return false;
                }
                self.log.note_map_change(unit, 1, now, full);
                self.log.window.forget_wanted();
            }
            units = &units[written..];
            if !full.is_empty() {
                for unit in full.drain(..) {
                    self.log.program_done(unit.superblock);
                }
                self.log.settle_instantly(now, false);
            }
        }
        true
    }
}

/// Units that are written together, at most [`BATCH`].
struct Batch {
    units: [Lpn; BATCH],
    count: usize,
}

impl Batch {
    fn of(units: &mut impl Iterator<Item = Lpn>) -> Self {
        let mut batch = Batch {
            units: [Lpn(0); BATCH],
            count: 0,
        };
        while batch.count < BATCH
            && let Some(unit) = units.next()
        {
            batch.units[batch.count] = unit;
            batch.count += 1;
        }
        batch
    }

    fn units(&self) -> &[Lpn] {
        &self.units[..self.count]
    }
}

/// A permutation of `0..n` without a table: a bijection on the next power of two, repeated until the result is below
/// `n`.
struct Shuffle {
    n: u32,
    mask: u32,
    bits: u32,
    keys: [u32; 4],
}

impl Shuffle {
    fn new(n: u32, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let bits = (32 - n.saturating_sub(1).leading_zeros()).max(2);
        let mask = if bits == 32 {
            u32::MAX
        } else {
            (1 << bits) - 1
        };
        let keys = std::array::from_fn(|_| (random.bits() & u64::from(u32::MAX)).narrow());
        Shuffle {
            n,
            mask,
            bits,
            keys,
        }
    }

    fn at(&self, i: u32) -> u32 {
        let mut x = i;
        loop {
            for key in self.keys {
                x = x.wrapping_add(key) & self.mask;
                x = x.wrapping_mul(0x9e37_79b1 | 1) & self.mask;
                x ^= x >> (self.bits / 2);
            }
            if x < self.n {
                return x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::page::small::{self, Small};
    use std::ops::ControlFlow;

    fn to_the_end(_: FillProgress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// A small drive whose map is in RAM, with `journal_entries` entries per page of the journal.
    fn small_drive(journal_entries: u32) -> PageMapDevice {
        let size = Small {
            word_lines: 8,
            blocks_per_plane: 60,
            superblocks: 40,
        };
        let mut profile = size.profile("reference-nvme-64gb", |nand| {
            (nand.channels, nand.dies_per_channel) = (2, 2);
        });
        if let Some(ftl) = profile.ftl.as_mut() {
            ftl.journal_entries = journal_entries;
        }
        small::attached(&profile, &small::host("direct"))
    }

    /// As [`PageMapDevice::write_instantly`], with the calls of a timed write for each unit.
    fn write_one_by_one(device: &mut PageMapDevice, units: &[Lpn]) {
        let now = device.now();
        let mut full = Vec::new();
        for unit in units {
            assert_eq!(device.log.write(*unit, 1, now, &mut full), 1);
            device.log.note_map_change(*unit, 1, now, &mut full);
            for unit in full.drain(..) {
                device.log.program_done(unit.superblock);
                device.log.settle_instantly(now, false);
            }
        }
        for unit in device.log.close_host_units() {
            device.log.program_done(unit.superblock);
        }
        device.log.settle_instantly(now, false);
        device.log.restart_counters();
    }

    #[test]
    fn units_written_together_leave_the_log_that_single_ones_leave() {
        for journal_entries in [0, 1, 7, 500] {
            let mut together = small_drive(journal_entries);
            let mut single = together.clone();
            let user_units = u64::from(together.log.geometry.user_units);
            let mut random = Random::new(u64::from(journal_entries));
            let mut units: Vec<Lpn> = (0..user_units as u32).map(Lpn).collect();
            // Some units twice in succession, so that a unit is replaced in the program unit being filled.
            for _ in 0..3 * user_units {
                let unit = Lpn(random.below(user_units) as u32);
                units.extend(std::iter::repeat_n(unit, 1 + random.below(2) as usize));
            }
            let all = units.iter().copied();
            let done = together.write_instantly(all, Afterwards::Idle, &mut to_the_end);
            assert_eq!(done.map(|done| done.written), Ok(units.len() as u64));
            write_one_by_one(&mut single, &units);
            assert_eq!(together.audit(), Ok(()));
            let bytes = |device| postcard::to_stdvec(device).expect("can be saved");
            assert!(bytes(&together) == bytes(&single), "{journal_entries}");
        }
    }

    #[test]
    fn a_shuffle_meets_everything_once() {
        for n in [1, 2, 3, 100, 1000, 65_537] {
            let shuffle = Shuffle::new(n, 7);
            let mut seen = vec![false; n as usize];
            for i in 0..n {
                assert!(!std::mem::replace(&mut seen[shuffle.at(i) as usize], true));
            }
        }
    }
}
