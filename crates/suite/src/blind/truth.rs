//! True answers for a device, from its profile.

use nandscope_device::profile::card::OutOfOrder;
use nandscope_device::profile::schema::{BufferRelease, MapLocation};
use nandscope_device::profile::{HostProfile, Profile};

/// True answers for a device; `None` or empty if the question has no answer on it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Truth {
    /// Whether the device has allocation units.
    pub card: bool,
    /// Allocation unit, bytes.
    pub unit: Option<u64>,
    /// First boundary of an allocation unit in the probed part, bytes.
    pub offset: Option<u64>,
    /// Right sizes of a page as seen by reads, bytes: a flash page on one plane or on all, a program unit, and on a
    /// card the page of the firmware.
    pub pages: Vec<u64>,
    /// Open units for data.
    pub open: Option<u32>,
    /// Right numbers of interleaved units in sequential order.
    pub open_linear: Vec<u32>,
    /// Right numbers of interleaved units in random order.
    pub open_random: Vec<u32>,
    /// Whether some units that lie entirely in the probed part are treated specially.
    pub fat: bool,
    /// Whether sequential reads are read ahead.
    pub read_ahead: bool,
    /// SLC cache of the empty device, bytes.
    pub slc: Option<u64>,
    /// Size of a superblock in SLC mode, bytes: a cache consists of whole superblocks.
    pub slc_superblock: u64,
    /// Whether the size of the SLC cache is fixed.
    pub slc_fixed: Option<bool>,
    /// Right sizes of the write buffer, bytes. If data leaves the buffer before it is programmed, also its size plus
    /// the registers of all dies, each of which holds two program units, in SLC mode or not. Empty for a card.
    pub buffers: Vec<u64>,
    /// Right numbers of parts that read independently: channels, dies, or planes.
    pub parts: Vec<u32>,
    /// Ranges covered by the part of the map that the controller holds, bytes, if smaller than the device: by its own
    /// memory, and by memory lent by the host.
    pub map_ranges: Vec<u64>,
    /// Whether discards reach the device.
    pub discard: bool,
    /// Rate of the slowest stage between program and device, bytes per second, which bounds every measured rate.
    pub link_bytes_per_s: Option<f64>,
}

/// Numbers of interleaved AUs without a merge per piece: the open AUs; and the open AUs plus those that share a log, to
/// which writes take longer.
fn in_turn(open: u32, sharing: u32) -> Vec<u32> {
    let shared = (sharing > 0).then_some(open.saturating_add(sharing));
    std::iter::once(open).chain(shared).collect()
}

/// Number of first units, some of which may be treated specially.
pub(super) const FIRST: u64 = 16;

/// Size of one program operation, bytes.
pub(super) fn program_unit(profile: &Profile) -> u64 {
    let nand = &profile.nand;
    let planes = u64::from(nand.page_kib << 10) * u64::from(nand.planes);
    let one_shot = nand
        .native
        .as_ref()
        .is_some_and(|n| n.program_us.len() == 1);
    match one_shot {
        true => planes * u64::from(nand.cell.bits()),
        false => planes,
    }
}

/// Size of a map entry, bytes.
const MAP_ENTRY: u64 = 4;

fn map_ranges(profile: &Profile) -> Vec<u64> {
    let maps = profile.ftl.as_ref();
    let Some(ftl) = maps.filter(|f| f.map.location != MapLocation::Dram) else {
        return Vec::new();
    };
    let held = [ftl.map.sram_kib, ftl.map.window_kib];
    let covers = |kib: u32| (u64::from(kib) << 10) / MAP_ENTRY * u64::from(ftl.mapping_unit_bytes);
    let ranges = held.into_iter().flatten().map(covers);
    ranges
        .filter(|range| *range < profile.device.capacity_bytes)
        .collect()
}

