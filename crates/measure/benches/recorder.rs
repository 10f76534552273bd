//! Cost of recording one operation: a histogram, exact sums and the interval.
//!
//! `cargo bench -p nandscope-measure --bench recorder`. The goal is at most 25 ns.

use nandscope_measure::recorder::{Direction, Finished, IntervalPlan, Recorder};
use nandscope_units::Nanos;
use nandscope_units::random::Lcg64;
use std::hint::black_box;
use std::time::Instant;

const OPS: u64 = 50_000_000;

fn main() {
    for (name, scheduled) in [
        ("closed loop", false),
        ("open loop (latency and service time)", true),
    ] {
        let best = (0..3).map(|_| run(scheduled)).fold(f64::MAX, f64::min);
        println!("record, {name}: {best:.1} ns per operation");
    }
}

fn run(scheduled: bool) -> f64 {
    let mut recorder = Recorder::new(1, Nanos::ZERO, IntervalPlan::default());
    let mut random = Lcg64(1);
    let begin = Instant::now();
    for i in 0..OPS {
        // A cheap generator spreads latencies over two decades, so that the histogram's cells are not all warm.
        let state = random.bits();
        let due = Nanos(i * 10_000);
        let latency = Nanos(20_000 + (state >> 44));
        recorder.record(
            0,
            &Finished {
                direction: if state >> 63 == 0 {
                    Direction::Read
                } else {
                    Direction::Write
                },
                bytes: 4096,
                due,
                issued: due,
                scheduled,
                submitted: due,
                completed: due + latency,
            },
        );
    }
    let elapsed = begin.elapsed();
    black_box(recorder.finish(Nanos(OPS * 10_000)));
    elapsed.as_nanos() as f64 / OPS as f64
}
