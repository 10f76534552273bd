//! Converts results of fio (`--output-format=json` or `json+`) to result documents, for reports and comparisons.
//!
//! Data that fio does not write stays absent: its JSON has no time series and no device, so reports of it have neither.
//! Latencies are fio's total latencies if it lists their percentiles (`lat_percentiles=1`) and its completion latencies
//! otherwise; a notice says which. Only `json+` has whole distributions, in fio's bins.

use hdrhistogram::Histogram;
use nandscope_result::histogram;
use nandscope_result::{
    DirectionResult, JobResult, Latency, Notice, Operation, ResultDocument, StepResult, StopReason,
    TargetInfo, TargetKind, WallClock, procedure, step_id,
};
use nandscope_units::Nanos;
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// Why a text is not output of fio.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum FioOutputError {
    /// The text is not JSON, or not output of fio.
    #[error("no JSON output of fio: {0}; write it with `fio --output-format=json+ --output=FILE`")]
    NotFio(String),
    /// A number that cannot be.
    #[error("job `{job}`: {what} is {value}")]
    Impossible {
        /// Name of the job.
        job: String,
        /// Name of the number.
        what: &'static str,
        /// The text in the file.
        value: String,
    },
}

#[derive(Deserialize)]
struct Output {
    #[serde(rename = "fio version")]
    version: String,
    #[serde(rename = "global options", default)]
    global: BTreeMap<String, Value>,
    #[serde(default)]
    timestamp: Option<i64>,
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    jobname: String,
    #[serde(default)]
    groupid: u64,
    #[serde(default)]
    error: i64,
    #[serde(default)]
    elapsed: f64,
    #[serde(rename = "job options", default)]
    options: BTreeMap<String, Value>,
    read: Option<Value>,
    write: Option<Value>,
    trim: Option<Value>,
    mixed: Option<Value>,
    sync: Option<Value>,
}

