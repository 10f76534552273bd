//! Conditions between values of a device profile. All errors are collected; each names its key and the remedy.

mod card;
mod ranges;

use super::error::Located;
use super::schema::{Cell, ControllerSection, FtlSection, MapLocation, Profile};
use crate::convert::ToF64;
use crate::link::{Protocol, is_nvme, link_mode};
use crate::mapping::page::geometry::Geometry;

struct Faults(Vec<Located>);

impl Faults {
    fn add(&mut self, key: &str, message: String, remedy: &str) {
        self.0.push(Located {
            key: key.to_string(),
            message,
            remedy: remedy.to_string(),
        });
    }

    fn range(&mut self, key: &str, value: f64, least: f64, most: f64) {
        if !(least..=most).contains(&value) {
            self.add(
                key,
                format!("{value} is out of range"),
                &format!("give a number from {least} to {most}"),
            );
        }
    }

    fn count(&mut self, key: &str, value: u32, least: u32, most: u32) {
        self.range(key, f64::from(value), f64::from(least), f64::from(most));
    }
}

pub(super) fn check(profile: &Profile) -> Vec<Located> {
    let mut faults = Faults(Vec::new());
    if profile.format != super::FORMAT {
        faults.add(
            "format",
            format!("format {} is not known", profile.format),
            "this build reads format 1",
        );
    }
    ranges::check(profile, &mut faults);
    arrays(profile, &mut faults);
    suspend(profile, &mut faults);
    reliability(profile, &mut faults);
    translation(profile, &mut faults);
    heat(profile, &mut faults);
    interfaces(profile, &mut faults);
    power_states(profile, &mut faults);
    if faults.0.is_empty() {
        match (&profile.ftl, &profile.card) {
            (Some(ftl), _) => capacity(profile, ftl, &mut faults),
            (None, Some(section)) => card::capacity(profile, section, &mut faults),
            (None, None) => {}
        }
    }
    faults.0
}

/// Checks that a device has either a page map with its controller, or a card section.
fn translation(profile: &Profile, faults: &mut Faults) {
    match (&profile.ftl, &profile.controller, &profile.card) {
        (Some(section), Some(firmware), None) => {
            ftl(profile, section, faults);
            controller(profile, section, firmware, faults);
        }
        (None, None, Some(section)) => card::check(profile, section, faults),
        (ftl, controller, card) => {
            let there = [
                ("[ftl]", ftl.is_some()),
                ("[controller]", controller.is_some()),
                ("[card]", card.is_some()),
            ];
            let named: Vec<&str> = there.iter().filter(|t| t.1).map(|t| t.0).collect();
            faults.add(
                "device",
                match named.as_slice() {
                    [] => "nothing says how the device translates addresses".to_string(),
                    some => format!("{} do not make a device", some.join(" and ")),
                },
                "give [ftl] and [controller] for a page-mapped device, or [card] for one with allocation units",
            );
        }
    }
}

fn arrays(profile: &Profile, faults: &mut Faults) {
    let nand = &profile.nand;
    let mut sections = vec![("nand.slc", &nand.slc, 1)];
    match (&nand.native, nand.cell) {
        (Some(native), cell) if cell != Cell::Slc => {
            sections.push(("nand.native", native, cell.bits()))
        }
        (None, Cell::Slc) => {}
        (Some(_), _) => faults.add(
            "nand.native",
            "the cells are SLC, so there is no other mode".to_string(),
            "remove this table, or set nand.cell",
        ),
        (None, cell) => faults.add(
            "nand",
            format!("there are no array times for {cell:?} blocks"),
            "add a table [nand.native]",
        ),
    }
    for (key, array, bits) in sections {
        if array.read_us.len() != bits as usize {
            faults.add(
                &format!("{key}.read_us"),
                format!(
                    "{} times for {bits} pages of a word line",
                    array.read_us.len()
                ),
                "give one time per bit of the cell",
            );
        }
        if array.program_us.len() != 1 && array.program_us.len() != bits as usize {
            faults.add(
                &format!("{key}.program_us"),
                format!(
                    "{} times for {bits} pages of a word line",
                    array.program_us.len()
                ),
                "give one time for the whole word line, or one per bit of the cell",
            );
        }
    }
}

