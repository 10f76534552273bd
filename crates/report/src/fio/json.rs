//! fio's JSON.

use super::stats::{self, CLASSES, Samples};
use super::steady::{self, Steady};
use super::{VERSION, bins};
use nandscope_result::{
    DirectionResult, JobResult, Latency, Operation, ResultDocument, StepResult,
};
use serde::Serialize;
use serde::ser::Serializer;
use std::collections::BTreeMap;

/// An object whose keys keep their order.
struct Object<V>(Vec<(String, V)>);

impl<V: Serialize> Serialize for Object<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

#[derive(Serialize)]
struct Output<'a> {
    #[serde(rename = "fio version")]
    version: &'static str,
    generator: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<&'a str>,
    jobs: Vec<Job<'a>>,
}

#[derive(Serialize)]
struct Job<'a> {
    jobname: &'a str,
    groupid: usize,
    error: u32,
    eta: u64,
    elapsed: u64,
    #[serde(rename = "job options")]
    options: BTreeMap<&'a str, &'a str>,
    /// Takes the place of the others if directions are reported together.
    #[serde(skip_serializing_if = "Option::is_none")]
    mixed: Option<Direction>,
    read: Direction,
    write: Direction,
    trim: Direction,
    sync: Flushes,
    job_runtime: u64,
    usr_cpu: f64,
    sys_cpu: f64,
    ctx: u64,
    majf: u64,
    minf: u64,
    latency_ns: Object<f64>,
    latency_us: Object<f64>,
    latency_ms: Object<f64>,
    latency_depth: u32,
    latency_target: u64,
    latency_percentile: f64,
    latency_window: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    steadystate: Option<Steady>,
}

#[derive(Default, Serialize)]
struct Direction {
    io_bytes: u64,
    io_kbytes: u64,
    bw_bytes: u64,
    bw: u64,
    iops: f64,
    runtime: u64,
    total_ios: u64,
    short_ios: u64,
    drop_ios: u64,
    slat_ns: Times,
    clat_ns: Times,
    lat_ns: Times,
    #[serde(skip_serializing_if = "Option::is_none")]
    due_lat_ns: Option<Times>,
    bw_min: u64,
    bw_max: u64,
    bw_agg: f64,
    bw_mean: f64,
    bw_dev: f64,
    bw_samples: usize,
    iops_min: u64,
    iops_max: u64,
    iops_mean: f64,
    iops_stddev: f64,
    iops_samples: usize,
}

#[derive(Default, Serialize)]
struct Times {
    min: u64,
    max: u64,
    mean: f64,
    stddev: f64,
    #[serde(rename = "N")]
    count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    percentile: Option<Object<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bins: Option<BTreeMap<u64, u64>>,
}

#[derive(Serialize)]
struct Flushes {
    total_ios: u64,
    lat_ns: Times,
}

/// The whole output; `with_bins` as `json+`.
pub fn text(document: &ResultDocument, with_bins: bool) -> String {
    let steps = document.steps.iter().enumerate();
    let jobs = steps.flat_map(|(group, step)| {
        let jobs = step.jobs.iter();
        jobs.map(move |result| job(group, step, result, with_bins))
    });
    let output = Output {
        version: VERSION,
        generator: &document.generator,
        time: document.wall.started.as_deref(),
        jobs: jobs.collect(),
    };
    // Keys are strings and numbers are finite: nothing here can fail.
    let mut text = serde_json::to_string_pretty(&output).unwrap_or_default();
    text.push('\n');
    text
}

/// The options of a job, with the number of its clones, by which fio-plot finds results.
fn options(job: &JobResult) -> BTreeMap<&str, &str> {
    let given = job.options.iter();
    let given = given.map(|(key, value)| (key.as_str(), value.as_str()));
    [("numjobs", "1")].into_iter().chain(given).collect()
}

