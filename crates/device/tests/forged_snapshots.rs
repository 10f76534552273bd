//! Forged snapshots with a valid checksum: each is refused, or the device that it describes works like any other.

use crate::support;
use crate::support::{Draw, device_on, plain::FAST_LINK};
use nandscope_device::profile::card::{OutOfOrder, SharedLogSection};
use nandscope_device::profile::schema::{Acknowledge, MapLocation, SlcCacheSection};
use nandscope_device::{Command, CommandKind, Device, Fill, SnapshotError};
use nandscope_units::{Fnv1a, Lba, Nanos};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Maximum time for one snapshot, in any build and on a busy machine.
const LONGEST: Duration = Duration::from_secs(20);
/// First tag of the commands of the test.
const OWN: u64 = 1 << 40;

/// Appends the correct checksum to the contents of a snapshot.
fn sealed(mut content: Vec<u8>) -> Vec<u8> {
    content.extend(Fnv1a::of_words(&content).to_le_bytes());
    content
}

fn any_command(tag: u64, draw: &mut Draw, sectors: u64) -> Command {
    let kind = match draw.below(12) {
        0..=3 => CommandKind::Read,
        4..=7 => CommandKind::Write { fua: false },
        8 => CommandKind::Write { fua: true },
        9 => CommandKind::Flush,
        10 => CommandKind::Discard,
        _ => CommandKind::Health,
    };
    let moves = !matches!(kind, CommandKind::Flush | CommandKind::Health);
    Command {
        tag,
        kind,
        lba: Lba(draw.below(sectors)),
        sectors: if moves { 1 + draw.below(100) as u32 } else { 0 },
    }
}

/// A device with background work and commands under way.
fn busy(mut d: Device, seed: u64) -> Device {
    let mut draw = Draw(seed);
    let sectors = d.capacity().0 / 512;
    d.precondition(0.8, Fill::Random { seed });
    d.overwrite_randomly(200, seed);
    let mut done = Vec::new();
    for tag in 0..400 {
        let command = any_command(tag, &mut draw, sectors);
        d.submit(command, d.now()).unwrap();
        if tag >= 12 {
            d.advance(Nanos::MAX, &mut done);
        }
    }
    d
}

fn page_mapped() -> Device {
    let mut p = support::profile("reference-nvme-64gb");
    (p.nand.channels, p.nand.dies_per_channel, p.nand.planes) = (2, 1, 1);
    p.nand.blocks_per_plane = 48;
    p.nand.word_lines = 4;
    p.nand.page_kib = 8;
    p.nand.cache_read = false;
    let ftl = p.ftl.as_mut().unwrap();
    ftl.collection_start = 4;
    ftl.relocation_units = 2;
    ftl.collection_burst_kib = Some(32);
    ftl.journal_entries = 16;
    ftl.refresh_reads = 50;
    ftl.parity_dies = 1;
    ftl.wear_spread_cycles = 2;
    ftl.map.location = MapLocation::Window;
    ftl.map.window_kib = Some(8);
    ftl.map.update_entries = Some(16);
    ftl.slc_cache = Some(SlcCacheSection {
        static_gb: 0.0001,
        dynamic_gb: 0.001,
        lends_spare_percent: 10.0,
        reserve_gb: 0.0,
        fold_after_ms: 1.0,
        fold_blocks_host: true,
    });
    let controller = p.controller.as_mut().unwrap();
    controller.write_buffer_kib = 128;
    controller.read_ahead_kib = 64;
    p.device.capacity_bytes = 12 * 2 * 4 * 3 * 8192;
    support::plain::attach(&mut p, FAST_LINK);
    p.interface[0].active_dies = 1;
    busy(device_on(&p, FAST_LINK), 3)
}

fn card(out_of_order: OutOfOrder) -> Device {
    let mut p = support::card::plain();
    p.device.capacity_bytes = 12 << 18;
    p.interface[0].acknowledge = Acknowledge::Buffered;
    let card = support::card::section(&mut p);
    card.out_of_order = out_of_order;
    if out_of_order != OutOfOrder::Log {
        card.log_kib = None;
    }
    card.shared_log =
        (out_of_order == OutOfOrder::Rewrite).then_some(SharedLogSection { blocks: 2, aus: 3 });
    card.deferred_merges = 2;
    card.merge_after_ms = 0.5;
    card.wear_spread_cycles = 3;
    card.wear_batch_aus = 1;
    busy(device_on(&p, FAST_LINK), 5)
}

