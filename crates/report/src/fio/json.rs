//! fio's JSON.

use super::date::Date;
use super::group;
use super::json_text;
use super::reported::{Part, Reported};
use super::stats::{self, CLASSES};
use super::steady::{self, Steady};
use super::{VERSION, bins};
use nandscope_result::{DEPTH_CLASSES, DiskUse, Latency, Operation, ResultDocument};
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
    timestamp: u64,
    timestamp_ms: u64,
    time: String,
    #[serde(rename = "global options", skip_serializing_if = "BTreeMap::is_empty")]
    global: BTreeMap<&'a str, &'a str>,
    jobs: Vec<Job<'a>>,
    disk_util: Vec<Disk<'a>>,
}

/// A disk of the system.
#[derive(Serialize)]
struct Disk<'a> {
    name: &'a str,
    read_ios: u64,
    write_ios: u64,
    read_merges: u64,
    write_merges: u64,
    read_ticks: u64,
    write_ticks: u64,
    in_queue: u64,
    util: f64,
}

impl<'a> Disk<'a> {
    fn of(disk: &'a DiskUse) -> Self {
        Disk {
            name: &disk.name,
            read_ios: disk.reads,
            write_ios: disk.writes,
            read_merges: disk.read_merges,
            write_merges: disk.write_merges,
            read_ticks: disk.read_ms,
            write_ticks: disk.write_ms,
            in_queue: disk.in_queue_ms,
            util: disk.busy_percent,
        }
    }
}

#[derive(Serialize)]
struct Job<'a> {
    jobname: &'a str,
    groupid: u32,
    error: u32,
    eta: u64,
    elapsed: u64,
    #[serde(rename = "job options")]
    options: BTreeMap<&'a str, &'a str>,
    /// Results by direction; only `mixed` if directions are reported together.
    #[serde(flatten)]
    directions: Object<Kind>,
    job_runtime: u64,
    usr_cpu: f64,
    sys_cpu: f64,
    ctx: u64,
    majf: u64,
    minf: u64,
    iodepth_level: Object<f64>,
    iodepth_submit: Object<f64>,
    iodepth_complete: Object<f64>,
    latency_ns: Object<f64>,
    latency_us: Object<f64>,
    latency_ms: Object<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_err: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_error: Option<u32>,
    latency_depth: u32,
    latency_target: u64,
    latency_percentile: f64,
    latency_window: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    desc: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    steadystate: Option<Steady>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Kind {
    Rated(Box<Direction>),
    Flushes(Flushes),
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
    bw_samples: u64,
    iops_min: u64,
    iops_max: u64,
    iops_mean: f64,
    iops_stddev: f64,
    iops_samples: u64,
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
pub fn text(document: &ResultDocument, entries: &[Reported], with_bins: bool) -> String {
    let date = Date::of(&document.wall);
    let jobs = entries.iter().map(|entry| job(entries, entry, with_bins));
    let output = Output {
        version: VERSION,
        generator: &document.generator,
        timestamp: date.seconds(),
        timestamp_ms: date.0,
        time: date.text(),
        global: global(entries),
        jobs: jobs.collect(),
        disk_util: document.disks.iter().map(Disk::of).collect(),
    };
    json_text::of(&output)
}

/// Whether an option of a job comes from a `[global]` section.
fn is_global(entry: &Reported, name: &str) -> bool {
    let facts = entry.job.fio.as_ref();
    facts.is_some_and(|fio| fio.global_options.iter().any(|known| known == name))
}

/// The options of `[global]` sections that are in effect in a job.
fn global<'a>(entries: &'a [Reported]) -> BTreeMap<&'a str, &'a str> {
    let options = entries.iter().flat_map(|entry| {
        let options = entry.job.options.iter();
        options.filter(move |(name, _)| is_global(entry, name))
    });
    options
        .map(|(name, value)| (name.as_str(), plain(name, value)))
        .collect()
}

/// Options that are times in seconds.
const SECONDS: [&str; 4] = ["runtime", "ramp_time", "startdelay", "steadystate_duration"];

/// The value of an option as programs read it: whole seconds are numbers.
fn plain<'a>(name: &str, value: &'a str) -> &'a str {
    let number = value.strip_suffix('s').filter(|_| SECONDS.contains(&name));
    let is_whole = |text: &&str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    number.filter(is_whole).unwrap_or(value)
}

/// Options of a job, with its number of clones, by which fio-plot finds results.
fn options<'a>(entry: &'a Reported) -> BTreeMap<&'a str, &'a str> {
    let own = entry.job.options.iter();
    let own = own.filter(|(name, _)| !is_global(entry, name));
    let own = own.map(|(name, value)| (name.as_str(), plain(name, value)));
    let clones = [("numjobs", "1")].into_iter();
    let clones = clones.filter(|(name, _)| !is_global(entry, name));
    clones.chain(own).collect()
}

