//! Keys of a profile that measurements of rates and latencies can determine, with physical ranges.

use nandscope_device::profile::Profile;
use nandscope_device::profile::schema::ArraySection;

/// Value of a key in a profile.
enum Slot<'a> {
    Real(&'a mut f64),
    Whole(&'a mut u32),
    Nanos(&'a mut u64),
    /// One number per page of a word line; their mean is the value, and their ratios are kept.
    List(&'a mut Vec<f64>),
}

/// A key that a fit changes. Values are on a logarithmic scale.
pub struct Parameter {
    /// Dotted key of the profile.
    pub key: &'static str,
    /// Least physical value, in the unit of the key.
    pub low: f64,
    /// Greatest physical value.
    pub high: f64,
    /// Whether the value is a small count, so that not every share of the range is another value.
    is_count: bool,
    slot: fn(&mut Profile) -> Option<Slot<'_>>,
}

impl std::fmt::Debug for Parameter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}..{}", self.key, self.low, self.high)
    }
}

/// Blocks per plane: the over-provisioning, as the capacity of a device is known.
pub const BLOCKS: &str = "nand.blocks_per_plane";
/// Dies on a channel.
pub const DIES: &str = "nand.dies_per_channel";
const CHANNELS: &str = "nand.channels";
const PLANES: &str = "nand.planes";
/// RAM for writes that are not programmed yet.
const BUFFER: &str = "controller.write_buffer_kib";

fn native(p: &mut Profile) -> Option<&mut ArraySection> {
    p.nand.native.as_mut()
}

/// Blocks used as SLC: the cache of a drive, or the FAT area of a card.
fn slc(p: &mut Profile) -> Option<&mut ArraySection> {
    let has_cache = p.ftl.as_ref().is_some_and(|f| f.slc_cache.is_some());
    has_cache.then_some(&mut p.nand.slc)
}

macro_rules! real {
    ($section:ident, $($key:ident).+) => {
        |p| Some(Slot::Real(&mut p.$section.as_mut()?.$($key).+))
    };
}

/// All parameters. A profile has those whose tables it has.
///
/// Sources of the ranges: array times from data sheets and ISSCC papers (SLC reads 20 µs to QLC reads 140 µs; SLC programs
/// 100 µs to QLC programs 3 ms and more); bus rates from ONFI 1.0 (50 MT/s, less in cards) to ONFI 5.1 (3,600 MT/s); firmware
/// counts of channels, dies and planes from data sheets of controllers and flash (1 to 16 channels, 1 to 4 planes); write buffers from
/// the SRAM of a card's controller (64 KiB) to a part of a drive's DRAM; firmware times from hardware paths of NVMe controllers (below 1 µs) to the firmware of cards (recorded: up to 2 ms; class A1 asks for 500
/// writes and 1,500 reads per second only).
#[rustfmt::skip]
const PARAMETERS: &[Parameter] = &[
    Parameter { key: "nand.native.read_us", low: 15.0, high: 250.0, is_count: false, slot: |p| Some(Slot::List(&mut native(p)?.read_us)) },
    Parameter { key: "nand.native.program_us", low: 100.0, high: 6000.0, is_count: false, slot: |p| Some(Slot::List(&mut native(p)?.program_us)) },
    Parameter { key: "nand.slc.read_us", low: 10.0, high: 100.0, is_count: false, slot: |p| Some(Slot::List(&mut slc(p)?.read_us)) },
    Parameter { key: "nand.slc.program_us", low: 60.0, high: 900.0, is_count: false, slot: |p| Some(Slot::List(&mut slc(p)?.program_us)) },
    Parameter { key: "nand.bus_mt_per_s", low: 20.0, high: 3600.0, is_count: false, slot: |p| Some(Slot::Real(&mut p.nand.bus_mt_per_s)) },
    Parameter { key: CHANNELS, low: 1.0, high: 16.0, is_count: true, slot: |p| Some(Slot::Whole(&mut p.nand.channels)) },
    Parameter { key: PLANES, low: 1.0, high: 4.0, is_count: true, slot: |p| Some(Slot::Whole(&mut p.nand.planes)) },
    Parameter { key: DIES, low: 1.0, high: 16.0, is_count: true, slot: |p| Some(Slot::Whole(&mut p.nand.dies_per_channel)) },
    Parameter { key: BUFFER, low: 64.0, high: 32_768.0, is_count: false, slot: |p| Some(Slot::Whole(&mut p.controller.as_mut()?.write_buffer_kib)) },
    Parameter { key: "controller.cores", low: 1.0, high: 8.0, is_count: true, slot: |p| Some(Slot::Whole(&mut p.controller.as_mut()?.cores)) },
    Parameter { key: "controller.read_us", low: 0.2, high: 2000.0, is_count: false, slot: real!(controller, read_us) },
    Parameter { key: "controller.write_us", low: 0.2, high: 5000.0, is_count: false, slot: real!(controller, write_us) },
    Parameter { key: "controller.per_unit_ns", low: 10.0, high: 20_000.0, is_count: false, slot: |p| Some(Slot::Nanos(&mut p.controller.as_mut()?.per_unit_ns)) },
    Parameter { key: "controller.decode_us", low: 0.5, high: 100.0, is_count: false, slot: real!(controller, decode_us) },
    Parameter { key: "controller.relocate_unit_us", low: 0.05, high: 40.0, is_count: false, slot: real!(controller, relocate_unit_us) },
    Parameter { key: "card.open_aus", low: 1.0, high: 40.0, is_count: true, slot: |p| Some(Slot::Whole(&mut p.card.as_mut()?.open_aus)) },
    Parameter { key: "card.switch_us", low: 5.0, high: 20_000.0, is_count: false, slot: real!(card, switch_us) },
    Parameter { key: "card.controller.read_us", low: 10.0, high: 3000.0, is_count: false, slot: real!(card, controller.read_us) },
    Parameter { key: "card.controller.write_us", low: 10.0, high: 5000.0, is_count: false, slot: real!(card, controller.write_us) },
    Parameter { key: "card.controller.au_lookup_us", low: 1.0, high: 2000.0, is_count: false, slot: real!(card, controller.au_lookup_us) },
    Parameter { key: "card.controller.page_us", low: 0.5, high: 2000.0, is_count: false, slot: real!(card, controller.page_us) },
    Parameter { key: "card.controller.read_page_us", low: 1.0, high: 2000.0, is_count: false, slot: |p| Some(Slot::Real(p.card.as_mut()?.controller.read_page_us.as_mut()?)) },
    Parameter { key: "card.controller.move_us", low: 0.5, high: 2000.0, is_count: false, slot: real!(card, controller.move_us) },
    Parameter { key: "card.controller.decode_us", low: 0.5, high: 100.0, is_count: false, slot: real!(card, controller.decode_us) },
    Parameter { key: BLOCKS, low: 0.03, high: 0.6, is_count: false, slot: |p| Some(Slot::Whole(&mut p.nand.blocks_per_plane)) },
];

