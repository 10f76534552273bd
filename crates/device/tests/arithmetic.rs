//! Times compared with closed forms: throughput of dies, channels and link, and the reference point of a closed
//! queueing network.

use crate::support;
use crate::support::plain::{EIGHT_DIES, FAST_LINK, Flash, attach, link_ns, with_map_blocks};
use crate::support::{Draw, Run, closed_loop, device, near, one, read, sound, write};
use nandscope_device::profile::Profile;
use nandscope_device::profile::schema::MapLocation;
use nandscope_device::{Device, Fill};
use nandscope_units::Nanos;

/// The reference point: 64 dies on 8 channels, 50 µs in the array, 5.12 µs for 4 KiB.
fn reference_point() -> Flash {
    Flash {
        channels: 8,
        dies_per_channel: 8,
        planes: 1,
        blocks: 20,
        pages_per_block: 64,
        page_kib: 4,
        mt_per_s: 800.0,
        read_us: 50.0,
        program_us: 200.0,
    }
}

fn filled(p: &Profile, fill: Fill) -> Device {
    let mut d = device(p, "direct");
    assert!(d.precondition(1.0, fill), "nothing is outstanding");
    sound(&d);
    d
}

fn random_reads(d: &mut Device, depth: u32, count: u64) -> Run {
    let units = d.capacity().0 / 4096;
    let mut draw = Draw(depth.into());
    closed_loop(d, depth, |i| {
        (i < count).then(|| read(i, draw.below(units) * 4096, 4096))
    })
}

fn sequential_reads(d: &mut Device, depth: u32, length: u32, count: u64) -> Run {
    let places = d.capacity().0 / u64::from(length);
    closed_loop(d, depth, |i| {
        (i < count).then(|| read(i, i % places * u64::from(length), length))
    })
}

fn sequential_writes(d: &mut Device, depth: u32, length: u32, count: u64) -> Run {
    let places = d.capacity().0 / u64::from(length);
    closed_loop(d, depth, |i| {
        (i < count).then(|| write(i, i % places * u64::from(length), length))
    })
}

#[test]
fn one_read_takes_array_bus_and_link_to_the_nanosecond() {
    let mut d = filled(&reference_point().profile(6), Fill::Random { seed: 3 });
    let run = random_reads(&mut d, 1, 1000);
    // No link is infinitely fast: its 72 ns come on top of 55.12 µs, exactly.
    let expected = Nanos(50_000 + 5_120 + link_ns(FAST_LINK, 4096));
    assert_eq!((run.latency_min, run.latency_max), (expected, expected));
    assert_eq!(link_ns(FAST_LINK, 4096), 72);
}

#[test]
fn the_reference_point_at_depth() {
    // Results of independent simulations of the same network: a closed loop over 64 servers of 50 µs and 8 of 5.12 µs,
    // deterministic service, first come first served. With cache reads a die continues while its page is on the bus;
    // without, it waits for the end of the transfer.
    let cases = [
        (true, 32, 460_000.0, 69.5),
        (true, 256, 1_120_000.0, 229.0),
        (false, 32, 439_100.0, 72.85),
        (false, 256, 1_009_500.0, 252.5),
    ];
    let link_us = link_ns(FAST_LINK, 4096) as f64 / 1e3;
    for (cache_read, depth, iops, latency_us) in cases {
        let mut p = reference_point().profile(6);
        p.nand.cache_read = cache_read;
        let mut d = filled(&p, Fill::Random { seed: 3 });
        let run = random_reads(&mut d, depth, 150_000);
        let without_link_us = run.mean_latency_us() - link_us;
        near("latency", without_link_us, latency_us, 0.02);
        // Rate of the loop without the link's time, in proportion to the latency.
        let without_link_iops = run.iops() * run.mean_latency_us() / without_link_us;
        near("IOPS", without_link_iops, iops, 0.02);
        let in_flight = run.iops() * run.mean_latency_us() / 1e6;
        near("X·R = Q", in_flight, depth.into(), 0.005);
    }
}

#[test]
fn dies_alone_stay_between_the_balanced_network_and_the_bounds() {
    // With a channel per die and a bus of 10 GT/s, the dies are the only servers. Deterministic service is at least as
    // fast as the exponential service of the balanced network, X = Q/(Q+D−1)·D/S, and at most min(Q/S, D/S).
    let flash = Flash {
        channels: 16,
        dies_per_channel: 1,
        mt_per_s: 10_000.0,
        ..reference_point()
    };
    let service_s = (50_000.0 + 409.6) / 1e9;
    for depth in [1u32, 4, 16, 64, 256] {
        let mut d = filled(&flash.profile(6), Fill::Random { seed: 5 });
        let x = random_reads(&mut d, depth, 60_000).iops();
        let (q, dies) = (f64::from(depth), 16.0);
        let balanced = q / (q + dies - 1.0) * dies / service_s;
        let most = q.min(dies) / service_s;
        assert!(x >= 0.99 * balanced, "QD{depth}: {x} < {balanced}");
        assert!(x <= 1.001 * most, "QD{depth}: {x} > {most}");
        assert!(x <= 1.25 * balanced, "QD{depth}: {x} far above {balanced}");
    }
}

