//! ECC engines: reads that the firmware needs itself use them, delay reads of the host, and wait for them.

use crate::support::plain::{FAST_LINK, FOUR_DIES, Flash, link_ns};
use crate::support::{Draw, bare, closed_loop, device, near, one, read, sound, write};
use nandscope_device::profile::Profile;
use nandscope_device::profile::schema::MapLocation;
use nandscope_device::{CommandKind, Device, Fill};
use nandscope_units::Nanos;

const DECODE_NS: u64 = 1_000_000;
/// Time of an array read and the transfer of a page to the controller, ns.
const READ_NS: u64 = 50_000 + 4_096;

/// 8 dies with pages of one mapping unit, each of which takes 1 ms to decode.
fn slow_decoding(engines: Option<u32>) -> Profile {
    let flash = Flash {
        channels: 4,
        dies_per_channel: 2,
        blocks: 54,
        pages_per_block: 32,
        ..FOUR_DIES
    };
    let mut p = flash.profile(16);
    p.nand.slc.erase_us = 100.0;
    let controller = p.controller.as_mut().expect("page-mapped");
    controller.decode_us = DECODE_NS as f64 / 1e3;
    controller.ecc_engines = engines;
    controller.write_buffer_kib = 128;
    p
}

/// A device in the steady state of random writes.
fn aged(p: &Profile) -> Device {
    let mut d = device(p, "direct");
    assert!(d.precondition(1.0, Fill::Random { seed: 3 }));
    assert!(d.overwrite_randomly(4 * d.capacity().0 / 4096, 1));
    d
}

/// Units moved per second by collection during random writes.
fn moved_per_s(p: &Profile) -> f64 {
    let mut d = aged(p);
    let units = d.capacity().0 / 4096;
    let mut draw = Draw(5);
    let mut writes = |count| {
        let mut next = |i| write(i, draw.below(units) * 4096, 4096);
        closed_loop(&mut d, 32, |i| (i < count).then(|| next(i)));
        sound(&d);
        (d.now(), d.counters().gc_writes.0 / 4096)
    };
    let (begin, before) = writes(1_000);
    let (end, after) = writes(3_000);
    (after - before) as f64 / end.saturating_sub(begin).as_secs_f64()
}

#[test]
fn collection_is_bounded_by_the_engines() {
    for engines in [1, 2] {
        let mut p = slow_decoding(Some(engines));
        p.ftl.as_mut().expect("page-mapped").relocation_units = 16;
        // No page is decoded while the host fills the space freed by the last victim.
        let most = f64::from(engines) * 1e9 / DECODE_NS as f64;
        let rate = moved_per_s(&p);
        assert!(rate <= 1.001 * most, "{engines} engines: {rate} pages/s");
        near("pages decoded per second", rate, most, 0.05);
    }
}

#[test]
fn a_read_waits_for_the_page_that_collection_decodes() {
    let alone = READ_NS + DECODE_NS + link_ns(FAST_LINK, 4096);
    // An erase and a program of its die delay a read too.
    let die = 100_000 + 100_000 + 4_096;
    for (engines, most_waits) in [(1, DECODE_NS), (2, 0)] {
        let mut p = slow_decoding(Some(engines));
        // Only one page is relocated at a time.
        p.ftl.as_mut().expect("page-mapped").relocation_units = 1;
        let mut d = aged(&p);
        let units = d.capacity().0 / 4096;
        let mut draw = Draw(5);
        let (mut reads, mut longest) = (0, Nanos::ZERO);
        let mut completions = Vec::new();
        for _ in 0..16 {
            let place = draw.below(units) * 4096;
            d.submit(write(0, place, 4096), d.now()).expect("in order");
        }
        d.submit(read(1, 0, 4096), d.now()).expect("in order");
        while reads < 500 {
            d.advance(Nanos::MAX, &mut completions);
            for c in completions.drain(..) {
                let place = draw.below(units) * 4096;
                let command = if c.tag == 1 {
                    reads += 1;
                    longest = longest.max(c.latency());
                    read(1, place, 4096)
                } else {
                    write(0, place, 4096)
                };
                d.submit(command, d.now()).expect("in order");
            }
        }
        sound(&d);
        let most = alone + most_waits + die;
        assert!(longest <= Nanos(most), "{engines} engines: {longest}");
        assert!(
            longest > Nanos(alone + most_waits * 9 / 10),
            "{engines} engines: {longest}"
        );
    }
}