/// Parameters that a profile has. `is_steady` says whether the data show the device in its steady state: only they
/// determine what relocation costs, and the over-provisioning.
pub fn of(profile: &Profile, is_steady: bool) -> Vec<&'static Parameter> {
    let mut copy = profile.clone();
    let mut has = |parameter: &Parameter| (parameter.slot)(&mut copy).is_some();
    let collects = |key| key == BLOCKS || key == "controller.relocate_unit_us";
    PARAMETERS
        .iter()
        .filter(|p| !collects(p.key) || (is_steady && profile.ftl.is_some()))
        // An allocation unit is laid out over the planes and the channels of a card.
        .filter(|p| ![CHANNELS, PLANES].contains(&p.key) || profile.card.is_none())
        .filter(|p| has(p))
        .collect()
}

/// The parameter of that key.
pub fn find(key: &str) -> Option<&'static Parameter> {
    PARAMETERS.iter().find(|parameter| parameter.key == key)
}

impl Parameter {
    /// Value of the parameter in a profile, in the unit of the key; of [`BLOCKS`] the over-provisioning, a share of the
    /// capacity.
    pub fn get(&self, profile: &Profile) -> Option<f64> {
        if self.key == BLOCKS {
            return Some(flash_bytes(profile) / profile.device.capacity_bytes as f64 - 1.0);
        }
        let mut copy = profile.clone();
        Some(match (self.slot)(&mut copy)? {
            Slot::Real(value) => *value,
            Slot::Whole(value) => f64::from(*value),
            Slot::Nanos(value) => *value as f64,
            Slot::List(values) => values.iter().sum::<f64>() / values.len().max(1) as f64,
        })
    }

    /// Sets the parameter, and what follows from it: with other dies, blocks and buffers keep the size of the flash.
    pub fn set(&self, profile: &mut Profile, value: f64) {
        if self.key == BLOCKS {
            let per_block = flash_bytes(profile) / f64::from(profile.nand.blocks_per_plane.max(1));
            let blocks = profile.device.capacity_bytes as f64 * (1.0 + value) / per_block;
            profile.nand.blocks_per_plane = blocks.round() as u32;
            return;
        }
        let before = Layout::of(profile);
        match (self.slot)(profile) {
            None => {}
            Some(Slot::Real(slot)) => *slot = significant(value),
            Some(Slot::Whole(slot)) => *slot = (value.round() as u32).max(1),
            Some(Slot::Nanos(slot)) => *slot = significant(value).round() as u64,
            Some(Slot::List(values)) => {
                let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
                for one in values.iter_mut() {
                    *one = significant(*one * value / mean);
                }
            }
        }
        if [DIES, CHANNELS, PLANES].contains(&self.key) {
            keep_size(profile, before);
        }
    }

    /// The key's value as TOML.
    pub fn literal(&self, profile: &Profile) -> Option<String> {
        let mut copy = profile.clone();
        Some(match (self.slot)(&mut copy)? {
            Slot::Real(value) => format!("{value:?}"),
            Slot::Whole(value) => value.to_string(),
            Slot::Nanos(value) => value.to_string(),
            Slot::List(values) => format!("{values:?}"),
        })
    }

