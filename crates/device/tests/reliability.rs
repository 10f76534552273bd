//! Wear, errors and the end of life: retries slow a worn device, then reads are lost and reported to the host; wear is
//! spread; blocks that are read too often are rewritten; at the end of life writes are refused.

use crate::support;
use crate::support::plain::{FOUR_DIES, Flash};
use crate::support::{Draw, bare, closed_loop, device, one, read, rest, sound, write};
use nandscope_device::profile::Profile;
use nandscope_device::{Device, Fill, Payload, Status};
use nandscope_units::Nanos;

fn plain(spare: u32) -> Profile {
    Flash {
        dies_per_channel: 2,
        blocks: 64,
        pages_per_block: 32,
        ..FOUR_DIES
    }
    .profile(spare)
}

/// A part rated for `rated_cycles` cycles, with the raw bit error rate `rber_rated` at that wear.
fn with_errors(rated_cycles: u32, rber_rated: f64) -> Profile {
    let mut p = plain(10);
    p.nand.slc.cycles = rated_cycles;
    let r = &mut p.nand.reliability;
    r.rber_fresh = 1e-9;
    r.rber_rated = rber_rated;
    r.wear_exponent = 1.0;
    r.codeword_bytes = 1024;
    r.correctable_bits = 8;
    r.retries = 2;
    p
}

/// Overwrites until every block has been erased about `cycles` times.
fn wear(d: &mut Device, cycles: u64) {
    let units = d.capacity().0 / 4096;
    assert!(d.precondition(1.0, Fill::Sequential));
    for i in 0..cycles {
        d.overwrite_randomly(units / 2, i);
    }
}

/// Reads everything once: retries, reads reported lost, mean latency in µs.
fn read_all(d: &mut Device) -> (u64, u64, f64) {
    let units = d.capacity().0 / 4096;
    let before = d.counters();
    let (mut lost, mut latency) = (0, Nanos::ZERO);
    for unit in 0..units {
        let c = one(d, read(unit, unit * 4096, 4096));
        latency += c.latency();
        match c.status {
            Status::Ok => {}
            Status::UncorrectableRead => lost += 1,
            other => panic!("{other:?}"),
        }
    }
    let after = d.counters();
    assert_eq!(after.uncorrectable_reads - before.uncorrectable_reads, lost);
    let retries = after.read_retries - before.read_retries;
    (retries, lost, latency.as_micros_f64() / units as f64)
}

/// Each retry takes array time and, if the part requires it, channel and ECC time too.
#[test]
fn a_retry_takes_the_array_or_all_of_a_read() {
    for (again, retry_us) in [(false, 50.0), (true, 50.0 + 4.096 + 7.0)] {
        let mut p = with_errors(10, 2e-3);
        p.nand.reliability.retry_transfers = again;
        p.controller.as_mut().expect("page-mapped").decode_us = 7.0;
        let units = p.device.capacity_bytes / 4096;
        let mut d = device(&p, "direct");
        wear(&mut d, 8);
        let (retries, _, mean_us) = read_all(&mut d);
        assert!(retries > units / 10, "{retries}");
        let link_us = support::plain::link_ns(support::plain::FAST_LINK, 4096) as f64 / 1e3;
        let once_us = 50.0 + 4.096 + 7.0 + link_us;
        let expected_us = once_us + retries as f64 / units as f64 * retry_us;
        support::near("mean", mean_us, expected_us, 1e-6);
    }
}

