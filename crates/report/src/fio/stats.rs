//! Numbers of a job as fio computes them.

use super::bins;
use super::reported::Reported;
use nandscope_result::{
    DEPTH_CLASSES, DirectionResult, JobResult, Latency, Operation, RateSamples,
};

/// fio's `clat`: from the submission of an operation to its completion.
pub fn completion(direction: &DirectionResult) -> &Latency {
    let stages = direction.stages.as_ref();
    stages.map_or_else(|| direction.since_issue(), |stages| &stages.completion)
}

/// fio's `slat`: time before the submission; `None` if submission takes no time.
pub fn submission(direction: &DirectionResult) -> Option<&Latency> {
    direction.stages.as_ref().map(|stages| &stages.submission)
}

/// Length of the measured part, ms.
pub fn runtime_ms(job: &JobResult) -> u64 {
    (job.runtime_s * 1e3 + 0.5) as u64
}

/// Error number of a result without one: that of an I/O error, or 0.
pub fn error(job: &JobResult) -> u32 {
    const EIO: u32 = 5;
    if job.errors.is_empty() { 0 } else { EIO }
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

/// Classes of the latencies of reads, writes and trims. A class that occurs has 0.01 % at least.
pub fn classes(entry: &Reported) -> Classes {
    let mut counts = Classes::default();
    let mut all = 0.0;
    let kinds = entry.parts.iter().map(|part| &part.result);
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
        let counts = counts.filter(|count| **count > 0.0);
        counts.for_each(|count| *count = (*count * 100.0 / all).max(0.01));
    }
    counts
}

/// Percentages of a distribution of queue depths. A class that occurs has 0.1 % at least.
pub fn shares(counts: &[u64; DEPTH_CLASSES]) -> [f64; DEPTH_CLASSES] {
    let all: u64 = counts.iter().sum();
    counts.map(|count| match count {
        0 => 0.0,
        _ => (100.0 * count as f64 / all as f64).max(0.1),
    })
}

/// Mean bandwidth of a job as a percentage of that of its group, bytes per second.
pub fn share_of_group(rates: &RateSamples, group: u64) -> f64 {
    match group {
        0..=1024 => 100.0,
        _ => (rates.kib_per_s.mean.trunc() * 100.0 * 1024.0 / group as f64).min(100.0),
    }
}
