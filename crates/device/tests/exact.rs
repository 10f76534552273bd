//! Exact properties of random devices: every program has a cause, collection ends at the smallest spare area that a profile
//! may have, and a read takes at least the time of its data.

use crate::end_of_life::tight;
use crate::support::any_paged::{Knobs, build, knobs};
use crate::support::plain::Flash;
use crate::support::{Draw, bare, closed_loop, device_on, one, plain, read, rest, sound, write};
use nandscope_device::profile::{Profile, check_profile};
use nandscope_device::{CommandKind, Counters, Fill, Status};
use nandscope_units::Nanos;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const UNIT: u64 = 4096;

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(3),
        max_shrink_iters: 50,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Bytes programmed for writes of the host: all but GC, folding, refresh, metadata, padding and parity.
fn by_host(c: &Counters) -> u64 {
    let others = [
        c.gc_writes,
        c.folded,
        c.refreshed,
        c.metadata,
        c.padding,
        c.parity,
    ];
    c.flash_programmed.0 - others.iter().map(|bytes| bytes.0).sum::<u64>()
}

/// Writes to a device with the smallest spare area that the check of its profile accepts.
fn collection_ends((mut p, link): (Profile, &str), seed: u64) {
    let superblock = p.nand.channels
        * p.nand.dies_per_channel
        * p.nand.planes
        * p.nand.word_lines
        * p.nand.cell.bits()
        * p.nand.page_kib;
    loop {
        let mut larger = p.clone();
        larger.device.capacity_bytes += u64::from(superblock) * 1024;
        if check_profile(&larger).is_err() {
            break;
        }
        p = larger;
    }
    let mut d = device_on(&p, link);
    d.precondition(1.0, Fill::Random { seed });
    let units = d.capacity().0 / UNIT;
    assert!(d.overwrite_randomly(4 * units, seed));
    assert_eq!(d.health().critical_warning >> 3 & 1, 0);
    let mut draw = Draw(seed);
    for i in 0..300 {
        let done = one(&mut d, write(i, draw.below(units) * UNIT, UNIT as u32));
        assert_eq!(done.status, Status::Ok);
    }
    sound(&d);
}

/// Moving a block reads it more often than its refresh limit. That must not request a refresh of the data that replaces
/// it, or refreshes would follow each other for ever.
#[test]
fn refreshes_end_where_moving_a_block_reads_it_to_its_limit() {
    let k = Knobs {
        cell: 3,
        shape: (1, 1, 1),
        word_lines: 6,
        page_kib: 8,
        slc_cache: 4,
        map: 0,
        policy: 0,
        flags: 0b1000_1011_0001_0100,
        journal: false,
        link: 0,
        wear_spread: 0,
        refresh_reads: 20,
        relocation_units: 4,
        collection_start: 11,
        retire: false,
    };
    collection_ends(tight(&k, 2, 1_000_000).expect("a valid profile"), 0);
}

/// A checkpoint of a map that is large compared with a superblock writes several superblocks with one journal page, and
/// many commands at once fill several journal pages.
#[test]
fn collection_makes_room_for_checkpoints() {
    for (blocks, channels, spare, entries, write_units) in
        [(2_000, 4, 40, 4, 8), (4_000, 2, 20, 1, 1)]
    {
        let flash = Flash {
            channels,
            dies_per_channel: 1,
            blocks,
            pages_per_block: 4,
            ..plain::FOUR_DIES
        };
        let mut p = flash.profile(spare);
        let ftl = p.ftl.as_mut().expect("page-mapped");
        (ftl.journal_entries, ftl.journal_pages) = (entries, Some(16));
        let mut d = device_on(&p, plain::FAST_LINK);
        assert!(d.precondition(1.0, Fill::Random { seed: 1 }));
        let places = d.capacity().0 / UNIT - write_units;
        let mut draw = Draw(1);
        // A device without room would be read-only, and its commands would fail.
        let run = closed_loop(&mut d, 64, |i| {
            let at = draw.below(places) * UNIT;
            (i < 4_000).then(|| write(i, at, (write_units * UNIT) as u32))
        });
        assert_eq!(run.operations, 4_000);
        sound(&d);
    }
}

