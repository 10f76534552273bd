//! A device advanced in one call behaves exactly as one advanced event by event, in which no events are skipped or
//! joined.

use crate::support::any_paged::{Knobs, Step, build, command, knobs, steps};
use crate::support::device_on;
use nandscope_device::{Command, Completion, Device, Fill};
use nandscope_units::Nanos;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngSeed, TestRunner};

/// A device in two copies.
struct Pair {
    at_once: Device,
    /// Copy that is advanced to each of its events.
    by_events: Device,
}

impl Pair {
    fn submit(&mut self, command: Command) {
        for d in [&mut self.at_once, &mut self.by_events] {
            assert_eq!(d.submit(command, d.now()), Ok(()));
        }
    }

    /// Advances both copies to `until`, or to the first instant at which commands complete; returns the number of
    /// completions.
    fn advance(&mut self, until: Nanos) -> usize {
        let (mut done, mut expected): (Vec<Completion>, Vec<Completion>) = (Vec::new(), Vec::new());
        self.at_once.advance(until, &mut done);
        while expected.is_empty() && self.by_events.now() < self.at_once.now().max(until) {
            let next = self.by_events.next_event().filter(|next| *next <= until);
            if next.is_none() && until == Nanos::MAX {
                break;
            }
            self.by_events.advance(next.unwrap_or(until), &mut expected);
        }
        assert_eq!(done, expected);
        assert_eq!(self.at_once.now(), self.by_events.now());
        done.len()
    }
}

/// Random small devices on which relocated units take firmware time.
fn cases() -> impl Strategy<Value = (Knobs, Vec<Step>, u32, f64, u8)> {
    let per_unit_us = prop_oneof![Just(0.0), Just(0.3), Just(2.0), Just(7.0), Just(30.0)];
    (knobs(), steps(), 1u32..4, per_unit_us, 0u8..4)
}

/// Compares `streams` command streams; returns the number of streams with garbage collection.
fn compare(streams: u32, seed: u64) -> u32 {
    let mut runner = TestRunner::new(Config {
        rng_seed: RngSeed::Fixed(seed),
        ..Config::default()
    });
    let mut collected = 0;
    for _ in 0..streams {
        let case = cases().new_tree(&mut runner).unwrap().current();
        collected += u32::from(compare_one(case));
    }
    collected
}

fn compare_one((k, steps, cores, per_unit_us, fill): (Knobs, Vec<Step>, u32, f64, u8)) -> bool {
    let (mut p, link) = build(&k);
    if let Some(controller) = p.controller.as_mut() {
        controller.cores = cores;
        controller.relocate_unit_us = per_unit_us;
    }
    let mut d = device_on(&p, link);
    if fill > 0 {
        d.precondition(1.0, Fill::Random { seed: 1 });
    }
    if fill > 1 {
        d.overwrite_randomly(2000, 2);
    }
    let mut pair = Pair {
        at_once: d.clone(),
        by_events: d,
    };
    // Sharing the memory of the map with clones must make no difference.
    pair.by_events.share();
    let sectors = pair.at_once.capacity().0 / 512;
    let mut open = 0;
    for (tag, step) in steps.iter().enumerate() {
        let until = pair.at_once.now() + Nanos(u64::from(step.3));
        while pair.at_once.now() < until {
            open -= pair.advance(until);
        }
        pair.submit(command(tag as u64, step, sectors));
        open += 1;
        while open >= 40 {
            open -= pair.advance(Nanos::MAX);
        }
    }
    while open > 0 {
        assert!(pair.at_once.next_event().is_some(), "commands are lost");
        open -= pair.advance(Nanos::MAX);
    }
    let end = pair.at_once.now() + Nanos::from_millis(500);
    while pair.at_once.now() < end {
        assert_eq!(pair.advance(end), 0);
    }
    assert_eq!(pair.at_once.telemetry(), pair.by_events.telemetry());
    assert!(pair.at_once.save() == pair.by_events.save(), "the states");
    assert_eq!(pair.at_once.audit(), Ok(()));
    pair.at_once.counters().gc_writes.0 > 0 && per_unit_us > 0.0
}

#[test]
fn a_device_advanced_at_once_does_the_same_as_from_event_to_event() {
    let collected = compare(400, 1);
    assert!(collected > 60, "garbage was collected in {collected}");
}

#[test]
#[ignore = "slow: 10,000 streams of commands"]
fn slow_10_000_devices_advanced_at_once_do_the_same_as_from_event_to_event() {
    compare(10_000, 2);
}
