//! Random commands on random small cards: the invariants hold, every command completes exactly once and not before it
//! was submitted, and equal commands take equal times.

use crate::support;
use crate::support::any_card::{Step, cards, command, steps};
use nandscope_device::{Completion, Device, Fill};
use nandscope_units::Nanos;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

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
        prop_assert_eq!(d.audit(), Ok(()));
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
        prop_assert_eq!(d.audit(), Ok(()));
        prop_assert_eq!(run(&mut device(), &steps, depth)?, completions, "the same again");
    }
}
