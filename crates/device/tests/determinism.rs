//! The same profile, host, seed and commands give the same completions, bit for bit: on a second
//! run, on a clone, after saving and loading, and on every platform and optimisation level (a
//! golden number). Damaged snapshots are refused.

use crate::support;
use crate::support::{Draw, device, profile, sound};
use nandscope_device::{Command, CommandKind, Completion, Device, Fill, SnapshotError};
use nandscope_units::{Fnv1a, Lba, Nanos};

/// A busy device that uses every mechanism: SLC cache, map window, folding, journal.
fn card() -> Device {
    let mut p = profile("sm2708-250gb");
    p.nand.blocks_per_plane = 60;
    p.nand.word_lines = 16;
    p.nand.factory_bad_percent = 0.0;
    p.ftl.as_mut().expect("page-mapped").map.window_kib = Some(16);
    p.ftl.as_mut().expect("page-mapped").collection_start = 4;
    if let Some(slc) = p.ftl.as_mut().expect("page-mapped").slc_cache.as_mut() {
        slc.dynamic_gb = 0.02;
        slc.fold_after_ms = 20.0;
    }
    p.device.capacity_bytes = 40 * 4 * 2 * 16 * 3 * 16_384;
    let mut d = device(&p, "rtl9211ds");
    assert!(d.precondition(0.7, Fill::Random { seed: 4 }));
    d
}

/// Runs `count` commands drawn from `draw`, sixteen at a time, with pauses; returns a checksum of all completions
/// (FNV-1a).
fn play(d: &mut Device, draw: &mut Draw, count: u64) -> u64 {
    let sectors = d.capacity().0 / 512;
    let mut sum = Fnv1a::new();
    let mut mix = |c: &Completion| {
        for word in [c.tag, c.status as u64, c.submitted.0, c.completed.0] {
            sum.add(word);
        }
    };
    let mut done = Vec::new();
    let mut open = 0;
    for tag in 0..count {
        let kind = match draw.below(16) {
            0..=5 => CommandKind::Read,
            6..=12 => CommandKind::Write { fua: false },
            13 => CommandKind::Write { fua: true },
            14 => CommandKind::Flush,
            _ => CommandKind::Discard,
        };
        let size = 1 + draw.below(256) as u32;
        let command = Command {
            tag,
            kind,
            lba: Lba(draw.below(sectors - 256)),
            sectors: if kind == CommandKind::Flush { 0 } else { size },
        };
        d.submit(command, d.now()).expect("in order");
        open += 1;
        while open >= 16 {
            assert!(d.next_event().is_some(), "stuck: {:?}", d.counters());
            d.advance(Nanos::MAX, &mut done);
            open -= done.len();
            done.drain(..).for_each(|c| mix(&c));
        }
        if draw.below(100) == 0 {
            let until = d.now() + Nanos::from_millis(30);
            while d.now() < until {
                d.advance(until, &mut done);
                open -= done.len();
                done.drain(..).for_each(|c| mix(&c));
            }
        }
    }
    while open > 0 {
        assert!(d.next_event().is_some(), "stuck: {:?}", d.counters());
        d.advance(Nanos::MAX, &mut done);
        open -= done.len();
        done.drain(..).for_each(|c| mix(&c));
    }
    sum.sum()
}

#[test]
fn twice_the_same_commands_give_the_same_completions() {
    let run = || {
        let mut d = card();
        let sum = play(&mut d, &mut Draw(1), 5_000);
        sound(&d);
        (sum, d.now(), d.telemetry(), d.save().expect("saves"))
    };
    let (first, second) = (run(), run());
    assert_eq!(first.0, second.0);
    assert_eq!((first.1, first.2), (second.1, second.2));
    assert!(first.3 == second.3, "the whole state is the same");
}

#[test]
fn a_golden_number_for_every_platform_and_optimisation_level() {
    // This number changes whenever the model's behaviour does. If that was intended, write the new number.
    let mut d = card();
    let sum = play(&mut d, &mut Draw(1), 5_000);
    assert_eq!(
        (format!("{sum:016x}"), d.now().0),
        ("da65286da20d4293".to_string(), 5_188_968_525)
    );
}

