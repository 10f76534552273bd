//! Series of the instruments.

use super::*;

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
    // The sum of MB/s times length over all intervals is the amount written.
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

#[test]
fn instruments_stay_on_the_grid_when_intervals_are_merged() {
    let mut target = MockTarget::new(CAPACITY, 1, Nanos::from_micros(70));
    let pacing = Pacing {
        time_based: true,
        runtime: Some(Nanos::from_millis(100)),
        ..depth(1)
    };
    let plan = IntervalPlan {
        interval: Nanos::from_millis(1),
        max_points: 12,
    };
    let threads = vec![Thread::new(reads(10), pacing, 0)];
    let outcome = run_group(&mut target, threads, Some(plan), &mut (), &|| false).unwrap();
    intervals_add_up(&outcome);
    assert_eq!(outcome.timeline.interval(), Nanos::from_millis(10));
    let step = step_result(&outcome, StepMeta::default(), &[]);
    for series in &step.series {
        assert_eq!(series.interval_s, 0.01, "{}", series.name);
        // The last operation ends shortly after an interval boundary; the rate of that rest is averaged into the
        // previous interval.
        let rate = matches!(series.unit.as_str(), "MB/s" | "IOPS" | "W");
        assert_eq!(series.t_s.len(), 11 - usize::from(rate), "{}", series.name);
        assert_eq!(
            (series.t_s[0], series.t_s[8]),
            (0.01, 0.09),
            "{}",
            series.name
        );
    }
}
