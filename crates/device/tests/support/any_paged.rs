//! Random page-mapped devices and random commands for them.

use nandscope_device::profile::Profile;
use nandscope_device::profile::schema::{
    Acknowledge, BufferRelease, Cell, MapLocation, SlcCacheSection, VictimPolicyName,
};
use nandscope_device::{Command, CommandKind};
use nandscope_units::Lba;
use proptest::prelude::*;

use super::profile;

/// Parameters of a small device, each an index or a number of any value.
#[derive(Clone, Debug)]
pub struct Knobs {
    pub cell: u8,
    pub shape: (u32, u32, u32),
    pub word_lines: u32,
    pub page_kib: u32,
    pub slc_cache: u8,
    pub map: u8,
    pub policy: u8,
    pub flags: u16,
    pub journal: bool,
    pub link: u8,
    pub wear_spread: u32,
    pub refresh_reads: u32,
    pub relocation_units: u32,
    pub collection_start: u32,
    pub retire: bool,
}

pub fn knobs() -> impl Strategy<Value = Knobs> {
    let first = (
        0u8..4,
        (1u32..3, 1u32..3, 1u32..3),
        4u32..9,
        prop_oneof![Just(4u32), Just(8), Just(16)],
        0u8..5,
        0u8..3,
        0u8..3,
        any::<u16>(),
    );
    let second = (
        any::<bool>(),
        0u8..4,
        prop_oneof![Just(0u32), Just(2)],
        prop_oneof![Just(0u32), Just(20)],
        1u32..5,
        8u32..12,
        prop::bool::weighted(0.2),
    );
    (first, second).prop_map(|(a, b)| Knobs {
        cell: a.0,
        shape: a.1,
        word_lines: a.2,
        page_kib: a.3,
        slc_cache: a.4,
        map: a.5,
        policy: a.6,
        flags: a.7,
        journal: b.0,
        link: b.1,
        wear_spread: b.2,
        refresh_reads: b.3,
        relocation_units: b.4,
        collection_start: b.5,
        retire: b.6,
    })
}

const LINKS: [&str; 4] = ["pcie-3.0-x1", "sd-sdr104", "sata-6", "emmc-hs400"];
pub const BLOCKS: u32 = 64;

