//! Threads that depend on each other, and threads that end by their measurements.

use super::*;
use nandscope_workload::job::ExitScope;
use nandscope_workload::{LatencyTarget, LowestRates, SteadyState};

const SERVICE: Nanos = Nanos::from_micros(100);

/// A device that executes any number of operations at once.
fn target() -> MockTarget {
    MockTarget::new(CAPACITY, 64, SERVICE)
}

fn endless(runtime_ms: u64) -> Pacing {
    Pacing {
        time_based: true,
        runtime: Some(Nanos::from_millis(runtime_ms)),
        ..Pacing::default()
    }
}

fn tied(pacing: Pacing, record: usize, ties: Ties) -> Thread {
    let mut thread = Thread::new(reads(1000), pacing, record);
    thread.ties = ties;
    thread
}

fn operations(outcome: &GroupOutcome, group: usize) -> u64 {
    let record = outcome.groups[group].record.direction(Direction::Read);
    record.map_or(0, |record| record.operations)
}

#[test]
fn a_job_begins_when_all_clones_of_another_have_ended() {
    let job = |job, after| Ties {
        job,
        after,
        ..Ties::default()
    };
    let threads = vec![
        tied(endless(10), 0, job(0, None)),
        tied(endless(30), 0, job(0, None)),
        tied(endless(20), 1, job(1, Some(0))),
    ];
    let outcome = run(&mut target(), threads);
    assert_eq!(outcome.groups[1].start, Nanos::from_millis(30));
    assert_eq!(operations(&outcome, 1), 200);
    assert_eq!(outcome.end, Nanos::from_millis(50));
}

#[test]
fn operations_are_shared_by_weight_until_a_member_ends() {
    let member = |weight, runtime, record, sleep| {
        let flow = Some(Flow {
            id: 0,
            weight,
            sleep,
        });
        let ties = Ties {
            job: record,
            flow,
            ..Ties::default()
        };
        tied(endless(runtime), record, ties)
    };
    for sleep in [Nanos::ZERO, Nanos::from_micros(30)] {
        let threads = vec![member(3, 100, 0, sleep), member(1, 100, 1, sleep)];
        let outcome = run(&mut target(), threads);
        let (three, one) = (operations(&outcome, 0), operations(&outcome, 1));
        assert!(three.abs_diff(3 * one) <= 4, "{three} and {one}");
        assert!(one > 200, "{one}");
    }
    // As in fio, a negative weight holds all others back until it ends.
    let threads = vec![
        member(8u32.wrapping_neg(), 100, 0, Nanos::ZERO),
        member(1, 200, 1, Nanos::ZERO),
    ];
    let outcome = run(&mut target(), threads);
    assert_eq!(operations(&outcome, 0), 1000);
    assert!((999..=1001).contains(&operations(&outcome, 1)));
}

#[test]
fn the_end_of_a_thread_ends_those_of_its_scope() {
    let with = |scope| {
        let ties = |job, group| Ties {
            job,
            group,
            ends_others: true,
            scope,
            ..Ties::default()
        };
        let threads = vec![
            tied(endless(10), 0, ties(0, 0)),
            tied(endless(50), 1, ties(1, 0)),
            tied(endless(30), 2, ties(2, 1)),
        ];
        run(&mut target(), threads)
    };
    let ends = |outcome: &GroupOutcome| {
        let ends = outcome.groups.iter().map(|g| g.end.0 / 1_000_000);
        (ends.collect::<Vec<u64>>(), outcome.ends_file)
    };
    let group = with(ExitScope::Group);
    assert_eq!(ends(&group), (vec![10, 10, 30], false));
    assert_eq!(group.ending, Ending::Complete);
    assert_eq!(ends(&with(ExitScope::Stonewall)), (vec![10; 3], false));
    assert_eq!(ends(&with(ExitScope::All)), (vec![10; 3], true));
}

