//! Cost of the instrument itself: the loop with recording, on a target that does nothing.
//!
//! `cargo bench -p nandscope-measure --bench runner`. The goal is at least 8 million operations per second at queue
//! depth 32 on one thread.

use nandscope_measure::runner::{Thread, run_group};
use nandscope_measure::target::Target;
use nandscope_test_support::{MockTarget, NullTarget};
use nandscope_units::random::Lcg64;
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::{Op, OpKind, OpSource, Pacing, RateLimit, TimedOp};
use std::time::Instant;

const OPS: u64 = 20_000_000;
const CAPACITY: Bytes = Bytes::gib(16);

/// Random 4 KiB reads from the cheapest possible generator, so that the loop is measured and not the source.
struct Reads {
    left: u64,
    random: Lcg64,
}

impl OpSource for Reads {
    fn next_op(&mut self) -> Option<TimedOp> {
        self.left = self.left.checked_sub(1)?;
        let block = self.random.bits() >> 42;
        Some(TimedOp {
            op: Op {
                kind: OpKind::Read,
                offset: Bytes(block * 4096),
                length: 4096,
            },
            due: None,
        })
    }
}

fn main() {
    for depth in [1, 32] {
        report(&format!("null target, QD{depth}"), || {
            measure(&mut NullTarget::new(CAPACITY), depth, RateLimit::Unlimited)
        });
    }
    report("null target, QD32, rate-limited", || {
        let rate = RateLimit::OpsPerSecond(500_000_000);
        measure(&mut NullTarget::new(CAPACITY), 32, rate)
    });
    report("mock target of 8 servers, QD32", || {
        let mut target = MockTarget::new(CAPACITY, 8, Nanos::from_micros(80));
        measure(&mut target, 32, RateLimit::Unlimited)
    });
}

fn report(name: &str, run: impl Fn() -> f64) {
    let best = (0..3).map(|_| run()).fold(f64::MAX, f64::min);
    println!(
        "{name}: {best:.1} ns per operation, {:.1} million per second",
        1e3 / best
    );
}

fn measure(target: &mut impl Target, depth: u32, limit: RateLimit) -> f64 {
    let source = Reads {
        left: OPS,
        random: Lcg64(1),
    };
    let pacing = Pacing {
        iodepth: depth,
        read_limit: limit,
        ..Pacing::default()
    };
    let threads = vec![Thread::new(Box::new(source), pacing, 0)];
    let begin = Instant::now();
    let outcome = run_group(target, threads, None, &mut (), &|| false);
    let elapsed = begin.elapsed();
    let operations: u64 = outcome
        .iter()
        .flat_map(|o| &o.groups)
        .flat_map(|g| g.record.present())
        .map(|(_, r)| r.operations)
        .sum();
    assert_eq!(operations, OPS, "the run did not do what it was asked");
    elapsed.as_nanos() as f64 / OPS as f64
}
