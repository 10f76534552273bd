//! Garbage collection during host writes: a write waits for a bounded amount of it, however little the victims yield.

use crate::support::plain::Flash;
use crate::support::{Draw, device, one, read, rest, sound, write};
use nandscope_device::profile::Profile;
use nandscope_device::{Device, Fill};
use nandscope_units::Nanos;

const PAGE: u64 = 16 * 1024;
const SUPERBLOCK: u64 = 8 * 32 * PAGE;
const WRITES: u64 = 40_000;

/// 8 dies with few blocks, nearly full: victims hold little invalid data.
fn nearly_full(spare: u32) -> Profile {
    let flash = Flash {
        channels: 4,
        dies_per_channel: 2,
        planes: 1,
        blocks: 180,
        pages_per_block: 32,
        page_kib: 16,
        mt_per_s: 800.0,
        read_us: 50.0,
        program_us: 400.0,
    };
    let mut p = flash.profile(spare);
    p.ftl.as_mut().expect("page-mapped").collection_start = 4;
    p.ftl.as_mut().expect("page-mapped").relocation_units = 8;
    p.controller.as_mut().expect("page-mapped").write_buffer_kib = 1024;
    p
}

/// A device after random overwrites of four times its capacity, in the steady state.
fn aged(p: &Profile) -> Device {
    let mut d = device(p, "direct");
    assert!(d.precondition(1.0, Fill::Random { seed: 3 }));
    d.overwrite_randomly(4 * d.capacity().0 / 4096, 1);
    d
}

/// Measurements of random writes to the first `share` of the device at queue depth 1.
struct Met {
    write_amplification: f64,
    /// Largest number of pages moved between two completions.
    most_moved: u64,
    /// Sorted latencies.
    latencies: Vec<Nanos>,
}

fn random_writes(d: &mut Device, share: f64) -> Met {
    let places = ((d.capacity().0 / 4096) as f64 * share) as u64;
    let mut draw = Draw(7);
    let begin = d.counters();
    let moved = |d: &Device| d.counters().gc_writes.0 + d.counters().refreshed.0;
    let (mut before, mut most_moved, mut latencies) = (moved(d), 0, Vec::new());
    for i in 0..WRITES {
        let c = one(d, write(i, draw.below(places) * 4096, 4096));
        latencies.push(c.latency());
        let now = moved(d);
        most_moved = most_moved.max((now - before) / PAGE);
        before = now;
    }
    sound(d);
    let end = d.counters();
    let programmed = end.flash_programmed.0 - begin.flash_programmed.0;
    latencies.sort_unstable();
    Met {
        write_amplification: programmed as f64 / (end.host_written.0 - begin.host_written.0) as f64,
        most_moved,
        latencies,
    }
}

/// Maximum number of pages that relocation may move per write: those under way, and twice the mean per write.
fn share_of_collection(p: &Profile, met: &Met) -> u64 {
    let units_per_page = PAGE as f64 / 4096.0;
    let under_way = p.ftl.as_ref().expect("page-mapped").relocation_units;
    u64::from(under_way) + (2.0 * met.write_amplification / units_per_page) as u64
}

#[test]
fn a_write_waits_for_its_share_of_collection() {
    for spare in [8, 9, 12, 20] {
        let p = nearly_full(spare);
        let met = random_writes(&mut aged(&p), 1.0);
        let most = share_of_collection(&p, &met);
        assert!(
            met.most_moved <= most,
            "{spare} spare superblocks: a write waited for {} pages, {most} are its share",
            met.most_moved
        );
        // A few programs of 400 µs, and a die's erase of 1 ms. Moving a superblock takes 100 ms.
        let p9999 = met.latencies[met.latencies.len() * 9999 / 10_000];
        assert!(
            p9999 < Nanos::from_micros_f64(8.0 * 400.0 + 1000.0),
            "{spare} spare superblocks: p99.99 is {p9999}"
        );
    }
}

/// After a fill in random order, hardly any data of a victim is invalid, and a superblock has many units: moving a
/// program unit yields far less than a unit.
#[test]
fn a_write_waits_for_its_share_of_collection_after_a_fill() {
    let (blocks, spare, start) = (180u32, 9, 6);
    let flash = Flash {
        channels: 4,
        dies_per_channel: 2,
        planes: 1,
        blocks,
        pages_per_block: 1024,
        page_kib: 16,
        mt_per_s: 800.0,
        read_us: 50.0,
        program_us: 400.0,
    };
    let mut p = flash.profile(spare);
    p.ftl.as_mut().expect("page-mapped").collection_start = start;
    p.ftl.as_mut().expect("page-mapped").relocation_units = 16;
    p.controller.as_mut().expect("page-mapped").write_buffer_kib = 1024;
    let mut d = device(&p, "direct");
    assert!(d.precondition(1.0, Fill::Random { seed: 3 }));
    let places = d.capacity().0 / 4096;
    let mut draw = Draw(7);
    let moved = |d: &Device| d.counters().gc_writes.0 / PAGE;
    let (mut before, mut most_moved) = (0, 0);
    // Until two superblocks are moved.
    while before < 2 * flash.superblock_bytes() / PAGE {
        one(&mut d, write(0, draw.below(places) * 4096, 4096));
        let now = moved(&d);
        most_moved = most_moved.max(now - before);
        before = now;
    }
    sound(&d);
    // The host has overwritten at least two superblocks when collection begins, and a victim has its share of that.
    // With one free superblock beyond the last, credit is worth the least.
    let least_yield = 2.0 / f64::from(blocks - spare);
    let pages = f64::from(start - 1) / least_yield * 4096.0 / PAGE as f64;
    assert!(
        most_moved <= 16 + pages as u64,
        "a write waited for {most_moved} pages, {pages} are its share"
    );
}