impl Truth {
    /// True answers for a device of this profile on this host, of which the part from `begin` to the end is probed.
    pub(super) fn of(profile: &Profile, host: &HostProfile, begin: u64) -> Self {
        let truth = match &profile.card {
            Some(_) => Self::of_card(profile, begin),
            None => Self::of_drive(profile),
        };
        let links: Vec<&str> = profile.interface.iter().map(|i| i.link.as_str()).collect();
        let chain = host.attach(&links).ok();
        Truth {
            discard: host.stage.iter().all(|s| s.discard),
            link_bytes_per_s: chain.map(|(_, chain)| chain.rate.as_mb_per_s() * 1e6),
            ..truth
        }
    }

    fn of_card(profile: &Profile, begin: u64) -> Self {
        let Some(card) = &profile.card else {
            return Truth::default();
        };
        let unit = u64::from(card.au_kib) << 10;
        let page = card
            .page_kib
            .map_or(program_unit(profile), |kib| u64::from(kib) << 10);
        let flash_page = u64::from(profile.nand.page_kib) << 10;
        let planes = u64::from(profile.nand.planes);
        let kept = card.fat.as_ref().map_or(0, |fat| fat.open_aus);
        let open = card.open_aus - kept.min(card.open_aus);
        let sharing = card.shared_log.as_ref().map_or(0, |log| log.aus);
        // AUs of the FAT area count if they lie entirely in the probed part, in which AUs are numbered from the first
        // boundary.
        let whole = begin.div_ceil(unit);
        let fat = card.fat.as_ref().is_some_and(|fat| {
            let aus = (0..fat.aus).map(|n| u64::from(fat.first_au + n * fat.apart_aus));
            let mut first = aus.filter(|au| (whole..whole + FIRST).contains(au));
            first.next().is_some()
        });
        Truth {
            card: true,
            unit: Some(unit),
            offset: Some((unit - begin % unit) % unit),
            pages: vec![page, program_unit(profile), flash_page, flash_page * planes],
            open: Some(open),
            open_linear: in_turn(open, sharing),
            open_random: match card.out_of_order {
                // The shared log takes pages in any order.
                OutOfOrder::Rewrite if sharing > 0 => [vec![0], in_turn(open, sharing)].concat(),
                OutOfOrder::Rewrite => vec![0],
                // A short log of an open AU is full at once.
                OutOfOrder::Log => [vec![0], in_turn(open, sharing)].concat(),
                OutOfOrder::Map => in_turn(open, sharing),
            },
            fat,
            read_ahead: card.controller.read_ahead_kib > 0,
            ..Truth::default()
        }
    }

    fn of_drive(profile: &Profile) -> Self {
        let nand = &profile.nand;
        let page = u64::from(nand.page_kib) << 10;
        let dies = nand.channels * nand.dies_per_channel;
        let cache = profile.ftl.as_ref().and_then(|f| f.slc_cache.as_ref());
        let controller = profile.controller.as_ref();
        Truth {
            pages: vec![page, page * u64::from(nand.planes), program_unit(profile)],
            parts: vec![nand.channels, dies, dies * nand.planes],
            slc_superblock: u64::from(dies * nand.planes) * u64::from(nand.word_lines) * page,
            slc: cache.map(|c| ((c.static_gb + c.dynamic_gb) * 1e9) as u64),
            slc_fixed: cache.map(|c| c.dynamic_gb == 0.0),
            buffers: controller.map_or_else(Vec::new, |c| {
                let buffer = u64::from(c.write_buffer_kib) << 10;
                let registers = [page * u64::from(nand.planes), program_unit(profile)];
                match c.buffer_release {
                    BufferRelease::Programmed => vec![buffer],
                    BufferRelease::Transferred => {
                        let held = registers.map(|unit| buffer + 2 * u64::from(dies) * unit);
                        [&[buffer], &held[..]].concat()
                    }
                }
            }),
            read_ahead: controller.is_some_and(|c| c.read_ahead_kib > 0),
            map_ranges: map_ranges(profile),
            ..Truth::default()
        }
    }
}
