//! Power cuts on every interface and host of the library and on random devices: writes survive as far as the profile states
//! for their acknowledgement, and flushed writes always.

use crate::power_cut::{Acknowledged, Step, survives};
use crate::support::any_card::cards;
use crate::support::any_paged::{build, knobs};
use crate::support::{Draw, device, device_on, one, plain, sound, write};
use nandscope_device::profile::schema::Acknowledge;
use nandscope_device::profile::{HostProfile, Profile, check_profile, library};
use nandscope_device::{Device, Fill};
use nandscope_units::Nanos;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Superblocks, and word lines per block, of a shrunk library device.
const BLOCKS: u32 = 80;
const WORD_LINES: u32 = 8;

/// A library drive with fewer and shorter blocks, so that a test fills it and causes collection. Cards with allocation
/// units are small enough already.
pub fn made_small(mut p: Profile) -> Profile {
    let Some(ftl) = p.ftl.as_mut() else {
        return p;
    };
    let share = f64::from(BLOCKS) / f64::from(p.nand.blocks_per_plane) * f64::from(WORD_LINES)
        / f64::from(p.nand.word_lines);
    ftl.collection_start = 2;
    if let Some(cache) = ftl.slc_cache.as_mut() {
        cache.static_gb *= share;
        cache.dynamic_gb *= share;
        cache.reserve_gb *= share;
    }
    ftl.map.window_kib = ftl.map.window_kib.map(|_| 16);
    p.nand.blocks_per_plane = BLOCKS;
    p.nand.word_lines = WORD_LINES;
    p.nand.factory_bad_percent = 0.0;
    let whole = p.device.capacity_bytes as f64 * share;
    (40..=100)
        .rev()
        .map(|percent| (whole * f64::from(percent) / 100.0) as u64 / 65_536 * 65_536)
        .find(|bytes| {
            p.device.capacity_bytes = *bytes;
            check_profile(&p).is_ok()
        })
        .expect("a capacity that fits");
    p
}

/// Guarantee given by the acknowledgement of a write on the interface `link`.
fn statement(p: &Profile, link: &str, keeps_writes_open: bool) -> Acknowledged {
    let interface = p
        .interface
        .iter()
        .find(|i| i.link == link)
        .expect("is of the device");
    match interface.acknowledge {
        Acknowledge::Buffered => Acknowledged::Buffered,
        Acknowledge::Programmed if p.ftl.is_some() => Acknowledged::Durable,
        Acknowledge::Programmed if keeps_writes_open => Acknowledged::AtEndOfRun,
        Acknowledge::Programmed => Acknowledged::Programmed,
    }
}

/// Every attachment of the device to a library host, and every interface alone.
fn attachments(p: &Profile) -> Vec<(String, Device, Acknowledged)> {
    let mut all = Vec::new();
    for interface in &p.interface {
        let device = device_on(p, &interface.link);
        all.push((
            interface.link.clone(),
            device,
            statement(p, &interface.link, false),
        ));
    }
    let hosts = library::HOSTS
        .iter()
        .map(|e| e.host_profile().expect("valid"));
    for host in hosts.flat_map(|h: HostProfile| h.ports()) {
        let Ok(device) = Device::new(p, &host, 1) else {
            continue;
        };
        let links: Vec<&str> = p.interface.iter().map(|i| i.link.as_str()).collect();
        let (index, chain) = host.attach(&links).expect("attaches");
        let says = statement(p, links[index], chain.open_write_most.0 > 0);
        all.push((host.host.title.clone(), device, says));
    }
    all
}

fn drawn_step(draw: &mut Draw) -> Step {
    let at = draw.below(1 << 10) * 4096;
    let kib = 1 + draw.below(64);
    match draw.below(16) {
        0..=4 => Step::Write {
            at,
            kib: kib as u32,
            fua: false,
        },
        5..=7 => Step::Write {
            at,
            kib: 4,
            fua: false,
        },
        8 => Step::Write {
            at,
            kib: kib as u32,
            fua: true,
        },
        9 => Step::Discard { at, kib },
        10 => Step::Flush,
        11 => Step::Read {
            at,
            kib: kib as u32,
        },
        12 => Step::Pass(draw.below(30_000_000)),
        _ => Step::Pass(draw.below(2_000_000)),
    }
}

/// One in so many cuts is followed by an audit of the whole device: it looks at every unit of the map, which takes longer
/// than the commands and the cut.
const CUTS_PER_AUDIT: u64 = 4;

/// Cuts the power of fresh copies of the device at `cuts` moments.
fn survives_cuts(what: &str, device: &Device, says: Acknowledged, cuts: u64) {
    for cut in 0..cuts {
        let mut draw = Draw(cut);
        let count = 1 + draw.below(40);
        let mut steps: Vec<Step> = (0..count).map(|_| drawn_step(&mut draw)).collect();
        steps.push(Step::Pass(draw.below(3_000_000)));
        let cut_off = || {
            let after = survives(device.clone(), says, &steps);
            if cut.is_multiple_of(CUTS_PER_AUDIT) {
                sound(&after);
            }
        };
        let failed = std::panic::catch_unwind(cut_off).is_err();
        assert!(!failed, "{what} ({says:?}), cut {cut}: {steps:?}");
    }
}