/// A map entry is available only after its map page was decoded.
#[test]
fn a_miss_of_the_map_takes_the_decoding_of_its_page() {
    for engines in [1, 2] {
        let mut p = slow_decoding(Some(engines as u32));
        let map = &mut p.ftl.as_mut().expect("page-mapped").map;
        map.location = MapLocation::Window;
        map.window_kib = Some(8);
        let mut d = device(&p, "direct");
        assert!(d.precondition(1.0, Fill::Sequential));
        for i in 0..8 {
            let misses = d.counters().map_misses;
            let c = one(&mut d, read(i, i * (4 << 20), 4096));
            assert_eq!(d.counters().map_misses, misses + 1);
            let expected = 2 * (READ_NS + DECODE_NS) + link_ns(FAST_LINK, 4096);
            assert_eq!(c.latency(), Nanos(expected), "{engines} engines");
        }
        // Two simultaneous misses share the engines.
        let next = |i| read(i, (8 - 4 * i) * (1 << 20), 4096);
        let run = closed_loop(&mut d, 2, |i| (i < 2).then(|| next(i)));
        let decoded = Nanos(DECODE_NS * 4 / engines);
        let took = run.elapsed;
        assert!(
            decoded < took && took < decoded + Nanos(DECODE_NS / 2),
            "{engines} engines: {took}"
        );
        sound(&d);
    }
}

/// A write of 512 bytes reads the rest of its unit from flash.
#[test]
fn a_partial_write_waits_for_the_decoding_of_the_rest() {
    let flush_ns = |decode_us| {
        let mut p = slow_decoding(Some(1));
        p.controller.as_mut().expect("page-mapped").decode_us = decode_us;
        let mut d = device(&p, "direct");
        assert!(d.precondition(0.5, Fill::Sequential));
        one(&mut d, write(0, 4096 * 7, 512));
        sound(&d);
        let flushed = one(&mut d, bare(1, CommandKind::Flush)).latency();
        sound(&d);
        flushed.0
    };
    let without = flush_ns(0.0);
    assert!(without >= READ_NS + 100_000 + 4_096, "{without} ns");
    assert_eq!(flush_ns(DECODE_NS as f64 / 1e3), without + DECODE_NS);
}

/// Pages whose first attempts certainly fail, and whose next attempt certainly succeeds.
#[test]
fn failed_attempts_take_engines_too() {
    // Each attempt halves the errors in a codeword; 400 are correctable.
    for (retries, errors) in [(0u32, 200.0), (1, 566.0), (2, 1_132.0)] {
        let mut p = slow_decoding(Some(1));
        let r = &mut p.nand.reliability;
        (r.codeword_bytes, r.correctable_bits) = (4096, 400);
        (r.rber_fresh, r.rber_rated) = (errors / 32_768.0, errors / 32_768.0);
        (r.retention_factor_year, r.disturb_per_100k_reads) = (1.0, 0.0);
        (r.retries, r.retry_transfers) = (4, true);
        let mut d = device(&p, "direct");
        assert!(d.precondition(0.5, Fill::Sequential));
        let units = d.capacity().0 / 4096 / 2;
        let mut draw = Draw(7);
        let mut next = |i| read(i, draw.below(units) * 4096, 4096);
        let run = closed_loop(&mut d, 64, |i| (i < 2_000).then(|| next(i)));
        assert_eq!(d.counters().read_retries, 2_000 * u64::from(retries));
        let expected = 1e9 / DECODE_NS as f64 / f64::from(1 + retries);
        near("reads per second", run.iops(), expected, 0.02);
        sound(&d);
    }
}