/// A write buffer larger than the spare area lets the host run ahead of the erases; it then waits for them.
#[test]
fn the_host_waits_for_erasures() {
    let flash = Flash {
        pages_per_block: 4,
        ..plain::FOUR_DIES
    };
    let p = flash.profile(8);
    let mut d = device_on(&p, plain::FAST_LINK);
    assert!(d.precondition(1.0, Fill::Sequential));
    let units = d.capacity().0 / UNIT;
    let run = closed_loop(&mut d, 64, |i| {
        (i < 4 * units).then(|| write(i, i % units * UNIT, UNIT as u32))
    });
    assert_eq!(run.operations, 4 * units);
    sound(&d);
}

proptest! {
    #![proptest_config(cases(150))]

    /// Every programmed unit has one cause, and the host's part equals its writes, unit for unit. The audit compares
    /// programs with the contents of superblocks and erased units.
    #[test]
    fn counters_conserve_exactly(k in knobs(), seed in 0u64..1000, full in any::<bool>()) {
        let mut k = k;
        k.retire = false;
        let (p, link) = build(&k);
        let mut d = device_on(&p, link);
        if full {
            d.precondition(1.0, Fill::Random { seed });
        }
        let units = d.capacity().0 / UNIT;
        let mut draw = Draw(seed);
        let mut written = 0;
        closed_loop(&mut d, 8, |i| {
            let length = 1 + draw.below(16.min(units));
            let at = draw.below(units - length + 1);
            let flush = draw.below(16) == 0;
            (i < 400).then(|| {
                if flush {
                    return bare(i, CommandKind::Flush);
                }
                written += length;
                write(i, at * UNIT, (length * UNIT) as u32)
            })
        });
        prop_assert_eq!(d.audit(), Ok(()));
        prop_assert_eq!(by_host(&d.counters()), written * UNIT);
        prop_assert_eq!(d.counters().host_written.0, written * UNIT);
        rest(&mut d, Nanos::from_secs(3));
        prop_assert_eq!(d.audit(), Ok(()));
        prop_assert_eq!(by_host(&d.counters()), written * UNIT);
    }

    /// With the smallest spare area that the check of a profile accepts, writes can continue indefinitely; with one
    /// superblock less the profile is refused.
    #[test]
    fn collection_ends_at_the_least_spare_area(k in knobs(), start in 2u32..6, seed in 0u64..8) {
        let made = tight(&k, start, 1_000_000);
        prop_assume!(made.is_some());
        let Some(made) = made else { return Ok(()) };
        collection_ends(made, seed);
    }

    /// A read of data in flash takes at least an array read, the transfer of a unit to the controller and the transfer
    /// of all data to the host.
    #[test]
    fn reads_take_what_their_data_takes(k in knobs(), seed in 0u64..1000, depth in 1u32..5) {
        let mut k = k;
        k.retire = false;
        // So that no data stays in a buffer of folding or collection.
        k.slc_cache = 0;
        let (mut p, link) = build(&k);
        p.controller.as_mut().expect("page-mapped").read_ahead_kib = 0;
        let mut d = device_on(&p, link);
        d.precondition(1.0, Fill::Sequential);
        rest(&mut d, Nanos::from_secs(3));
        let units = d.capacity().0 / UNIT;
        let native = p.nand.native.iter().flat_map(|a| &a.read_us);
        let array_us = native.chain(&p.nand.slc.read_us).fold(f64::MAX, |least, us| least.min(*us));
        // The model rounds the time per byte to picoseconds.
        let bus_ns = (UNIT as f64 * 1e3 / p.nand.bus_mt_per_s * 0.99) as u64;
        let mut draw = Draw(seed);
        let length = 1 + draw.below(8.min(units));
        let run = closed_loop(&mut d, depth, |i| {
            let at = draw.below(units - length + 1);
            (i < 200).then(|| read(i, at * UNIT, (length * UNIT) as u32))
        });
        let link_ns = plain::link_ns(link, UNIT).max(1);
        let first = (array_us * 1e3) as u64 + bus_ns + link_ns;
        let least = first.max(plain::link_ns(link, length * UNIT));
        prop_assert!(run.latency_min >= Nanos(least), "{} and {least} ns", run.latency_min);
    }
}