fn suspend(profile: &Profile, faults: &mut Faults) {
    if profile.nand.suspend_threshold_us.is_some() && !profile.nand.suspend {
        faults.add(
            "nand.suspend_threshold_us",
            "the part suspends nothing".to_string(),
            "set nand.suspend, or remove the key",
        );
    }
}

fn reliability(profile: &Profile, faults: &mut Faults) {
    let r = &profile.nand.reliability;
    if let Some(pages) = &r.page_rber {
        let bits = profile.nand.cell.bits() as usize;
        let mean = pages.iter().sum::<f64>() / bits.to_f64();
        if profile.card.is_some() || pages.len() != bits || (mean - 1.0).abs() > 0.01 {
            faults.add(
                "nand.reliability.page_rber",
                format!(
                    "{pages:?} are not the pages of a word line of {bits}, or the device is a card"
                ),
                "give one number per bit of the cell, 1 on average; remove the key from a card",
            );
        }
    }
    if r.retry_transfers && profile.card.is_some() {
        faults.add(
            "nand.reliability.retry_transfers",
            "a card transfers every page that it reads again".to_string(),
            "remove the key",
        );
    }
    if r.rber_rated < r.rber_fresh {
        faults.range(
            "nand.reliability.rber_rated",
            r.rber_rated,
            r.rber_fresh,
            0.1,
        );
    }
}

fn ftl(profile: &Profile, ftl: &FtlSection, faults: &mut Faults) {
    let page_bytes = profile.nand.page_kib.saturating_mul(1024);
    let unit = ftl.mapping_unit_bytes;
    if unit < 512 || !unit.is_power_of_two() || !page_bytes.is_multiple_of(unit) {
        faults.add(
            "ftl.mapping_unit_bytes",
            format!("{unit} bytes do not divide a page of {page_bytes} bytes into whole units"),
            "use a power of two from 512 up to the page size",
        );
    }
    let dies = profile
        .nand
        .channels
        .saturating_mul(profile.nand.dies_per_channel);
    if ftl.separate_by_heat && (ftl.map.location != MapLocation::Dram || ftl.slc_cache.is_some()) {
        faults.add(
            "ftl.separate_by_heat",
            "data is separated only with the whole map in DRAM and without an SLC cache"
                .to_string(),
            "remove the key, or set ftl.map.location to `dram` and remove ftl.slc_cache",
        );
    }
    if ftl.parity_dies > 0 && ftl.parity_dies >= dies {
        faults.add(
            "ftl.parity_dies",
            format!(
                "{} dies of {dies} hold parity, and none is left for data",
                ftl.parity_dies
            ),
            "give fewer than nand.channels × nand.dies_per_channel",
        );
    }
    match (ftl.map.location, ftl.map.window_kib) {
        (MapLocation::Dram, Some(_)) => faults.add(
            "ftl.map.window_kib",
            "the whole map is in DRAM, so there is no window".to_string(),
            "remove the key, or set location to `window` or `host-memory`",
        ),
        (MapLocation::Window | MapLocation::HostMemory, None) => faults.add(
            "ftl.map",
            "the size of the window is missing".to_string(),
            "add window_kib",
        ),
        _ => {}
    }
    if ftl.map.update_entries.is_some() && ftl.map.location == MapLocation::Dram {
        faults.add(
            "ftl.map.update_entries",
            "the whole map is in DRAM and updated there".to_string(),
            "remove the key, or set location to `window` or `host-memory`",
        );
    }
    match (ftl.map.location, ftl.map.host_memory_us) {
        (MapLocation::HostMemory, None) => {
            faults.add(
                "ftl.map",
                "the time of a fetch is missing".to_string(),
                "add host_memory_us",
            );
        }
        (MapLocation::HostMemory, Some(_)) => {}
        (_, Some(_)) => faults.add(
            "ftl.map.host_memory_us",
            "the map is not in host memory".to_string(),
            "remove the key, or set location to `host-memory`",
        ),
        _ => {}
    }
    if ftl.map.sram_kib.is_some() && ftl.map.location != MapLocation::HostMemory {
        faults.add(
            "ftl.map.sram_kib",
            "the map is not in host memory".to_string(),
            "remove the key (window_kib is the memory of `window`), or set location to `host-memory`",
        );
    }
    if ftl.slc_cache.is_some() && profile.nand.cell == Cell::Slc {
        faults.add(
            "ftl.slc_cache",
            "all blocks are SLC already".to_string(),
            "remove this table",
        );
    }
}

