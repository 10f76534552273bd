//! What is compared between points: a figure of the result by its identifier, or a short name.
//!
//! A short name is about the last group of jobs that ran together, so that jobs before a `stonewall`
//! may bring the device into a state: `waf`, `energy`, and of all its jobs and directions or, with
//! `read.` or `write.` before it, of one direction: `iops` and `bw` (sums), `mean`, `p50` … `p99.99` (the
//! largest). A counter of the device is named as in the result: `erases`.

use nandscope_device::Counters;
use nandscope_measure::build::device_counters;
use nandscope_result::{
    DirectionResult, Operation, ResultDocument, StepResult, counter as counters, run_figure,
    step_id,
};
use nandscope_workload::job::JobFile;
use std::fmt;
use thiserror::Error;

/// Short names without a direction, for messages.
const SHORT: &str = "waf, energy, iops, bw, mean, p50 … p99.99, read.p99, write.iops and the like, a counter such as erases";

/// Direction that is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Lower is better.
    Down,
    /// Higher is better.
    Up,
    /// Neither: the metric has no place in a Pareto front.
    Neither,
}

/// A direction that a short name is limited to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Read,
    Write,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    /// A figure by its identifier.
    Figure(String),
    /// A counter by its name.
    Counter(String),
    WriteAmplification,
    Energy,
    Iops(Option<Way>),
    Bandwidth(Option<Way>),
    Mean(Option<Way>),
    Percentile(Option<Way>, f64),
}

/// A number of a result that a sweep compares.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// Name of the metric, as the user wrote it.
    pub name: String,
    kind: Kind,
}

/// A metric that no result has.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown metric `{name}`; use {SHORT}, or a figure of the result such as {example}")]
pub struct MetricError {
    name: String,
    example: String,
}

impl Metric {
    /// The metric of that name in results of these jobs.
    ///
    /// # Errors
    /// [`MetricError`] if the results have no such figure.
    pub fn read(name: &str, jobs: &JobFile) -> Result<Metric, MetricError> {
        let kind = short(name)
            .or_else(|| counter(name))
            .or_else(|| figure(name, jobs));
        let kind = kind.ok_or_else(|| MetricError {
            name: name.to_string(),
            example: example(jobs),
        })?;
        Ok(Metric {
            name: name.to_string(),
            kind,
        })
    }

    /// Direction that is better.
    pub fn direction(&self) -> Direction {
        match &self.kind {
            Kind::Iops(_) | Kind::Bandwidth(_) => Direction::Up,
            Kind::Figure(id) if id.ends_with(".iops") || id.ends_with(".bandwidth") => {
                Direction::Up
            }
            Kind::Figure(id) if !id.contains(".latency.") && !id.ends_with(".energy-per-gb") => {
                Direction::Neither
            }
            Kind::Counter(_) => Direction::Neither,
            _ => Direction::Down,
        }
    }

