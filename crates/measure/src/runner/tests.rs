//! The runner against targets whose answers have closed forms.

use super::*;
use crate::build::{JobMeta, StepMeta, step_result};
use crate::mock::{MockTarget, NullTarget};
use crate::recorder::DirectionRecord;
use nandscope_workload::{DutyCycle, RateLimit, TimedOp};
use proptest::prelude::*;
use std::cell::Cell;
use std::rc::Rc;

const CAPACITY: Bytes = Bytes::gib(1);

/// A list of operations, one pass after the other.
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

/// Runs without interruption, and checks what holds of every run: intervals add up to totals, and
/// Little's law where all that was issued was measured.
fn run<T: Target>(target: &mut T, threads: Vec<Thread>) -> GroupOutcome {
    let outcome = run_group(target, threads, None, &mut Silent, &|| false).unwrap();
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

#[test]
fn closed_loop_on_k_servers_is_exact() {
    // (queue depth, servers, latency in service times): throughput is min(q, k) per service time.
    for (q, k, queueing) in [(1, 1, 1), (1, 4, 1), (4, 4, 1), (8, 4, 2), (32, 8, 4)] {
        let mut target = MockTarget::new(CAPACITY, k, Nanos::from_micros(100));
        let pacing = Pacing {
            time_based: true,
            runtime: Some(Nanos::from_secs(1)),
            ..depth(q)
        };
        let outcome = run(&mut target, vec![Thread::new(reads(10), pacing, 0)]);
        assert_eq!(outcome.ending, Ending::Complete);
        let record = only(&outcome, Direction::Read);
        // What waits in the queue at the end is served in whole rounds of k.
        let rounds = 10_000 + u64::from(q).div_ceil(k as u64) - 1;
        assert_eq!(record.operations, rounds * u64::from(q).min(k as u64));
        assert_eq!(
            outcome.groups[0].runtime(),
            Nanos::from_micros(100) * rounds
        );
        assert_eq!(record.latency.max(), Nanos::from_micros(100 * queueing));
        if queueing == 1 {
            assert_eq!(record.latency.mean_ns(), 100_000.0);
        }
        assert!(record.service.is_none());
    }
}

#[test]
fn loops_and_source_end() {
    let mut target = MockTarget::new(CAPACITY, 1, Nanos(10));
    let pacing = Pacing {
        loops: 3,
        ..depth(2)
    };
    let outcome = run(&mut target, vec![Thread::new(reads(7), pacing, 0)]);
    assert_eq!(only(&outcome, Direction::Read).operations, 21);
    assert_eq!(outcome.end, Nanos(210));
    let once = List {
        ops: vec![op(OpKind::Read); 5],
        at: 0,
        restarts: false,
    };
    let pacing = Pacing {
        time_based: true,
        runtime: Some(Nanos(1_000)),
        ..depth(1)
    };
    let outcome = run(&mut target, vec![Thread::new(Box::new(once), pacing, 0)]);
    assert_eq!(only(&outcome, Direction::Read).operations, 5);
}

#[test]
fn rate_limits_hold_and_count_from_the_schedule() {
    for (limit, per_second) in [
        (RateLimit::OpsPerSecond(1_000), 1_000.0),
        (RateLimit::BytesPerSecond(4096 * 333), 333.0),
    ] {
        let mut target = MockTarget::new(CAPACITY, 1, Nanos::from_micros(50));
        let pacing = Pacing {
            read_limit: limit,
            time_based: true,
            runtime: Some(Nanos::from_secs(10)),
            ..depth(1)
        };
        let outcome = run(&mut target, vec![Thread::new(reads(10), pacing, 0)]);
        let record = only(&outcome, Direction::Read);
        let rate = record.operations as f64 / outcome.groups[0].runtime().as_secs_f64();
        assert!((rate / per_second - 1.0).abs() < 1e-3, "{rate}");
        assert_eq!(record.latency.max(), Nanos::from_micros(50));
    }
}

#[test]
fn a_stall_makes_many_operations_late_not_one() {
    let stall = (Nanos::from_secs(2), Nanos::from_secs(3));
    let mut target =
        MockTarget::new(CAPACITY, 1, Nanos::from_micros(10)).with_stall(stall.0, stall.1);
    let pacing = Pacing {
        read_limit: RateLimit::OpsPerSecond(1_000),
        time_based: true,
        runtime: Some(Nanos::from_secs(5)),
        ..depth(1)
    };
    let outcome = run(&mut target, vec![Thread::new(reads(10), pacing, 0)]);
    let record = only(&outcome, Direction::Read);
    assert_eq!(record.operations, 5_000);
    let late = |d: &crate::histogram::Distribution| {
        (1..=10_000)
            .filter(|i| d.percentile(f64::from(*i) / 100.0) > Nanos::from_micros(100))
            .count() as f64
            / 10_000.0
            * 5_000.0
    };
    // 1000 fell due within the stall; about ten more while the backlog was worked off.
    let count = late(&record.latency);
    assert!((1_000.0..=1_020.0).contains(&count), "{count}");
    let service = record.service.as_ref().unwrap();
    assert!(late(service) <= 1.0);
    assert_eq!(service.max(), Nanos(1_000_010_000));
}

#[test]
fn thinktime_follows_the_last_completion() {
    let mut target = MockTarget::new(CAPACITY, 4, Nanos::from_micros(100));
    let pacing = Pacing {
        thinktime: Nanos::from_micros(900),
        thinktime_blocks: 8,
        ..depth(4)
    };
    // Blocks of 8 at depth 4 take two service times; no pause behind the last of them.
    let outcome = run(&mut target, vec![Thread::new(reads(80), pacing, 0)]);
    assert_eq!(outcome.end, Nanos::from_micros(10 * 200 + 9 * 900));
    assert_eq!(outcome.groups[0].idle, Nanos::from_micros(9 * 900));
}

#[test]
fn a_pause_is_no_lateness() {
    let mut target = MockTarget::new(CAPACITY, 1, Nanos::from_micros(10));
    let pacing = Pacing {
        thinktime: Nanos::from_millis(5),
        thinktime_blocks: 10,
        read_limit: RateLimit::OpsPerSecond(1_000),
        ..depth(1)
    };
    let outcome = run(&mut target, vec![Thread::new(reads(100), pacing, 0)]);
    // Behind its schedule after each pause, the thread catches up; the first operation after a
    // pause was due when the pause ended.
    assert!(only(&outcome, Direction::Read).latency.max() < Nanos::from_micros(200));
}

#[test]
fn duty_cycle_holds_its_share() {
    for percent in [20u32, 50, 100] {
        let mut target = MockTarget::new(CAPACITY, 1, Nanos::from_micros(100));
        let pacing = Pacing {
            duty_cycle: Some(DutyCycle {
                burst_bytes: 100 * 4096,
                busy_percent: percent,
            }),
            time_based: true,
            runtime: Some(Nanos::from_secs(2)),
            ..depth(1)
        };
        let outcome = run(&mut target, vec![Thread::new(reads(10), pacing, 0)]);
        let record = only(&outcome, Direction::Read);
        assert_eq!(record.operations, 200 * u64::from(percent));
        let group = &outcome.groups[0];
        assert_eq!(
            (group.runtime() - group.idle) * 100,
            group.runtime() * u64::from(percent)
        );
    }
}

#[test]
fn start_delay_and_ramp_are_not_measured() {
    let mut target = MockTarget::new(CAPACITY, 1, Nanos::from_millis(1));
    let pacing = Pacing {
        start_delay: Nanos::from_secs(1),
        ramp_time: Nanos::from_secs(2),
        runtime: Some(Nanos::from_secs(3)),
        time_based: true,
        ..depth(1)
    };
    let outcome = run(&mut target, vec![Thread::new(reads(10), pacing, 0)]);
    assert_eq!(only(&outcome, Direction::Read).operations, 3_000);
    assert_eq!(outcome.groups[0].start, Nanos::from_secs(3));
    assert_eq!(outcome.groups[0].runtime(), Nanos::from_secs(3));
    assert_eq!(outcome.timeline.bins().len(), 30);
}

#[test]
fn a_job_that_ends_in_its_ramp_says_so() {
    let mut target = MockTarget::new(CAPACITY, 1, Nanos::from_millis(1));
    let pacing = Pacing {
        ramp_time: Nanos::from_secs(2),
        ..depth(1)
    };
    let outcome = run(&mut target, vec![Thread::new(reads(10), pacing, 0)]);
    assert!(outcome.groups[0].record.present().next().is_none());
    assert!(
        outcome.notices[0].text.contains("ramp"),
        "{:?}",
        outcome.notices
    );
    let step = step_result(&outcome, StepMeta::default(), &[]);
    assert!(step.jobs[0].directions.is_empty());
}

/// Remembers what it was given and when, in order.
struct Log {
    inner: MockTarget,
    seen: Vec<(Nanos, OpKind)>,
}

impl Target for Log {
    fn now(&self) -> Nanos {
        self.inner.now()
    }
    fn capacity(&self) -> Bytes {
        self.inner.capacity()
    }
    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        self.seen.push((self.now(), request.kind));
        self.inner.submit(request)
    }
    fn wait(&mut self, until: Nanos, replies: &mut Vec<Reply>) -> Result<(), TargetError> {
        self.inner.wait(until, replies)
    }
    fn reading(&mut self) -> Reading {
        self.inner.reading()
    }
}

