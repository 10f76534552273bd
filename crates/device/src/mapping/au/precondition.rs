//! Starting states of a card without the time they take.

use super::AuMapDevice;
use super::map::MapContext;
use super::op_counts::OpCounts;
use crate::convert::{Narrow, Whole, Widen};
use crate::fill::{Afterwards, Fill, FillError, FillProgress, FillStep, STEP};
use crate::random::Random;
use crate::telemetry::Counters;

impl AuMapDevice {
    /// Fills the first `share` of the capacity. In whatever order pages were written, a card ends
    /// with its AUs merged into page order.
    pub(crate) fn precondition(
        &mut self,
        share: f64,
        fill: Fill,
        step: &mut FillStep<'_>,
    ) -> Result<FillProgress, FillError> {
        if self.commands.outstanding() > 0 {
            return Err(FillError::Busy);
        }
        let aus = self.map.geometry.logical_aus;
        let count = (f64::from(aus) * share.clamp(0.0, 1.0)).ceil().floor_u32();
        let mut order: Vec<u32> = (0..count).collect();
        if let Fill::Random { seed } = fill {
            let mut random = Random::new(seed);
            for i in (1..order.len()).rev() {
                let other = random.below(i.widen() + 1).narrow();
                order.swap(i, other as usize);
            }
        }
        let (size, end) = self.sizes();
        let writes = order.into_iter().map(|au| {
            let first = u64::from(au) * size;
            (first, size.min(end - first).narrow())
        });
        self.write_all_at_once(writes, Afterwards::Idle, step)
    }

    /// Overwrites pages drawn uniformly. With [`Afterwards::Load`], AUs stay open.
    pub(crate) fn overwrite_randomly(
        &mut self,
        count: u64,
        seed: u64,
        afterwards: Afterwards,
        step: &mut FillStep<'_>,
    ) -> Result<FillProgress, FillError> {
        if self.commands.outstanding() > 0 {
            return Err(FillError::Busy);
        }
        let page = u64::from(self.map.geometry.page_sectors);
        let (_, end) = self.sizes();
        let mut random = Random::new(seed);
        let writes = (0..count).map(|_| (random.below(end / page) * page, page.narrow()));
        self.write_all_at_once(writes, afterwards, step)
    }

    /// Writes ranges of sectors.
    fn write_all_at_once(
        &mut self,
        writes: impl Iterator<Item = (u64, u32)>,
        afterwards: Afterwards,
        step: &mut FillStep<'_>,
    ) -> Result<FillProgress, FillError> {
        let page = u64::from(self.map.geometry.page_sectors);
        let mut progress = FillProgress::default();
        let mut due = STEP;
        let mut stops = false;
        for (first, sectors) in writes {
            progress.programmed += self.write_at_once(first, sectors);
            progress.written += u64::from(sectors).div_ceil(page);
            if progress.written >= due {
                due = progress.written + STEP;
                stops = step(progress).is_break();
                if stops {
                    break;
                }
            }
        }
        match afterwards {
            Afterwards::Idle => self.rest(),
            Afterwards::Load => self.flash_counters = Counters::default(),
        }
        match stops {
            true => Err(FillError::Stopped),
            false => Ok(progress),
        }
    }

    /// Bytes of a page.
    pub(crate) fn overwrite_unit(&self) -> u64 {
        self.map.geometry.page_bytes()
    }

    /// Sectors of an AU, and of the card.
    fn sizes(&self) -> (u64, u64) {
        let end = self.identity.capacity_bytes / nandscope_units::SECTOR_BYTES;
        (u64::from(self.map.geometry.au_sectors), end)
    }

    /// Writes sectors; returns the pages programmed, in units of [`AuMapDevice::overwrite_unit`].
    fn write_at_once(&mut self, first: u64, sectors: u32) -> u64 {
        if self.read_only_since.is_some() {
            return 0;
        }
        let mut context = MapContext {
            reliability: &self.errors.model,
            random: &mut self.errors.random,
            now: self.schedule.now(),
        };
        let ops = &mut OpCounts::default();
        let wrote = self.map.write(first, sectors, true, &mut context, ops);
        if wrote.is_err() {
            self.read_only_since.get_or_insert(self.schedule.now());
        }
        u64::from(ops.programs + ops.moved() + ops.clusters)
    }

    /// A long idle time: closes open AUs and finishes merges. Resets the flash counters, which count the
    /// work caused by hosts.
    fn rest(&mut self) {
        let mut context = MapContext {
            reliability: &self.errors.model,
            random: &mut self.errors.random,
            now: self.schedule.now(),
        };
        let mut ops = OpCounts::default();
        if self.map.reclaim_shared_log(&mut context, &mut ops).is_err() {
            self.read_only_since.get_or_insert(self.schedule.now());
        }
        self.map.close_all();
        self.flash_counters = Counters::default();
    }
}
