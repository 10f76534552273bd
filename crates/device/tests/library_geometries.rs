//! Write amplification on the geometries of the library (many dies and planes, pages of several mapping units, several
//! pages per word line), compared with the theory of uniform random writes in the steady state.
//!
//! A superblock of b mapping units is the block of the theory. [`crate::write_amplification`] says which superblocks
//! count.

use crate::support::{device_on, near, sound};
use nandscope_device::profile::schema::{MapLocation, VictimPolicyName};
use nandscope_device::profile::{Profile, check_profile, library};
use nandscope_device::theory::{fifo, greedy};
use nandscope_device::{Device, Fill};

/// Superblocks per device, and word lines per block, so that a device of any geometry is overwritten in a second.
const BLOCKS: u32 = 300;
const WORD_LINES: u32 = 2;
const START: u32 = 2;
/// Rounds of one capacity in the steady-state window (five, as in SNIA PTS); then their largest range relative to their
/// mean. PTS 2.0.2 (2.1.24) allows 0.2.
const WINDOW: usize = 5;
const RANGE: f64 = 0.02;
const MOST_ROUNDS: usize = 30;

/// Devices of the library with a page map.
fn page_mapped() -> impl Iterator<Item = (&'static str, Profile)> {
    let profiles = library::DEVICES
        .iter()
        .map(|entry| (entry.name, entry.profile().expect("valid")));
    profiles.filter(|(_, p)| p.ftl.is_some())
}

/// Dies, planes, pages, cells and mapping units of a library device, without its SLC cache, map in flash, journal and
/// errors. Returns the profile, its mapping units per superblock, and α.
fn geometry_of(mut p: Profile, spare_percent: f64) -> (Profile, u32, f64) {
    let nand = &mut p.nand;
    nand.blocks_per_plane = BLOCKS;
    nand.word_lines = WORD_LINES;
    nand.factory_bad_percent = 0.0;
    nand.slc.cycles = 1_000_000;
    if let Some(native) = &mut nand.native {
        native.cycles = 1_000_000;
    }
    let pages = nand.channels * nand.dies_per_channel * nand.planes * WORD_LINES * nand.cell.bits();
    crate::support::plain::no_errors(&mut p);
    let ftl = p.ftl.as_mut().expect("page-mapped");
    ftl.slc_cache = None;
    ftl.map.location = MapLocation::Dram;
    (ftl.map.window_kib, ftl.map.host_memory_us) = (None, None);
    ftl.map.update_entries = None;
    (
        ftl.journal_entries,
        ftl.wear_spread_cycles,
        ftl.refresh_reads,
    ) = (0, 0, 0);
    (ftl.idle_collection, ftl.collection_start) = (0, START);
    let units = pages * (p.nand.page_kib * 1024 / ftl.mapping_unit_bytes);
    let holding = (f64::from(BLOCKS - START) - 1.5) * f64::from(units);
    let logical = (holding / (1.0 + spare_percent / 100.0)) as u64;
    p.device.capacity_bytes = logical * u64::from(ftl.mapping_unit_bytes);
    check_profile(&p).expect("valid");
    (p, units, holding / logical as f64)
}

/// Units programmed per unit written in the steady state.
fn steady(d: &mut Device, p: &Profile, superblock_units: u32) -> f64 {
    assert!(d.precondition(1.0, Fill::Random { seed: 7 }));
    let ftl = p.ftl.as_ref().expect("page-mapped");
    let logical = d.capacity().0 / u64::from(ftl.mapping_unit_bytes);
    let blocks = p.nand.channels * p.nand.dies_per_channel * p.nand.planes;
    let mut rounds: Vec<f64> = Vec::new();
    for round in 0..MOST_ROUNDS {
        let before = d.counters().erases;
        d.overwrite_randomly(logical, round as u64);
        let erased = (d.counters().erases - before) / u64::from(blocks);
        rounds.push(erased as f64 * f64::from(superblock_units) / logical as f64);
        if let Some(judged) = rounds.last_chunk::<WINDOW>() {
            let mean = judged.iter().sum::<f64>() / WINDOW as f64;
            let least = judged.iter().copied().fold(f64::MAX, f64::min);
            let most = judged.iter().copied().fold(0.0, f64::max);
            if most - least <= RANGE * mean {
                return mean;
            }
        }
    }
    panic!("not steady: {rounds:?}");
}

#[test]
fn write_amplification_of_every_library_geometry_is_that_of_theory() {
    let mut seen = std::collections::BTreeSet::new();
    for (name, profile) in page_mapped() {
        let n = &profile.nand;
        let dies = n.channels * n.dies_per_channel;
        // Some drives have equal dies, planes, cells and pages; one of them is enough.
        if !seen.insert((dies, n.planes, n.cell.bits(), n.page_kib)) {
            continue;
        }
        for (policy, percent) in [
            (VictimPolicyName::Greedy, 7.0),
            (VictimPolicyName::Greedy, 28.0),
            (VictimPolicyName::Fifo, 15.0),
        ] {
            let (mut p, units, alpha) = geometry_of(profile.clone(), percent);
            p.ftl.as_mut().expect("page-mapped").collection = policy.clone();
            let mut d = device_on(&p, &p.interface[0].link);
            let got = steady(&mut d, &p, units);
            let expected = match policy {
                VictimPolicyName::Fifo => fifo(alpha),
                _ => greedy(alpha, units),
            };
            near(
                &format!("{name}: {policy:?}, {percent} % spare"),
                got,
                expected,
                0.01,
            );
            sound(&d);
        }
    }
    assert!(seen.len() >= 6, "{seen:?}");
}