#[test]
fn read_speed_grows_with_the_number_of_dies_and_planes() {
    // A page of 16 KiB every 115 µs is 142 MB/s; with cache reads the array time hides the bus time. The parallel
    // speed-up is the number of dies, all of which stay busy. Two planes double it.
    for (channels, per_channel, planes) in [(1, 1, 1), (1, 2, 1), (4, 1, 1), (4, 4, 1), (1, 1, 2)] {
        let flash = Flash {
            channels,
            dies_per_channel: per_channel,
            planes,
            blocks: 24,
            pages_per_block: 128,
            page_kib: 16,
            mt_per_s: 10_000.0,
            read_us: 115.0,
            program_us: 200.0,
        };
        let mut p = flash.profile(6);
        p.nand.cache_read = true;
        let mut d = filled(&p, Fill::Sequential);
        let dies = channels * per_channel;
        let run = sequential_reads(&mut d, 4 * dies, 16_384 * planes, 4_000);
        let expected = f64::from(dies * planes) * 16_384.0 / 115.0;
        near(
            &format!("{dies} dies, {planes} planes"),
            run.mb_per_s(),
            expected,
            0.02,
        );
    }
}

/// Devices by the part that limits them: name, flash, link, and the rates of reads and of writes, MB/s.
fn bounds() -> Vec<(&'static str, Flash, &'static str, f64, f64)> {
    let base = EIGHT_DIES;
    let page = 16_384.0;
    // The rate is taken from the link table, which has its own tests.
    let slow_link = nandscope_device::link::link_mode("pcie-1.0-x1")
        .expect("known")
        .rate
        .as_mb_per_s();
    let bus_us = |mt: f64| page / mt;
    vec![
        (
            // Within a die nothing overlaps: array time, then bus time.
            "dies",
            base,
            FAST_LINK,
            8.0 * page / (100.0 + bus_us(4000.0)),
            8.0 * page / (400.0 + bus_us(4000.0)),
        ),
        (
            "buses",
            Flash {
                mt_per_s: 100.0,
                read_us: 20.0,
                program_us: 50.0,
                ..base
            },
            FAST_LINK,
            200.0,
            200.0,
        ),
        (
            "link",
            Flash {
                read_us: 20.0,
                program_us: 50.0,
                ..base
            },
            "pcie-1.0-x1",
            slow_link,
            slow_link,
        ),
    ]
}

#[test]
fn the_slowest_part_sets_the_speed_of_reads() {
    for (part, flash, link, expected, _) in bounds() {
        let mut p = flash.profile(6);
        attach(&mut p, link);
        let mut d = support::device_on(&p, link);
        assert!(d.precondition(1.0, Fill::Sequential));
        let run = sequential_reads(&mut d, 64, 65_536, 2_000);
        near(part, run.mb_per_s(), expected, 0.02);
    }
}

#[test]
fn the_slowest_part_sets_the_speed_of_writes() {
    for (part, flash, link, _, expected) in bounds() {
        let mut p = flash.profile(6);
        attach(&mut p, link);
        p.controller.as_mut().expect("page-mapped").write_buffer_kib = 1024;
        let mut d = support::device_on(&p, link);
        // The first 16 MiB only fill the buffer and the dies.
        let places = d.capacity().0 / 65_536;
        sequential_writes(&mut d, 64, 65_536, places / 4);
        let run = closed_loop(&mut d, 64, |i| {
            (i < places / 2).then(|| write(i, (places / 4 + i) * 65_536, 65_536))
        });
        near(part, run.mb_per_s(), expected, 0.02);
    }
}

#[test]
fn cache_programs_hide_the_bus_behind_the_array() {
    let flash = bounds()[0].1;
    let mut p = flash.profile(6);
    p.nand.cache_program = true;
    p.controller.as_mut().expect("page-mapped").write_buffer_kib = 1024;
    let mut d = device(&p, "direct");
    sequential_writes(&mut d, 64, 65_536, 100);
    let run = sequential_writes(&mut d, 64, 65_536, 500);
    near(
        "cache program",
        run.mb_per_s(),
        8.0 * 16_384.0 / 400.0,
        0.02,
    );
}