#[test]
fn a_flush_waits_for_earlier_writes_and_holds_back_later_operations() {
    use OpKind::{Flush, Read, Write};
    let mut target = Log {
        inner: MockTarget::new(CAPACITY, 8, Nanos(100)),
        seen: Vec::new(),
    };
    let ops = [Write, Write, Write, Flush, Write, Read, Flush, Flush, Write];
    let source = list(ops.iter().map(|&k| op(k)).collect());
    let outcome = run(&mut target, vec![Thread::new(source, depth(8), 0)]);
    let expected = [
        (0, Write),
        (0, Write),
        (0, Write),
        (100, Flush),
        (200, Write),
        (200, Read),
        (300, Flush),
        (400, Flush),
        (500, Write),
    ];
    assert_eq!(target.seen, expected.map(|(t, k)| (Nanos(t), k)));
    assert_eq!(only(&outcome, Direction::Flush).operations, 3);
    assert_eq!(only(&outcome, Direction::Flush).bytes, Bytes::ZERO);
}

#[test]
fn traces_keep_their_times_within_the_cap() {
    let mut target = Log {
        inner: MockTarget::new(CAPACITY, 1, Nanos(10)),
        seen: Vec::new(),
    };
    let at = |ns| TimedOp {
        due: Some(Nanos(ns)),
        ..op(OpKind::Read)
    };
    let pacing = Pacing {
        idle_cap: Some(Nanos(100)),
        ..depth(4)
    };
    let source = list(vec![at(0), at(50), at(10_000), at(10_001)]);
    let outcome = run(&mut target, vec![Thread::new(source, pacing, 0)]);
    let times: Vec<u64> = target.seen.iter().map(|s| s.0.0).collect();
    assert_eq!(times, [0, 50, 150, 151]);
    // The last waited for the server: 151 to 170.
    assert_eq!(only(&outcome, Direction::Read).latency.max(), Nanos(19));
}

