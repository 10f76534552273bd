//! Two measurements of one kind of operation as one.

use nandscope_result::histogram::{decode, encode};
use nandscope_result::{DirectionResult, Latency, LatencyStages};

/// Joins two successive measurements, which took `runtime_ms` in total.
pub fn merged(a: &DirectionResult, b: &DirectionResult, runtime_ms: u64) -> DirectionResult {
    let counts = (a.operations, b.operations);
    let seconds = runtime_ms.max(1) as f64 / 1e3;
    let bytes = a.bytes + b.bytes;
    let operations = counts.0 + counts.1;
    let service = match (&a.service, &b.service) {
        (None, None) => None,
        _ => Some(latency(a.since_issue(), b.since_issue(), counts)),
    };
    let stages = a.stages.as_ref().zip(b.stages.as_ref());
    DirectionResult {
        kind: a.kind.clone(),
        operations,
        bytes,
        bandwidth_bytes_per_s: bytes as f64 / seconds,
        iops: operations as f64 / seconds,
        latency: latency(&a.latency, &b.latency, counts),
        service,
        stages: stages.map(|(a, b)| LatencyStages {
            submission: latency(&a.submission, &b.submission, counts),
            completion: latency(&a.completion, &b.completion, counts),
        }),
    }
}

fn latency(a: &Latency, b: &Latency, counts: (u64, u64)) -> Latency {
    let (of_a, of_b) = (counts.0 as f64, counts.1 as f64);
    let all = (of_a + of_b).max(1.0);
    let apart = b.mean_ns - a.mean_ns;
    let squares = |latency: &Latency, n: f64| latency.stddev_ns * latency.stddev_ns * n;
    let squares = squares(a, of_a) + squares(b, of_b) + apart * apart * of_a * of_b / all;
    let (min_ns, max_ns) = (a.min_ns.min(b.min_ns), a.max_ns.max(b.max_ns));
    let histogram = decode(&a.histogram).ok().zip(decode(&b.histogram).ok());
    let histogram = histogram.and_then(|(mut a, b)| a.add(b).ok().map(|()| a));
    let percentiles = a.percentiles.iter().map(|(percent, ns)| {
        let both = histogram.as_ref();
        let both = both.map(|h| h.value_at_quantile(percent / 100.0));
        (
            *percent,
            both.unwrap_or(*ns).clamp(min_ns, max_ns.max(min_ns)),
        )
    });
    Latency {
        min_ns,
        max_ns,
        mean_ns: (a.mean_ns * of_a + b.mean_ns * of_b) / all,
        stddev_ns: (squares / all).sqrt(),
        percentiles: percentiles.collect(),
        histogram: histogram.as_ref().map_or_else(String::new, encode),
    }
}
