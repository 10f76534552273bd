//! Independent plane reads: throughput of the planes of a die, and their order among other work.

use crate::support::plain::{FAST_LINK, Flash, link_ns};
use crate::support::{Draw, bare, closed_loop, device, near, one, read, rest, sound, write};
use nandscope_device::profile::Profile;
use nandscope_device::{CommandKind, Device, Fill, Status};
use nandscope_units::Nanos;

const PLANES: u32 = 4;

fn plain(independent: bool, mt_per_s: f64) -> Profile {
    let flash = Flash {
        channels: 1,
        dies_per_channel: 2,
        planes: PLANES,
        blocks: 24,
        pages_per_block: 64,
        page_kib: 4,
        mt_per_s,
        read_us: 50.0,
        program_us: 400.0,
    };
    let mut p = flash.profile(6);
    p.nand.independent_plane_reads = independent;
    p
}

fn filled(p: &Profile) -> Device {
    let mut d = device(p, "direct");
    assert!(d.precondition(1.0, Fill::Sequential));
    d
}

fn random_reads(d: &mut Device, depth: u32, count: u64) -> f64 {
    let units = d.capacity().0 / 4096;
    let mut draw = Draw(depth.into());
    let run = closed_loop(d, depth, |i| {
        (i < count).then(|| read(i, draw.below(units) * 4096, 4096))
    });
    run.iops()
}

#[test]
fn each_plane_reads_a_page_at_its_own_time() {
    // Eight planes of two dies: array read and 0.41 µs of transfer, one after the other or, with cache reads,
    // overlapping. The array read takes so long that transfers seldom collide on the channel.
    for (independent, cache_read, stations, service_s) in [
        (false, false, 2.0, 500.41e-6),
        (false, true, 2.0, 500e-6),
        (true, false, 8.0, 500.41e-6),
        (true, true, 8.0, 500e-6),
    ] {
        let mut p = plain(independent, 10_000.0);
        p.nand.cache_read = cache_read;
        p.nand.slc.read_us = vec![500.0];
        let mut d = filled(&p);
        let iops = random_reads(&mut d, 256, 40_000);
        // Random addresses leave planes idle at times: at least the throughput of the balanced network, Q/(Q+D−1)·D/S.
        let most = stations / service_s;
        let balanced = 256.0 / (256.0 + stations - 1.0) * most;
        assert!(
            (0.98 * balanced..=1.001 * most).contains(&iops),
            "{iops}, not from {balanced} to {most}"
        );
        sound(&d);
    }
}

#[test]
fn the_channel_bounds_all_planes_together() {
    // 4 KiB at 200 MT/s are 20.48 µs; the planes alone would give eight pages in 70 µs.
    let mut d = filled(&plain(true, 200.0));
    near(
        "IOPS",
        random_reads(&mut d, 256, 40_000),
        1.0 / 20.48e-6,
        0.01,
    );
}

#[test]
fn one_read_and_one_of_all_planes_take_what_they_took() {
    for length in [4096, 4096 * PLANES] {
        let latency = |independent| {
            let mut d = filled(&plain(independent, 1000.0));
            one(&mut d, read(0, 0, length)).latency()
        };
        let expected = 50_000 + u64::from(length) + link_ns(FAST_LINK, length.into());
        assert_eq!(latency(true), Nanos(expected));
        assert_eq!(latency(false), Nanos(expected));
    }
}

/// A program takes the whole die: reads of any plane wait for it, or suspend it.
#[test]
fn a_program_and_reads_exclude_one_another() {
    for (suspend, wait_ns) in [(false, 400_000 - 100_000), (true, 20_000)] {
        let mut p = plain(true, 1000.0);
        p.nand.suspend = suspend;
        p.nand.suspend_us = 20.0;
        p.nand.channels = 1;
        p.nand.dies_per_channel = 1;
        p.device.capacity_bytes /= 2;
        p.controller.as_mut().expect("page-mapped").write_buffer_kib = 1024;
        let mut d = device(&p, "direct");
        assert!(d.precondition(0.5, Fill::Sequential));
        // A program unit of four pages; its transfer takes 16.4 µs after the acknowledgement.
        let free = d.capacity().0 * 3 / 4 / 16_384 * 16_384;
        one(&mut d, write(1, free, 16_384));
        rest(&mut d, Nanos(16_384 + 100_000));
        let now = d.now();
        for plane in 0..2 {
            d.submit(read(plane, plane * 4096, 4096), now)
                .expect("in order");
        }
        let mut done = Vec::new();
        while done.len() < 2 {
            d.advance(Nanos::MAX, &mut done);
            sound(&d);
        }
        let first = wait_ns + 50_000 + 4_096 + link_ns(FAST_LINK, 4096);
        assert_eq!(done[0].latency(), Nanos(first), "suspend {suspend}");
        // The other plane has read at the same time; its page follows on the channel.
        assert_eq!(done[1].latency(), Nanos(first + 4_096));
        rest(&mut d, Nanos::from_millis(5));
        sound(&d);
    }
}

/// Reads, writes and collection at once, with every variant of the part; the invariants hold at any time, also in saved
/// devices.
#[test]
fn a_mixed_load_ends_and_keeps_the_books() {
    for variant in 0..8u32 {
        let mut p = plain(true, 1000.0);
        p.nand.cache_read = variant & 1 > 0;
        p.nand.cache_program = variant & 2 > 0;
        p.nand.suspend = variant & 4 > 0;
        p.nand.suspend_us = 10.0;
        p.interface[0].active_dies = 1 + variant % 2;
        p.controller.as_mut().expect("page-mapped").write_buffer_kib = 256;
        let mut d = filled(&p);
        let units = d.capacity().0 / 4096;
        let mut draw = Draw(variant.into());
        let mut done = Vec::new();
        let (mut sent, mut ended) = (0u64, 0);
        while ended < 4_000 {
            while sent < 4_000 && sent - ended < 24 {
                let length = 1 + draw.below(6);
                let at = draw.below(units - length) * 4096;
                let command = match draw.below(8) {
                    0..=4 => read(sent, at, (length * 4096) as u32),
                    5 | 6 => write(sent, at, (length * 4096) as u32),
                    _ => bare(sent, CommandKind::Flush),
                };
                d.submit(command, d.now()).expect("in order");
                sent += 1;
            }
            done.clear();
            d.advance(Nanos::MAX, &mut done);
            assert!(!done.is_empty(), "the device stopped");
            assert!(done.iter().all(|c| c.status == Status::Ok));
            ended += done.len() as u64;
            if ended.is_multiple_of(97) {
                d = Device::load(&d.save().expect("saves")).expect("is sound");
            }
        }
        rest(&mut d, Nanos::from_secs(1));
        sound(&d);
    }
}
