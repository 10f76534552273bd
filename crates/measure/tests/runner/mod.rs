//! The runner on targets whose results have closed forms.

mod ahead;
mod ends;
mod instruments;
mod order;
mod pacing;
mod properties;
mod ties;

use nandscope_measure::build::{JobMeta, StepMeta, step_result};
use nandscope_measure::recorder::{Direction, DirectionRecord, IntervalPlan};
use nandscope_measure::runner::*;
use nandscope_measure::target::Target;
use nandscope_measure::target::{Outcome, Reading, Reply, Request, TargetError};
use nandscope_test_support::{MockTarget, NullTarget};
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::{DutyCycle, Op, OpKind, OpSource, Pacing, RateLimit, TimedOp};
use std::cell::Cell;

const CAPACITY: Bytes = Bytes::gib(1);

/// A source with a list of operations, repeated.
struct List {
    ops: Vec<TimedOp>,
    at: usize,
    restarts: bool,
}

impl OpSource for List {
    fn next_op(&mut self) -> Option<TimedOp> {
        let op = self.ops.get(self.at).copied();
        self.at += 1;
        op
    }

    fn restart(&mut self) {
        if self.restarts {
            self.at = 0;
        }
    }

    fn expected_bytes(&self) -> Option<u64> {
        Some(self.ops.iter().map(|o| u64::from(o.op.length)).sum())
    }
}

fn op(kind: OpKind) -> TimedOp {
    TimedOp {
        op: Op {
            kind,
            offset: Bytes(4096),
            length: if kind == OpKind::Flush { 0 } else { 4096 },
        },
        due: None,
    }
}

fn list(ops: Vec<TimedOp>) -> Box<dyn OpSource> {
    Box::new(List {
        ops,
        at: 0,
        restarts: true,
    })
}

fn reads(n: usize) -> Box<dyn OpSource> {
    list(vec![op(OpKind::Read); n])
}

fn depth(iodepth: u32) -> Pacing {
    Pacing {
        iodepth,
        ..Pacing::default()
    }
}

/// A target that records its requests with their times, in order, and the announced operations.
struct Log {
    inner: MockTarget,
    seen: Vec<(Nanos, OpKind, Bytes)>,
    expected: Vec<Bytes>,
}

impl Log {
    /// A log over a target that executes `servers` operations at once, each in the time `service`.
    fn new(servers: usize, service: Nanos) -> Self {
        Log {
            inner: MockTarget::new(CAPACITY, servers, service),
            seen: Vec::new(),
            expected: Vec::new(),
        }
    }
}

impl Target for Log {
    fn now(&self) -> Nanos {
        self.inner.now()
    }

    fn capacity(&self) -> Bytes {
        self.inner.capacity()
    }

    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        self.seen.push((self.now(), request.kind, request.offset));
        self.inner.submit(request)
    }

    fn expect(&mut self, offset: Bytes) {
        self.expected.push(offset);
    }

    fn wait(&mut self, until: Nanos, replies: &mut Vec<Reply>) -> Result<(), TargetError> {
        self.inner.wait(until, replies)
    }

    fn reading(&mut self) -> Reading {
        self.inner.reading()
    }
}

/// Runs without interruption, and checks general properties: interval sums equal totals, and Little's law holds if all
/// issued operations were measured.
fn run<T: Target>(target: &mut T, threads: Vec<Thread>) -> GroupOutcome {
    let outcome = run_group(target, threads, None, &mut (), &|| false).unwrap();
    intervals_add_up(&outcome);
    outcome
}

fn intervals_add_up(outcome: &GroupOutcome) {
    for d in Direction::ALL {
        let bins = outcome.timeline.bins().iter().map(|b| b.direction(d));
        let sums = bins.fold((0, 0, 0), |s, b| {
            (
                s.0 + b.operations,
                s.1 + b.bytes,
                s.2 + u128::from(b.latency_sum_ns),
            )
        });
        let totals = outcome.groups.iter().filter_map(|g| g.record.direction(d));
        let totals = totals.fold((0, 0, 0), |s, r| {
            assert_eq!(r.operations, r.latency.count());
            (
                s.0 + r.operations,
                s.1 + r.bytes.0,
                s.2 + r.latency.sum_ns(),
            )
        });
        assert_eq!(sums, totals, "{d:?}");
    }
}

fn only(outcome: &GroupOutcome, direction: Direction) -> &DirectionRecord {
    outcome.groups[0].record.direction(direction).unwrap()
}
