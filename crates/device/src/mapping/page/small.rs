//! Small drives for tests: library drives with fewer and smaller blocks.

use super::PageMapDevice;
use super::geometry::Geometry;
use crate::profile::host::HostProfile;
use crate::profile::library;
use crate::profile::schema::{FtlSection, NandSection, Profile};

/// Size of a small drive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Small {
    pub(super) word_lines: u32,
    pub(super) blocks_per_plane: u32,
    /// Native-mode superblocks of the capacity.
    pub(super) superblocks: u64,
}

impl Small {
    /// Profile of a library drive in this size, with its flash changed by `change`.
    pub(super) fn profile(self, name: &str, change: impl FnOnce(&mut NandSection)) -> Profile {
        let entry = library::device(name).expect("in the library");
        let mut profile = entry.profile().expect("valid");
        profile.nand.word_lines = self.word_lines;
        profile.nand.blocks_per_plane = self.blocks_per_plane;
        change(&mut profile.nand);
        let geometry = Geometry::new(&profile, &ftl(&profile));
        let units = u64::from(geometry.native.superblock_units) * self.superblocks;
        profile.device.capacity_bytes = units * u64::from(geometry.unit_bytes);
        profile
    }
}

/// FTL section of a page-mapped drive's profile.
pub(super) fn ftl(profile: &Profile) -> FtlSection {
    profile.ftl.clone().expect("page-mapped")
}

/// A host of the library.
pub(super) fn host(name: &str) -> HostProfile {
    let host = library::host(name).expect("in the library");
    host.host_profile().expect("valid")
}

/// A fresh drive, attached to a host.
pub(super) fn attached(profile: &Profile, host: &HostProfile) -> PageMapDevice {
    let controller = profile.controller.clone().expect("page-mapped");
    PageMapDevice::new(profile, &ftl(profile), &controller, host, 1).expect("attaches")
}