#[test]
fn an_interruption_keeps_what_was_measured() {
    let mut target = MockTarget::new(CAPACITY, 4, Nanos::from_micros(100));
    let calls = Cell::new(0);
    let stop = || {
        calls.set(calls.get() + 1);
        calls.get() > 1_000
    };
    let threads = vec![Thread::new(reads(1_000_000), depth(4), 0)];
    let outcome = run_group(&mut target, threads, None, &mut Silent, &stop).unwrap();
    intervals_add_up(&outcome);
    assert_eq!(outcome.ending, Ending::Interrupted);
    // What was in flight was waited for.
    assert_eq!(only(&outcome, Direction::Read).operations, 4_004);
    let step = step_result(&outcome, StepMeta::default(), &[JobMeta::new("j")]);
    assert_eq!(
        step.incomplete.as_deref(),
        Some("interrupted before the end")
    );
    let json = r#"{"format":"nandscope-result","version":1,"generator":"","procedure":"","title":"","seed":0,"target":{"name":"","kind":"","model":"","capacity_bytes":0},"complete":true,"steps":[]}"#;
    let mut document = crate::document::from_json(json, std::path::Path::new("t")).unwrap();
    crate::build::add_step(&mut document, step, &outcome.notices);
    assert!(!document.complete);
}

