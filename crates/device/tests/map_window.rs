//! A map that is only partly in RAM: look-ups of absent pages cost a flash read, or a fetch from host memory; with
//! read-ahead, sequential reads do not wait for the array.

use crate::support;
use crate::support::plain::{FAST_LINK, FOUR_DIES, link_ns, with_map_blocks};
use crate::support::{Draw, closed_loop, device, one, read, sound, write};
use nandscope_device::profile::Profile;
use nandscope_device::profile::schema::MapLocation;
use nandscope_device::{Device, Fill};
use nandscope_units::Nanos;

fn plain() -> Profile {
    with_map_blocks(FOUR_DIES).profile(16)
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
    // Four map pages of 1,024 entries each: 16 MiB in RAM.
    p.ftl.as_mut().expect("page-mapped").map.window_kib = Some(16);
    let mut d = filled(&p);
    // Changed map pages are in flash once they were evicted from the window.
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
    // A cycle through five map pages misses every time in a window of four.
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
    // CLOCK replacement gives a page that was used between two sweeps a second chance.
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

/// A map page in the controller's SRAM is not fetched again until another page has replaced it.
#[test]
fn a_fetch_from_host_memory_is_paid_once_where_the_controller_keeps_it() {
    let mut p = plain();
    let map = &mut p.ftl.as_mut().expect("page-mapped").map;
    map.location = MapLocation::HostMemory;
    (map.window_kib, map.host_memory_us, map.sram_kib) = (Some(4096), Some(4.0), Some(8));
    let mut d = filled(&p);
    let reach = 1024 * 4096;
    let mut latency = |at: u64| one(&mut d, read(0, at, 4096)).latency().0;
    // The first look-up of each page fetches it from flash to host memory, and to the controller.
    for page in 0..4 {
        latency(page * reach);
    }
    let fetched = flash_read() + 4_000;
    assert_eq!(
        latency(3 * reach + 4096),
        flash_read(),
        "two pages are kept"
    );
    assert_eq!(latency(2 * reach + 4096), flash_read());
    assert_eq!(latency(4096), fetched);
    assert_eq!(latency(8192), flash_read(), "it is kept now");
    // Writes look map pages up like reads, and the pages are cached as well.
    let misses = d.counters().map_misses;
    one(&mut d, write(1, reach + 4096, 4096));
    support::rest(&mut d, Nanos::from_millis(1));
    let after = one(&mut d, read(0, reach + 8192, 4096)).latency().0;
    assert_eq!(after, flash_read());
    assert_eq!(d.counters().map_misses, misses);
    sound(&d);
}

/// A map with `kib` in RAM, and a buffer of a single place.
fn one_place(kib: u32, read_us: f64, program_us: f64) -> Profile {
    let mut p = plain();
    p.nand.slc.read_us = vec![read_us];
    p.nand.slc.program_us = vec![program_us];
    p.ftl.as_mut().expect("page-mapped").map.location = MapLocation::Window;
    p.ftl.as_mut().expect("page-mapped").map.window_kib = Some(kib);
    p.controller.as_mut().expect("page-mapped").write_buffer_kib = 4;
    p
}

#[test]
fn a_write_beyond_the_window_keeps_its_place_in_the_buffer_until_the_map_page_came() {
    let mut d = filled(&one_place(16, 500.0, 100.0));
    let reach = 1024 * 4096;
    let link = link_ns(FAST_LINK, 4096);
    let fetch = 500_000 + 4_096;
    for page in 4..14 {
        let before = d.counters();
        let now = d.now();
        for tag in [0, 1] {
            let command = write(tag, page * reach + tag * 4096, 4096);
            d.submit(command, now).expect("in order");
        }
        let mut done = Vec::new();
        while done.len() < 2 {
            d.advance(Nanos::MAX, &mut done);
        }
        assert_eq!(done[0].latency(), Nanos(link), "acknowledged in the buffer");
        // The second write gets its place when the map page of the first has been fetched. If that page is on the
        // programming die, the program comes after the fetch.
        let waited = done[1].latency().0 - 2 * link;
        let program = 100_000;
        assert!(
            (fetch..=fetch + program).contains(&waited),
            "page {page}: {waited}"
        );
        assert_eq!(d.counters().map_misses, before.map_misses + 1);
        // One array read in total: the second look-up finds the page.
        assert_eq!(d.counters().page_reads, before.page_reads + 1);
        support::rest(&mut d, Nanos::from_millis(5));
        sound(&d);
    }
}

#[test]
fn reads_that_come_meanwhile_wait_for_the_same_fetch() {
    let mut p = plain();
    p.ftl.as_mut().expect("page-mapped").map.location = MapLocation::Window;
    p.ftl.as_mut().expect("page-mapped").map.window_kib = Some(16);
    let mut d = filled(&p);
    let reach = 1024 * 4096;
    let before = d.counters();
    let begun = d.now();
    // Two units of one map page, on different dies, of which none holds the map page itself.
    d.submit(read(0, 9 * reach, 4096), begun).expect("in order");
    let mut done = Vec::new();
    d.advance(begun + Nanos(30_000), &mut done);
    d.submit(read(1, 9 * reach + 3 * 4096, 4096), d.now())
        .expect("in order");
    while done.len() < 2 {
        d.advance(Nanos::MAX, &mut done);
    }
    assert_eq!(d.counters().map_misses, before.map_misses + 1);
    assert_eq!(d.counters().page_reads, before.page_reads + 3);
    let fetch = 50_000 + 4_096;
    assert_eq!(done[0].completed, begun + Nanos(fetch + flash_read()));
    // Both data reads begin when the map page has been fetched; one bus transfers them one after the other.
    assert_eq!(done[1].completed, done[0].completed + Nanos(4_096));
    sound(&d);
}

#[test]
fn random_writes_and_collection_miss_the_window_like_reads() {
    let mut p = plain();
    p.ftl.as_mut().expect("page-mapped").map.location = MapLocation::Window;
    p.ftl.as_mut().expect("page-mapped").map.window_kib = Some(16);
    let mut d = device(&p, "direct");
    assert!(d.precondition(1.0, Fill::Random { seed: 1 }));
    let units = d.capacity().0 / 4096;
    let mut draw = Draw(3);
    let mut writes = |d: &mut Device, count: u64| {
        closed_loop(d, 8, |i| {
            (i < count).then(|| write(i, draw.below(units) * 4096, 4096))
        })
    };
    writes(&mut d, 2 * units);
    let (before, count) = (d.counters(), units / 2);
    writes(&mut d, count);
    let after = d.counters();
    let moved = (after.gc_writes.0 - before.gc_writes.0) / 4096;
    let misses = (after.map_misses - before.map_misses) as f64;
    assert!(
        moved > count / 4,
        "collection is at work: {moved} of {count}"
    );
    // Four of these map pages are in RAM. Moving map pages needs no map page.
    let absent = 1.0 - 4.0 / (units as f64 / 1024.0);
    let most = (count + moved) as f64 * absent;
    assert!(misses <= most * 1.02, "{misses} of {most}");
    assert!(
        misses >= count as f64 * absent * 0.98 + moved as f64 * 0.5,
        "{misses} of {most}"
    );
    // A page fetched for a change is written back to flash when it is evicted.
    let written = (after.metadata.0 - before.metadata.0) as f64 / 4096.0;
    support::near("map pages written", written, misses, 0.02);
    sound(&d);
}

#[test]
fn writes_fetch_the_map_from_host_memory_too() {
    let mut p = one_place(4096, 50.0, 1.0);
    p.ftl.as_mut().expect("page-mapped").map.location = MapLocation::HostMemory;
    p.ftl.as_mut().expect("page-mapped").map.host_memory_us = Some(100.0);
    let mut d = filled(&p);
    let now = d.now();
    for tag in [0, 1] {
        d.submit(write(tag, tag * 4096, 4096), now)
            .expect("in order");
    }
    let mut done = Vec::new();
    while done.len() < 2 {
        d.advance(Nanos::MAX, &mut done);
    }
    let link = link_ns(FAST_LINK, 4096);
    assert_eq!(done[0].latency(), Nanos(link));
    assert_eq!(done[1].latency(), Nanos(2 * link + 100_000));
    sound(&d);
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
    // Random reads wait for the full map fetch; sequential reads are limited by the four dies, each busy for 50 µs and
    // the bus time.
    support::near(
        "random",
        random.mean_latency_us(),
        flash_read() as f64 / 1e3,
        0.01,
    );
    let dies = 4.0 * 4.096 / (50.0 + 4.096) * 1e3;
    support::near("sequential", sequential.mb_per_s(), dies, 0.03);
}