fn job<'a>(group: usize, step: &StepResult, job: &'a JobResult, with_bins: bool) -> Job<'a> {
    let of_kind = |kind| {
        let found = stats::of_kind(job, kind);
        found.map(|found| direction(step, job, found, with_bins))
    };
    let classes = stats::classes(job);
    let named = |values: &[f64]| {
        let names = CLASSES.iter().map(u64::to_string);
        let names = names.chain(["2000".to_string(), ">=2000".to_string()]);
        Object(names.zip(values.iter().copied()).collect())
    };
    let flushes = stats::of_kind(job, Operation::Flush);
    Job {
        jobname: &job.name,
        groupid: group,
        error: stats::error(job),
        eta: 0,
        elapsed: job.runtime_s.ceil() as u64,
        options: options(job),
        mixed: of_kind(Operation::Mixed),
        read: of_kind(Operation::Read).unwrap_or_default(),
        write: of_kind(Operation::Write).unwrap_or_default(),
        trim: of_kind(Operation::Trim).unwrap_or_default(),
        sync: Flushes {
            total_ios: flushes.map_or(0, |f| f.operations),
            lat_ns: flushes.map_or_else(Times::default, |f| {
                Times::of(&f.latency, f.operations).with_percentiles(&f.latency, with_bins)
            }),
        },
        job_runtime: stats::runtime_ms(job),
        usr_cpu: 0.0,
        sys_cpu: 0.0,
        ctx: 0,
        majf: 0,
        minf: 0,
        latency_ns: named(&classes.ns),
        latency_us: named(&classes.us),
        latency_ms: named(&classes.ms),
        latency_depth: job.latency_depth.unwrap_or_else(|| steady::depth(job)),
        latency_target: steady::microseconds(job, "latency_target"),
        latency_percentile: steady::latency_percentile(job),
        latency_window: steady::microseconds(job, "latency_window"),
        steadystate: steady::of_job(job),
    }
}

fn direction(
    step: &StepResult,
    job: &JobResult,
    result: &DirectionResult,
    with_bins: bool,
) -> Direction {
    let (total, completion) = (result.since_issue(), stats::completion(result));
    let times = |latency| Times::of(latency, result.operations);
    let is_wanted = |option: &str| job.options.get(option).is_some_and(|v| v != "0");
    let lat_ns = match is_wanted("lat_percentiles") {
        true => times(total).with_percentiles(total, with_bins),
        false => times(total),
    };
    let due = result.service.is_some().then_some(&result.latency);
    let (bw, iops): (Samples, Samples) =
        (stats::bandwidth(step, result), stats::iops(step, result));
    let kib_per_s = result.bandwidth_bytes_per_s / 1024.0;
    Direction {
        io_bytes: result.bytes,
        io_kbytes: result.bytes / 1024,
        bw_bytes: result.bandwidth_bytes_per_s as u64,
        bw: kib_per_s as u64,
        iops: result.iops,
        runtime: stats::runtime_ms(job),
        total_ios: result.operations,
        short_ios: 0,
        drop_ios: 0,
        slat_ns: stats::submission(result).map_or_else(Times::default, times),
        clat_ns: times(completion).with_percentiles(completion, with_bins),
        lat_ns,
        due_lat_ns: due.map(|due| times(due).with_percentiles(due, with_bins)),
        bw_min: bw.min as u64,
        bw_max: bw.max as u64,
        bw_agg: if kib_per_s > 0.0 {
            (bw.mean * 100.0 / kib_per_s).min(100.0)
        } else {
            0.0
        },
        bw_mean: bw.mean,
        bw_dev: bw.deviation,
        bw_samples: bw.count,
        iops_min: iops.min as u64,
        iops_max: iops.max as u64,
        iops_mean: iops.mean,
        iops_stddev: iops.deviation,
        iops_samples: iops.count,
    }
}

impl Times {
    fn of(latency: &Latency, count: u64) -> Self {
        Times {
            min: latency.min_ns,
            max: latency.max_ns,
            mean: latency.mean_ns,
            stddev: latency.stddev_ns,
            count,
            percentile: None,
            bins: None,
        }
    }

    fn with_percentiles(self, latency: &Latency, with_bins: bool) -> Self {
        let percentiles = latency.percentiles.iter();
        let percentiles = percentiles.map(|(p, ns)| (format!("{p:.6}"), *ns));
        Times {
            percentile: Some(Object(percentiles.collect())),
            bins: with_bins.then(|| bins::of(latency)),
            ..self
        }
    }
}