/// Wear levelling moves only superblocks full of valid data, which frees no space.
#[test]
fn a_write_does_not_wait_for_the_wear_levelling_of_a_superblock() {
    let mut p = nearly_full(12);
    p.ftl.as_mut().expect("page-mapped").wear_spread_cycles = 1;
    let mut d = aged(&p);
    let before = d.counters().refreshed;
    let met = random_writes(&mut d, 0.5);
    let levelled = d.counters().refreshed.0 - before.0;
    assert!(levelled > SUPERBLOCK, "{levelled} bytes were levelled");
    let most = share_of_collection(&p, &met);
    assert!(
        met.most_moved <= most,
        "a write waited for {} pages, {most} are its share",
        met.most_moved
    );
}

/// Background operations of eMMC: collection continues in idle time beyond its start.
#[test]
fn collection_in_idle_time_makes_room() {
    // Free superblocks after a rest, and bytes moved during it.
    let after_rest = |spare, idle_collection| {
        let mut p = nearly_full(spare);
        p.ftl.as_mut().expect("page-mapped").idle_collection = idle_collection;
        let mut d = aged(&p);
        // Idle time begins after a command.
        random_writes(&mut d, 1.0);
        let before = d.counters();
        rest(&mut d, Nanos::from_secs(20));
        sound(&d);
        let after = d.counters();
        (
            after.free.0 / SUPERBLOCK,
            after.gc_writes.0 - before.gc_writes.0,
        )
    };
    let (free, moved) = after_rest(60, 0);
    assert!(
        free < 8 && moved < 3 * SUPERBLOCK,
        "off: {free} free, {moved} moved"
    );
    let (free, moved) = after_rest(60, 16);
    assert!((16..=18).contains(&free), "{free} superblocks are free");
    // At most half of a victim is valid: no more bytes are moved than are freed.
    assert!(moved <= 18 * SUPERBLOCK, "{moved} bytes were moved");
    // If all victims are more than half valid, idle collection does nothing, to save wear: counts are as without it.
    let (free, moved) = after_rest(9, 0);
    assert!(free < 8, "{free} superblocks are free");
    assert_eq!(after_rest(9, 16), (free, moved));
}

#[test]
fn a_command_waits_for_one_unit_of_relocation_and_not_for_a_program_unit() {
    // A program unit has four units of 4 KiB, each of which takes the only core 200 µs.
    let mut p = nearly_full(20);
    p.ftl.as_mut().expect("page-mapped").relocation_units = 1;
    let controller = p.controller.as_mut().expect("page-mapped");
    (controller.cores, controller.relocate_unit_us) = (1, 200.0);
    let mut d = device(&p, "direct");
    assert!(d.precondition(0.97, Fill::Random { seed: 3 }));
    let units = d.capacity().0 / 4096;
    let written = units * 97 / 100;
    let mut draw = Draw(7);
    let mut longest = Nanos::ZERO;
    let mut completions = Vec::new();
    for i in 0..WRITES {
        let place = draw.below(written - 1) * 4096;
        d.submit(write(0, place, 4096), d.now()).expect("in order");
        // A later read of a unit that was never written: it needs only the core and the link.
        let later = d.now() + Nanos(1000 * draw.below(2000));
        while d.next_event().is_some_and(|at| at <= later) {
            d.advance(later, &mut completions);
        }
        d.submit(read(1, (units - 1) * 4096, 4096), later)
            .expect("in order");
        while d.next_event().is_some() && completions.len() < 2 {
            d.advance(Nanos::MAX, &mut completions);
        }
        let reads = completions.drain(..).filter(|c| c.tag == 1);
        longest = reads.map(|c| c.latency()).fold(longest, Nanos::max);
        if i % 1000 == 0 {
            sound(&d);
        }
    }
    sound(&d);
    assert!(d.counters().gc_writes.0 > 0);
    assert!(longest > Nanos(100_000), "{longest:?}");
    assert!(longest < Nanos(250_000), "{longest:?}");
}

/// With bursts of n units, n writes go through at a time, and then one waits until collection has made room for the
/// next n. What is moved for a unit stays the same.
#[test]
fn collection_in_bursts_makes_room_for_many_writes_at_once() {
    let burst_units = 64;
    let continuous = nearly_full(12);
    let mut in_bursts = continuous.clone();
    let ftl = in_bursts.ftl.as_mut().expect("page-mapped");
    ftl.collection_burst_kib = Some(burst_units * 4);
    let even = random_writes(&mut aged(&continuous), 1.0);
    let met = random_writes(&mut aged(&in_bursts), 1.0);
    let ratio = met.write_amplification / even.write_amplification;
    assert!((0.97..1.03).contains(&ratio), "write amplification {ratio}");
    // A buffered write takes microseconds, one that waits for collection at least a read and a program.
    let waits = |met: &Met| met.latencies.iter().filter(|l| l.0 > 400_000).count();
    let apart = WRITES as f64 / waits(&met) as f64;
    // Programs under way at the end of a burst add what they free.
    let under_way = f64::from(
        in_bursts
            .ftl
            .as_ref()
            .expect("page-mapped")
            .relocation_units,
    );
    let expected = f64::from(burst_units)..f64::from(burst_units) + 2.0 * under_way;
    assert!(
        expected.contains(&apart),
        "a write waits every {apart} writes, and not every {expected:?}"
    );
    assert!(met.latencies[WRITES as usize * 9 / 10] < even.latencies[WRITES as usize * 9 / 10]);
}