#[test]
fn a_buffered_write_takes_firmware_and_link_alone() {
    let mut p = reference_point().profile(6);
    p.controller.as_mut().expect("page-mapped").write_us = 7.0;
    p.controller.as_mut().expect("page-mapped").per_unit_ns = 100;
    let mut d = device(&p, "direct");
    let c = one(&mut d, write(1, 0, 16_384));
    // Data arrives in parts of a page (4 KiB), the time of each rounded to a nanosecond.
    let expected = 7_000 + 3 * 100 + 4 * link_ns(FAST_LINK, 4096);
    assert_eq!(c.latency(), Nanos(expected));
}

#[test]
fn short_commands_pay_more_for_each_unit_up_to_a_limit() {
    let mut p = reference_point().profile(6);
    let controller = p.controller.as_mut().expect("page-mapped");
    controller.write_us = 7.0;
    controller.read_us = 5.0;
    controller.per_unit_ns = 100;
    controller.single_units = Some(3);
    controller.single_write_ns = Some(1_000);
    controller.single_read_ns = Some(300);
    let mut d = device(&p, "direct");
    for (units, writing, reading) in [
        (1, 7_000, 5_000),
        (2, 8_000, 5_300),
        (3, 9_000, 5_600),
        (4, 9_100, 5_700),
        (8, 9_500, 6_100),
    ] {
        let c = one(&mut d, write(1, 0, units * 4096));
        let link = u64::from(units) * link_ns(FAST_LINK, 4096);
        assert_eq!(c.latency(), Nanos(writing + link), "write of {units} units");
        support::rest(&mut d, Nanos::from_millis(10));
        // Unmapped data, which needs no flash.
        let c = one(&mut d, read(1, 1 << 20, units * 4096));
        let link = link_ns(FAST_LINK, u64::from(units) * 4096);
        assert_eq!(c.latency(), Nanos(reading + link), "read of {units} units");
    }
}

#[test]
fn firmware_cores_bound_the_rate_of_commands() {
    for cores in [1u32, 2, 4] {
        let mut p = reference_point().profile(6);
        p.controller.as_mut().expect("page-mapped").cores = cores;
        p.controller.as_mut().expect("page-mapped").read_us = 10.0;
        // Reads of unmapped data need no flash.
        let mut d = device(&p, "direct");
        let run = random_reads(&mut d, 64, 20_000);
        near("IOPS", run.iops(), f64::from(cores) * 1e5, 0.01);
    }
}

#[test]
fn engines_of_the_ecc_bound_the_rate_of_pages() {
    let alone = 50_000 + 5_120 + 20_000 + link_ns(FAST_LINK, 4096);
    // Without a limit, decoding adds 20 µs to each of 256 commands: the rate is that of a depth of 236 without
    // decoding.
    let mut undecoded = filled(&reference_point().profile(6), Fill::Random { seed: 3 });
    let unbounded = random_reads(&mut undecoded, 236, 50_000).iops();
    for (engines, iops) in [(Some(1), 50_000.0), (Some(4), 200_000.0), (None, unbounded)] {
        let mut p = reference_point().profile(6);
        let controller = p.controller.as_mut().expect("page-mapped");
        controller.decode_us = 20.0;
        controller.ecc_engines = engines;
        let mut d = filled(&p, Fill::Random { seed: 3 });
        let one_by_one = random_reads(&mut d, 1, 100);
        assert_eq!(one_by_one.latency_max, Nanos(alone));
        near("IOPS", random_reads(&mut d, 256, 50_000).iops(), iops, 0.02);
        sound(&d);
    }
}

/// A data page is read only when its map page is decoded.
#[test]
fn the_firmwares_own_reads_take_engines_of_the_ecc() {
    for (engines, expected) in [
        (None, 2 * 55_120 + 200_000),
        (Some(2), 2 * (55_120 + 200_000)),
        (Some(1), 2 * (55_120 + 200_000)),
    ] {
        let mut p = with_map_blocks(reference_point()).profile(14);
        let map = &mut p.ftl.as_mut().expect("page-mapped").map;
        map.location = MapLocation::Window;
        map.window_kib = Some(8);
        let controller = p.controller.as_mut().expect("page-mapped");
        controller.decode_us = 200.0;
        controller.ecc_engines = engines;
        let mut d = filled(&p, Fill::Sequential);
        // Every read misses: the page that it needs was evicted from the window of two map pages.
        for i in 0..8 {
            let misses = d.counters().map_misses;
            let c = one(&mut d, read(i, i * 5 * (4 << 20), 4096));
            assert_eq!(d.counters().map_misses, misses + 1);
            let link = link_ns(FAST_LINK, 4096);
            assert_eq!(c.latency(), Nanos(expected + link), "{engines:?}");
        }
    }
}

/// One die with programs of 1 ms.
const SLOW_PROGRAMS: Flash = Flash {
    channels: 1,
    dies_per_channel: 1,
    planes: 1,
    blocks: 64,
    pages_per_block: 64,
    page_kib: 4,
    mt_per_s: 1000.0,
    read_us: 50.0,
    program_us: 1000.0,
};

