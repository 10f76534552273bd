//! Profiles in which every time, error and policy but the one under test is zero, so that closed
//! forms hold exactly. They begin as the library's reference profile and are changed as values.

use nandscope_device::profile::Profile;
use nandscope_device::profile::schema::{Cell, InterfaceSection};

/// Flash in plain numbers: SLC cells, so that a page is a program unit on each plane.
#[derive(Clone, Copy, Debug)]
pub struct Flash {
    pub channels: u32,
    pub dies_per_channel: u32,
    pub planes: u32,
    pub blocks: u32,
    pub pages_per_block: u32,
    pub page_kib: u32,
    pub mt_per_s: f64,
    pub read_us: f64,
    pub program_us: f64,
}

/// Eight dies with large pages on a fast bus.
pub const EIGHT_DIES: Flash = Flash {
    channels: 2,
    dies_per_channel: 4,
    planes: 1,
    blocks: 32,
    pages_per_block: 128,
    page_kib: 16,
    mt_per_s: 4000.0,
    read_us: 100.0,
    program_us: 400.0,
};

/// Four dies with small pages on one channel.
pub const FOUR_DIES: Flash = Flash {
    channels: 1,
    dies_per_channel: 4,
    planes: 1,
    blocks: 80,
    pages_per_block: 256,
    page_kib: 4,
    mt_per_s: 1000.0,
    read_us: 50.0,
    program_us: 100.0,
};

/// The same flash with six more blocks per plane, for a map in flash: map pages need their own superblocks, and the
/// capacity is that of a device with six spare superblocks less.
pub fn with_map_blocks(flash: Flash) -> Flash {
    Flash {
        blocks: flash.blocks + 6,
        ..flash
    }
}

/// A fast link, whose transfer of 4 KiB takes 72 ns.
pub const FAST_LINK: &str = "pcie-5.0-x16";

impl Flash {
    pub fn superblock_bytes(&self) -> u64 {
        u64::from(self.channels * self.dies_per_channel * self.planes)
            * u64::from(self.pages_per_block)
            * u64::from(self.page_kib)
            * 1024
    }

    /// A profile without any delay, limit, error or policy except the flash's; the capacity leaves `spare` superblocks.
    pub fn profile(&self, spare: u32) -> Profile {
        let mut p = super::profile("reference-nvme-64gb");
        p.nand.cell = Cell::Slc;
        p.nand.native = None;
        p.nand.channels = self.channels;
        p.nand.dies_per_channel = self.dies_per_channel;
        p.nand.planes = self.planes;
        p.nand.blocks_per_plane = self.blocks;
        p.nand.word_lines = self.pages_per_block;
        p.nand.page_kib = self.page_kib;
        p.nand.bus_mt_per_s = self.mt_per_s;
        p.nand.bus_overhead_ns = 0;
        p.nand.cache_read = false;
        p.nand.cache_program = false;
        p.nand.suspend = false;
        p.nand.slc.read_us = vec![self.read_us];
        p.nand.slc.program_us = vec![self.program_us];
        p.nand.slc.erase_us = 1000.0;
        p.nand.slc.cycles = 1_000_000;
        no_errors(&mut p);
        p.ftl.as_mut().expect("page-mapped").journal_entries = 0;
        p.ftl.as_mut().expect("page-mapped").wear_spread_cycles = 0;
        p.ftl.as_mut().expect("page-mapped").refresh_reads = 0;
        p.ftl.as_mut().expect("page-mapped").collection_start = 2;
        p.device.capacity_bytes = u64::from(self.blocks - spare) * self.superblock_bytes();
        no_firmware_time(&mut p);
        p.controller.as_mut().expect("page-mapped").write_buffer_kib = 64 * 1024;
        p.controller.as_mut().expect("page-mapped").read_ahead_kib = 0;
        attach(&mut p, FAST_LINK);
        p
    }
}

pub fn no_errors(p: &mut Profile) {
    p.nand.reliability.rber_fresh = 0.0;
    p.nand.reliability.rber_rated = 0.0;
    p.nand.reliability.disturb_per_100k_reads = 0.0;
}

pub fn no_firmware_time(p: &mut Profile) {
    p.controller.as_mut().expect("page-mapped").cores = 1;
    p.controller.as_mut().expect("page-mapped").read_us = 0.0;
    p.controller.as_mut().expect("page-mapped").write_us = 0.0;
    p.controller.as_mut().expect("page-mapped").per_unit_ns = 0;
    p.controller.as_mut().expect("page-mapped").relocate_unit_us = 0.0;
    p.controller.as_mut().expect("page-mapped").decode_us = 0.0;
}

/// Gives the profile one interface, on `link`.
pub fn attach(p: &mut Profile, link: &str) {
    let interface = InterfaceSection {
        link: link.to_string(),
        active_dies: 4096,
        clock_share: 1.0,
        ..p.interface[0].clone()
    };
    p.interface = vec![interface];
}

/// Time of `bytes` on a link, as the model rounds it.
pub fn link_ns(link: &str, bytes: u64) -> u64 {
    let rate = nandscope_device::link::link_mode(link).expect(link).rate.0;
    (bytes * 1_000_000_000 + rate / 2) / rate
}
