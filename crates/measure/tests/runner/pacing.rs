//! Throughput, latency and pauses against closed forms.

use super::*;

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
        // The operations queued at the end are served in whole rounds of k.
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
    let late = |d: &nandscope_measure::distribution::Distribution| {
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
fn thinktime_after_a_time_of_operation() {
    // 9 ms of operations at 100 µs each, then 1 ms without.
    let pacing = |blocks| Pacing {
        thinktime: Nanos::from_millis(1),
        think_after: Some(Nanos::from_millis(9)),
        thinktime_blocks: blocks,
        ..depth(1)
    };
    let mut target = MockTarget::new(CAPACITY, 1, Nanos::from_micros(100));
    let outcome = run(&mut target, vec![Thread::new(reads(900), pacing(0), 0)]);
    let pauses = outcome.groups[0].idle.as_secs_f64() * 1e3;
    assert!((9.0..=10.0).contains(&pauses), "{pauses}");
    // Whichever comes first: 45 operations take half as long.
    let mut target = MockTarget::new(CAPACITY, 1, Nanos::from_micros(100));
    let outcome = run(&mut target, vec![Thread::new(reads(900), pacing(45), 0)]);
    assert_eq!(outcome.groups[0].idle, Nanos::from_millis(19));
}

#[test]
fn thinktime_follows_the_last_completion() {
    let mut target = MockTarget::new(CAPACITY, 4, Nanos::from_micros(100));
    let pacing = Pacing {
        thinktime: Nanos::from_micros(900),
        thinktime_blocks: 8,
        ..depth(4)
    };
    // Bursts of 8 at depth 4 take two service times; there is no pause after the last burst.
    let outcome = run(&mut target, vec![Thread::new(reads(80), pacing, 0)]);
    assert_eq!(outcome.end, Nanos::from_micros(10 * 200 + 9 * 900));
    assert_eq!(outcome.groups[0].idle, Nanos::from_micros(9 * 900));
}

#[test]
fn a_pause_is_not_a_delay_of_the_target() {
    let mut target = MockTarget::new(CAPACITY, 1, Nanos::from_micros(10));
    let pacing = Pacing {
        thinktime: Nanos::from_millis(5),
        thinktime_blocks: 10,
        read_limit: RateLimit::OpsPerSecond(1_000),
        ..depth(1)
    };
    let outcome = run(&mut target, vec![Thread::new(reads(100), pacing, 0)]);
    // Late after each pause, the thread catches up; the first operation after a
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

#[test]
fn threads_of_a_group_are_one_job_and_groups_stand_apart() {
    let mut target = MockTarget::new(CAPACITY, 4, Nanos::from_micros(100));
    let writes = list(vec![op(OpKind::Write); 50]);
    let late = Pacing {
        start_delay: Nanos::from_millis(5),
        ..depth(1)
    };
    let threads = vec![
        Thread::new(reads(100), depth(1), 0),
        Thread::new(writes, late, 1),
        Thread::new(reads(200), depth(1), 0),
    ];
    let outcome = run(&mut target, threads);
    let jobs = [JobMeta::new("readers")];
    let step = step_result(&outcome, StepMeta::default(), &jobs);
    let names: Vec<&str> = step.jobs.iter().map(|j| j.name.as_str()).collect();
    assert_eq!(names, ["readers", "job 1"]);
    let (readers, writer) = (&step.jobs[0], &step.jobs[1]);
    assert_eq!((readers.runtime_s, writer.runtime_s), (0.02, 0.005));
    assert_eq!(readers.directions[0].operations, 300);
    assert_eq!(readers.directions[0].iops, 15_000.0);
    assert_eq!(
        (writer.start_s, writer.directions[0].iops),
        (0.005, 10_000.0)
    );
    assert_eq!(writer.directions[0].bandwidth_bytes_per_s, 40_960_000.0);
    assert_eq!(
        writer.directions[0].kind,
        nandscope_result::Operation::Write
    );
}