    /// The metric's unit; empty for a ratio or a count.
    pub fn unit(&self) -> &'static str {
        match &self.kind {
            Kind::WriteAmplification | Kind::Counter(_) => "",
            Kind::Energy => "J/GB",
            Kind::Iops(_) => "IOPS",
            Kind::Bandwidth(_) => "MB/s",
            Kind::Mean(_) | Kind::Percentile(..) => "µs",
            Kind::Figure(id) if id.ends_with(".iops") => "IOPS",
            Kind::Figure(id) if id.ends_with(".bandwidth") => "MB/s",
            Kind::Figure(id) if id.contains(".latency.") => "µs",
            Kind::Figure(id) if id.ends_with(".energy-per-gb") => "J/GB",
            Kind::Figure(_) => "",
        }
    }

    /// The metric's value in a result; `None` if the result has none, such as the write amplification of a run that
    /// writes nothing.
    pub fn of(&self, document: &ResultDocument) -> Option<f64> {
        if let Kind::Figure(id) = &self.kind {
            let mut figures = document.steps.iter().flat_map(|s| &s.figures);
            return figures.find(|f| f.id == *id).map(|f| f.value);
        }
        let read_back = |s: &&StepResult| step_id::is_read_back(&s.id);
        let step = document.steps.iter().rev().find(|s| !read_back(s))?;
        let value = match &self.kind {
            Kind::WriteAmplification => {
                let written = step
                    .counters
                    .get(counters::HOST_WRITTEN)
                    .filter(|b| **b > 0.0)?;
                step.counters.get(counters::FLASH_PROGRAMMED)? / written
            }
            Kind::Energy => {
                let bytes = step.bytes_read_and_written();
                let joules = *step.counters.get(counters::ENERGY)?;
                (bytes > 0).then(|| joules / (bytes as f64 / 1e9))?
            }
            Kind::Iops(which) => sum(step, *which, |d| d.iops)?,
            Kind::Bandwidth(which) => sum(step, *which, |d| d.bandwidth_bytes_per_s / 1e6)?,
            Kind::Mean(which) => largest(step, *which, |d| Some(d.latency.mean_ns / 1e3))?,
            Kind::Percentile(which, percent) => largest(step, *which, |d| {
                let found = d.latency.percentiles.iter().find(|p| p.0 == *percent);
                found.map(|p| p.1 as f64 / 1e3)
            })?,
            Kind::Counter(name) => *step.counters.get(name)?,
            Kind::Figure(_) => return None,
        };
        value.is_finite().then_some(value)
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

fn short(name: &str) -> Option<Kind> {
    let (which, rest) = match name.split_once('.') {
        Some(("read", rest)) => (Some(Way::Read), rest),
        Some(("write", rest)) => (Some(Way::Write), rest),
        _ => (None, name),
    };
    Some(match (rest, which) {
        ("waf", None) => Kind::WriteAmplification,
        ("energy", None) => Kind::Energy,
        ("iops", _) => Kind::Iops(which),
        ("bw", _) => Kind::Bandwidth(which),
        ("mean", _) => Kind::Mean(which),
        _ => {
            let percent: f64 = rest.strip_prefix('p')?.parse().ok()?;
            let known = nandscope_workload::job::DEFAULT_PERCENTILES.contains(&percent);
            known.then_some(Kind::Percentile(which, percent))?
        }
    })
}

/// A counter that every simulated device has.
fn counter(name: &str) -> Option<Kind> {
    let known = device_counters(&Counters::default());
    let known = known.iter().any(|(counter, _)| *counter == name);
    known.then(|| Kind::Counter(name.to_string()))
}

/// Parses the identifier of a figure that results of these jobs may have: `group-N.JOB.DIRECTION.WHAT`, or the energy
/// of a group.
fn figure(id: &str, jobs: &JobFile) -> Option<Kind> {
    let (group, rest) = id.split_once('.')?;
    let number = step_id::number_of_group(group)?;
    let groups = jobs.groups();
    let group = groups.get(number.checked_sub(1)?)?;
    if rest == run_figure::ENERGY_PER_GB {
        return Some(Kind::Figure(id.to_string()));
    }
    let what = [
        run_figure::IOPS.to_string(),
        run_figure::BANDWIDTH.to_string(),
        run_figure::latency(run_figure::LATENCY, run_figure::MEAN),
        run_figure::latency(run_figure::LATENCY, run_figure::P99),
    ];
    let rest = what
        .iter()
        .find_map(|what| rest.strip_suffix(what.as_str())?.strip_suffix('.'))?;
    let (name, direction) = rest.rsplit_once('.')?;
    let is_known = !matches!(Operation::from(direction), Operation::Other(_));
    let named = group.iter().any(|job| name.contains(job.name.as_str()));
    (named && is_known).then(|| Kind::Figure(id.to_string()))
}

fn example(jobs: &JobFile) -> String {
    let name = jobs.jobs.first().map_or("job", |job| job.name.as_str());
    let p99 = run_figure::latency(run_figure::LATENCY, run_figure::P99);
    run_figure::of(&step_id::group(1), name, &Operation::Read, &p99)
}

fn directions(step: &StepResult, which: Option<Way>) -> impl Iterator<Item = &DirectionResult> {
    let all = step.jobs.iter().flat_map(|j| &j.directions);
    all.filter(move |d| match which {
        Some(Way::Read) => d.kind == Operation::Read,
        Some(Way::Write) => d.kind == Operation::Write,
        None => d.kind != Operation::Flush,
    })
}

fn sum(
    step: &StepResult,
    which: Option<Way>,
    value: impl Fn(&DirectionResult) -> f64,
) -> Option<f64> {
    directions(step, which).map(value).reduce(|a, b| a + b)
}

fn largest(
    step: &StepResult,
    which: Option<Way>,
    value: impl Fn(&DirectionResult) -> Option<f64>,
) -> Option<f64> {
    directions(step, which).filter_map(value).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_metrics() {
        let jobs =
            JobFile::parse("t", "[a]\nsize=1m\n[b]\nstonewall\nrw=write\nsize=1m\n").unwrap();
        for (name, direction, unit) in [
            ("waf", Direction::Down, ""),
            ("p99", Direction::Down, "µs"),
            ("read.p99.9", Direction::Down, "µs"),
            ("write.iops", Direction::Up, "IOPS"),
            ("bw", Direction::Up, "MB/s"),
            ("energy", Direction::Down, "J/GB"),
            ("group-1.a.read.latency.mean", Direction::Down, "µs"),
            ("group-2.b.write.bandwidth", Direction::Up, "MB/s"),
            ("group-2.energy-per-gb", Direction::Down, "J/GB"),
            ("erases", Direction::Neither, ""),
            ("flash_programmed_bytes", Direction::Neither, ""),
        ] {
            let metric = Metric::read(name, &jobs).unwrap();
            assert_eq!(
                (metric.direction(), metric.unit()),
                (direction, unit),
                "{name}"
            );
        }
        for name in [
            "",
            "p98",
            "wafs",
            "read.waf",
            "group-3.a.read.iops",
            "group-1.b.read.iops",
            "group-1.a.read.speed",
            "group-0.a.read.iops",
        ] {
            let error = Metric::read(name, &jobs).unwrap_err().to_string();
            assert!(error.contains("group-1.a.read.latency.p99"), "{error}");
        }
    }
}