impl Job {
    /// fio's name of each direction, its operation, and fio's results for it.
    fn directions(&self) -> [(&'static str, Operation, Option<&Value>); 5] {
        [
            ("read", Operation::Read, self.read.as_ref()),
            ("write", Operation::Write, self.write.as_ref()),
            ("trim", Operation::Trim, self.trim.as_ref()),
            ("mixed", Operation::Mixed, self.mixed.as_ref()),
            ("sync", Operation::Flush, self.sync.as_ref()),
        ]
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Direction {
    io_bytes: u64,
    bw_bytes: f64,
    iops: f64,
    /// Runtime, ms.
    runtime: f64,
    total_ios: u64,
    clat_ns: Times,
    lat_ns: Times,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Times {
    min: u64,
    max: u64,
    mean: f64,
    stddev: f64,
    percentile: BTreeMap<String, u64>,
    bins: BTreeMap<String, u64>,
}

/// Whether a text looks like fio's JSON output, alone or among fio's notes and other formats.
pub fn recognised(text: &str) -> bool {
    json_part(text).is_some()
}

/// The text from fio's JSON object on: the first object whose first key is fio's version.
fn json_part(text: &str) -> Option<&str> {
    let mut from = 0;
    for line in text.split_inclusive('\n') {
        let part = &text[from..];
        from += line.len();
        let begins = |rest: &str| rest.trim_start().starts_with("\"fio version\"");
        if part.trim_start().strip_prefix('{').is_some_and(begins) {
            return Some(part.trim_start());
        }
    }
    None
}

/// Reads the output of one run of fio. Each of its groups is a step: a job with `stonewall` or
/// `new_group` begins one. `generator` names the program that reads.
///
/// # Errors
/// [`FioOutputError::NotFio`] if the text is not a JSON output of fio, [`FioOutputError::Impossible`] for numbers that
/// cannot be.
pub fn read(text: &str, generator: &str) -> Result<ResultDocument, FioOutputError> {
    let part = json_part(text).unwrap_or(text);
    // Only the first JSON object is parsed: `--output-format=normal,json+` appends text.
    let mut objects = serde_json::Deserializer::from_str(part).into_iter::<Output>();
    let output = match objects.next() {
        Some(output) => output.map_err(|e| FioOutputError::NotFio(e.to_string()))?,
        None => return Err(FioOutputError::NotFio("it is empty".to_string())),
    };
    let mut steps: Vec<StepResult> = Vec::new();
    let mut sources = BTreeSet::new();
    let mut elapsed = 0.0_f64;
    let mut group = None;
    for job in &output.jobs {
        let options = options(&output.global, &job.options);
        if group != Some(job.groupid) {
            group = Some(job.groupid);
            steps.push(step(steps.len() + 1));
        }
        let result = job_result(job, options, &mut sources)?;
        elapsed = elapsed.max(job.elapsed);
        if let Some(step) = steps.last_mut() {
            add(step, result);
        }
    }
    place_in_time(&mut steps);
    Ok(document(&output, steps, &sources, generator, elapsed))
}

fn step(number: usize) -> StepResult {
    StepResult {
        id: step_id::group(number),
        section: "Jobs".to_string(),
        description: "Measured by fio.".to_string(),
        ..StepResult::default()
    }
}

fn add(step: &mut StepResult, job: JobResult) {
    if !step.title.is_empty() {
        step.title.push_str(", ");
    }
    step.title.push_str(&job.name);
    if let Some(reason) = job.errors.keys().next() {
        step.incomplete = Some(StopReason::Failed(format!(
            "job `{}` ended with {reason}",
            job.name
        )));
    }
    step.jobs.push(job);
}

/// Places steps one after another, as fio writes no start times.
fn place_in_time(steps: &mut [StepResult]) {
    let mut start = 0.0;
    for step in steps {
        let longest = step.jobs.iter().map(|j| j.runtime_s).fold(0.0, f64::max);
        (step.start_s, step.end_s) = (start, start + longest);
        for job in &mut step.jobs {
            job.start_s = start;
        }
        start += longest;
    }
}

fn document(
    output: &Output,
    steps: Vec<StepResult>,
    sources: &BTreeSet<&'static str>,
    generator: &str,
    elapsed: f64,
) -> ResultDocument {
    let target = target(output);
    let title = format!("{} on {}", output.version, target.name);
    ResultDocument {
        generator: format!("{generator}, from the output of {}", output.version),
        wall: WallClock {
            started: output
                .timestamp
                .map(|s| format!("{s} s after 1970-01-01 UTC")),
            elapsed_s: Some(elapsed),
        },
        complete: steps.iter().all(|s| s.incomplete.is_none()),
        steps,
        notices: sources.iter().map(|text| Notice::info(*text)).collect(),
        ..ResultDocument::begin(procedure::FIO, title, 0, target)
    }
}

fn target(output: &Output) -> TargetInfo {
    let mut names = BTreeSet::new();
    let jobs = output.jobs.iter().map(|j| &j.options);
    for options in std::iter::once(&output.global).chain(jobs) {
        let named = options.get("filename").or_else(|| options.get("directory"));
        names.extend(named.map(plain));
    }
    let name = match names.len() {
        0 => "files of its own".to_string(),
        _ => names.into_iter().collect::<Vec<_>>().join(", "),
    };
    let kind = if name.starts_with("/dev/") {
        TargetKind::BlockDevice
    } else {
        TargetKind::File
    };
    TargetInfo {
        model: name.clone(),
        name,
        kind,
        ..TargetInfo::default()
    }
}

fn options(
    global: &BTreeMap<String, Value>,
    own: &BTreeMap<String, Value>,
) -> BTreeMap<String, String> {
    let all = global.iter().chain(own);
    all.map(|(key, value)| (key.clone(), plain(value)))
        .collect()
}

/// A value without the quotes of JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn job_result(
    job: &Job,
    options: BTreeMap<String, String>,
    sources: &mut BTreeSet<&'static str>,
) -> Result<JobResult, FioOutputError> {
    let mut result = JobResult {
        name: job.jobname.clone(),
        options,
        ..JobResult::default()
    };
    for (theirs, ours, value) in job.directions() {
        let Some(value) = value else {
            continue;
        };
        let direction = Direction::deserialize(value)
            .map_err(|e| FioOutputError::NotFio(format!("job `{}`, {theirs}: {e}", job.jobname)))?;
        if direction.total_ios > 0 {
            result.runtime_s = result.runtime_s.max(direction.runtime / 1e3);
            result
                .directions
                .push(direction_result(ours, &direction, sources));
        }
    }
    for d in &result.directions {
        for (what, value) in [
            ("the bandwidth", d.bandwidth_bytes_per_s),
            ("the rate of operations", d.iops),
            ("the mean latency", d.latency.mean_ns),
            ("the deviation of latency", d.latency.stddev_ns),
            ("the runtime", result.runtime_s),
        ] {
            if !value.is_finite() || value < 0.0 {
                return Err(FioOutputError::Impossible {
                    job: job.jobname.clone(),
                    what,
                    value: value.to_string(),
                });
            }
        }
    }
    // fio gives no runtime for flushes: they are spread over that of the job.
    let runtime = result.runtime_s;
    for d in result
        .directions
        .iter_mut()
        .filter(|d| d.kind == Operation::Flush && runtime > 0.0)
    {
        d.iops = d.operations as f64 / runtime;
    }
    if job.error != 0 {
        result.errors.insert(format!("errno {}", job.error), 1);
    }
    Ok(result)
}

fn direction_result(
    kind: Operation,
    direction: &Direction,
    sources: &mut BTreeSet<&'static str>,
) -> DirectionResult {
    // fio gives only total latencies for flushes.
    let no_completion = direction.clat_ns.max == 0 && direction.clat_ns.bins.is_empty();
    let total = !direction.lat_ns.percentile.is_empty() || no_completion;
    let times = if total {
        &direction.lat_ns
    } else {
        &direction.clat_ns
    };
    if kind != Operation::Flush {
        sources.insert(if total {
            "Latencies are fio's total latencies, from its submission of an operation to the completion."
        } else {
            "Latencies are fio's completion latencies; the time that it took to submit an operation is not in them (fio's option lat_percentiles=1 gives the whole)."
        });
    }
    DirectionResult {
        kind,
        operations: direction.total_ios,
        bytes: direction.io_bytes,
        bandwidth_bytes_per_s: direction.bw_bytes,
        iops: direction.iops,
        latency: latency(times),
        service: None,
        stages: None,
    }
}

fn latency(times: &Times) -> Latency {
    let mut percentiles: Vec<(f64, u64)> = times
        .percentile
        .iter()
        .filter_map(|(p, ns)| Some((p.parse().ok()?, *ns)))
        .filter(|(p, _): &(f64, u64)| (0.0..=100.0).contains(p))
        .collect();
    percentiles.sort_by(|a, b| a.0.total_cmp(&b.0));
    Latency {
        min_ns: times.min,
        max_ns: times.max,
        mean_ns: times.mean,
        stddev_ns: times.stddev,
        percentiles,
        histogram: bins(&times.bins).map_or_else(String::new, |h| histogram::encode(&h)),
    }
}

/// fio's bins as a histogram like ours.
fn bins(bins: &BTreeMap<String, u64>) -> Option<Histogram<u64>> {
    if bins.is_empty() {
        return None;
    }
    let mut histogram = histogram::empty();
    for (ns, count) in bins {
        let ns = Nanos(ns.parse().ok()?);
        histogram::count_saturating(&mut histogram, ns, *count);
    }
    Some(histogram)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const JSON_PLUS: &str = include_str!("../tests/data/fio-3.33-json-plus.json");

    #[test]
    fn a_recorded_output_has_its_numbers_and_steps() {
        assert!(recognised(JSON_PLUS));
        let d = read(JSON_PLUS, "test").unwrap();
        assert!(d.complete);
        assert_eq!(d.title, "fio-3.33 on /tmp/f");
        assert_eq!(d.steps.len(), 2, "the second job waits for the first");
        let read = &d.steps[0].jobs[0];
        assert_eq!((read.name.as_str(), read.directions.len()), ("r", 1));
        assert_eq!(read.options["rw"], "randread");
        assert_eq!(read.options["bs"], "4k", "of the global section");
        let r = &read.directions[0];
        assert_eq!((r.operations, r.bytes), (2000, 8_192_000));
        assert_eq!(r.latency.percentiles.len(), 17);
        let h = histogram::decode(&r.latency.histogram).unwrap();
        assert_eq!(h.len(), 2000, "every operation is in a bin");
        let p99 = r
            .latency
            .percentiles
            .iter()
            .find(|p| p.0 == 99.0)
            .unwrap()
            .1;
        let ours = h.value_at_quantile(0.99);
        assert!(
            (ours as f64 / p99 as f64 - 1.0).abs() < 0.01,
            "{ours} {p99}"
        );
        let kinds: Vec<&str> = d.steps[1].jobs[0]
            .directions
            .iter()
            .map(|d| d.kind.as_str())
            .collect();
        assert_eq!(kinds, ["read", "write", "flush"]);
        assert!(d.steps[1].start_s >= d.steps[0].end_s);
    }

    #[test]
    fn notes_and_other_formats_around_the_object_are_passed_over() {
        let plain = read(JSON_PLUS, "test").unwrap();
        let note = "note: both iodepth >= 1 and synchronous I/O engine are selected\n";
        let around =
            format!("{note}a: (g=0): rw=read\n{JSON_PLUS}\na: (groupid=0, jobs=1): {{}}\n");
        assert!(recognised(&around));
        assert_eq!(read(&around, "test").unwrap(), plain);
    }

    #[test]
    fn a_failed_job_makes_the_document_incomplete() {
        let text = JSON_PLUS.replacen("\"error\" : 0", "\"error\" : 5", 1);
        let d = read(&text, "test").unwrap();
        assert!(!d.complete && d.steps[0].incomplete.is_some());
        assert_eq!(d.steps[0].jobs[0].errors["errno 5"], 1);
    }

    #[test]
    fn other_texts_say_what_to_do() {
        for text in ["", "{}", "{\"fio version\":\"x\"}", "[1]", "fio: bad"] {
            let error = read(text, "test").unwrap_err();
            assert!(
                error.to_string().contains("--output-format=json+"),
                "{error}"
            );
        }
        assert!(!recognised("{\"format\": \"nandscope-result\"}"));
        let text = JSON_PLUS.replacen("\"bw_bytes\" : ", "\"bw_bytes\" : -", 1);
        assert!(matches!(
            read(&text, "test"),
            Err(FioOutputError::Impossible { .. })
        ));
    }

    #[test]
    fn bins_and_counts_at_the_limits_of_their_types() {
        let bins = [u64::MAX, 1 << 63, (1 << 63) - 1, 0].map(|n| format!("\"{n}\": {}", u64::MAX));
        let bins = format!("{{ {} }}", bins.join(", "));
        let text = format!(
            "{{\"fio version\": \"fio-3.33\", \"jobs\": [{{\"jobname\": \"a\", \"read\": {{\"total_ios\": 4, \"clat_ns\": {{\"bins\": {bins}}}}}}}]}}"
        );
        let d = read(&text, "test").unwrap();
        let h = &d.steps[0].jobs[0].directions[0].latency.histogram;
        assert!(histogram::decode(h).is_ok());
    }

    proptest! {
        #[test]
        fn changed_bytes_are_read_or_refused(at in 0..JSON_PLUS.len(), byte in 32u8..127) {
            let mut text = JSON_PLUS.as_bytes().to_vec();
            text[at] = byte;
            if let Ok(text) = String::from_utf8(text) {
                let _ = read(&text, "test");
            }
        }
    }
}
