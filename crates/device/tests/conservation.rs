//! Random profiles and commands: every command completes exactly once and on time, the bookkeeping stays sound, and every
//! programmed byte is accounted for.

use crate::support;
use crate::support::any_paged::{Step, build, command, knobs, steps};
use crate::support::{device, device_on, one, profile, rest, sound};
use nandscope_device::{Command, CommandKind, Completion, Device, Fill, Status};
use nandscope_units::Nanos;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::HashMap;

struct Host {
    open: HashMap<u64, Command>,
    done: Vec<Completion>,
    /// The part wears out so fast that the device may reach its end of life.
    may_retire: bool,
    /// Mapping units touched by writes, counted once per write.
    units: u64,
}

impl Host {
    fn take(&mut self, d: &Device) -> Result<(), TestCaseError> {
        for c in self.done.drain(..) {
            let command = self.open.remove(&c.tag);
            prop_assert!(
                c.status != Status::ReadOnly || self.may_retire,
                "read-only {:?} {:?}",
                d.counters(),
                d.audit()
            );
            prop_assert!(command.is_some(), "{} completes twice", c.tag);
            let Some(command) = command else { continue };
            prop_assert!(c.submitted <= c.completed && c.completed <= d.now());
            let end = (command.lba.0 + u64::from(command.sectors)) * 512;
            if matches!(command.kind, CommandKind::Write { .. }) {
                self.units += end.div_ceil(4096) - command.lba.0 * 512 / 4096;
            }
            let beyond = end > d.capacity().0;
            prop_assert_eq!(beyond, c.status == Status::LbaOutOfRange, "{:?}", command);
            let answers = command.kind == CommandKind::Health && !beyond;
            prop_assert_eq!(c.payload.is_some(), answers);
        }
        Ok(())
    }
}

fn settle(d: &mut Device, host: &mut Host) -> Result<(), TestCaseError> {
    while !host.open.is_empty() {
        let before = d.next_event();
        prop_assert!(
            before.is_some(),
            "stuck with {} commands: {:?} {:?}",
            host.open.len(),
            d.counters(),
            d.audit()
        );
        d.advance(Nanos::MAX, &mut host.done);
        host.take(d)?;
    }
    Ok(())
}

/// Returns the number of mapping units written.
fn drive(d: &mut Device, steps: &[Step], may_retire: bool) -> Result<u64, TestCaseError> {
    let sectors = d.capacity().0 / 512;
    let mut host = Host {
        open: HashMap::new(),
        done: Vec::new(),
        may_retire,
        units: 0,
    };
    for (tag, step) in steps.iter().enumerate() {
        let until = d.now() + Nanos(u64::from(step.3));
        while d.now() < until {
            d.advance(until, &mut host.done);
            host.take(d)?;
        }
        let command = command(tag as u64, step, sectors);
        host.open.insert(command.tag, command);
        prop_assert_eq!(d.submit(command, d.now()), Ok(()));
        while host.open.len() >= 40 {
            prop_assert!(
                d.next_event().is_some(),
                "stuck with {} commands: {:?} {:?}",
                host.open.len(),
                d.counters(),
                d.audit()
            );
            d.advance(Nanos::MAX, &mut host.done);
            host.take(d)?;
        }
        if tag % 64 == 0 {
            prop_assert_eq!(d.audit(), Ok(()));
        }
    }
    settle(d, &mut host)?;
    Ok(host.units)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 800, rng_seed: RngSeed::Fixed(1), max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_on_any_device(k in knobs(), steps in steps(), fill in 0u8..4, seed in 0u64..8) {
        let (p, link) = build(&k);
        let mut d = device_on(&p, link);
        match fill {
            0 => {}
            1 => { d.precondition(0.6, Fill::Sequential); }
            2 => { d.precondition(1.0, Fill::Random { seed }); }
            _ => { d.precondition(1.0, Fill::Sequential); d.overwrite_randomly(2000, seed); }
        }
        prop_assert_eq!(d.audit(), Ok(()));
        let by_host = |d: &Device| {
            let c = d.counters();
            let causes = [c.gc_writes, c.folded, c.refreshed, c.metadata, c.padding, c.parity];
            c.flash_programmed.0 - causes.iter().map(|b| b.0).sum::<u64>()
        };
        let before = by_host(&d);
        let units = drive(&mut d, &steps, k.retire)?;
        prop_assert_eq!(d.audit(), Ok(()));
        let flushed = one(&mut d, support::bare(1, CommandKind::Flush));
        prop_assert_eq!(flushed.status, Status::Ok);
        rest(&mut d, Nanos::from_secs(3));
        prop_assert_eq!(d.audit(), Ok(()));
        // Bytes without another cause were programmed for the host: at most one unit per unit written.
        prop_assert!(by_host(&d) - before <= units * 4096, "{:?}", d.counters());
        prop_assert_eq!(d.counters().free.0 % 4096, 0);
    }
}

#[test]
fn whole_units_are_programmed_once_per_write() {
    // With whole units, the host's share is exactly the data it wrote.
    let p = profile("reference-nvme-64gb");
    let mut d = device(&p, "direct");
    let mut draw = support::Draw(1);
    let units = d.capacity().0 / 4096;
    support::closed_loop(&mut d, 16, |i| {
        (i < 50_000).then(|| support::write(i, draw.below(units) * 4096, 4096))
    });
    one(&mut d, support::bare(0, CommandKind::Flush));
    let c = d.counters();
    assert_eq!(c.host_written.0, 50_000 * 4096);
    assert_eq!(
        c.flash_programmed.0,
        c.host_written.0 + c.metadata.0 + c.padding.0
    );
    assert_eq!(
        c.metadata.0,
        50_000 / 512 * 4096,
        "a journal page per 512 entries"
    );
    assert!(c.padding.0 > 0, "the flush closed a program unit early");
    sound(&d);
}