#[test]
fn the_first_error_stops_a_thread_unless_it_is_to_go_on() {
    let target = || MockTarget::new(CAPACITY, 1, Nanos(10)).with_failures(10, "uncorrectable read");
    let outcome = run(&mut target(), vec![Thread::new(reads(100), depth(1), 0)]);
    assert_eq!(only(&outcome, Direction::Read).operations, 9);
    let Ending::Failed(why) = &outcome.ending else {
        panic!("{:?}", outcome.ending);
    };
    assert!(why.contains("read of 4096 bytes at byte 4096: uncorrectable read"));
    let mut thread = Thread::new(reads(100), depth(4), 0);
    thread.on_error = OnError::Continue;
    let outcome = run(&mut target(), vec![thread]);
    assert_eq!(outcome.ending, Ending::Complete);
    assert_eq!(only(&outcome, Direction::Read).operations, 90);
    let job = crate::build::job_result(&outcome.groups[0], &JobMeta::new("j"));
    assert_eq!(job.errors["uncorrectable read"], 10);
}

#[test]
fn unsupported_trims_are_told_once() {
    let mut target = MockTarget::new(CAPACITY, 1, Nanos(10)).without(OpKind::Trim);
    let mut ops = vec![op(OpKind::Trim); 5];
    ops.push(op(OpKind::Write));
    let outcome = run(&mut target, vec![Thread::new(list(ops), depth(1), 0)]);
    assert_eq!(outcome.ending, Ending::Complete);
    assert_eq!(outcome.notices.len(), 1);
    assert!(outcome.notices[0].text.contains("does not support trim: 5"));
    assert!(
        outcome.groups[0]
            .record
            .direction(Direction::Trim)
            .is_none()
    );
    // A time-based trim job has nothing to measure and ends.
    let pacing = Pacing {
        time_based: true,
        runtime: Some(Nanos::from_secs(3600)),
        ..depth(1)
    };
    let trims = list(vec![op(OpKind::Trim); 5]);
    let outcome = run(&mut target, vec![Thread::new(trims, pacing, 0)]);
    assert!(outcome.end < Nanos::from_secs(1));
}

#[test]
fn impossible_operations_stop_the_thread() {
    let cases = [
        (4096, 100, "multiple of 512"),
        (100, 512, "multiple of 512"),
        (0, 0, "length is zero"),
        (CAPACITY.0, 512, "beyond the end"),
        (u64::MAX - 511, 512, "beyond the end"),
    ];
    for (offset, length, expected) in cases {
        let bad = TimedOp {
            op: Op {
                kind: OpKind::Write,
                offset: Bytes(offset),
                length,
            },
            due: None,
        };
        let mut target = NullTarget::new(CAPACITY);
        let mut thread = Thread::new(list(vec![bad]), depth(1), 0);
        thread.on_error = OnError::Continue;
        thread.pacing.time_based = true;
        thread.pacing.runtime = Some(Nanos::from_secs(1));
        let outcome = run(&mut target, vec![thread]);
        let why = outcome.ending.incomplete().unwrap();
        assert!(why.contains(expected), "{why}");
    }
}

#[test]
fn a_target_that_vanishes_leaves_the_partial_result() {
    let mut target =
        MockTarget::new(CAPACITY, 2, Nanos::from_micros(100)).gone_at(Nanos::from_millis(10));
    let outcome = run(&mut target, vec![Thread::new(reads(1_000), depth(2), 0)]);
    assert_eq!(only(&outcome, Direction::Read).operations, 198);
    let why = outcome.ending.incomplete().unwrap();
    assert!(
        why.contains("gone") && why.contains("2 operations in flight"),
        "{why}"
    );
}

/// Answers at once and takes no time.
struct Frozen(Vec<Reply>);

impl Target for Frozen {
    fn now(&self) -> Nanos {
        Nanos::ZERO
    }
    fn capacity(&self) -> Bytes {
        CAPACITY
    }
    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        self.0.push(Reply {
            tag: request.tag,
            submitted: Nanos::ZERO,
            completed: Nanos::ZERO,
            outcome: Outcome::Done,
        });
        Ok(())
    }
    fn wait(&mut self, _: Nanos, replies: &mut Vec<Reply>) -> Result<(), TargetError> {
        replies.append(&mut self.0);
        Ok(())
    }
    fn reading(&mut self) -> Reading {
        Reading::default()
    }
}