/// Tests each library device on each host; devices in parallel on all processors.
fn library_survives(cuts: u64) {
    let next = AtomicUsize::new(0);
    let entries = || library::DEVICES.get(next.fetch_add(1, Ordering::Relaxed));
    let threads = thread::available_parallelism().map_or(1, |count| count.get());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(entry) = entries() {
                    device_survives(entry, cuts);
                }
            });
        }
    });
}

fn device_survives(entry: &library::Entry, cuts: u64) {
    let p = made_small(entry.profile().expect("valid"));
    for (host, mut device, says) in attachments(&p) {
        let what = format!("{} on {host}", entry.name);
        device.share();
        survives_cuts(&what, &device, says, cuts);
        device.precondition(1.0, Fill::Random { seed: 1 });
        device.share();
        survives_cuts(&format!("{what}, full"), &device, says, cuts);
    }
}

#[test]
fn what_the_library_states_of_acknowledgement_holds() {
    library_survives(3);
}

/// Number of power cuts of each slow test per device; `NANDSCOPE_CUTS` sets another number.
fn many_cuts() -> u64 {
    let asked = std::env::var("NANDSCOPE_CUTS").ok();
    asked.map_or(1000, |n| n.parse().expect("a number of cuts"))
}

#[test]
#[ignore = "slow: 1,000 power cuts on each device and host of the library"]
fn slow_what_the_library_states_of_acknowledgement_holds_at_many_cuts() {
    library_survives(many_cuts() / 2);
}

fn random_devices(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(7),
        max_shrink_iters: 50,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(random_devices(60))]

    #[test]
    fn what_a_random_drive_states_of_acknowledgement_holds(k in knobs(), full in any::<bool>()) {
        let mut k = k;
        k.retire = false;
        let (p, link) = build(&k);
        let mut d = device_on(&p, link);
        if full {
            d.precondition(1.0, Fill::Random { seed: 1 });
        }
        survives_cuts("a random drive", &d, statement(&p, link, false), 4);
    }

    #[test]
    fn what_a_random_card_states_of_acknowledgement_holds(p in cards()) {
        let mut p = p;
        p.nand.slc.cycles = 1_000_000;
        let d = device_on(&p, plain::FAST_LINK);
        survives_cuts("a random card", &d, statement(&p, plain::FAST_LINK, false), 4);
    }
}

proptest! {
    #![proptest_config(random_devices(100))]

    #[test]
    #[ignore = "slow: 1,000 power cuts on each of 100 random drives"]
    fn slow_what_a_random_drive_states_of_acknowledgement_holds_at_many_cuts(k in knobs()) {
        let mut k = k;
        k.retire = false;
        let (p, link) = build(&k);
        let mut d = device_on(&p, link);
        survives_cuts("a random drive", &d, statement(&p, link, false), many_cuts() / 2);
        d.precondition(1.0, Fill::Random { seed: 1 });
        survives_cuts("a random drive, full", &d, statement(&p, link, false), many_cuts() / 2);
    }

    #[test]
    #[ignore = "slow: 1,000 power cuts on each of 100 random cards"]
    fn slow_what_a_random_card_states_of_acknowledgement_holds_at_many_cuts(p in cards()) {
        let mut p = p;
        p.nand.slc.cycles = 1_000_000;
        let d = device_on(&p, plain::FAST_LINK);
        survives_cuts("a random card", &d, statement(&p, plain::FAST_LINK, false), many_cuts());
    }
}

/// The reference card in UHS-I mode is busy until the data is in the flash: no acknowledged data is lost, even in a
/// partly filled program unit.
#[test]
fn a_card_without_cache_loses_nothing_that_it_has_acknowledged() {
    let p = made_small(crate::support::profile("sm2708-250gb"));
    let mut d = device_on(&p, "sd-sdr104");
    d.track_writes();
    for i in 0..31 {
        one(&mut d, write(i, i * 4096, 4096));
        let acknowledged = d.durable_writes();
        assert_eq!(acknowledged, i + 1);
    }
    assert_eq!(d.cut_power().damage, []);
}

/// Simultaneous writes share program units.
#[test]
fn writes_that_arrive_together_are_programmed_together() {
    let padding = |depth: u32| {
        let p = made_small(crate::support::profile("sm2708-250gb"));
        let mut d = device(&with_programmed_link(p), "direct");
        crate::support::closed_loop(&mut d, depth, |i| {
            (i < 64).then(|| write(i, i * 4096, 4096))
        });
        d.counters().padding.0 / 4096
    };
    // An SLC program of two planes takes eight units of 4 KiB.
    assert_eq!(padding(1), 64 * 7);
    assert!(padding(32) < 64, "{}", padding(32));
}

/// A device with a command queue that acknowledges writes after their program.
fn with_programmed_link(mut p: Profile) -> Profile {
    plain::attach(&mut p, plain::FAST_LINK);
    p.interface[0].acknowledge = Acknowledge::Programmed;
    p
}

/// A buffered write is acknowledged before its program: in between, nothing is guaranteed.
#[test]
fn a_buffered_write_is_acknowledged_before_it_is_programmed() {
    let mut p = with_programmed_link(made_small(crate::support::profile("sm2708-250gb")));
    let programmed = one(&mut device(&p, "direct"), write(1, 0, 4096)).latency();
    p.interface[0].acknowledge = Acknowledge::Buffered;
    let buffered = one(&mut device(&p, "direct"), write(1, 0, 4096)).latency();
    assert!(
        programmed > buffered + Nanos::from_micros(318),
        "{programmed} and {buffered}"
    );
}
