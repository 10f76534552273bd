//! Cost of a discard: a journal entry, and the map pages with mapped units.

use crate::support::plain::{FOUR_DIES, with_map_blocks};
use crate::support::{self, bare, closed_loop, device, discard, one, sound, write};
use nandscope_device::profile::Profile;
use nandscope_device::profile::schema::MapLocation;
use nandscope_device::{CommandKind, Device, Fill};
use nandscope_units::Nanos;

/// Units of a map page.
const PER_PAGE: u64 = 1024;

fn windowed() -> Profile {
    let mut p = with_map_blocks(FOUR_DIES).profile(16);
    let ftl = p.ftl.as_mut().expect("page-mapped");
    ftl.map.location = MapLocation::Window;
    ftl.map.window_kib = Some(16);
    ftl.journal_entries = 64;
    p
}

fn pages(d: &Device) -> u64 {
    (d.capacity().0 / 4096).div_ceil(PER_PAGE)
}

fn metadata(d: &Device) -> u64 {
    d.counters().metadata.0 / 4096
}

#[test]
fn a_discard_of_everything_with_one_unit_mapped_programs_next_to_nothing() {
    let mut d = device(&windowed(), "direct");
    one(&mut d, write(0, 40 * 4096, 4096));
    let (before, capacity) = (metadata(&d), d.capacity().0);
    one(&mut d, discard(1, 0, capacity));
    one(&mut d, bare(2, CommandKind::Flush));
    assert!(
        metadata(&d) - before <= 1,
        "{} pages",
        metadata(&d) - before
    );
    assert_eq!(d.counters().page_reads, 0, "the page of the map is loaded");
    sound(&d);
}

#[test]
fn a_discard_of_everything_looks_at_each_page_of_the_map_once_and_writes_none() {
    let mut d = device(&windowed(), "direct");
    assert!(d.precondition(1.0, Fill::Random { seed: 2 }));
    let (before, capacity) = (d.counters(), d.capacity().0);
    let begun = d.now();
    one(&mut d, discard(1, 0, capacity));
    assert!(
        d.now() - begun < Nanos::from_micros(1),
        "it is journaled and acknowledged"
    );
    // The next write waits until the discard has taken effect: the map pages are read from four dies over one channel.
    let c = one(&mut d, write(2, 0, 4096));
    let absent = pages(&d) - 4;
    let reads = d.counters().page_reads - before.page_reads;
    assert!((absent..=pages(&d)).contains(&reads), "{reads} reads");
    let least = (absent / 4) * 50_000;
    let most = pages(&d) * (50_000 + 4_096);
    assert!((least..=most).contains(&c.latency().0), "{}", c.latency());
    assert!(metadata(&d) - before.metadata.0 / 4096 <= 2);
    sound(&d);
    // After the discard, reads need no data and no map pages from flash.
    support::rest(&mut d, Nanos::from_secs(1));
    let reads = d.counters().page_reads;
    for place in 1..pages(&d) {
        one(&mut d, support::read(3, place * PER_PAGE * 4096, 4096));
    }
    assert_eq!(d.counters().page_reads, reads);
    sound(&d);
}

#[test]
fn a_discard_takes_effect_in_its_turn() {
    // Data written before the discard is unmapped, data written after it stays: for the range of one map page,
    // discarded while the page is being fetched.
    let mut d = device(&windowed(), "direct");
    assert!(d.precondition(1.0, Fill::Sequential));
    let now = d.now();
    let place = 20 * PER_PAGE * 4096;
    d.submit(discard(0, place, 512 * 4096), now)
        .expect("in order");
    d.submit(write(1, place, 4096), now).expect("in order");
    let mut done = Vec::new();
    while done.len() < 2 {
        d.advance(Nanos::MAX, &mut done);
    }
    one(&mut d, bare(2, CommandKind::Flush));
    support::rest(&mut d, Nanos::from_secs(1));
    let (before, link) = (d.counters().page_reads, Nanos::from_micros(50));
    assert!(one(&mut d, support::read(3, place, 4096)).latency() > link);
    assert!(one(&mut d, support::read(4, place + 4096, 4096)).latency() < link);
    assert_eq!(d.counters().page_reads, before + 1);
    sound(&d);
}

/// A discard does not overtake an earlier write that waits for room in the buffer. Its turn comes when the last page of
/// the write is on the link; there is no order between the two.
#[test]
fn a_discard_does_not_pass_a_write_that_waits() {
    let mut p = windowed();
    p.ftl.as_mut().expect("page-mapped").map.location = MapLocation::Dram;
    p.ftl.as_mut().expect("page-mapped").map.window_kib = None;
    p.controller.as_mut().expect("page-mapped").write_buffer_kib = 64;
    let mut d = device(&p, "direct");
    let now = d.now();
    let bytes = 1 << 20;
    d.submit(write(0, 0, bytes), now).expect("in order");
    d.submit(discard(1, 0, u64::from(bytes)), now)
        .expect("in order");
    let mut done = Vec::new();
    while done.len() < 2 {
        d.advance(Nanos::MAX, &mut done);
    }
    one(&mut d, bare(2, CommandKind::Flush));
    one(&mut d, support::read(3, 0, bytes));
    let left = u64::from(bytes) - d.counters().unmapped_read.0;
    assert!(left <= 4096, "{left} bytes of the write");
    sound(&d);
}

#[test]
fn discards_with_the_map_in_dram_cost_their_record() {
    let mut p = windowed();
    p.ftl.as_mut().expect("page-mapped").map.location = MapLocation::Dram;
    p.ftl.as_mut().expect("page-mapped").map.window_kib = None;
    let mut d = device(&p, "direct");
    assert!(d.precondition(1.0, Fill::Sequential));
    let before = metadata(&d);
    closed_loop(&mut d, 1, |i| {
        (i < 640).then(|| discard(i, i * 1_048_576 / 8, 131_072))
    });
    // One entry each, and 64 of them per journal page.
    assert_eq!(metadata(&d) - before, 10);
    sound(&d);
}
