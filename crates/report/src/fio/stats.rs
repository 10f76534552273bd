//! Numbers of a job as fio computes them.

use super::bins;
use nandscope_result::{DirectionResult, JobResult, Latency, Operation, StepResult, series};

const KIB: f64 = 1024.0;

/// fio's `clat`: from the hand-over of an operation to its completion.
pub fn completion(direction: &DirectionResult) -> &Latency {
    let stages = direction.stages.as_ref();
    stages.map_or_else(|| direction.since_issue(), |stages| &stages.completion)
}

/// fio's `slat`: what is before the hand-over; none where submission takes no time.
pub fn submission(direction: &DirectionResult) -> Option<&Latency> {
    direction.stages.as_ref().map(|stages| &stages.submission)
}

/// The result of a kind of operation.
pub fn of_kind(job: &JobResult, kind: Operation) -> Option<&DirectionResult> {
    job.directions.iter().find(|d| d.kind == kind)
}

/// Length of the measured part, ms.
pub fn runtime_ms(job: &JobResult) -> u64 {
    (job.runtime_s * 1e3 + 0.5) as u64
}

/// fio's number of an error: I/O error, or none.
pub fn error(job: &JobResult) -> u32 {
    const EIO: u32 = 5;
    if job.errors.is_empty() { 0 } else { EIO }
}

/// Samples of a rate over time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Samples {
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// Arithmetic mean of the samples.
    pub mean: f64,
    /// Standard deviation.
    pub deviation: f64,
    /// Number of samples.
    pub count: usize,
}

/// Bandwidth over time, KiB/s; none if several jobs share the series of the step.
pub fn bandwidth(step: &StepResult, direction: &DirectionResult) -> Samples {
    samples(step, direction, series::BANDWIDTH, 1e6 / KIB)
}

/// Operations per second over time.
pub fn iops(step: &StepResult, direction: &DirectionResult) -> Samples {
    samples(step, direction, series::IOPS, 1.0)
}

fn samples(step: &StepResult, direction: &DirectionResult, quantity: &str, scale: f64) -> Samples {
    let name = series::of(&direction.kind, quantity);
    let found = step.find_series(&name).filter(|_| step.jobs.len() == 1);
    let values: Vec<f64> = found.iter().flat_map(|s| &s.v).map(|v| v * scale).collect();
    let count = values.len();
    if count == 0 {
        return Samples::default();
    }
    let mean = values.iter().sum::<f64>() / count as f64;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    Samples {
        min: values.iter().copied().fold(f64::INFINITY, f64::min),
        max: values.iter().copied().fold(0.0, f64::max),
        mean,
        deviation: (squares / (count.max(2) - 1) as f64).sqrt(),
        count,
    }
}

/// Upper ends of fio's classes of latency, in ns or µs or ms.
pub const CLASSES: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];

/// Percentages of the operations of a job by classes of latency.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Classes {
    /// Below 1 µs.
    pub ns: [f64; 10],
    /// From 1 µs.
    pub us: [f64; 10],
    /// From 1 ms; the last two end at 2 s, and do not end.
    pub ms: [f64; 12],
}

/// Classes of the latencies of reads, writes and trims.
pub fn classes(job: &JobResult) -> Classes {
    let mut counts = Classes::default();
    let mut all = 0.0;
    let kinds = job.directions.iter();
    for direction in kinds.filter(|d| d.kind != Operation::Flush) {
        bins::each(completion(direction), |ns, count| {
            let class = |value: u64| CLASSES.iter().position(|end| value < *end);
            let place = match ns {
                0..1_000 => class(ns).map(|at| &mut counts.ns[at]),
                1_000..1_000_000 => class(ns / 1_000).map(|at| &mut counts.us[at]),
                _ => {
                    let ms = ns / 1_000_000;
                    let at = class(ms).unwrap_or(if ms < 2_000 { 10 } else { 11 });
                    Some(&mut counts.ms[at])
                }
            };
            if let Some(place) = place {
                *place += count as f64;
            }
            all += count as f64;
        });
    }
    if all > 0.0 {
        let counts = counts
            .ns
            .iter_mut()
            .chain(&mut counts.us)
            .chain(&mut counts.ms);
        counts.for_each(|count| *count *= 100.0 / all);
    }
    counts
}
