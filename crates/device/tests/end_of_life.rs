//! Devices that wear out under random commands: when the spare blocks are used up, a device becomes read-only; every
//! command completes, and all acknowledged data stays readable.

use crate::support;
use crate::support::any_card::cards;
use crate::support::any_paged::{BLOCKS, Knobs, build, knobs, steps};
use crate::support::card::AU;
use crate::support::{any_paged, bare, discard, one, read, write};
use nandscope_device::profile::schema::Cell;
use nandscope_device::profile::{HostProfile, Profile, check_profile};
use nandscope_device::{Command, CommandKind, Completion, Device, Fill, Status};
use nandscope_units::{Lba, Nanos};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Maximum number of outstanding commands.
const DEPTH: usize = 40;

/// A profile with blocks rated for `cycles` cycles, and the largest capacity that its check accepts.
pub fn tight(k: &Knobs, collection_start: u32, cycles: u32) -> Option<(Profile, &'static str)> {
    let (mut p, link) = build(k);
    p.nand.slc.cycles = cycles;
    if let Some(native) = p.nand.native.as_mut() {
        native.cycles = cycles;
    }
    p.ftl.as_mut()?.collection_start = collection_start;
    let block = p.device.capacity_bytes / u64::from(BLOCKS);
    (0..BLOCKS)
        .rev()
        .map(|blocks| u64::from(blocks) * block / 4096 * 4096)
        .find(|bytes| {
            p.device.capacity_bytes = *bytes;
            check_profile(&p).is_ok()
        })?;
    Some((p, link))
}

fn host_with(link: &str) -> HostProfile {
    let mut host = support::host("direct");
    host.host.links = vec![link.to_string()];
    host
}

/// Waits until at most `most` commands are outstanding.
fn wait(d: &mut Device, open: &mut usize, most: usize) -> Result<Vec<Completion>, TestCaseError> {
    let (mut all, mut done) = (Vec::new(), Vec::new());
    while *open > most {
        prop_assert!(d.next_event().is_some(), "{open} commands never complete");
        d.advance(Nanos::MAX, &mut done);
        *open -= done.len();
        all.append(&mut done);
    }
    Ok(all)
}

/// Runs commands until the list ends; returns whether the device became read-only.
fn drive(
    d: &mut Device,
    commands: impl Iterator<Item = (Command, Nanos)>,
) -> Result<bool, TestCaseError> {
    let (mut open, mut ended) = (0, false);
    let mut check = |d: &Device, done: Vec<Completion>| -> Result<(), TestCaseError> {
        for c in done {
            ended |= c.status == Status::ReadOnly;
        }
        prop_assert!(!ended || d.health().critical_warning >> 3 & 1 == 1);
        Ok(())
    };
    for (i, (command, pause)) in commands.enumerate() {
        let until = d.now() + pause;
        let mut done = Vec::new();
        while d.now() < until {
            d.advance(until, &mut done);
        }
        open -= done.len();
        check(d, done)?;
        d.submit(command, d.now())
            .map_err(|e| TestCaseError::fail(e.to_string()))?;
        open += 1;
        let done = wait(d, &mut open, DEPTH - 1)?;
        check(d, done)?;
        if i % 64 == 0 {
            prop_assert_eq!(d.audit(), Ok(()));
        }
    }
    let done = wait(d, &mut open, 0)?;
    check(d, done)?;
    prop_assert_eq!(d.audit(), Ok(()));
    Ok(ended)
}

/// Overwrites all of the device in random order until it refuses writes.
fn write_to_death(d: &mut Device, seed: u64) -> Result<(), TestCaseError> {
    let sectors = d.capacity().0 / 512;
    let mut draw = support::Draw(seed);
    for _ in 0..200 {
        let commands = (0..200).map(|tag| {
            let length = 8 * (1 + draw.below(64));
            let first = draw.below(sectors.saturating_sub(length).max(1)) & !7;
            (
                write(tag, first * 512, length.min(sectors) as u32 * 512),
                Nanos::ZERO,
            )
        });
        if drive(d, commands.collect::<Vec<_>>().into_iter())? {
            return Ok(());
        }
    }
    prop_assert!(false, "it never ends: {:?}", d.counters());
    Ok(())
}