#[test]
fn a_clock_that_stands_still_is_an_error_and_no_endless_run() {
    let pacing = Pacing {
        time_based: true,
        runtime: Some(Nanos(1)),
        ..depth(1)
    };
    let outcome = run(
        &mut Frozen(Vec::new()),
        vec![Thread::new(reads(10), pacing, 0)],
    );
    assert!(outcome.ending.incomplete().unwrap().contains("stood still"));
}

#[test]
fn contradictions_are_refused_before_anything_is_issued() {
    let duty = |burst_bytes, busy_percent| Pacing {
        duty_cycle: Some(DutyCycle {
            burst_bytes,
            busy_percent,
        }),
        ..Pacing::default()
    };
    let cases = [
        (depth(0), "iodepth is 0"),
        (duty(4096, 0), "busy 0 %"),
        (duty(4096, 101), "busy 101 %"),
        (duty(0, 20), "0 bytes"),
        (
            Pacing {
                time_based: true,
                ..Pacing::default()
            },
            "never end",
        ),
        (
            Pacing {
                write_limit: RateLimit::OpsPerSecond(0),
                ..Pacing::default()
            },
            "rate limit is 0",
        ),
    ];
    for (pacing, expected) in cases {
        let threads = vec![
            Thread::new(reads(1), depth(1), 0),
            Thread::new(reads(1), pacing, 0),
        ];
        let mut target = NullTarget::new(CAPACITY);
        let error = run_group(&mut target, threads, None, &mut Silent, &|| false).unwrap_err();
        assert_eq!(error.thread, 1);
        assert!(error.problem.contains(expected), "{error}");
    }
    let nothing = run(&mut NullTarget::new(CAPACITY), Vec::new());
    assert_eq!(nothing.ending, Ending::Complete);
}

#[test]
fn progress_rises_to_its_end() {
    struct Watch(Rc<Cell<(u32, f64)>>);
    impl Observer for Watch {
        fn progress(&mut self, progress: &Progress) {
            let (calls, last) = self.0.get();
            let share = progress.fraction.unwrap();
            assert!(share >= last && share <= 1.0);
            self.0.set((calls + 1, share));
        }
    }
    let seen = Rc::new(Cell::new((0, 0.0)));
    let mut target = MockTarget::new(CAPACITY, 1, Nanos::from_millis(1));
    let threads = vec![Thread::new(reads(10_000), depth(1), 0)];
    run_group(
        &mut target,
        threads,
        None,
        &mut Watch(seen.clone()),
        &|| false,
    )
    .unwrap();
    assert_eq!(seen.get(), (10, 1.0));
}

#[test]
fn instruments_are_read_at_the_ends_of_the_intervals() {
    let mut target = MockTarget::new(CAPACITY, 1, Nanos::from_micros(300));
    let pacing = Pacing {
        time_based: true,
        runtime: Some(Nanos::from_millis(1_050)),
        ..depth(1)
    };
    let source = list(vec![op(OpKind::Write); 10]);
    let outcome = run(&mut target, vec![Thread::new(source, pacing, 0)]);
    let step = step_result(&outcome, StepMeta::default(), &[]);
    let named = |name: &str| step.series.iter().find(|s| s.name == name).unwrap();
    let power = named("power");
    assert_eq!(power.t_s.len(), 11);
    assert_eq!(
        (power.t_s[0], power.t_s[9], power.t_s[10]),
        (0.1, 1.0, 1.05)
    );
    assert!(power.v.iter().all(|w| (w - 2.0).abs() < 1e-9), "{power:?}");
    assert_eq!(power.interval_s, 0.1);
    assert!(named("write amplification").v.iter().all(|&f| f == 2.0));
    assert!(named("throttle").v.iter().all(|&p| p == 100.0));
    assert_eq!(step.counters["host_written_bytes"], 3_500.0 * 4096.0);
    assert!((step.counters["energy_j"] - 2.1).abs() < 1e-9);
    // MB/s times length, over all intervals, is what was written.
    let bandwidth = named("write bandwidth");
    let mut from = 0.0;
    let moved: f64 = bandwidth
        .t_s
        .iter()
        .zip(&bandwidth.v)
        .map(|(&t, v)| {
            let bytes = v * 1e6 * (t - from);
            from = t;
            bytes
        })
        .sum();
    assert!((moved - 3_500.0 * 4096.0).abs() < 1.0, "{moved}");
}