fn controller(profile: &Profile, ftl: &FtlSection, c: &ControllerSection, faults: &mut Faults) {
    let single = [c.single_units, c.single_read_ns, c.single_write_ns];
    if single.iter().any(Option::is_some) && single.iter().any(Option::is_none) {
        faults.add(
            "controller.single_units",
            "number and times of the units handled one by one come together".to_string(),
            "give single_units, single_read_ns and single_write_ns, or none of them",
        );
    }
    let pages = profile.nand.page_kib.saturating_mul(profile.nand.planes);
    let program_kib = pages.saturating_mul(pages_per_program(profile));
    let buffers = if ftl.relocation_shares_buffer { 2 } else { 1 };
    let least = program_kib.saturating_mul(buffers);
    if c.write_buffer_kib < least || c.write_buffer_kib > 1 << 24 {
        faults.add(
            "controller.write_buffer_kib",
            format!("{} KiB cannot hold what is programmed at once ({program_kib} KiB on all planes of a die)", c.write_buffer_kib),
            &format!("give at least {least} KiB"),
        );
    }
}

/// Pages of a word line per program on each plane.
fn pages_per_program(profile: &Profile) -> u32 {
    let native = profile.nand.native.as_ref();
    native.map_or(1, |array| array.pages_per_program(profile.nand.cell))
}

fn heat(profile: &Profile, faults: &mut Faults) {
    let t = &profile.thermal;
    let tau = t.controller_j_per_k * t.controller_to_case_k_per_w;
    if tau < 0.5 {
        faults.add(
            "thermal.controller_j_per_k",
            format!("the controller would follow its power within {tau:.2} s, faster than the thermal model steps (0.1 s)"),
            "give a heat capacity and a resistance whose product is at least 0.5 s",
        );
    }
    let conductance = 1.0 / t.controller_to_case_k_per_w + 1.0 / t.case_to_ambient_k_per_w;
    let tau = t.case_j_per_k / conductance;
    if tau < 0.5 {
        faults.add(
            "thermal.case_j_per_k",
            format!("the case would follow its surroundings within {tau:.2} s, faster than the thermal model steps (0.1 s)"),
            "give more heat capacity, or larger resistances",
        );
    }
    if t.throttle_full_c <= t.throttle_start_c {
        faults.add(
            "thermal.throttle_full_c",
            format!(
                "{} °C is not above throttle_start_c ({} °C)",
                t.throttle_full_c, t.throttle_start_c
            ),
            "give the temperature of the strongest throttling, above the one where it begins",
        );
    }
}

fn power_states(profile: &Profile, faults: &mut Faults) {
    let states = &profile.power_state;
    if states.is_empty() {
        return;
    }
    if profile.ftl.is_none() || !profile.interface.iter().any(|i| is_nvme(&i.link)) {
        faults.add(
            "power_state",
            "the device has no NVMe interface, or is a card".to_string(),
            "remove the tables [[power_state]]",
        );
    }
    if !states.is_sorted_by(|a, b| a.operational >= b.operational && a.max_mw >= b.max_mw)
        || !states[0].operational
        || states.len() > 32
    {
        faults.add(
            "power_state",
            "the states are out of order".to_string(),
            "give at most 32, the operational ones first, each with no more power than the one before",
        );
    }
}

