//! Guarantees of flush, FUA and discard, and commands that are refused.

use crate::support;
use crate::support::plain::Flash;
use crate::support::{bare, device, discard, one, read, rest, sound, write};
use nandscope_device::profile::Profile;
use nandscope_device::{Command, CommandKind, Device, Fill, Status};
use nandscope_units::Nanos;

fn plain() -> Profile {
    Flash {
        channels: 2,
        dies_per_channel: 2,
        planes: 2,
        blocks: 40,
        pages_per_block: 64,
        page_kib: 16,
        mt_per_s: 1000.0,
        read_us: 50.0,
        program_us: 1000.0,
    }
    .profile(10)
}

fn fua(command: Command) -> Command {
    Command {
        kind: CommandKind::Write { fua: true },
        ..command
    }
}

const PROGRAM: Nanos = Nanos(1_000_000);

#[test]
fn a_flush_completes_after_every_program_of_what_came_before() {
    let mut d = device(&plain(), "direct");
    let c = one(&mut d, bare(1, CommandKind::Flush));
    assert_eq!(c.latency(), Nanos(0), "nothing is buffered");
    for i in 0..64 {
        one(&mut d, write(i, i * 32_768, 32_768));
    }
    // 64 program units on four dies are 16 successive programs per die.
    let c = one(&mut d, bare(2, CommandKind::Flush));
    assert!(c.completed >= PROGRAM * 16, "{}", c.completed);
    let c = one(&mut d, bare(3, CommandKind::Flush));
    assert_eq!(c.latency(), Nanos(0), "all of it is on the medium");
    sound(&d);
}

/// A flush with `ftl.journal_on_flush` programs the journal page that names the data it makes durable, once.
#[test]
fn a_flush_completes_the_journal_where_it_is_said_to() {
    for (on_flush, pages) in [(false, 0), (true, 1)] {
        let mut p = plain();
        let ftl = p.ftl.as_mut().expect("page-mapped");
        (ftl.journal_entries, ftl.journal_on_flush) = (512, on_flush);
        let mut d = device(&p, "direct");
        let mut metadata = 0;
        for i in 0..3 {
            one(&mut d, write(1, i * 4096, 4096));
            let data = one(&mut d, bare(2, CommandKind::Flush)).latency();
            assert!(data >= PROGRAM);
            metadata += pages;
            assert_eq!(d.counters().metadata.0, metadata * 4096, "flush {i}");
            // Nothing has changed since, so there is nothing to write.
            assert_eq!(one(&mut d, bare(3, CommandKind::Flush)).latency(), Nanos(0));
            assert_eq!(d.counters().metadata.0, metadata * 4096, "flush {i}");
        }
        one(&mut d, fua(write(4, 1 << 20, 4096)));
        assert_eq!(d.counters().metadata.0, (metadata + pages) * 4096, "FUA");
        sound(&d);
    }
}

#[test]
fn a_plain_write_is_buffered_and_fua_waits_for_the_medium() {
    let mut d = device(&plain(), "direct");
    assert!(one(&mut d, write(1, 0, 4096)).latency() < PROGRAM);
    let before = d.counters().padding;
    assert!(one(&mut d, fua(write(2, 4096, 4096))).latency() >= PROGRAM);
    assert!(
        d.counters().padding > before,
        "its program unit was closed early"
    );
    assert!(one(&mut d, write(3, 8192, 4096)).latency() < PROGRAM);
}

#[test]
fn capacitors_make_flush_and_fua_free() {
    let mut p = plain();
    p.controller
        .as_mut()
        .expect("page-mapped")
        .power_fail_hold_up = true;
    let mut d = device(&p, "direct");
    for i in 0..20 {
        one(&mut d, write(i, i * 4096, 4096));
    }
    assert_eq!(one(&mut d, bare(1, CommandKind::Flush)).latency(), Nanos(0));
    assert!(one(&mut d, fua(write(2, 4096, 4096))).latency() < PROGRAM);
}

#[test]
fn what_is_in_the_buffer_is_read_from_there() {
    let mut d = device(&plain(), "direct");
    one(&mut d, write(1, 0, 4096));
    let reads = d.counters().page_reads;
    assert!(one(&mut d, read(2, 0, 4096)).latency() < Nanos::from_micros(1));
    assert_eq!(d.counters().page_reads, reads);
    one(&mut d, bare(3, CommandKind::Flush));
    assert!(one(&mut d, read(4, 0, 4096)).latency() > Nanos::from_micros(50));
}

fn mapped(d: &mut Device, offset: u64) -> bool {
    let before = d.counters().page_reads;
    one(d, read(9, offset, 4096));
    d.counters().page_reads > before
}

#[test]
fn a_discard_takes_whole_units_and_leaves_those_it_covers_in_part() {
    let mut d = device(&plain(), "direct");
    assert!(d.precondition(1.0, Fill::Sequential));
    // From the middle of unit 10 to the middle of unit 20.
    one(&mut d, discard(1, 10 * 4096 + 2048, 10 * 4096));
    for unit in 0..30 {
        let expected = !(11..20).contains(&unit);
        assert_eq!(mapped(&mut d, unit * 4096), expected, "unit {unit}");
    }
    sound(&d);
}

#[test]
fn a_reader_without_discard_refuses_it_and_changes_nothing() {
    let p = support::profile("sm2708-250gb");
    let mut d = device(&p, "lexar-sr2");
    assert!(d.precondition(0.01, Fill::Sequential));
    let free = d.counters().free;
    let capacity = d.capacity().0;
    let c = one(&mut d, discard(1, 0, capacity.min(1 << 30)));
    assert_eq!(c.status, Status::Unsupported);
    assert_eq!(d.counters().free, free);
    assert_eq!(d.counters().host_discarded.0, 0);
    assert!(mapped(&mut d, 0));
}

#[test]
fn what_reaches_beyond_the_end_is_refused_whole() {
    let mut d = device(&plain(), "direct");
    let end = d.capacity().0;
    for command in [
        read(1, end - 4096, 8192),
        write(2, end - 4096, 8192),
        discard(3, end, 4096),
        read(4, 1 << 62, 4096),
    ] {
        assert_eq!(one(&mut d, command).status, Status::LbaOutOfRange);
    }
    assert_eq!(one(&mut d, write(5, end - 4096, 4096)).status, Status::Ok);
    assert_eq!(d.counters().host_written.0, 4096);
    rest(&mut d, Nanos::from_millis(10));
    sound(&d);
}

#[test]
fn less_than_a_unit_costs_a_read_of_the_rest() {
    let mut d = device(&plain(), "direct");
    assert!(d.precondition(1.0, Fill::Sequential));
    assert!(one(&mut d, write(1, 40_960, 4096)).latency() < Nanos::from_micros(50));
    let flush = |d: &mut Device| one(d, bare(0, CommandKind::Flush)).latency();
    flush(&mut d);
    let programmed = one(&mut d, write(2, 122_880, 4096)).latency() + flush(&mut d);
    // The buffer takes the part at once; the rest is read before the program.
    assert!(one(&mut d, write(3, 81_920, 512)).latency() < Nanos::from_micros(50));
    assert!(flush(&mut d) >= programmed + Nanos::from_micros(50));
    let before = d.counters().page_reads;
    one(&mut d, write(4, 400_896, 8192));
    flush(&mut d);
    assert_eq!(d.counters().page_reads, before + 2, "both ends are partial");
}