/// For data with an activation energy of 1.1 eV, a year at 40 °C corresponds to 52 hours at 85 °C.
#[test]
fn data_ages_by_the_temperature() {
    const YEAR_S: f64 = 365.25 * 86_400.0;
    let retries_after = |celsius: f64, activation_ev: Option<f64>, seconds: f64| {
        let mut p = plain(10);
        let r = &mut p.nand.reliability;
        // 15.5 errors per codeword when fresh, four times as many after a year; 64 are correctable.
        (r.rber_fresh, r.rber_rated) = (15.5 / 32_768.0, 15.5 / 32_768.0);
        (r.codeword_bytes, r.correctable_bits, r.retries) = (4096, 64, 3);
        r.retention_factor_year = 4.0;
        r.activation_ev = activation_ev;
        p.interface[0].idle_mw = 0.0;
        p.thermal.ambient_c = celsius;
        (p.thermal.throttle_start_c, p.thermal.throttle_full_c) = (200.0, 210.0);
        let mut d = device(&p, "direct");
        assert!(d.precondition(1.0, Fill::Sequential));
        rest(&mut d, Nanos::from_secs_f64(seconds));
        sound(&d);
        read_all(&mut d).0 as f64
    };
    let year = retries_after(40.0, None, YEAR_S);
    assert!(year > 1_000.0, "{year}");
    support::near("40 °C", retries_after(40.0, Some(1.1), YEAR_S), year, 0.02);
    let hot = retries_after(85.0, Some(1.1), YEAR_S / 167.62);
    support::near("85 °C", hot, year, 0.02);
    let cold = retries_after(25.0, Some(1.1), YEAR_S / 0.12863);
    support::near("25 °C", cold, year, 0.02);
    // Without an activation energy, the heat makes no difference.
    let short = retries_after(40.0, None, YEAR_S / 167.62);
    assert!(short < 0.7 * year, "{short}");
    assert_eq!(retries_after(85.0, None, YEAR_S / 167.62), short);
}

/// Pages of a word line: the first attempt at each fails as often as the tail of a Poisson distribution predicts.
#[test]
fn pages_of_a_word_line_differ() {
    let mut p = support::profile("reference-nvme-64gb");
    support::plain::no_errors(&mut p);
    support::plain::no_firmware_time(&mut p);
    support::plain::attach(&mut p, support::plain::FAST_LINK);
    p.controller.as_mut().expect("page-mapped").read_ahead_kib = 0;
    p.nand.native.as_mut().expect("TLC").read_us = vec![50.0, 60.0, 70.0];
    let r = &mut p.nand.reliability;
    // 62 bit errors per codeword on average, and 64 are correctable. A retry halves the errors and always succeeds.
    (r.rber_fresh, r.rber_rated) = (62.0 / 32_768.0, 62.0 / 32_768.0);
    (r.retention_factor_year, r.retries) = (1.0, 4);
    (r.codeword_bytes, r.correctable_bits) = (4096, 64);
    let factors = [0.8, 1.0, 1.2];
    r.page_rber = Some(factors.to_vec());
    let mut d = device(&p, "direct");
    assert!(d.precondition(0.1, Fill::Sequential));
    let mut draw = Draw(1);
    let units = d.capacity().0 / 10 / 4096;
    let (mut reads, mut failed) = ([0.0; 3], [0.0; 3]);
    for i in 0..6_000 {
        let retries = d.counters().read_retries;
        let latency = one(&mut d, read(i, draw.below(units) * 4096, 4096)).latency();
        let tries = 1 + d.counters().read_retries - retries;
        // The array read takes 50, 60 or 70 µs, depending on the page of the word line; all other steps less than 10
        // µs.
        let page = (latency.0 / 1000 / tries).clamp(50, 79) as usize / 10 - 5;
        reads[page] += 1.0;
        failed[page] += f64::from(u8::from(tries > 1));
    }
    for (page, factor) in factors.iter().enumerate() {
        let lambda = 62.0 * factor;
        let mut term = libm::exp(-lambda);
        let mut mended = term;
        for k in 1..=64 {
            term *= lambda / f64::from(k);
            mended += term;
        }
        let expected = 1.0 - mended;
        let got: f64 = failed[page] / reads[page];
        assert!(reads[page] > 1_500.0, "{reads:?}");
        assert!(
            (got - expected).abs() < 0.04,
            "page {page}: {got}, {expected}"
        );
    }
}

