//! Summary of jobs as text for a terminal of 80 columns, in fio's own layout, for readers of fio. No colour; the report
//! crate makes better tables.

use crate::fio::{Base, DIGITS, short};
use crate::terminal::wrapped;
use nandscope_result::{DirectionResult, JobResult, Latency, Operation, StepResult};
use std::fmt::Write as _;

/// Maximum line length, columns.
const COLUMNS: usize = 80;

/// Every job of a step under its title, and why the step is incomplete, where it is.
pub fn step_summary(step: &StepResult) -> String {
    let mut text = String::new();
    if !step.title.is_empty() {
        line(&mut text, &step.title);
    }
    if let Some(why) = &step.incomplete {
        line(&mut text, &format!("INCOMPLETE: {why}"));
    }
    for job in &step.jobs {
        text.push_str(&job_summary(job));
    }
    for event in &step.events {
        let at = event.t_s - step.start_s;
        line(&mut text, &format!("  at {at:.1} s: {}", event.text));
    }
    text
}

/// One job: rate and size, latencies and percentiles of each kind of operation.
pub fn job_summary(job: &JobResult) -> String {
    let mut text = String::new();
    let errors: u64 = job.errors.values().sum();
    line(&mut text, &format!("{}: err={errors}", job.name));
    for direction in &job.directions {
        direction_summary(&mut text, job, direction);
    }
    if job.directions.is_empty() {
        line(&mut text, "  nothing was measured");
    }
    for (reason, count) in &job.errors {
        line(&mut text, &format!("  error: {count} x {reason}"));
    }
    text
}

fn direction_summary(text: &mut String, job: &JobResult, d: &DirectionResult) {
    let milliseconds = (job.runtime_s * 1e3 + 0.5) as u64;
    let iops = count(d.iops);
    if d.kind == Operation::Flush {
        line(
            text,
            &format!("  flush: IOPS={iops} ({} operations)", d.operations),
        );
    } else {
        line(
            text,
            &format!(
                "  {}: IOPS={iops}, BW={}/s ({}/s)({}/{milliseconds}msec)",
                d.kind,
                bytes(d.bandwidth_bytes_per_s, Base::Binary),
                bytes(d.bandwidth_bytes_per_s, Base::Decimal),
                bytes(d.bytes as f64, Base::Binary),
            ),
        );
    }
    // As in fio, `lat` counts from the submission; with a schedule an operation may be submitted late.
    let total = d.since_issue();
    match &d.stages {
        Some(stages) => {
            latency_line(text, "slat", &stages.submission);
            latency_line(text, "clat", &stages.completion);
            latency_line(text, "lat", total);
            percentile_lines(text, "clat", &stages.completion);
        }
        None => latency_summary(text, "lat", total),
    }
    if d.service.is_some() {
        latency_summary(text, "due lat", &d.latency);
    }
}

fn latency_summary(text: &mut String, name: &str, l: &Latency) {
    latency_line(text, name, l);
    percentile_lines(text, name, l);
}

fn latency_line(text: &mut String, name: &str, l: &Latency) {
    let (unit, scale) = unit_of(l.mean_ns);
    let _ = writeln!(
        text,
        "    {name} ({unit}): min={}, max={}, avg={:.2}, stdev={:.2}",
        // Rounded away from the mean, which has more digits and must stay between them.
        l.min_ns / scale,
        l.max_ns.div_ceil(scale),
        l.mean_ns / scale as f64,
        l.stddev_ns / scale as f64,
    );
}

fn percentile_lines(text: &mut String, name: &str, l: &Latency) {
    if l.percentiles.is_empty() {
        return;
    }
    let (unit, scale) = unit_of(l.mean_ns);
    let _ = writeln!(text, "    {name} percentiles ({unit}):");
    let widest = l.percentiles.iter().map(|&(_, ns)| scaled(ns, scale));
    let width = widest.max().map_or(1, |n| n.to_string().len()).max(4);
    let cells: Vec<String> = l
        .percentiles
        .iter()
        .map(|&(p, ns)| format!("{p:5.2}th=[{:>width$}]", scaled(ns, scale)))
        .collect();
    // Five columns of margin, and a comma with a blank between two cells.
    let cell = cells.iter().map(String::len).max().unwrap_or(1);
    let per_line = ((COLUMNS - 7) / (cell + 2)).max(1);
    let rows = cells.len().div_ceil(per_line);
    for (i, row) in cells.chunks(per_line).enumerate() {
        let comma = if i + 1 < rows { "," } else { "" };
        let _ = writeln!(text, "     | {}{comma}", row.join(", "));
    }
}

/// fio's unit of a latency: the largest in which the mean has more than four digits before the point.
fn unit_of(mean_ns: f64) -> (&'static str, u64) {
    if mean_ns >= 1e7 {
        ("msec", 1_000_000)
    } else if mean_ns >= 1e4 {
        ("usec", 1_000)
    } else {
        ("nsec", 1)
    }
}

fn scaled(ns: u64, scale: u64) -> u64 {
    ns.saturating_add(scale / 2) / scale
}

/// A count as fio shows it: `950`, `12.3k`, `1500k`.
fn count(n: f64) -> String {
    short(n.max(0.0).round() as u64, DIGITS, Base::Decimal)
}

/// An amount of data as fio shows it: `48.0MiB`, `50.4MB`.
fn bytes(n: f64, prefix: Base) -> String {
    short(n.max(0.0).round() as u64, DIGITS, prefix) + "B"
}