#[derive(Clone, Debug)]
struct RandomJob {
    ops: Vec<OpKind>,
    depth: u32,
    loops: u32,
    delay: u64,
    ramp: u64,
    think: u64,
    rate: Option<u64>,
    group: usize,
}

fn random_job() -> impl Strategy<Value = RandomJob> {
    let kind = prop_oneof![
        4 => Just(OpKind::Read),
        4 => Just(OpKind::Write),
        1 => Just(OpKind::Trim),
        1 => Just(OpKind::Flush)
    ];
    (
        prop::collection::vec(kind, 0..60),
        1u32..9,
        1u32..3,
        0u64..3_000,
        prop_oneof![Just(0u64), 1u64..20_000],
        prop_oneof![Just(0u64), 1u64..5_000],
        prop::option::of(1_000u64..2_000_000),
        0usize..3,
    )
        .prop_map(
            |(ops, depth, loops, delay, ramp, think, rate, group)| RandomJob {
                ops,
                depth,
                loops,
                delay,
                ramp,
                think,
                rate,
                group,
            },
        )
}

fn thread(job: &RandomJob) -> Thread {
    let pacing = Pacing {
        iodepth: job.depth,
        loops: job.loops,
        start_delay: Nanos(job.delay),
        ramp_time: Nanos(job.ramp),
        thinktime: Nanos(job.think),
        thinktime_blocks: 3,
        write_limit: job
            .rate
            .map_or(RateLimit::Unlimited, RateLimit::OpsPerSecond),
        ..Pacing::default()
    };
    let ops = job.ops.iter().map(|&k| op(k)).collect();
    Thread::new(list(ops), pacing, job.group)
}

proptest! {
    #[test]
    fn random_jobs_add_up_and_repeat(
        jobs in prop::collection::vec(random_job(), 1..5),
        servers in 1usize..5,
        service in 1u64..5_000,
    ) {
        let once = || {
            let mut target = MockTarget::new(CAPACITY, servers, Nanos(service));
            let threads = jobs.iter().map(thread).collect();
            let plan = Some(IntervalPlan { interval: Nanos(700), max_points: 50 });
            run_group(&mut target, threads, plan, &mut Silent, &|| false).unwrap()
        };
        let outcome = once();
        intervals_add_up(&outcome);
        prop_assert_eq!(&outcome.ending, &Ending::Complete);
        let measured: u64 = outcome.groups.iter().flat_map(|g| g.record.present()).map(|(_, r)| r.operations).sum();
        let issued: u64 = jobs.iter().map(|j| j.ops.len() as u64 * u64::from(j.loops)).sum();
        prop_assert!(measured <= issued);
        if jobs.iter().all(|j| j.ramp == 0) {
            prop_assert_eq!(measured, issued);
        }
        // Determinism, down to the text of the document's parts.
        let text = |o: &GroupOutcome| serde_json::to_string(&step_result(o, StepMeta::default(), &[])).unwrap();
        prop_assert_eq!(text(&outcome), text(&once()));
    }

    #[test]
    fn littles_law(q in 1u32..40, servers in 1usize..9, service in 100u64..100_000, n in 2_000usize..4_000) {
        let mut target = MockTarget::new(CAPACITY, servers, Nanos(service));
        let outcome = run(&mut target, vec![Thread::new(reads(n), depth(q), 0)]);
        let record = only(&outcome, Direction::Read);
        let runtime = outcome.groups[0].runtime().0 as f64;
        let throughput = record.operations as f64 / runtime;
        let outstanding = throughput * record.latency.mean_ns();
        // Only the last q operations run at a falling depth.
        let short = f64::from(q) / n as f64;
        prop_assert!(outstanding <= f64::from(q) * (1.0 + 1e-9));
        prop_assert!(outstanding >= f64::from(q) * (1.0 - short) - 1e-9, "{} of {}", outstanding, q);
    }
}
