//! Whether an SLC cache is visible, and whether the budget shows that its size is fixed.

use super::super::truth::Truth;
use super::drive::DRIVE_WRITTEN;
use super::{Copy, SLOWER};
use nandscope_device::profile::Profile;
use nandscope_infer::probe::Options;
use nandscope_measure::target::TargetError;
use nandscope_workload::OpKind;

/// The smallest cache that is distinguished from a write buffer, bytes.
const CACHE_MIN: u64 = 128 << 20;
/// Size of a write into a cache, bytes; number of writes in flight.
const CACHE_PIECE: u64 = 512 << 10;
const CACHE_DEPTH: u32 = 4;
/// Largest ratio of a cache's size on a fuller device to that on an empty one for which it counts as dynamic.
const SMALLER: f64 = 0.8;

/// Whether the budget is enough to show that a cache has a fixed size: the device must be so full that a cache of
/// borrowed unmapped capacity is smaller by a fifth, and the cache is filled before and after.
pub(super) fn kind_fits(truth: &Truth, profile: &Profile, options: &Options) -> bool {
    let Some(cache) = truth.slc else {
        return false;
    };
    let borrowed = SMALLER * cache as f64 * f64::from(profile.nand.cell.bits());
    let filled = profile.device.capacity_bytes as f64 - borrowed;
    // The first writes, to an empty cache, are free of the budget.
    filled.max(0.0) + cache as f64 <= options.writes.0 as f64
}

impl Copy {
    /// Whether a cache is visible: the budget must fill it and continue for as long.
    pub(super) fn cache(&mut self, truth: &Truth, options: &Options) -> Result<bool, TargetError> {
        let fits = |bytes: &u64| *bytes >= CACHE_MIN && 2 * bytes <= options.writes.0;
        // A cache consists of whole superblocks.
        let whole = |bytes: u64| bytes.next_multiple_of(truth.slc_superblock.max(1));
        match truth.slc.map(whole).filter(fits) {
            Some(bytes) => self.falls(bytes),
            None => Ok(false),
        }
    }

    /// Whether sequential writes of twice the cache's size are slower when the cache is full: compares their last
    /// quarter with the second. If the link or the controller is slower than the flash, the cache makes no difference.
    fn falls(&mut self, cache: u64) -> Result<bool, TargetError> {
        let pieces = 2 * cache / CACHE_PIECE;
        let places: Vec<u64> = (0..pieces)
            .map(|n| DRIVE_WRITTEN + n * CACHE_PIECE)
            .collect();
        let ends = self.many(OpKind::Write, &places, CACHE_PIECE, CACHE_DEPTH)?;
        let quarter = ends.len() / 4;
        let slow = ends[4 * quarter - 1] - ends[3 * quarter - 1];
        let fast = ends[2 * quarter - 1] - ends[quarter - 1];
        Ok(slow >= SLOWER * fast)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_device::profile::library;
    use nandscope_units::Bytes;

    #[test]
    fn the_kind_of_a_cache_takes_nearly_all_of_a_device() {
        let entry = library::DEVICES.iter().find(|e| e.name == "sm2708-250gb");
        let mut profile = entry.unwrap().profile().unwrap();
        profile.device.capacity_bytes = 64_000_000_000;
        let truth = Truth {
            slc: Some(1_000_000_000),
            ..Truth::default()
        };
        let mut options = Options::for_capacity(Bytes(profile.device.capacity_bytes));
        assert!(!kind_fits(&truth, &profile, &options));
        // With three bits per cell: all but 2.4 GB of the capacity, and the cache once more.
        options.writes = Bytes(62_700_000_000);
        assert!(kind_fits(&truth, &profile, &options));
        options.writes = Bytes(62_500_000_000);
        assert!(!kind_fits(&truth, &profile, &options));
    }
}
