//! A small device that behaves like a large one in short runs: filling it takes milliseconds.
//!
//! Dies, channels, pages, times, buffers and the share of over-provisioning stay. Page-mapped devices get fewer and shorter
//! blocks; erase times shrink with them, so that erasing takes the same share of time. SLC cache and map window shrink
//! with the capacity. Cards with allocation units keep their structure; they are limited to a number of units.

use crate::parameter::flash_bytes;
use nandscope_device::profile::Profile;

/// Least flash of a small page-mapped device, bytes.
const LEAST_FLASH: f64 = 384e6;
/// Write buffers that the flash of a small device holds at least.
const BUFFERS: f64 = 24.0;
/// Superblocks of a small page-mapped device; a device with little spare flash needs more, so that blocks for collection
/// remain.
const SUPERBLOCKS: [u32; 4] = [160, 320, 640, 1280];
/// Allocation units of a small card.
const ALLOCATION_UNITS: u64 = 512;
/// Flash of a small card relative to its share of the capacity: open AUs and spares do not shrink with it.
const SPARE: [f64; 5] = [1.1, 1.3, 1.6, 2.0, 3.0];

/// A small device, and its size relative to the large one.
#[derive(Clone, Debug)]
pub struct Miniature {
    /// Profile of the small device.
    pub profile: Profile,
    /// Capacity of the small device divided by that of the large one.
    pub ratio: f64,
}

/// Makes the small device.
pub fn of(profile: &Profile) -> Miniature {
    let small = match profile.card {
        Some(_) => card(profile),
        None => page_mapped(profile),
    };
    let ratio = small.device.capacity_bytes as f64 / profile.device.capacity_bytes.max(1) as f64;
    Miniature {
        profile: small,
        ratio,
    }
}

fn page_mapped(profile: &Profile) -> Profile {
    let mut small = with_superblocks(profile, SUPERBLOCKS[0]);
    for count in SUPERBLOCKS {
        small = with_superblocks(profile, count);
        if nandscope_device::profile::check_profile(&small).is_ok() {
            break;
        }
    }
    small
}

fn with_superblocks(profile: &Profile, count: u32) -> Profile {
    let mut small = profile.clone();
    let provisioned = flash_bytes(profile) / profile.device.capacity_bytes as f64;
    let blocks = profile.nand.blocks_per_plane.min(count);
    let buffer = profile
        .controller
        .as_ref()
        .map_or(0, |c| c.write_buffer_kib);
    let least = LEAST_FLASH.max(BUFFERS * f64::from(buffer) * 1024.0);
    small.nand.blocks_per_plane = blocks;
    small.nand.word_lines = 1;
    small.nand.factory_bad_percent = 0.0;
    let lines = (least / flash_bytes(&small)).ceil();
    small.nand.word_lines = (lines as u32).clamp(1, profile.nand.word_lines);
    let shorter = f64::from(small.nand.word_lines) / f64::from(profile.nand.word_lines);
    small.nand.slc.erase_us *= shorter;
    if let Some(native) = &mut small.nand.native {
        native.erase_us *= shorter;
    }
    let unit = profile.ftl.as_ref().map_or(4096, |f| f.mapping_unit_bytes);
    let unit = u64::from(unit.max(512));
    let capacity = (flash_bytes(&small) / provisioned) as u64 / unit * unit;
    small.device.capacity_bytes = capacity.min(profile.device.capacity_bytes);
    let ratio = small.device.capacity_bytes as f64 / profile.device.capacity_bytes as f64;
    if let Some(ftl) = &mut small.ftl {
        if let Some(window) = &mut ftl.map.window_kib {
            *window = ((f64::from(*window) * ratio).round() as u32).max(8);
        }
        if ftl.journal_entries > 0 {
            ftl.journal_pages = Some(16);
        }
        if let Some(cache) = &mut ftl.slc_cache {
            cache.static_gb *= ratio;
            cache.dynamic_gb *= ratio;
            cache.reserve_gb *= ratio;
        }
    }
    small
}

fn card(profile: &Profile) -> Profile {
    let au = profile.card.as_ref().map_or(4096, |c| c.au_kib);
    let capacity = (u64::from(au) * 1024).saturating_mul(ALLOCATION_UNITS);
    if capacity >= profile.device.capacity_bytes {
        return profile.clone();
    }
    let share = capacity as f64 / profile.device.capacity_bytes as f64;
    let blocks = f64::from(profile.nand.blocks_per_plane) * share;
    for spare in SPARE {
        let mut small = profile.clone();
        small.device.capacity_bytes = capacity;
        small.nand.blocks_per_plane =
            ((blocks * spare).ceil() as u32).min(profile.nand.blocks_per_plane);
        if nandscope_device::profile::check_profile(&small).is_ok() {
            return small;
        }
    }
    profile.clone()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_device::profile::{check_profile, library};

    #[test]
    fn every_device_of_the_library_has_a_small_one() {
        for entry in library::DEVICES {
            let profile = entry.profile().unwrap();
            let small = of(&profile).profile;
            if let Err(faults) = check_profile(&small) {
                panic!("{}: {}", entry.name, faults[0].message);
            }
            let (large, less) = (profile.device.capacity_bytes, small.device.capacity_bytes);
            assert!(less <= large, "{}", entry.name);
            let op = |p: &Profile| flash_bytes(p) / p.device.capacity_bytes as f64;
            if profile.ftl.is_some() {
                assert!(
                    (op(&small) / op(&profile) - 1.0).abs() < 0.01,
                    "{}",
                    entry.name
                );
            }
        }
    }
}