#[test]
fn a_read_waits_for_a_program_unless_it_may_suspend_it() {
    // One die: a read arrives 100 µs after the start of a program of 1 ms.
    let tail = 4_096 + link_ns(FAST_LINK, 4096);
    for (suspend, expected) in [
        // The rest of the program (without its transfer and link time), then the read.
        (false, 1_000_000 - 100_000 + 50_000 + tail),
        (true, 20_000 + 50_000 + tail),
    ] {
        let mut p = SLOW_PROGRAMS.profile(8);
        p.nand.suspend = suspend;
        p.nand.suspend_us = 20.0;
        let mut d = device(&p, "direct");
        assert!(d.precondition(0.5, Fill::Sequential));
        let begun = one(&mut d, write(1, 40 * 4096, 4096)).completed + Nanos(4_096);
        // The program begins 4,096 ns after the acknowledgement.
        support::rest(&mut d, Nanos(4_096 + 100_000));
        let c = one(&mut d, read(2, 0, 4096));
        assert_eq!(c.latency(), Nanos(expected), "suspend {suspend}");
        // The program continues after the read: suspension does not change its total array time.
        let flush = support::bare(3, nandscope_device::CommandKind::Flush);
        let end = one(&mut d, flush).completed;
        if suspend {
            let away = 20_000 + 50_000 + 4_096 + 20_000;
            assert_eq!(end, begun + Nanos(1_000_000 + away));
        }
        sound(&d);
    }
}

#[test]
fn what_ends_within_the_threshold_is_not_suspended() {
    let read_ns = 50_000 + 4_096 + link_ns(FAST_LINK, 4096);
    // The read arrives 600 µs after the start of a program of 1 ms.
    for (threshold_us, expected) in [
        (None, 20_000 + read_ns),
        (Some(400.0), 20_000 + read_ns),
        (Some(400.1), 400_000 + read_ns),
    ] {
        let mut p = SLOW_PROGRAMS.profile(8);
        p.nand.suspend = true;
        p.nand.suspend_us = 20.0;
        p.nand.suspend_threshold_us = threshold_us;
        let mut d = device(&p, "direct");
        assert!(d.precondition(0.5, Fill::Sequential));
        one(&mut d, write(1, 40 * 4096, 4096));
        support::rest(&mut d, Nanos(4_096 + 600_000));
        let c = one(&mut d, read(2, 0, 4096));
        assert_eq!(c.latency(), Nanos(expected), "{threshold_us:?}");
        sound(&d);
    }
}

/// A host whose driver takes `command_us` for each transfer of at most `max_kib`.
fn slow_host(command_us: f64, max_kib: Option<u32>) -> nandscope_device::profile::HostProfile {
    let mut host = support::host("direct");
    host.stage[0].command_us = command_us;
    host.stage[0].max_transfer_kib = max_kib;
    host
}

#[test]
fn a_core_serves_the_command_that_arrives_first() {
    let mut p = reference_point().profile(6);
    p.controller.as_mut().expect("page-mapped").read_us = 10.0;
    let mut d = Device::new(&p, &slow_host(100.0, Some(4)), 1).expect("attaches");
    // The driver sends the first read in 16 parts, the second as a whole; nothing was written, so no flash is read.
    for command in [read(0, 0, 65_536), read(1, 1 << 20, 4096)] {
        d.submit(command, Nanos::ZERO).expect("in order");
        sound(&d);
    }
    let mut completions = Vec::new();
    while completions.len() < 2 {
        d.advance(Nanos::MAX, &mut completions);
        sound(&d);
    }
    assert_eq!((completions[0].tag, completions[1].tag), (1, 0));
    let expected = 100_000 + 10_000 + link_ns(FAST_LINK, 4096);
    assert_eq!(completions[0].latency(), Nanos(expected));
}

#[test]
fn relocation_uses_the_core_while_commands_are_on_their_way() {
    // At this depth the path time of a command is hidden: the core is always busy.
    let rate = |command_us: f64| {
        let mut p = reference_point().profile(6);
        let controller = p.controller.as_mut().expect("page-mapped");
        controller.write_us = 5.0;
        controller.relocate_unit_us = 5.0;
        controller.write_buffer_kib = 4096;
        let mut d = Device::new(&p, &slow_host(command_us, None), 1).expect("attaches");
        assert!(d.precondition(1.0, Fill::Random { seed: 3 }));
        let units = d.capacity().0 / 4096;
        let mut draw = Draw(1);
        let mut random_writes = |count| {
            closed_loop(&mut d, 512, |i| {
                (i < count).then(|| write(i, draw.below(units) * 4096, 4096))
            })
        };
        random_writes(20_000);
        random_writes(20_000).iops()
    };
    near("IOPS", rate(1000.0), rate(0.0), 0.02);
}
