//! Properties of any job: sums, determinism, Little's law.

use super::*;
use proptest::prelude::*;

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

fn thread(job: &RandomJob, groups: usize) -> Thread {
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
    Thread::new(list(ops), pacing, job.group % groups)
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
            let threads = jobs.iter().map(|job| thread(job, jobs.len())).collect();
            let plan = Some(IntervalPlan { interval: Nanos(700), max_points: 50 });
            run_group(&mut target, threads, plan, &mut (), &|| false).unwrap()
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