#[test]
fn a_steady_rate_ends_the_job() {
    let pacing = |limit| Pacing {
        steady: SteadyState {
            slope: false,
            limit,
            seconds: 3,
            ramp: Nanos::from_secs(1),
            ..SteadyState::default()
        },
        ..endless(20_000)
    };
    let steady = run(&mut target(), vec![tied(pacing(1.0), 0, Ties::default())]);
    assert_eq!(steady.end, Nanos::from_secs(4));
    let [Finding::Steady(verdict)] = &steady.groups[0].findings[..] else {
        panic!("{:?}", steady.groups[0].findings);
    };
    assert!(verdict.attained && (verdict.iops() - 10_000.0).abs() < 2.0);
    let never = run(&mut target(), vec![tied(pacing(0.0), 0, Ties::default())]);
    assert_eq!(never.end, Nanos::from_secs(20));
}

#[test]
fn threads_of_a_report_are_judged_together() {
    let pacing = |think_ms| Pacing {
        // This thread alone would never be steady.
        thinktime: Nanos::from_millis(think_ms),
        thinktime_blocks: 1,
        steady: SteadyState {
            limit: 5.0,
            seconds: 4,
            ..SteadyState::default()
        },
        ..endless(30_000)
    };
    let ties = || Ties {
        is_judged_together: true,
        ..Ties::default()
    };
    let threads = vec![tied(pacing(0), 0, ties()), tied(pacing(3_300), 0, ties())];
    let outcome = run(&mut target(), threads);
    assert_eq!(outcome.end.0 / 1_000_000_000, 4);
    assert_eq!(outcome.groups[0].findings.len(), 1);
}

/// Latency grows with the depth: operations are executed one after the other, 100 µs each.
#[test]
fn the_depth_that_keeps_a_latency_is_found_and_reported_alone() {
    let pacing = Pacing {
        iodepth: 64,
        latency_target: LatencyTarget {
            latency: Nanos::from_micros(1_000),
            window: Nanos::from_millis(100),
            percentile: 95.0,
            keeps_searching: false,
        },
        ..endless(60_000)
    };
    let mut target = MockTarget::new(CAPACITY, 1, SERVICE);
    let thread = Thread::new(reads(1000), pacing, 0);
    let outcome = run_group(&mut target, vec![thread], None, &mut (), &|| false).unwrap();
    assert_eq!(outcome.groups[0].findings, [Finding::Depth(10)]);
    let record = only(&outcome, Direction::Read);
    // One window of 100 ms, and the operations in flight at its end.
    assert_eq!(record.operations, 1010);
    assert_eq!(record.latency.max(), Nanos::from_micros(1_000));
    assert_eq!(outcome.ending, Ending::Complete);
    assert!(outcome.end < Nanos::from_secs(10));
}

#[test]
fn a_rate_below_the_lowest_is_an_error() {
    let pacing = Pacing {
        lowest: LowestRates {
            operations: [20_000, 0, 0],
            ..LowestRates::default()
        },
        ..endless(60_000)
    };
    let outcome = run(&mut target(), vec![Thread::new(reads(1000), pacing, 0)]);
    let Ending::Failed(why) = &outcome.ending else {
        panic!("{:?}", outcome.ending);
    };
    assert!(why.contains("below its rate_iops_min of 20000"), "{why}");
    assert_eq!(outcome.end.0 / 1_000_000_000, 3);
}

#[test]
fn operations_that_overlap_wait_for_each_other() {
    let time = |serialize_overlap| {
        let pacing = Pacing {
            serialize_overlap,
            ..depth(8)
        };
        // All operations at the same offset.
        let threads = vec![Thread::new(reads(80), pacing, 0)];
        run(&mut target(), threads).end
    };
    assert_eq!(time(true), Nanos(80 * SERVICE.0));
    assert_eq!(time(false), Nanos(10 * SERVICE.0));
}

#[test]
fn a_rate_catches_up_after_a_pause_unless_told_otherwise() {
    let done = |rate_ignores_pauses| {
        let pacing = Pacing {
            read_limit: RateLimit::OpsPerSecond(1000),
            thinktime: Nanos::from_millis(50),
            thinktime_blocks: 50,
            rate_ignores_pauses,
            ..endless(1_000)
        };
        let outcome = run(&mut target(), vec![Thread::new(reads(1000), pacing, 0)]);
        operations(&outcome, 0)
    };
    // Fifty operations in 50 ms, then a pause of 50 ms; a thread that catches up has fifty at once after it.
    assert!((495..=510).contains(&done(true)), "{}", done(true));
    assert!((850..=1000).contains(&done(false)), "{}", done(false));
}