/// Writes a line; the continuation of a long one is indented by four more.
fn line(text: &mut String, content: &str) {
    let indent = content.len() - content.trim_start().len();
    text.push_str(&wrapped(content, &" ".repeat(indent + 4), COLUMNS));
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_result::LatencyStages;

    #[test]
    fn numbers_as_fio_prints_them() {
        let cases = [
            (0.0, "0"),
            (950.0, "950"),
            (9_999.0, "9999"),
            (12_345.0, "12.3k"),
            (86_800.0, "86.8k"),
            (1_500_000.0, "1500k"),
            (15_000_000.0, "15.0M"),
        ];
        for (n, text) in cases {
            assert_eq!(count(n), text);
        }
        let mib = 1024.0 * 1024.0;
        assert_eq!(bytes(48.0 * mib, Base::Binary), "48.0MiB");
        assert_eq!(bytes(48.0 * mib, Base::Decimal), "50.3MB");
        assert_eq!(bytes(1000.0 * mib, Base::Binary), "1000MiB");
        assert_eq!(bytes(5921.0 * 1024.0, Base::Binary), "5921KiB");
        assert_eq!(bytes(10.0 * 1024.0 * mib, Base::Binary), "10.0GiB");
    }

    #[test]
    fn a_job_in_fios_words() {
        let job = JobResult {
            name: "rand".into(),
            runtime_s: 20.833,
            directions: vec![DirectionResult {
                kind: "read".into(),
                operations: 256_000,
                bytes: 1000 << 20,
                bandwidth_bytes_per_s: (1000u64 << 20) as f64 / 20.833,
                iops: 256_000.0 / 20.833,
                latency: Latency {
                    min_ns: 52_000,
                    max_ns: 4_110_000,
                    mean_ns: 81_230.0,
                    stddev_ns: 10_500.0,
                    percentiles: [
                        1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0,
                        99.5, 99.9, 99.95, 99.99,
                    ]
                    .iter()
                    .map(|&p| (p, 60_000 + (p * 1000.0) as u64))
                    .collect(),
                    histogram: String::new(),
                },
                service: None,
                stages: None,
            }],
            ..JobResult::default()
        };
        let expected = "\
rand: err=0
  read: IOPS=12.3k, BW=48.0MiB/s (50.3MB/s)(1000MiB/20833msec)
    lat (usec): min=52, max=4110, avg=81.23, stdev=10.50
    lat percentiles (usec):
     |  1.00th=[  61],  5.00th=[  65], 10.00th=[  70], 20.00th=[  80],
     | 30.00th=[  90], 40.00th=[ 100], 50.00th=[ 110], 60.00th=[ 120],
     | 70.00th=[ 130], 80.00th=[ 140], 90.00th=[ 150], 95.00th=[ 155],
     | 99.00th=[ 159], 99.50th=[ 160], 99.90th=[ 160], 99.95th=[ 160],
     | 99.99th=[ 160]
";
        assert_eq!(job_summary(&job), expected);
    }

    fn latency(min_ns: u64, max_ns: u64, mean_ns: f64) -> Latency {
        Latency {
            min_ns,
            max_ns,
            mean_ns,
            ..Latency::default()
        }
    }

    /// The mean has more digits than the others.
    #[test]
    fn the_mean_lies_between_the_smallest_and_the_largest() {
        let mut text = String::new();
        latency_summary(&mut text, "lat", &latency(52_700, 52_900, 52_800.0));
        assert_eq!(
            text,
            "    lat (usec): min=52, max=53, avg=52.80, stdev=0.00\n"
        );
    }

    #[test]
    fn latency_from_the_submission_and_from_the_due_time_have_their_names() {
        let direction = DirectionResult {
            kind: "read".into(),
            service: Some(latency(1_000, 3_000, 2_000.0)),
            latency: latency(5_000, 7_000, 6_000.0),
            ..DirectionResult::default()
        };
        let mut text = String::new();
        direction_summary(&mut text, &JobResult::default(), &direction);
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert!(lines[0].starts_with("    lat (nsec): min=1000,"), "{text}");
        assert!(
            lines[1].starts_with("    due lat (nsec): min=5000,"),
            "{text}"
        );
    }

    #[test]
    fn stages_of_the_latency_have_the_names_of_fio() {
        let percentiles = vec![(50.0, 2_000)];
        let direction = DirectionResult {
            kind: "read".into(),
            latency: latency(1_500, 4_500, 2_500.0),
            stages: Some(LatencyStages {
                submission: latency(300, 700, 500.0),
                completion: Latency {
                    percentiles,
                    ..latency(1_000, 4_000, 2_000.0)
                },
            }),
            ..DirectionResult::default()
        };
        let mut text = String::new();
        direction_summary(&mut text, &JobResult::default(), &direction);
        let names = text.lines().skip(1).map(|l| l.trim().split(" (").next());
        let expected = ["slat", "clat", "lat", "clat percentiles"].map(Some);
        assert_eq!(names.take(4).collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let latency = Latency {
            mean_ns: 9.0,
            max_ns: u64::MAX,
            percentiles: vec![(1.0, u64::MAX), (50.0, 1), (99.999, u64::MAX)],
            ..Latency::default()
        };
        let step = StepResult {
            title: "A step with a long title that goes on ".repeat(5),
            incomplete: Some("thread 0 stopped at its first error: ".repeat(4).into()),
            jobs: vec![JobResult {
                name: "j".into(),
                directions: vec![DirectionResult {
                    kind: "write".into(),
                    bandwidth_bytes_per_s: 1e15,
                    iops: 1e15,
                    bytes: u64::MAX,
                    service: Some(latency.clone()),
                    latency,
                    ..DirectionResult::default()
                }],
                errors: [("uncorrectable read".to_string(), u64::MAX)].into(),
                ..JobResult::default()
            }],
            ..StepResult::default()
        };
        let text = step_summary(&step);
        assert!(text.contains("INCOMPLETE"));
        for line in text.lines() {
            assert!(line.chars().count() <= COLUMNS, "{line}");
        }
    }
}
