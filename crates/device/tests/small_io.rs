//! Reads and writes of less than a mapping unit: adjacent parts join in the write buffer, missing parts are read before the
//! program, and read-ahead follows the sectors of a stream.

use crate::support::plain::{FAST_LINK, Flash, link_ns};
use crate::support::{self, Draw, bare, closed_loop, device, near, one, read, sound, write};
use nandscope_device::profile::Profile;
use nandscope_device::{CommandKind, Device, Fill};
use nandscope_units::Nanos;
use std::collections::BTreeSet;

const HALF: u32 = 2048;

fn plain(page_kib: u32) -> Profile {
    Flash {
        channels: 1,
        dies_per_channel: 4,
        planes: 1,
        blocks: 80,
        pages_per_block: 256,
        page_kib,
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

#[test]
fn halves_written_in_sequence_are_programmed_once_and_nothing_is_read() {
    for (page_kib, depth, mapped) in [(4, 1, true), (4, 8, true), (16, 1, true), (16, 1, false)] {
        let p = plain(page_kib);
        let mut d = if mapped {
            filled(&p)
        } else {
            device(&p, "direct")
        };
        let run = closed_loop(&mut d, depth, |i| {
            (i < 8000).then(|| write(i, i * u64::from(HALF), HALF))
        });
        one(&mut d, bare(0, CommandKind::Flush));
        let c = d.counters();
        let own = c.flash_programmed.0 - c.gc_writes.0 - c.padding.0;
        // The half unit that empties a superblock: its rest is read before the erase, so that no other half can be
        // merged.
        let superblock = 4 * 256 * u64::from(page_kib) * 1024;
        let emptied = if mapped { run.bytes / superblock } else { 0 };
        let what = format!("{page_kib} KiB pages, {depth} at once");
        assert_eq!(own, run.bytes + emptied * 4096, "{what}");
        assert_eq!(c.page_reads, emptied, "{what}");
        sound(&d);
    }
}

#[test]
fn a_program_waits_for_the_old_data_around_a_small_write() {
    let mut d = filled(&plain(4));
    let written = one(&mut d, write(0, 40 * 4096, HALF));
    let link = link_ns(FAST_LINK, u64::from(HALF));
    assert_eq!(written.latency(), Nanos(link), "acknowledged in the buffer");
    assert_eq!(d.counters().page_reads, 0, "its other half may come next");
    sound(&d);
    let flushed = one(&mut d, bare(1, CommandKind::Flush));
    let merged = 50_000 + 4_096 + 4_096 + 100_000;
    assert_eq!(flushed.latency(), Nanos(merged));
    assert_eq!(d.counters().page_reads, 1);
    // A unit that was never written has no other half to read.
    let mut d = device(&plain(4), "direct");
    one(&mut d, write(0, 40 * 4096, HALF));
    let flushed = one(&mut d, bare(1, CommandKind::Flush));
    assert_eq!(flushed.latency(), Nanos(4_096 + 100_000));
    sound(&d);
}

#[test]
fn random_halves_cost_a_read_and_a_program_each() {
    let mut d = filled(&plain(4));
    let units = d.capacity().0 / 4096;
    let mut draw = Draw(5);
    let count = 3000;
    let mut distinct = BTreeSet::new();
    let run = closed_loop(&mut d, 4, |i| {
        (i < count).then(|| {
            let unit = draw.below(units);
            distinct.insert(unit);
            write(i, unit * 4096 + draw.below(2) * 2048, HALF)
        })
    });
    one(&mut d, bare(0, CommandKind::Flush));
    let c = d.counters();
    let own = c.flash_programmed.0 - c.gc_writes.0 - c.padding.0;
    near("programs", own as f64, 2.0 * run.bytes as f64, 0.01);
    // The buffer holds all the data, so that rewritten parts are merged in it.
    near("reads", c.page_reads as f64, distinct.len() as f64, 0.002);
    sound(&d);
}

#[test]
fn read_ahead_follows_small_reads_and_several_streams() {
    let mut p = plain(4);
    p.controller.as_mut().expect("page-mapped").read_ahead_kib = 64;
    // Each of four dies delivers a page per 50 µs and bus time.
    let dies = 4.0 * 4.096 / (50.0 + 4.096) * 1e3;
    for length in [512, 2048, 3072, 4096] {
        let mut d = filled(&p);
        let run = closed_loop(&mut d, 1, |i| {
            (i < 20_000).then(|| read(i, i * u64::from(length), length))
        });
        near(&format!("{length} B"), run.mb_per_s(), dies, 0.03);
    }
    for streams in [2u64, 4] {
        let mut d = filled(&p);
        let apart = d.capacity().0 / streams / 4096 * 4096;
        let run = closed_loop(&mut d, 1, |i| {
            let (stream, place) = (i % streams, i / streams);
            (i < 8_000).then(|| read(i, stream * apart + place * 4096, 4096))
        });
        near(&format!("{streams} streams"), run.mb_per_s(), dies, 0.05);
        // A fifth stream would replace the least recently used one.
        support::rest(&mut d, Nanos::from_millis(1));
        sound(&d);
    }
}

#[test]
fn small_sequential_streams_on_a_card_of_the_library() {
    // A controller without DRAM on one lane: sequential reads of 2 KiB cost it as much flash time as reads of 4 KiB.
    let p = support::profile("sm2708-250gb");
    let mut d = device(&p, "direct");
    let span = 64 << 20;
    closed_loop(&mut d, 8, |i| {
        (i < span / 131_072).then(|| write(i, i * 131_072, 131_072))
    });
    one(&mut d, bare(0, CommandKind::Flush));
    let before = d.counters();
    closed_loop(&mut d, 4, |i| {
        (i < 16_384).then(|| write(i, i * u64::from(HALF), HALF))
    });
    one(&mut d, bare(0, CommandKind::Flush));
    let wrote = d.counters().since(&before);
    assert!(wrote.write_amplification() < 1.02, "{wrote:?}");
    let mut rate = |length: u32| {
        let count = u64::from((16 << 20) / length);
        let run = closed_loop(&mut d, 1, |i| {
            (i < count).then(|| read(i, (32 << 20) + i * u64::from(length), length))
        });
        run.mb_per_s()
    };
    // Sequential reads cost only the command time, which is the same for half a unit.
    let (half, whole) = (rate(HALF), rate(4096));
    assert!(
        half > 0.45 * whole,
        "{half} MB/s in halves, {whole} in whole units"
    );
    sound(&d);
}