#[test]
fn wear_brings_retries_and_then_lost_reads_that_the_host_is_told_of() {
    // 8,192 bits of a codeword at 2e-3 are 16 errors, and 8 are correctable: the first attempt fails, the first retry
    // at half the rate often, the second seldom.
    let p = with_errors(10, 2e-3);
    let mut fresh = device(&p, "direct");
    assert!(fresh.precondition(1.0, Fill::Sequential));
    let (retries, lost, fresh_us) = read_all(&mut fresh);
    assert_eq!((retries, lost), (0, 0));

    let mut worn = device(&p, "direct");
    wear(&mut worn, 8);
    let (retries, _, worn_us) = read_all(&mut worn);
    assert!(retries > 100, "{retries}");
    // Each retry is one more array read.
    let units = (worn.capacity().0 / 4096) as f64;
    support::near(
        "latency",
        worn_us,
        fresh_us + 50.0 * retries as f64 / units,
        1e-3,
    );

    let mut spent = device(&p, "direct");
    wear(&mut spent, 60);
    let (_, lost, _) = read_all(&mut spent);
    assert!(lost > 100, "{lost}");
    let Some(payload) = one(&mut spent, bare(0, nandscope_device::CommandKind::Health)).payload
    else {
        panic!("health has an answer");
    };
    let Payload::Health(log) = *payload else {
        panic!("health answers with the health log");
    };
    assert_eq!(log.media_errors, lost);
    assert!(log.percentage_used > 100, "{}", log.percentage_used);
}

#[test]
fn a_block_that_is_read_too_often_is_rewritten() {
    let mut p = plain(10);
    p.ftl.as_mut().expect("page-mapped").refresh_reads = 1000;
    let mut d = device(&p, "direct");
    assert!(d.precondition(1.0, Fill::Sequential));
    closed_loop(&mut d, 4, |i| {
        (i < 5_000).then(|| read(i, i % 32 * 4096, 4096))
    });
    // The firmware checks for refreshes only when it looks for work: any write triggers that.
    closed_loop(&mut d, 1, |i| (i < 8).then(|| write(i, 1 << 20, 4096)));
    rest(&mut d, Nanos::from_secs(5));
    assert!(d.counters().refreshed.0 >= 64 * 4096, "{:?}", d.counters());
    sound(&d);
}

/// Eight dies with two planes: a superblock has sixteen blocks of 32 units of 4 KiB.
fn many_blocks(refresh_reads: u32) -> Device {
    let flash = Flash {
        dies_per_channel: 8,
        planes: 2,
        blocks: 24,
        pages_per_block: 32,
        ..FOUR_DIES
    };
    let mut p = flash.profile(10);
    p.ftl.as_mut().expect("page-mapped").refresh_reads = refresh_reads;
    let mut d = device(&p, "direct");
    assert!(d.precondition(1.0, Fill::Sequential));
    d
}

#[test]
fn reads_are_counted_for_each_block_and_that_block_is_refreshed() {
    let mut d = many_blocks(1000);
    // 1,600 reads of all sixteen blocks of a superblock in turn are a hundred of each.
    closed_loop(&mut d, 4, |i| {
        (i < 1_600).then(|| read(i, i % 16 * 4096, 4096))
    });
    rest(&mut d, Nanos::from_secs(5));
    assert_eq!(d.counters().refreshed.0, 0);
    // One unit is in one block.
    closed_loop(&mut d, 4, |i| (i < 1_000).then(|| read(i, 0, 4096)));
    rest(&mut d, Nanos::from_secs(5));
    assert_eq!(d.counters().refreshed.0, 32 * 4096, "{:?}", d.counters());
    sound(&d);
    // Two units across the planes of a die are in two blocks.
    closed_loop(&mut d, 4, |i| (i < 1_000).then(|| read(i, 2 * 4096, 8192)));
    rest(&mut d, Nanos::from_secs(5));
    assert_eq!(
        d.counters().refreshed.0,
        3 * 32 * 4096,
        "{:?}",
        d.counters()
    );
    sound(&d);
}