/// Runs all kinds of commands on a device that was accepted.
fn exercise(mut d: Device) {
    let mut draw = Draw(1);
    let sectors = d.capacity().0 / 512;
    let mut done = Vec::new();
    for tag in OWN..OWN + 24 {
        d.submit(any_command(tag, &mut draw, sectors), d.now())
            .unwrap();
    }
    let mut own = 0;
    while own < 24 {
        assert!(d.next_event().is_some(), "commands never complete");
        d.advance(Nanos::MAX, &mut done);
        own += done.drain(..).filter(|c| c.tag >= OWN).count();
    }
    assert_eq!(d.audit(), Ok(()));
    d.cut_power();
    d.precondition(0.5, Fill::Sequential);
    d.overwrite_randomly(50, 1);
    assert_eq!(d.audit(), Ok(()));
    let again = Device::load(&d.save().unwrap()).unwrap();
    assert_eq!(again.now(), d.now());
}

/// Loads a snapshot and, if it is accepted, runs the device; returns whether it was accepted.
fn try_snapshot(what: &str, bytes: &[u8]) -> bool {
    let began = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(|| match Device::load(bytes) {
        Ok(device) => {
            exercise(device);
            true
        }
        Err(error) => {
            let message = error.to_string();
            assert!(!message.contains('\n') && !message.is_empty());
            false
        }
    }));
    let took = began.elapsed();
    if outcome.is_err() || took > LONGEST {
        let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("forged-snapshot");
        std::fs::write(&path, bytes).unwrap();
        panic!("{what}: after {took:?}; the snapshot is {}", path.display());
    }
    outcome.unwrap_or(false)
}

fn forge(snapshot: &[u8], cases: u64) -> (u64, u64) {
    assert!(try_snapshot("unchanged", snapshot));
    let content = &snapshot[..snapshot.len() - 8];
    let mut draw = Draw(9);
    let mut accepted = 0;
    for case in 0..cases {
        let mut bytes = content.to_vec();
        for _ in 0..=draw.below(3) {
            let at = 12 + draw.below(bytes.len() as u64 - 12) as usize;
            let some = draw.below(12).min((bytes.len() - at) as u64) as usize;
            match draw.below(6) {
                0 => bytes[at] ^= 1 << draw.below(8),
                1 => bytes[at] = [0, 1, 2, 0x7f, 0xff][draw.below(5) as usize],
                2 => bytes[at] = bytes[at].wrapping_add(1),
                3 => drop(bytes.drain(at..at + some)),
                4 => {
                    let huge = [0xff, 0xff, 0xff, 0xff, 0x0f];
                    bytes.splice(at..at + 1, huge);
                }
                _ => {
                    let from = 12 + draw.below(content.len() as u64 - 12) as usize;
                    let piece = &content[from..(from + some).min(content.len())];
                    bytes.splice(at..at + some, piece.iter().copied());
                }
            }
        }
        accepted += u64::from(try_snapshot(&format!("case {case}"), &sealed(bytes)));
    }
    (accepted, cases)
}

fn cases(most: u64) -> u64 {
    let given = std::env::var("NANDSCOPE_CASES").ok();
    given.and_then(|n| n.parse().ok()).unwrap_or(most)
}

#[test]
fn forged_snapshots_of_page_mapped_devices_are_refused_or_work() {
    let snapshot = page_mapped().save().unwrap();
    let (accepted, all) = forge(&snapshot, cases(4000));
    assert!(
        accepted > 0 && accepted < all,
        "{accepted} of {all} were accepted"
    );
}

#[test]
fn forged_snapshots_of_cards_are_refused_or_work() {
    for kind in [OutOfOrder::Rewrite, OutOfOrder::Log, OutOfOrder::Map] {
        let snapshot = card(kind).save().unwrap();
        let (accepted, all) = forge(&snapshot, cases(4000) / 3);
        assert!(
            accepted > 0 && accepted < all,
            "{accepted} of {all} were accepted"
        );
    }
}

#[test]
fn every_byte_of_a_snapshot_counts() {
    let snapshot = card(OutOfOrder::Map).save().unwrap();
    let content = &snapshot[..snapshot.len() - 8];
    for at in 12..content.len() {
        let mut bytes = content.to_vec();
        bytes[at] ^= 0x80;
        try_snapshot(&format!("byte {at}"), &sealed(bytes));
    }
}

#[test]
fn what_follows_the_end_is_refused() {
    let snapshot = card(OutOfOrder::Log).save().unwrap();
    let mut content = snapshot[..snapshot.len() - 8].to_vec();
    content.extend([0; 3]);
    let error = Device::load(&sealed(content)).unwrap_err();
    assert!(matches!(error, SnapshotError::Content(why) if why.contains("3 bytes follow")));
}
