//! One step of a document for readers: its tables, plots, jobs, errors, counters and events.

use super::matrix::Matrix;
use super::plot::{Plot, ROWS_OF_A_PLOT};
use super::{collection, curves, percentile, time};
use crate::names::{Unique, valid_name};
use crate::number;
use nandscope_result::{JobResult, Operation, StepResult};

/// One step as the page shows it.
#[derive(Clone, Debug)]
pub struct Step {
    /// Heading.
    pub title: String,
    /// Element id.
    pub anchor: String,
    /// Description of the procedure.
    pub description: String,
    /// Duration with its unit.
    pub duration: String,
    /// The most telling numbers in a line.
    pub brief: String,
    /// Whether the step is unfolded.
    pub open: bool,
    /// Numbers of its first and last series in the table of all series.
    pub series: Option<(usize, usize)>,
    /// Tables of measured numbers.
    pub tables: Vec<Matrix>,
    /// Effect of garbage collection, and times of writes.
    pub collection: Option<String>,
    /// Plots over time and over percentile.
    pub plots: Vec<Plot>,
    /// Table of jobs.
    pub jobs: Vec<JobRow>,
    /// Jobs as understood, each in a line of fio's options.
    pub job_lines: Vec<(String, String)>,
    /// Errors: job, reason, count.
    pub errors: Vec<(String, String, String)>,
    /// Differences of the device's counters.
    pub counters: Vec<(String, String)>,
    /// Events: time since the start of the step, and text.
    pub marks: Vec<(String, String)>,
}

/// Names of the latencies of a job.
pub const LATENCIES: [&str; 5] = ["Mean", "p50", "p99", "p99.9", "Greatest"];

/// One direction of one job.
#[derive(Clone, Debug)]
pub struct JobRow {
    /// Name of the job.
    pub job: String,
    /// `read`, `write`, `trim`, `flush`.
    pub kind: String,
    /// MB/s.
    pub bandwidth: String,
    /// Operations per second.
    pub iops: String,
    /// Mean, then p50, p99, p99.9 and the greatest latency.
    pub latencies: [String; 5],
    /// Mean time from submission to completion, if it was recorded separately from latency.
    pub service: Option<String>,
}

impl Step {
    /// Whether a job has service times separate from its latencies.
    pub fn has_service(&self) -> bool {
        self.jobs.iter().any(|j| j.service.is_some())
    }

    /// Lays out a step, whose plots keep all of their values.
    pub(super) fn of(step: &StepResult, open: bool, names: &mut Unique) -> Step {
        let plots = plots(step, names);
        let counters = step
            .counters
            .iter()
            .map(|(name, value)| (name.clone(), number::short(*value)))
            .collect();
        Step {
            title: step.title.clone(),
            anchor: names.unique(&format!("step {}", step.id)),
            description: step.description.clone(),
            // A step of many measurements with separate clocks has no duration.
            duration: if step.end_s > step.start_s {
                number::duration(step.end_s - step.start_s)
            } else {
                String::new()
            },
            series: None,
            brief: brief(step),
            open,
            tables: step.tables.iter().map(Matrix::of_data).collect(),
            collection: collection::in_words(step),
            plots,
            jobs: step.jobs.iter().flat_map(job_rows).collect(),
            job_lines: step
                .jobs
                .iter()
                .map(|j| (j.name.clone(), job_line(j)))
                .collect(),
            errors: step.jobs.iter().flat_map(errors).collect(),
            counters,
            marks: step
                .events
                .iter()
                .map(|m| (number::duration(m.t_s - step.start_s), m.text.clone()))
                .collect(),
        }
    }
}

/// The plots of one step at full resolution.
fn plots(step: &StepResult, names: &mut Unique) -> Vec<Plot> {
    let mut plots = curves::of_step(step, names);
    plots.extend(time::of_step(step, names));
    plots.extend(percentile::of_step(step, names));
    plots
}

/// Up to three figures of the step, or its jobs' bandwidth where it has none.
fn brief(step: &StepResult) -> String {
    let figures: Vec<String> = step
        .figures
        .iter()
        .take(3)
        .map(|f| format!("{} {}", f.title, number::with_unit(f.value, &f.unit)))
        .collect();
    if !figures.is_empty() {
        return figures.join(" · ");
    }
    let jobs: Vec<String> = step
        .jobs
        .iter()
        .flat_map(|j| &j.directions)
        .take(3)
        .map(|d| match d.kind {
            Operation::Trim | Operation::Flush => {
                format!("{} {}", number::count(d.operations), d.kind)
            }
            _ => {
                let mb_s = d.bandwidth_bytes_per_s / 1e6;
                format!("{} {}", d.kind, number::with_unit(mb_s, "MB/s"))
            }
        })
        .collect();
    jobs.join(" · ")
}

fn job_rows(job: &JobResult) -> Vec<JobRow> {
    job.directions
        .iter()
        .map(|d| {
            let at = |wanted: f64| {
                let percentiles = d.latency.percentiles.iter();
                percentiles
                    .filter(|_| d.defines(wanted))
                    .find(|(p, _)| (p - wanted).abs() < 1e-9)
                    .map_or("–".to_string(), |(_, ns)| number::latency(*ns as f64))
            };
            JobRow {
                job: job.name.clone(),
                kind: d.kind.to_string(),
                // A discard moves no data, a flush has no length.
                bandwidth: match d.kind {
                    Operation::Trim | Operation::Flush => "–".to_string(),
                    _ => number::short(d.bandwidth_bytes_per_s / 1e6),
                },
                iops: number::short(d.iops),
                latencies: [
                    number::latency(d.latency.mean_ns),
                    at(50.0),
                    at(99.0),
                    at(99.9),
                    number::latency(d.latency.max_ns as f64),
                ],
                service: d.service.as_ref().map(|s| number::latency(s.mean_ns)),
            }
        })
        .collect()
}

fn job_line(job: &JobResult) -> String {
    let options: Vec<String> = job
        .options
        .iter()
        .map(|(key, value)| {
            if value.is_empty() {
                key.clone()
            } else {
                format!("{key}={value}")
            }
        })
        .collect();
    options.join(" ")
}

fn errors(job: &JobResult) -> Vec<(String, String, String)> {
    job.errors
        .iter()
        .map(|(reason, n)| (job.name.clone(), reason.clone(), number::count(*n)))
        .collect()
}

/// The plots of one step for files; the step's own names.
pub fn plots_for_files(step: &StepResult, names: &mut Unique) -> Vec<Plot> {
    plots(step, names)
        .into_iter()
        .map(|p| p.reduce(ROWS_OF_A_PLOT))
        .collect()
}

/// Element identifier of the step with this identifier, unless it is used twice.
pub fn step_anchor(id: &str) -> String {
    valid_name(&format!("step {id}"))
}