fn interfaces(profile: &Profile, faults: &mut Faults) {
    if profile.interface.is_empty() {
        faults.add(
            "interface",
            "there is no interface".to_string(),
            "add a table [[interface]]",
        );
    }
    for (i, interface) in profile.interface.iter().enumerate() {
        if let Err(e) = link_mode(&interface.link) {
            faults.add(
                &format!("interface.{i}.link"),
                e.to_string(),
                "correct the name",
            );
        }
        let is_card = link_mode(&interface.link)
            .is_ok_and(|link| matches!(link.protocol, Protocol::Sd | Protocol::Mmc));
        if interface.command_queue.is_some() && (!is_card || profile.card.is_some()) {
            faults.add(
                &format!("interface.{i}.command_queue"),
                "the link is none of an SD card or eMMC, or [card] executes one command at a time"
                    .to_string(),
                "remove the key",
            );
        }
        let is_emmc = link_mode(&interface.link).is_ok_and(|link| link.protocol == Protocol::Mmc);
        if interface.packed_writes.is_some() && (!is_emmc || profile.card.is_some()) {
            faults.add(
                &format!("interface.{i}.packed_writes"),
                "the link is none of an eMMC, or [card] executes one command at a time".to_string(),
                "remove the key",
            );
        }
    }
}

fn capacity(profile: &Profile, ftl: &FtlSection, faults: &mut Faults) {
    if ftl.journal_pages.is_some() && ftl.journal_entries == 0 {
        faults.add(
            "ftl.journal_pages",
            "there is no journal".to_string(),
            "remove the key, or set ftl.journal_entries",
        );
    }
    if ftl.journal_on_flush && ftl.journal_entries == 0 {
        faults.add(
            "ftl.journal_on_flush",
            "there is no journal".to_string(),
            "remove the key, or set ftl.journal_entries",
        );
    }
    let geometry = Geometry::new(profile, ftl);
    let bytes = profile.device.capacity_bytes;
    if bytes == 0 || !bytes.is_multiple_of(u64::from(ftl.mapping_unit_bytes)) {
        faults.add(
            "device.capacity_bytes",
            format!("{bytes} is not a whole number of mapping units"),
            "give a positive multiple of ftl.mapping_unit_bytes",
        );
        return;
    }
    let good = u64::from(geometry.expected_good_superblocks(profile.nand.factory_bad_percent));
    let raw_units = good * u64::from(geometry.native.superblock_units);
    if raw_units >= u64::from(u32::MAX) {
        faults.add(
            "nand.blocks_per_plane",
            format!("{raw_units} mapping units are more than the map can number (2^32)"),
            "use a larger ftl.mapping_unit_bytes or fewer blocks",
        );
        return;
    }
    let superblock_bytes =
        u64::from(geometry.native.superblock_units) * u64::from(ftl.mapping_unit_bytes);
    if let Some(kib) = ftl.collection_burst_kib
        && u64::from(kib) * 1024 > superblock_bytes
    {
        faults.add(
            "ftl.collection_burst_kib",
            format!("{kib} KiB are more than a superblock of {superblock_bytes} bytes"),
            "give at most a superblock",
        );
    }
    let needed = geometry.needed_superblocks(ftl);
    if good < needed {
        let unit = u64::from(ftl.mapping_unit_bytes);
        faults.add(
            "device.capacity_bytes",
            format!(
                "{bytes} bytes do not fit: the flash gives {good} good superblocks of {} bytes, and {needed} are needed with \
                 spare blocks for collection, static SLC cache and map",
                u64::from(geometry.native.superblock_units) * unit
            ),
            "lower the capacity, add blocks, or lower factory_bad_percent, slc_cache.static_gb or collection_start",
        );
    }
}
