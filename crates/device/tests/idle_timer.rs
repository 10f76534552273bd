//! A device keeps one idle timer, whatever the host does: neither events nor memory accumulate.

use crate::support::card;
use crate::support::plain::Flash;
use crate::support::{Draw, bare, closed_loop, device, discard, read, sound, write};
use nandscope_device::{CommandKind, Device};

fn drive() -> Device {
    let flash = Flash {
        channels: 2,
        dies_per_channel: 2,
        planes: 1,
        blocks: 40,
        pages_per_block: 32,
        page_kib: 16,
        mt_per_s: 1000.0,
        read_us: 50.0,
        program_us: 200.0,
    };
    let mut p = flash.profile(12);
    p.controller.as_mut().expect("page-mapped").write_us = 5.0;
    device(&p, "direct")
}

/// Size of the whole state, bytes, after `commands` commands of various kinds to the same few addresses.
fn state_after(d: &mut Device, commands: u64, depth: u32) -> usize {
    let mut draw = Draw(commands);
    closed_loop(d, depth, |i| {
        let at = draw.below(64) * 16_384;
        (i < commands).then(|| match draw.below(16) {
            0..=3 => read(i, at, 16_384),
            4 => discard(i, at, 16_384),
            5 => bare(i, CommandKind::Flush),
            _ => write(i, at, 16_384),
        })
    });
    sound(d);
    d.save().expect("saves").len()
}

#[test]
fn idle_events_do_not_pile_up_in_a_drive() {
    let mut d = drive();
    let first = state_after(&mut d, 12_000, 1);
    let later = state_after(&mut d, 30_000, 1);
    assert!(later < first + 5_000, "{first} bytes, then {later}");
}

#[test]
fn idle_events_do_not_pile_up_in_a_card() {
    let mut p = card::plain();
    let section = card::section(&mut p);
    section.deferred_merges = 4;
    section.merge_after_ms = 1e7;
    let mut d = device(&p, "direct");
    let first = state_after(&mut d, 12_000, 1);
    let later = state_after(&mut d, 30_000, 1);
    assert!(later < first + 5_000, "{first} bytes, then {later}");
}

/// The state of a device that has done 100 million commands is as large as after the first million.
#[test]
#[ignore = "slow: 100 million commands"]
fn slow_memory_is_flat_over_100_million_commands() {
    let mut d = drive();
    let first = state_after(&mut d, 1_000_000, 16);
    for _ in 0..99 {
        let later = state_after(&mut d, 1_000_000, 16);
        assert!(later < first + 5_000, "{first} bytes, then {later}");
    }
}
