//! Random changes of a drive with a page map; the capacity is small, so that a probe of 3 % of it is short.

use super::dice::Dice;
use nandscope_device::profile::Profile;
use nandscope_device::profile::schema::{BufferRelease, MapLocation, SlcCacheSection};

/// The capacity of a drawn drive, bytes.
const CAPACITY: u64 = 64_000_000_000;

/// The drive with a smaller capacity, fewer blocks and a cache in proportion.
pub(super) fn shrink(profile: &mut Profile) {
    let capacity = profile.device.capacity_bytes;
    if capacity <= CAPACITY {
        return;
    }
    let share = CAPACITY as f64 / capacity as f64;
    profile.device.capacity_bytes = CAPACITY;
    let blocks = f64::from(profile.nand.blocks_per_plane) * share;
    // The number of open superblocks stays the same.
    profile.nand.blocks_per_plane = blocks as u32 + 24;
    if let Some(cache) = profile.ftl.as_mut().and_then(|f| f.slc_cache.as_mut()) {
        cache.static_gb *= share;
        cache.dynamic_gb *= share;
        cache.reserve_gb *= share;
    }
}

/// Changes every parameter that a probe infers. The result may be inconsistent.
pub(super) fn change(profile: &mut Profile, dice: &mut Dice) {
    shrink(profile);
    super::throttle(profile, 55.0, dice);
    let bits = 1.0_f64.max(
        profile
            .nand
            .native
            .as_ref()
            .map_or(1.0, |n| n.program_us.len() as f64),
    );
    if let Some(native) = &mut profile.nand.native {
        let times = dice.between(0.5, 2.0);
        native.program_us.iter_mut().for_each(|t| *t *= times);
        native.read_us.iter_mut().for_each(|t| *t *= times);
    }
    cache(profile, bits, dice);
    if let Some(controller) = &mut profile.controller {
        controller.write_buffer_kib = dice.power(8, 15) as u32;
        controller.buffer_release = match dice.below(3) {
            0 => BufferRelease::Transferred,
            _ => BufferRelease::Programmed,
        };
        controller.read_ahead_kib = [0, 128, 512][dice.below(3) as usize];
        controller.read_us *= dice.between(0.5, 2.0);
    }
    if let Some(ftl) = &mut profile.ftl
        && ftl.map.location == MapLocation::Window
    {
        ftl.map.window_kib = Some(dice.power(6, 14) as u32);
    }
}

/// Smallest cache, GB; then the largest cache as a share of the capacity.
const CACHE_LEAST_GB: f64 = 0.016;
const CACHE_MOST: f64 = 0.4;

/// No SLC cache, a static one, or a dynamic one.
fn cache(profile: &mut Profile, bits: f64, dice: &mut Dice) {
    let gb = profile.device.capacity_bytes as f64 / 1e9;
    let (static_gb, dynamic_gb) = match dice.below(4) {
        0 => (0.0, 0.0),
        1 => (0.0, dice.between(CACHE_LEAST_GB, CACHE_MOST * gb)),
        _ => (dice.between(CACHE_LEAST_GB, CACHE_MOST * gb), 0.0),
    };
    let Some(ftl) = &mut profile.ftl else { return };
    ftl.slc_cache = (static_gb + dynamic_gb > 0.0).then_some(SlcCacheSection {
        static_gb,
        dynamic_gb,
        lends_spare_percent: 0.0,
        reserve_gb: 0.0,
        fold_after_ms: dice.between(50.0, 5000.0),
        fold_blocks_host: dice.below(2) == 0,
    });
    // A static cache needs additional capacity.
    let more = 1.0 + 3.2 * bits.max(1.0) * static_gb / gb;
    profile.nand.blocks_per_plane = (f64::from(profile.nand.blocks_per_plane) * more) as u32 + 8;
}