    /// Value at a share of the range, 0 to 1, on the logarithmic scale.
    pub fn at(&self, share: f64) -> f64 {
        let (low, high) = (libm::log(self.low), libm::log(self.high));
        libm::exp(low + share.clamp(0.0, 1.0) * (high - low))
    }

    /// Least difference of the share that changes the value: one for a count, 0 for others.
    pub fn least_step(&self, share: f64) -> f64 {
        if !self.is_count {
            return 0.0;
        }
        let value = self.at(share).round();
        let up = self.share(value + 1.0) - share;
        let down = share - self.share(value - 1.0);
        match value + 1.0 > self.high {
            true => down.abs(),
            false => up.abs().max(down.abs()),
        }
    }

    /// Share of the range at which a value is, 0 to 1.
    pub fn share(&self, value: f64) -> f64 {
        let (low, high) = (libm::log(self.low), libm::log(self.high));
        let value = libm::log(value.max(1e-12));
        ((value - low) / (high - low)).clamp(0.0, 1.0)
    }
}

/// Four significant digits: a profile states no more than is known.
fn significant(value: f64) -> f64 {
    nandscope_units::number::round_significant(value, 4)
}

/// Bytes of all blocks in the native cell mode, without factory bad ones.
pub fn flash_bytes(profile: &Profile) -> f64 {
    let nand = &profile.nand;
    let counts = [
        nand.channels,
        nand.dies_per_channel,
        nand.planes,
        nand.blocks_per_plane,
        nand.word_lines,
        nand.cell.bits(),
        nand.page_kib,
    ];
    let raw: f64 = counts.iter().map(|n| f64::from(*n)).product();
    raw * 1024.0 * (1.0 - nand.factory_bad_percent / 100.0)
}

/// Dies and planes of a device.
#[derive(Clone, Copy)]
struct Layout {
    dies: u32,
    planes: u32,
}

impl Layout {
    fn of(profile: &Profile) -> Layout {
        let nand = &profile.nand;
        Layout {
            dies: nand.channels * nand.dies_per_channel,
            planes: nand.channels * nand.dies_per_channel * nand.planes,
        }
    }
}

/// After a change of dies or planes: the flash keeps its size, the write buffer grows with the dies, and interfaces that
/// could power all dies still do.
fn keep_size(profile: &mut Profile, before: Layout) {
    let now = Layout::of(profile);
    let ratio = f64::from(before.planes.max(1)) / f64::from(now.planes.max(1));
    let blocks = f64::from(profile.nand.blocks_per_plane) * ratio;
    profile.nand.blocks_per_plane = (blocks.ceil() as u32).max(4);
    for interface in &mut profile.interface {
        interface.active_dies = match interface.active_dies >= before.dies {
            true => now.dies,
            false => interface.active_dies.min(now.dies),
        };
    }
    if let Some(controller) = &mut profile.controller {
        let more = f64::from(now.dies) / f64::from(before.dies.max(1));
        let buffer = f64::from(controller.write_buffer_kib) * more.max(1.0);
        controller.write_buffer_kib = buffer.round() as u32;
    }
}

/// Keys that follow from parameters and are written to a profile as well.
pub const FOLLOWING: [&str; 2] = [BLOCKS, BUFFER];

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_device::profile::{check_profile, library};

    fn profile(name: &str) -> Profile {
        library::device(name).unwrap().profile().unwrap()
    }

    #[test]
    fn values_of_the_library_are_in_the_physical_ranges() {
        let mut outside = Vec::new();
        for entry in library::DEVICES {
            let profile = entry.profile().unwrap();
            for parameter in of(&profile, true) {
                let value = parameter.get(&profile).unwrap();
                let inside = value >= parameter.low * 0.999 && value <= parameter.high * 1.001;
                if !inside && value != 0.0 {
                    outside.push(format!("{}: {parameter:?} is {value}", entry.name));
                }
            }
        }
        assert!(outside.is_empty(), "{outside:#?}");
    }

    #[test]
    fn a_value_that_is_set_is_read_back() {
        for name in [
            "samsung-860-pro-512gb",
            "sandisk-extreme-pro-16gb",
            "hp-ex920-1tb",
        ] {
            let before = profile(name);
            for parameter in of(&before, true) {
                let mut changed = before.clone();
                let value = parameter.at(0.5);
                parameter.set(&mut changed, value);
                let read = parameter.get(&changed).unwrap();
                let tolerance = if parameter.literal(&changed).unwrap().contains('.') {
                    0.002
                } else {
                    0.25
                };
                assert!(
                    (read / value - 1.0).abs() < tolerance,
                    "{name} {parameter:?}: {value} {read}"
                );
                assert!((parameter.share(value) - 0.5).abs() < 1e-9);
                assert!(check_profile(&changed).is_ok(), "{name} {parameter:?}");
            }
        }
    }

    #[test]
    fn other_dies_keep_the_size_of_the_flash() {
        let mut changed = profile("samsung-860-pro-512gb");
        let before = flash_bytes(&changed);
        find(DIES).unwrap().set(&mut changed, 8.0);
        assert!((flash_bytes(&changed) / before - 1.0).abs() < 0.01);
        assert_eq!(changed.interface[0].active_dies, 64);
    }
}