pub fn build(k: &Knobs) -> (Profile, &'static str) {
    let flag = |bit: u32| k.flags >> bit & 1 == 1;
    let mut p = profile("reference-nvme-64gb");
    p.nand.cell = [Cell::Slc, Cell::Mlc, Cell::Tlc, Cell::Qlc][usize::from(k.cell)];
    let bits = p.nand.cell.bits() as usize;
    if bits == 1 {
        p.nand.native = None;
    } else if let Some(native) = p.nand.native.as_mut() {
        native.read_us = vec![50.0; bits];
        let programs = if flag(0) { 1 } else { bits };
        native.program_us = (1..=programs).map(|n| 400.0 * n as f64).collect();
        native.cycles = if k.retire { 2 } else { 1000 };
    }
    (p.nand.channels, p.nand.dies_per_channel, p.nand.planes) = k.shape;
    p.nand.blocks_per_plane = BLOCKS;
    p.nand.word_lines = k.word_lines;
    p.nand.page_kib = k.page_kib;
    p.nand.cache_read = flag(1);
    p.nand.cache_program = flag(2);
    p.nand.suspend = flag(3);
    p.ftl.as_mut().expect("page-mapped").collection = [
        VictimPolicyName::Greedy,
        VictimPolicyName::Fifo,
        VictimPolicyName::CostBenefit,
    ][usize::from(k.policy)]
    .clone();
    p.ftl.as_mut().expect("page-mapped").collection_start = k.collection_start;
    p.ftl.as_mut().expect("page-mapped").relocation_units = k.relocation_units;
    p.ftl
        .as_mut()
        .expect("page-mapped")
        .relocation_shares_buffer = flag(4);
    let in_bursts = k.relocation_units == 3 && k.collection_start.is_multiple_of(2);
    p.ftl.as_mut().expect("page-mapped").collection_burst_kib = in_bursts.then_some(16);
    p.ftl.as_mut().expect("page-mapped").wear_spread_cycles = k.wear_spread;
    p.ftl.as_mut().expect("page-mapped").refresh_reads = k.refresh_reads;
    p.ftl.as_mut().expect("page-mapped").journal_entries = if k.journal { 16 } else { 0 };
    let journal_pages = (k.journal && !k.word_lines.is_multiple_of(2)).then_some(8 * k.word_lines);
    p.ftl.as_mut().expect("page-mapped").journal_pages = journal_pages;
    p.ftl.as_mut().expect("page-mapped").journal_on_flush = k.journal && k.word_lines % 3 == 1;
    p.ftl.as_mut().expect("page-mapped").map.location = [
        MapLocation::Dram,
        MapLocation::Window,
        MapLocation::HostMemory,
    ][usize::from(k.map)];
    p.ftl.as_mut().expect("page-mapped").map.window_kib = (k.map > 0).then_some(8);
    p.ftl.as_mut().expect("page-mapped").map.host_memory_us = (k.map == 2).then_some(3.0);
    p.ftl.as_mut().expect("page-mapped").map.update_entries = (k.map > 0 && flag(11)).then_some(16);
    p.ftl.as_mut().expect("page-mapped").map.sram_kib = (k.map == 2 && k.journal).then_some(4);

    let separated = flag(15) && k.map == 0 && (bits == 1 || k.slc_cache == 0);
    p.ftl.as_mut().expect("page-mapped").separate_by_heat = separated;
    let dies = k.shape.0 * k.shape.1;
    let parity = if flag(13) { 1 + u32::from(flag(14)) } else { 0 };
    let parity = parity.min(dies - 1);
    p.ftl.as_mut().expect("page-mapped").parity_dies = parity;
    let slc_block = u64::from((dies - parity) * k.shape.2 * k.word_lines * k.page_kib) * 1024;
    let block = slc_block * bits as u64;
    // Enough spare for collection, open blocks, the static cache, and the map's pages and journal.
    let metadata = 256 + 64;
    let streams = if separated {
        4
    } else if k.map > 0 {
        7
    } else {
        0
    };
    let spare =
        u64::from(k.collection_start) + 5 + streams + (metadata * 4096u64).div_ceil(block).min(12);
    let mut fixed = 0;
    if bits > 1 && k.slc_cache > 0 {
        let (static_blocks, dynamic_blocks) =
            [(2, 0), (0, 10), (2, 8), (1, 30)][usize::from(k.slc_cache) - 1];
        fixed = static_blocks;
        p.ftl.as_mut().expect("page-mapped").slc_cache = Some(SlcCacheSection {
            static_gb: static_blocks as f64 * slc_block as f64 / 1e9,
            dynamic_gb: f64::from(dynamic_blocks) * slc_block as f64 / 1e9,
            reserve_gb: if flag(12) {
                2.0 * slc_block as f64 / 1e9
            } else {
                0.0
            },
            lends_spare_percent: if flag(5) { 30.0 } else { 0.0 },
            fold_after_ms: 5.0,
            fold_blocks_host: flag(6),
        });
    }
    let user_blocks = u64::from(BLOCKS).saturating_sub(spare + fixed).max(8);
    p.device.capacity_bytes = user_blocks * block / 4096 * 4096;
    let program_kib = k.page_kib * k.shape.2 * if flag(0) { bits as u32 } else { 1 };
    p.controller.as_mut().expect("page-mapped").write_buffer_kib = program_kib * 4;
    p.controller.as_mut().expect("page-mapped").buffer_release = if flag(7) {
        BufferRelease::Programmed
    } else {
        BufferRelease::Transferred
    };
    p.controller
        .as_mut()
        .expect("page-mapped")
        .power_fail_hold_up = flag(8);
    p.controller.as_mut().expect("page-mapped").read_ahead_kib = if flag(9) { 256 } else { 0 };
    let controller = p.controller.as_mut().expect("page-mapped");
    controller.decode_us = 20.0;
    controller.ecc_engines = Some(k.word_lines % 3).filter(|engines| *engines > 0);
    p.nand.reliability.retry_transfers = k.word_lines % 3 > 1;
    let link = LINKS[usize::from(k.link)];
    super::plain::attach(&mut p, link);
    p.interface[0].packed_writes = (link == "emmc-hs400").then_some(k.word_lines);
    p.interface[0].active_dies = if flag(10) { 1 } else { dies };
    p.interface[0].acknowledge = if flag(11) {
        Acknowledge::Programmed
    } else {
        Acknowledge::Buffered
    };
    (p, link)
}

/// A step of the host: kind, address (as a share of the capacity), length, and pause before it.
pub type Step = (u8, u32, u32, u32);

pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let wait = prop_oneof![
        6 => Just(0u32),
        2 => 1u32..200_000,
        1 => 1_000_000u32..20_000_000
    ];
    prop::collection::vec((0u8..20, any::<u32>(), 1u32..300, wait), 50..400)
}

pub fn command(tag: u64, step: &Step, sectors_in_all: u64) -> Command {
    let (what, place, size, _) = *step;
    // A few addresses are hot, most are random, some are just beyond the end.
    let lba = match what % 5 {
        0 => u64::from(place) % 64,
        1 => sectors_in_all - u64::from(place) % 300 - 1,
        _ => u64::from(place) % sectors_in_all,
    };
    let kind = match what {
        0..=4 => CommandKind::Read,
        5..=12 => CommandKind::Write { fua: false },
        13 => CommandKind::Write { fua: true },
        14 | 15 => CommandKind::Flush,
        16..=18 => CommandKind::Discard,
        _ => CommandKind::Health,
    };
    let sectors = match kind {
        CommandKind::Flush | CommandKind::Health => 0,
        // Whole mapping units or odd sizes, depending on the address.
        _ if place & 1 == 0 => size,
        _ => size.next_multiple_of(8),
    };
    let lba = if place & 2 == 0 { lba & !7 } else { lba };
    Command {
        tag,
        kind,
        lba: Lba(lba),
        sectors,
    }
}
