//! Host reads during writes and garbage collection, on whole devices: a read waits for the background read that is under
//! way and for one page transfer of a program unit on its channel, but not for the operations queued after them.

use crate::support::plain::{FAST_LINK, Flash, link_ns};
use crate::support::{Draw, bare, device, one, read, rest, sound, write};
use nandscope_device::{CommandKind, Completion, Fill};
use nandscope_units::Nanos;

const UNIT: u64 = 4096;

/// One channel of 400 MT/s, on which a page of 16 KiB takes 40.96 µs and a program unit of eight planes 328 µs.
const SLOW_CHANNEL: Flash = Flash {
    channels: 1,
    dies_per_channel: 2,
    planes: 8,
    blocks: 24,
    pages_per_block: 32,
    page_kib: 16,
    mt_per_s: 400.0,
    read_us: 50.0,
    program_us: 1000.0,
};

#[test]
fn a_read_waits_for_a_page_of_a_program_unit_on_its_channel() {
    let (page_ns, unit_ns) = (40_960, 10_240);
    let program_unit = 8 * 16 * 1024;
    let p = SLOW_CHANNEL.profile(8);
    for delay_ns in (0..236_000).step_by(7_001) {
        // Data on each of the two dies.
        for at in [0, program_unit] {
            let mut d = device(&p, "direct");
            assert!(d.precondition(0.5, Fill::Sequential));
            let free = d.capacity().0 * 3 / 4 / program_unit * program_unit;
            let begun = one(&mut d, write(1, free, program_unit as u32)).completed;
            rest(&mut d, Nanos(delay_ns));
            let got = one(&mut d, read(2, at, UNIT as u32));
            let page_read = delay_ns + 50_000;
            let boundary = page_read.next_multiple_of(page_ns);
            let over = boundary + unit_ns + link_ns(FAST_LINK, UNIT);
            assert_eq!(got.completed - begun, Nanos(over), "after {delay_ns} ns");
            // The read delays the program unit by its own time on the channel.
            let flush = one(&mut d, bare(3, CommandKind::Flush)).completed;
            let programmed = 8 * page_ns + unit_ns + 1_000_000;
            assert_eq!(flush - begun, Nanos(programmed), "after {delay_ns} ns");
            sound(&d);
        }
    }
}

/// One die whose pages are mapping units. Its programs and erases take almost no time, so that reads wait only for
/// reads.
const ONE_DIE: Flash = Flash {
    channels: 1,
    dies_per_channel: 1,
    planes: 1,
    blocks: 80,
    pages_per_block: 64,
    page_kib: 4,
    mt_per_s: 1000.0,
    read_us: 50.0,
    program_us: 1.0,
};

#[test]
fn a_host_read_passes_the_reads_of_collection() {
    let mut p = ONE_DIE.profile(8);
    p.nand.slc.erase_us = 1.0;
    // Garbage collection queues up to 32 reads at the die.
    p.ftl.as_mut().expect("page-mapped").relocation_units = 32;
    let mut d = device(&p, "direct");
    assert!(d.precondition(1.0, Fill::Random { seed: 1 }));
    let units = d.capacity().0 / UNIT;
    d.overwrite_randomly(4 * units, 1);
    let mut draw = Draw(7);
    let mut done: Vec<Completion> = Vec::new();
    let mut reads = Vec::new();
    let (mut next_read, mut writing) = (Some(d.now()), false);
    let before = d.counters();
    while reads.len() < 10_000 {
        if next_read.is_some_and(|at| at <= d.now()) {
            let command = read(0, draw.below(units) * UNIT, UNIT as u32);
            d.submit(command, d.now()).expect("in order");
            next_read = None;
        }
        if !writing {
            let command = write(1, draw.below(units) * UNIT, UNIT as u32);
            d.submit(command, d.now()).expect("in order");
            writing = true;
        }
        d.advance(next_read.unwrap_or(Nanos::MAX), &mut done);
        for c in done.drain(..) {
            if c.tag == 1 {
                writing = false;
                continue;
            }
            reads.push(c.latency().0);
            // Pauses in which collection reads.
            next_read = Some(d.now() + Nanos(draw.below(200_000)));
        }
    }
    let after = d.counters();
    let moved = (after.gc_writes.0 - before.gc_writes.0) / UNIT;
    assert!(moved > 10_000, "collection is at work: {moved}");
    sound(&d);
    // An array read, its transfer, and one page of a program that is on the channel before it.
    let background = 50_000 + 2 * 4_096;
    let own = background + link_ns(FAST_LINK, UNIT);
    let instant = 2_000 + 2 * 4_096;
    let within = |others: u64| own + others * background + instant;
    // The read under way, and one started after 32 host reads.
    let longest = reads.iter().max().expect("reads");
    assert!(*longest <= within(2), "{longest}");
    let waited_twice = reads.iter().filter(|ns| **ns > within(1)).count();
    assert!(waited_twice <= reads.len() / 32 + 1, "{waited_twice}");
    let waited = reads
        .iter()
        .filter(|ns| **ns > own + background / 2)
        .count();
    assert!(waited > reads.len() / 10, "reads meet collection: {waited}");
}