/// Checks a device at its end of life: reads succeed or are uncorrectable, writes and discards fail as read-only.
fn is_read_only(d: &mut Device, host: &HostProfile, p: &Profile) -> Result<(), TestCaseError> {
    let status = |d: &mut Device, command| one(d, command).status;
    let reads = [Status::Ok, Status::UncorrectableRead];
    prop_assert_eq!(d.health().critical_warning >> 3 & 1, 1);
    for (tag, offset) in (0..d.capacity().0).step_by(1 << 18).enumerate().take(50) {
        let length = (d.capacity().0 - offset).min(1 << 16) as u32;
        prop_assert!(reads.contains(&status(d, read(tag as u64, offset, length))));
    }
    prop_assert_eq!(status(d, write(0, 0, 512)), Status::ReadOnly);
    prop_assert_eq!(status(d, discard(0, 0, 65_536)), Status::ReadOnly);
    let flush = status(d, bare(0, CommandKind::Flush));
    prop_assert!([Status::Ok, Status::ReadOnly].contains(&flush));
    // The other functions of the device return, though no write completes any more.
    let mut kept = Device::load(&d.save().unwrap()).unwrap();
    kept.attach(p, host).unwrap();
    kept.precondition(1.0, Fill::Sequential);
    kept.overwrite_randomly(100, 1);
    kept.cut_power();
    prop_assert_eq!(kept.audit(), Ok(()));
    prop_assert_eq!(status(&mut kept, write(0, 0, 512)), Status::ReadOnly);
    support::rest(&mut kept, Nanos::from_secs(5));
    prop_assert_eq!(kept.audit(), Ok(()));
    Ok(())
}

fn cases(most: u32) -> ProptestConfig {
    ProptestConfig {
        cases: std::env::var("NANDSCOPE_CASES")
            .ok()
            .and_then(|n| n.parse().ok())
            .unwrap_or(most),
        rng_seed: RngSeed::Fixed(15),
        max_shrink_iters: 50,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn a_worn_out_page_mapped_device_becomes_read_only(
        k in knobs(), steps in steps(), start in 2u32..10, age in 0u64..12, seed in 0u64..8,
    ) {
        let made = tight(&k, start, 1);
        prop_assume!(made.is_some());
        let Some((p, link)) = made else { return Ok(()) };
        let host = host_with(link);
        let mut d = Device::new(&p, &host, seed).unwrap();
        d.precondition(1.0, Fill::Random { seed });
        let units = d.capacity().0 / 4096;
        prop_assert!(d.overwrite_randomly(age * units, seed));
        prop_assert_eq!(d.audit(), Ok(()));
        let sectors = d.capacity().0 / 512;
        let commands = steps.iter().enumerate().map(|(tag, step)| {
            (any_paged::command(tag as u64, step, sectors), Nanos(u64::from(step.3)))
        });
        drive(&mut d, commands)?;
        write_to_death(&mut d, seed)?;
        is_read_only(&mut d, &host, &p)?;
    }

    #[test]
    fn a_healthy_device_with_little_spare_never_becomes_read_only(
        k in knobs(), steps in steps(), start in 2u32..10, seed in 0u64..8,
    ) {
        let made = tight(&k, start, 1_000_000);
        prop_assume!(made.is_some());
        let Some((p, link)) = made else { return Ok(()) };
        let mut d = Device::new(&p, &host_with(link), seed).unwrap();
        d.precondition(1.0, Fill::Random { seed });
        d.overwrite_randomly(d.capacity().0 / 4096, seed);
        let sectors = d.capacity().0 / 512;
        let commands = steps.iter().enumerate().map(|(tag, step)| {
            (any_paged::command(tag as u64, step, sectors), Nanos(u64::from(step.3)))
        });
        prop_assert!(!drive(&mut d, commands)?, "{:?}", d.counters());
    }

    #[test]
    fn a_worn_out_card_becomes_read_only(profile in cards(), seed in 0u64..8, open_writes in any::<bool>()) {
        let mut p = profile;
        p.nand.slc.cycles = 2;
        p.nand.cell = Cell::Slc;
        // An AU that is never closed does not wear, so the capacity has more AUs than can be open.
        p.device.capacity_bytes = p.device.capacity_bytes.max(12 * AU);
        prop_assume!(check_profile(&p).is_ok());
        let mut host = host_with(support::plain::FAST_LINK);
        host.stage[0].keeps_writes_open = open_writes;
        let mut d = Device::new(&p, &host, seed).unwrap();
        d.precondition(0.7, Fill::Random { seed });
        write_to_death(&mut d, seed)?;
        is_read_only(&mut d, &host, &p)?;
        let end = d.capacity().0 / 512;
        let last = Command { tag: 1, kind: CommandKind::Write { fua: true }, lba: Lba(end - 1), sectors: 1 };
        prop_assert_eq!(one(&mut d, last).status, Status::ReadOnly);
    }
}
