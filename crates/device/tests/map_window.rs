//! A map that is not all at hand: look-ups beyond the window cost a flash read, or a fetch from
//! the host's memory; read-ahead spares sequential reads the array's time.

use crate::support;
use crate::support::plain::{FAST_LINK, Flash, link_ns};
use crate::support::{Draw, closed_loop, device, one, read, sound};
use nandscope_device::profile::Profile;
use nandscope_device::profile::schema::MapLocation;
use nandscope_device::{Device, Fill};
use nandscope_units::Nanos;

fn plain() -> Profile {
    Flash {
        channels: 1,
        dies_per_channel: 4,
        planes: 1,
        blocks: 80,
        pages_per_block: 256,
        page_kib: 4,
        mt_per_s: 1000.0,
        read_us: 50.0,
        program_us: 100.0,
    }
    .profile(10)
}

fn filled(p: &Profile) -> Device {
    let mut d = device(p, "direct");
    assert!(d.precondition(1.0, Fill::Sequential));
    d
}

fn flash_read() -> u64 {
    50_000 + 4_096 + link_ns(FAST_LINK, 4096)
}

#[test]
fn reads_within_the_window_cost_nothing_more_and_beyond_it_a_flash_read() {
    let mut p = plain();
    p.ftl.as_mut().expect("page-mapped").map.location = MapLocation::Window;
    // Four map pages of 1,024 entries each: 16 MiB at hand.
    p.ftl.as_mut().expect("page-mapped").map.window_kib = Some(16);
    let mut d = filled(&p);
    // Pages of the map that were written back lie in flash once they have left the window.
    let reach = 1024 * 4096;
    for page in 20..24 {
        one(&mut d, read(0, page * reach, 4096));
    }
    let before = d.counters().map_misses;
    for round in 0..8 {
        let c = one(
            &mut d,
            read(0, (20 + round % 4) * reach + round * 4096, 4096),
        );
        assert_eq!(c.latency(), Nanos(flash_read()), "round {round}");
    }
    assert_eq!(d.counters().map_misses, before);
    // A cycle through five pages of the map does not stay in a window of four.
    for round in 0..20u64 {
        let c = one(&mut d, read(0, (5 + round % 20) * reach, 4096));
        let dearer = Nanos(flash_read() + 50_000 + 4_096);
        assert_eq!(
            c.latency(),
            dearer,
            "round {round}: the map page comes first"
        );
    }
    assert_eq!(d.counters().map_misses, before + 20);
    sound(&d);
}

#[test]
fn a_page_in_use_stays_in_the_window() {
    let mut p = plain();
    p.ftl.as_mut().expect("page-mapped").map.location = MapLocation::Window;
    p.ftl.as_mut().expect("page-mapped").map.window_kib = Some(16);
    let mut d = filled(&p);
    let reach = 1024 * 4096;
    one(&mut d, read(0, 7 * reach, 4096));
    let before = d.counters().map_misses;
    // The clock gives what is touched between two sweeps a second chance.
    for page in 20..60 {
        one(&mut d, read(0, 7 * reach, 4096));
        one(&mut d, read(0, page * reach, 4096));
    }
    let misses = d.counters().map_misses - before;
    assert_eq!(misses, 40, "only the pages that are seen once");
}

#[test]
fn a_map_in_host_memory_costs_its_fetch() {
    let mut p = plain();
    p.ftl.as_mut().expect("page-mapped").map.location = MapLocation::HostMemory;
    p.ftl.as_mut().expect("page-mapped").map.window_kib = Some(4096);
    p.ftl.as_mut().expect("page-mapped").map.host_memory_us = Some(4.0);
    let mut d = filled(&p);
    one(&mut d, read(0, 0, 4096));
    let c = one(&mut d, read(0, 4096, 4096));
    assert_eq!(c.latency(), Nanos(flash_read() + 4_000));
}

#[test]
fn read_ahead_hides_the_array_from_sequential_reads() {
    let mut p = plain();
    p.controller.as_mut().expect("page-mapped").read_ahead_kib = 64;
    let mut d = filled(&p);
    let units = d.capacity().0 / 4096;
    let sequential = closed_loop(&mut d, 1, |i| (i < 4000).then(|| read(i, i * 4096, 4096)));
    let mut draw = Draw(1);
    let random = closed_loop(&mut d, 1, |i| {
        (i < 1000).then(|| read(i, draw.below(units) * 4096, 4096))
    });
    // Random reads see all of it; sequential ones come as fast as the four dies deliver, each
    // held for 50 µs and the bus.
    support::near(
        "random",
        random.mean_latency_us(),
        flash_read() as f64 / 1e3,
        0.01,
    );
    let dies = 4.0 * 4.096 / (50.0 + 4.096) * 1e3;
    support::near("sequential", sequential.mb_per_s(), dies, 0.03);
}
