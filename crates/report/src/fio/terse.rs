//! fio's terse output, version 3: one line per job.

use super::VERSION;
use super::stats::{self, Classes};
use nandscope_result::{
    DirectionResult, JobResult, Latency, Operation, ResultDocument, StepResult,
};
use nandscope_units::printable;

/// Percentiles of a line; fio fills it up with zeroes.
const PERCENTILES: usize = 20;

/// All jobs.
pub fn text(document: &ResultDocument) -> String {
    let steps = document.steps.iter().enumerate();
    let lines = steps.flat_map(|(group, step)| step.jobs.iter().map(move |job| (group, step, job)));
    lines
        .map(|(group, step, job)| line(group, step, job) + "\n")
        .collect()
}

fn line(group: usize, step: &StepResult, job: &JobResult) -> String {
    // A semicolon would begin another field.
    let name = printable(&job.name).replace(';', ",");
    let mut fields = vec![
        "3".to_string(),
        VERSION.to_string(),
        name,
        group.to_string(),
        stats::error(job).to_string(),
    ];
    for kind in [Operation::Read, Operation::Write] {
        direction(&mut fields, step, job, stats::of_kind(job, kind));
    }
    // Processor time, context switches, page faults; depths.
    fields.extend(["0.000000%", "0.000000%", "0", "0", "0"].map(String::from));
    fields.extend((0..7).map(|_| "0.0%".to_string()));
    let Classes { ns, mut us, ms } = stats::classes(job);
    us[0] += ns.iter().sum::<f64>();
    fields.extend(us.iter().chain(&ms).map(|share| format!("{share:.2}%")));
    fields.join(";")
}

fn direction(
    fields: &mut Vec<String>,
    step: &StepResult,
    job: &JobResult,
    result: Option<&DirectionResult>,
) {
    let none = DirectionResult::default();
    let found = result.unwrap_or(&none);
    let completion = stats::completion(found);
    let runtime = if result.is_some() {
        stats::runtime_ms(job)
    } else {
        0
    };
    let kib_per_s = found.bandwidth_bytes_per_s / 1024.0;
    for number in [
        found.bytes / 1024,
        kib_per_s as u64,
        found.iops as u64,
        runtime,
    ] {
        fields.push(number.to_string());
    }
    times(
        fields,
        stats::submission(found).unwrap_or(&Latency::default()),
    );
    times(fields, completion);
    let percentiles = completion.percentiles.iter();
    let percentiles = percentiles.map(|(p, ns)| format!("{p:.6}%={}", ns / 1_000));
    let percentiles = percentiles.chain(std::iter::repeat("0%=0".to_string()));
    fields.extend(percentiles.take(PERCENTILES));
    times(fields, found.since_issue());
    let bw = stats::bandwidth(step, found);
    let share = if kib_per_s > 0.0 {
        (bw.mean * 100.0 / kib_per_s).min(100.0)
    } else {
        0.0
    };
    fields.push((bw.min as u64).to_string());
    fields.push((bw.max as u64).to_string());
    fields.push(format!("{share:.6}%"));
    fields.push(format!("{:.6}", bw.mean));
    fields.push(format!("{:.6}", bw.deviation));
}

/// Minimum, maximum, mean and deviation, µs.
fn times(fields: &mut Vec<String>, latency: &Latency) {
    fields.push((latency.min_ns / 1_000).to_string());
    fields.push((latency.max_ns / 1_000).to_string());
    fields.push(format!("{:.6}", latency.mean_ns / 1e3));
    fields.push(format!("{:.6}", latency.stddev_ns / 1e3));
}
