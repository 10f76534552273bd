//! Whether the range of a partly loaded map is visible: reads that cover more map pages than are loaded must fetch
//! them.

use super::super::truth::Truth;
use super::drive::MAPPED;
use super::{Copy, READ_US};
use nandscope_infer::probe::Options;
use nandscope_measure::target::{Target, TargetError};
use nandscope_workload::OpKind;

/// Size of a map entry, bytes, so that a map page covers 4 MiB.
const ENTRY: u64 = 4;
const PAGE_COVERS: u64 = MAPPED / ENTRY * MAPPED;
/// Number of places compared.
const COMPARED: u64 = 64;

impl Copy {
    /// Whether reads of the same places take longer in a range twice as large as that of the loaded map pages (or in
    /// the whole device) than in one half as large. One unit per map page is written, which takes at most a quarter of
    /// the time and half of the write budget.
    pub(super) fn map_range(
        &mut self,
        truth: &Truth,
        options: &Options,
    ) -> Result<bool, TargetError> {
        let capacity = self.target.capacity().0;
        for range in &truth.map_ranges {
            let held = range / PAGE_COVERS;
            let pages = (2 * held).min(capacity / PAGE_COVERS);
            if 4 * pages < 5 * held || pages * MAPPED > options.writes.0 / 2 {
                continue;
            }
            let began = self.target.now();
            for page in 0..pages {
                self.time(OpKind::Write, page * PAGE_COVERS, MAPPED)?;
            }
            self.settle()?;
            let few = self.round((held / 2).max(1))?;
            let many = self.round(pages)?;
            let spent = self.target.now().saturating_sub(began);
            if many - few >= READ_US && 4 * spent.0 <= options.time.0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Median time of reads in the first [`COMPARED`] map pages while `pages` map pages are read in rounds, µs.
    fn round(&mut self, pages: u64) -> Result<f64, TargetError> {
        let mut times = Vec::new();
        for round in 0..3 {
            for page in 0..pages {
                let took = self.time(OpKind::Read, page * PAGE_COVERS, MAPPED)?;
                if page < COMPARED && round > 0 {
                    times.push(took);
                }
            }
        }
        times.sort_unstable_by(f64::total_cmp);
        Ok(times.get(times.len() / 2).copied().unwrap_or(0.0))
    }
}