#[test]
fn other_seeds_and_other_commands_give_other_completions() {
    let mut d = card();
    let mut e = card();
    assert_ne!(
        play(&mut d, &mut Draw(1), 500),
        play(&mut e, &mut Draw(2), 500)
    );
}

#[test]
fn a_clone_and_a_saved_device_go_on_alike() {
    let mut original = card();
    let mut draw = Draw(1);
    play(&mut original, &mut draw, 1_000);
    // Commands are outstanding, so that the state includes queues and transfers under way.
    for tag in 0..20 {
        let command = support::write(tag, draw.below(1000) * 4096, 65_536);
        original.submit(command, original.now()).expect("in order");
    }
    let mut copy = original.clone();
    let mut loaded = Device::load(&original.save().expect("saves")).expect("loads");
    for d in [&mut original, &mut copy, &mut loaded] {
        let mut done = Vec::new();
        while done.len() < 20 {
            d.advance(Nanos::MAX, &mut done);
        }
    }
    let expected = play(&mut original, &mut Draw(7), 1_000);
    assert_eq!(play(&mut copy, &mut Draw(7), 1_000), expected);
    assert_eq!(play(&mut loaded, &mut Draw(7), 1_000), expected);
    assert_eq!(loaded.telemetry(), original.telemetry());
    assert!(loaded.save() == original.save());
}

#[test]
fn clones_that_share_memory_go_on_alike_and_apart() {
    let mut original = card();
    let mut whole = original.clone();
    original.share();
    let before = original.save().expect("saves");
    let mut clone = original.clone();
    play(&mut clone, &mut Draw(1), 1_000);
    // A clone of a clone has the writes of the first.
    clone.share();
    let mut second = clone.clone();
    play(&mut whole, &mut Draw(1), 1_000);
    for d in [&mut clone, &mut second, &mut whole] {
        play(d, &mut Draw(2), 2_000);
        sound(d);
    }
    let ends = [&clone, &second].map(|d| d.save().expect("saves"));
    assert!(ends[0] == ends[1]);
    assert!(ends[0] == whole.save().expect("saves"));
    assert!(before == original.save().expect("saves"));
    assert!(before != ends[0]);
}

#[test]
fn damaged_snapshots_are_refused() {
    let bytes = card().save().expect("saves");
    assert!(Device::load(&bytes).is_ok());
    let places = (0..bytes.len()).step_by(bytes.len() / 300);
    for at in places.chain(0..20).chain(bytes.len() - 20..bytes.len()) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        let error = Device::load(&damaged).err();
        let expected = match at {
            0..=7 => SnapshotError::NotASnapshot,
            8..=11 => SnapshotError::Version {
                found: u32::from_le_bytes(damaged[8..12].try_into().expect("four bytes")),
            },
            _ => SnapshotError::Damaged,
        };
        assert_eq!(error, Some(expected), "byte {at}");
    }
    for length in [0, 1, 7, 8, 12, 19, 20, bytes.len() / 2, bytes.len() - 1] {
        assert!(Device::load(&bytes[..length]).is_err(), "{length} bytes");
    }
    let other = Device::load(&[&bytes[..8], &99u32.to_le_bytes(), &bytes[12..]].concat());
    let message = other.err().map(|e| e.to_string()).unwrap_or_default();
    assert!(message.contains("version 99"), "{message}");
}

#[test]
fn commands_out_of_order_are_refused_and_change_nothing() {
    let mut d = card();
    support::rest(&mut d, Nanos::from_millis(1));
    let before = d.save().expect("saves");
    assert!(d.submit(support::read(1, 0, 4096), Nanos(5)).is_err());
    assert!(d.save().expect("saves") == before);
    let now = d.now();
    d.submit(support::read(1, 0, 4096), now).expect("in order");
    let late = d.next_event().expect("a command is under way") + Nanos(1);
    assert!(d.submit(support::read(2, 0, 4096), late).is_err());
}