fn job<'a>(entries: &[Reported], entry: &'a Reported, with_bins: bool) -> Job<'a> {
    let classes = stats::classes(entry);
    let named = |values: &[f64]| {
        let names = CLASSES.iter().map(u64::to_string);
        let names = names.chain(["2000".to_string(), ">=2000".to_string()]);
        Object(names.zip(values.iter().copied()).collect())
    };
    const LEVELS: [&str; DEPTH_CLASSES] = ["1", "2", "4", "8", "16", "32", ">=64"];
    const BATCHES: [&str; DEPTH_CLASSES] = ["0", "4", "8", "16", "32", "64", ">=64"];
    let depths = |names: [&str; DEPTH_CLASSES], counts| {
        let names = names.map(String::from).into_iter();
        Object(names.zip(stats::shares(counts)).collect())
    };
    let runtimes = entry.parts.iter().map(|part| part.runtime_ms);
    let runtime = runtimes.max().unwrap_or(0);
    let search = steady::search(entry.job);
    let errors = entry.errors_passed();
    Job {
        jobname: entry.name,
        groupid: entry.group,
        error: entry.error,
        eta: 0,
        elapsed: runtime.div_ceil(1000),
        options: options(entry),
        directions: directions(entries, entry, with_bins),
        job_runtime: runtime * u64::from(entry.threads),
        usr_cpu: 0.0,
        sys_cpu: 0.0,
        ctx: 0,
        majf: 0,
        minf: 0,
        iodepth_level: depths(LEVELS, &entry.depths.level),
        iodepth_submit: depths(BATCHES, &entry.depths.submit),
        iodepth_complete: depths(BATCHES, &entry.depths.complete),
        latency_ns: named(&classes.ns),
        latency_us: named(&classes.us),
        latency_ms: named(&classes.ms),
        total_err: errors,
        first_error: errors.map(|_| entry.error),
        latency_depth: search.depth,
        latency_target: search.target_ns,
        latency_percentile: search.percentile,
        latency_window: search.window_us,
        desc: Some(entry.option("description")).filter(|text| !text.is_empty()),
        steadystate: steady::of_job(entry.job),
    }
}

fn directions(entries: &[Reported], entry: &Reported, with_bins: bool) -> Object<Kind> {
    let rated = |kind: &Operation| {
        let part = entry.part(kind);
        let found = part.map(|part| direction(entries, entry, part, with_bins));
        Kind::Rated(Box::new(found.unwrap_or_default()))
    };
    let named = |kind: Operation| (kind.to_string(), rated(&kind));
    if entry.is_mixed() {
        return Object(vec![named(Operation::Mixed)]);
    }
    let mut all: Vec<_> = [Operation::Read, Operation::Write, Operation::Trim]
        .map(named)
        .into();
    let flushes = entry.part(&Operation::Flush).map(|part| &part.result);
    let flushes = Flushes {
        total_ios: flushes.map_or(0, |f| f.operations),
        lat_ns: flushes.map_or_else(Times::default, |f| {
            let shown = entry.shows_completion() || entry.is_on("lat_percentiles");
            let latency = f.since_issue();
            Times::of(latency, f.operations).with(latency, shown, with_bins)
        }),
    };
    all.push(("sync".to_string(), Kind::Flushes(flushes)));
    if entry.part(&Operation::Mixed).is_some() {
        all.push(named(Operation::Mixed));
    }
    Object(all)
}

fn direction(entries: &[Reported], entry: &Reported, part: &Part, with_bins: bool) -> Direction {
    let result = part.result.as_ref();
    let (total, completion) = (result.since_issue(), stats::completion(result));
    let times = |latency: &Latency, shown| {
        Times::of(latency, result.operations).with(latency, shown, with_bins)
    };
    let slat = stats::submission(result);
    let due = result.service.is_some().then_some(&result.latency);
    let bytes_per_s = part.bytes_per_s();
    let rates = &part.rates;
    let (bandwidth, iops) = (&rates.kib_per_s, &rates.iops);
    let together = group::sum(entries, entry.group, &result.kind).together;
    Direction {
        io_bytes: result.bytes,
        io_kbytes: result.bytes / 1024,
        bw_bytes: bytes_per_s,
        bw: bytes_per_s / 1024,
        iops: result.iops,
        runtime: part.runtime_ms,
        total_ios: result.operations,
        short_ios: 0,
        drop_ios: 0,
        slat_ns: slat.map_or_else(Times::default, |slat| {
            times(slat, entry.is_on("slat_percentiles"))
        }),
        clat_ns: times(completion, entry.shows_completion()),
        lat_ns: times(total, entry.is_on("lat_percentiles")),
        due_lat_ns: due.map(|due| times(due, true)),
        bw_min: bandwidth.min as u64,
        bw_max: bandwidth.max as u64,
        bw_agg: match rates.samples {
            0 => 0.0,
            _ => stats::share_of_group(rates, together),
        },
        bw_mean: bandwidth.mean,
        bw_dev: bandwidth.deviation,
        bw_samples: rates.samples,
        iops_min: iops.min as u64,
        iops_max: iops.max as u64,
        iops_mean: iops.mean,
        iops_stddev: iops.deviation,
        iops_samples: rates.samples,
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

    /// With the percentiles where they are `shown`.
    fn with(self, latency: &Latency, shown: bool, with_bins: bool) -> Self {
        if !shown {
            return self;
        }
        let percentiles = latency.percentiles.iter();
        let percentiles = percentiles.map(|(p, ns)| (format!("{p:.6}"), *ns));
        Times {
            percentile: Some(Object(percentiles.collect())),
            bins: with_bins.then(|| bins::of(latency)),
            ..self
        }
    }
}