#[test]
fn a_block_is_refreshed_while_the_host_overwrites_it() {
    let mut d = many_blocks(300);
    let mut draw = Draw(1);
    closed_loop(&mut d, 8, |i| {
        let at = draw.below(512) * 4096;
        (i < 60_000).then(|| {
            if i % 8 == 0 {
                write(i, at, 4096)
            } else {
                read(i, at % 65_536, 4096)
            }
        })
    });
    sound(&d);
    rest(&mut d, Nanos::from_secs(5));
    assert!(d.counters().refreshed.0 > 0);
    sound(&d);
}

/// Data just written is young, even in an open block that was used long before.
#[test]
fn data_of_an_open_block_is_as_old_as_its_opening() {
    // A year multiplies the errors by 10,000: far beyond correction.
    let mut p = with_errors(1_000_000, 1e-6);
    p.nand.reliability.rber_fresh = 1e-6;
    p.nand.reliability.retention_factor_year = 1e4;
    let mut d = device(&p, "direct");
    let units = d.capacity().0 / 4096;
    assert!(d.precondition(1.0, Fill::Sequential));
    d.overwrite_randomly(3 * units, 1);
    rest(&mut d, Nanos::from_secs(400 * 86_400));
    for unit in 0..10 {
        one(&mut d, write(unit, unit * 4096, 4096));
    }
    one(&mut d, bare(0, nandscope_device::CommandKind::Flush));
    for unit in 0..10 {
        let c = one(&mut d, read(unit, unit * 4096, 4096));
        assert_eq!(c.status, Status::Ok, "unit {unit}");
    }
    // Data that was not rewritten is lost by retention alone, with hardly any wear.
    assert_eq!(
        one(&mut d, read(0, 100 * 4096, 4096)).status,
        Status::UncorrectableRead
    );
}

#[test]
fn wear_levelling_moves_cold_data() {
    let run = |spread: u32| {
        let mut p = plain(20);
        p.ftl.as_mut().expect("page-mapped").collection_start = 8;
        p.ftl.as_mut().expect("page-mapped").wear_spread_cycles = spread;
        let mut d = device(&p, "direct");
        assert!(d.precondition(1.0, Fill::Sequential));
        let units = d.capacity().0 / 4096;
        let mut draw = Draw(1);
        // Pauses let collection end; no other background work is done before.
        for _ in 0..60 {
            closed_loop(&mut d, 4, |i| {
                (i < units).then(|| write(i, draw.below(units / 10) * 4096, 4096))
            });
            rest(&mut d, Nanos::from_secs(2));
        }
        sound(&d);
        d.counters().refreshed.0
    };
    assert_eq!(run(0), 0, "it is off");
    let moved = run(10);
    assert!(moved > 0, "cold data is moved");
    assert!(moved >= run(40), "the wider the spread, the less is moved");
}

#[test]
fn at_the_end_of_its_life_the_device_takes_no_more_writes_and_still_reads() {
    let mut p = plain(10);
    p.nand.slc.cycles = 1;
    let mut d = device(&p, "direct");
    let units = d.capacity().0 / 4096;
    let mut draw = Draw(1);
    let mut writes = 0u64;
    let refused = loop {
        let c = one(&mut d, write(writes, draw.below(units) * 4096, 4096));
        writes += 1;
        if c.status != Status::Ok {
            break c.status;
        }
        assert!(writes < 200 * units, "no end");
    };
    assert_eq!(refused, Status::ReadOnly);
    assert!(writes > units, "{writes}");
    assert_eq!(one(&mut d, read(1, 0, 4096)).status, Status::Ok);
    assert_eq!(one(&mut d, write(2, 0, 4096)).status, Status::ReadOnly);
    assert_eq!(d.health().critical_warning >> 3 & 1, 1, "read-only is told");
}
