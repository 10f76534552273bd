//! Random commands on random small cards: the bookkeeping stays sound, every command completes
//! exactly once and never before it was submitted, and the same commands take the same times.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use nandscope_device::profile::Profile;
use nandscope_device::profile::card::{FatSection, OutOfOrder, SmallWritesSection};
use nandscope_device::profile::schema::Acknowledge;
use nandscope_device::{Command, CommandKind, Completion, Device, Fill};
use nandscope_units::{Lba, Nanos};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use support::card::{AU, KIB, PAGE, plain, section};

fn out_of_order() -> impl Strategy<Value = OutOfOrder> {
    prop_oneof![
        Just(OutOfOrder::Rewrite),
        Just(OutOfOrder::Log),
        Just(OutOfOrder::Map)
    ]
}

fn log_kib(kind: OutOfOrder, pages: u32) -> Option<u32> {
    (kind == OutOfOrder::Log).then_some(pages * (PAGE / KIB) as u32)
}

fn fat() -> impl Strategy<Value = Option<FatSection>> {
    let some = (
        0u32..3,
        1u32..4,
        1u32..3,
        out_of_order(),
        1u32..17,
        any::<bool>(),
        any::<bool>(),
    );
    prop::option::of(
        some.prop_map(
            |(first_au, aus, open_aus, kind, log, log_first, slc)| FatSection {
                first_au,
                aus,
                open_aus,
                out_of_order: kind,
                log_kib: log_kib(kind, log),
                log_first: log_first && kind == OutOfOrder::Log,
                slc,
            },
        ),
    )
}

prop_compose! {
    fn cards()(
        (open, kind, log, parts) in (1u32..6, out_of_order(), 1u32..17, 1u32..5),
        (states, deferred, merge_after) in (1u32..4, 0u32..4, prop::sample::select(vec![0.0, 0.5, 50.0])),
        (spread, batch, refresh) in (0u32..4, 1u32..3, prop::sample::select(vec![0u32, 5, 1000])),
        fat in fat(),
        small in prop::option::of((1u32..40, 1u32..80)),
        (buffer, ahead, buffered, cycles) in (1u32..200, 0u32..100, any::<bool>(), prop::sample::select(vec![3u32, 1_000_000])),
        (dies, aus, cut) in (1u32..3, 4u64..30, 0u64..200),
    ) -> Profile {
        let mut p = plain();
        p.nand.dies_per_channel = dies;
        p.nand.slc.cycles = cycles;
        p.device.capacity_bytes = aus * AU - cut * 512;
        p.interface[0].acknowledge = if buffered { Acknowledge::Buffered } else { Acknowledge::Programmed };
        let card = section(&mut p);
        card.open_aus = open + fat.as_ref().map_or(0, |f| f.open_aus);
        card.out_of_order = kind;
        card.log_kib = log_kib(kind, log);
        card.partial_programs = parts;
        card.states_in_ram = states;
        card.switch_us = 10.0;
        card.deferred_merges = deferred;
        card.merge_after_ms = merge_after;
        card.wear_spread_cycles = spread;
        card.wear_batch_aus = batch;
        card.refresh_reads = refresh;
        card.fat = fat;
        card.small_writes = small.map(|(up_to_kib, cluster_kib)| SmallWritesSection { up_to_kib, cluster_kib });
        card.controller.buffer_kib = buffer;
        card.controller.read_ahead_kib = ahead;
        p
    }
}

/// A command: kind, place (share of the capacity and beyond), length, and whether it follows the
/// one before; then a pause, µs.
type Step = (u8, u32, u32, bool, u32);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let length = prop_oneof![1u32..9, 1u32..64, 1u32..1200];
    let pause = prop_oneof![3 => Just(0u32), 1 => 0u32..200_000];
    prop::collection::vec(
        (0u8..24, any::<u32>(), length, any::<bool>(), pause),
        1..250,
    )
}

fn command(step: Step, tag: u64, sectors: u64, next: &mut u64) -> Command {
    let (kind, place, length, follows, _) = step;
    let kind = match kind {
        0..=14 => CommandKind::Write { fua: kind == 0 },
        15..=19 => CommandKind::Read,
        20 => CommandKind::Flush,
        21 | 22 => CommandKind::Discard,
        _ => CommandKind::Health,
    };
    // A few reach beyond the end.
    let first = if follows {
        *next
    } else {
        (u64::from(place) * (sectors + 20)) >> 32
    };
    *next = first + u64::from(length);
    Command {
        tag,
        kind,
        lba: Lba(first),
        sectors: length,
    }
}

/// Runs the steps with up to `depth` commands outstanding; returns all completions.
fn run(d: &mut Device, steps: &[Step], depth: usize) -> Result<Vec<Completion>, TestCaseError> {
    let sectors = d.capacity().0 / 512;
    let (mut next, mut all, mut outstanding) = (0, Vec::new(), 0usize);
    let mut done = Vec::new();
    for (tag, step) in steps.iter().enumerate() {
        let command = command(*step, tag as u64, sectors, &mut next);
        d.submit(command, d.now())
            .map_err(|e| TestCaseError::fail(e.to_string()))?;
        outstanding += 1;
        let pause = d.now() + Nanos(u64::from(step.4) * 1000);
        while outstanding >= depth || (outstanding > 0 && d.now() < pause) {
            let until = if outstanding >= depth {
                Nanos::MAX
            } else {
                pause
            };
            d.advance(until, &mut done);
            outstanding -= done.len();
            all.append(&mut done);
        }
        d.audit().map_err(TestCaseError::fail)?;
    }
    while outstanding > 0 {
        d.advance(Nanos::MAX, &mut done);
        prop_assert!(!done.is_empty(), "{outstanding} commands never complete");
        outstanding -= done.len();
        all.append(&mut done);
    }
    Ok(all)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, rng_seed: RngSeed::Fixed(3), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_commands_on_random_cards_leave_the_bookkeeping_sound(
        profile in cards(), steps in steps(), fill in 0.0f64..1.0, depth in 1usize..5, open_writes in any::<bool>(),
    ) {
        let mut host = support::host("direct");
        host.host.links = vec![support::plain::FAST_LINK.to_string()];
        host.stage[0].keeps_writes_open = open_writes;
        host.stage[0].max_transfer_kib = (depth == 2).then_some(120);
        let device = || {
            let mut d = Device::new(&profile, &host, 1).unwrap();
            d.precondition(fill, Fill::Random { seed: 1 });
            d
        };
        let mut d = device();
        let completions = run(&mut d, &steps, depth)?;
        let mut tags: Vec<u64> = completions.iter().map(|c| c.tag).collect();
        tags.sort_unstable();
        prop_assert_eq!(tags, (0..steps.len() as u64).collect::<Vec<_>>(), "each completes once");
        for c in &completions {
            prop_assert!(c.completed >= c.submitted);
        }
        prop_assert!(completions.is_sorted_by_key(|c| c.completed));
        d.audit().map_err(TestCaseError::fail)?;
        prop_assert_eq!(run(&mut device(), &steps, depth)?, completions, "the same again");
    }
}
