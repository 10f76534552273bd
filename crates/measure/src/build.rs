//! Makes the parts of the result document from the outcome of a run.
//!
//! Defines the units of series and counters.

use crate::recorder::{Direction, DirectionBin, DirectionRecord, GroupRecord, Sample, Timeline};
use crate::runner::{Finding, GroupOutcome, GroupRun, Verdict};
use crate::target::Reading;
use crate::{cached, events};
use nandscope_device::Counters;
use nandscope_result::{
    DirectionResult, FioReport, JobResult, LatencyStages, Notice, Operation, ResultDocument,
    Series, SteadyState, StepResult, counter, series,
};
use nandscope_units::number::round_significant;
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::job::{DEFAULT_PERCENTILES, UnifiedRw};
use std::collections::BTreeMap;

/// Significant digits of a series: no instrument has more, and a long document would be half noise.
const DIGITS: usize = 6;

/// Description of a step; see the fields of [`StepResult`] with the same names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepMeta {
    /// Unique within the document, fit for a file name.
    pub id: String,
    /// Title for reports.
    pub title: String,
    /// The chapter of the report.
    pub section: String,
    /// Mode of attachment, if there are several.
    pub mode: Option<String>,
    /// The procedure, in a sentence or two.
    pub description: String,
}

/// Description of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobMeta {
    /// Name of the job's section in its file.
    pub name: String,
    /// Options of the job as parsed: option and value, in fio's names.
    pub options: BTreeMap<String, String>,
    /// Percentiles to list, ascending, in percent.
    pub percentiles: Vec<f64>,
    /// Whether reads, writes and trims are reported together, separately, or both.
    pub unified: UnifiedRw,
    /// Facts for the output formats of fio, for jobs of job files; the numbers in it are those of the run.
    pub fio: Option<FioReport>,
}

impl JobMeta {
    /// A job with fio's default list of percentiles and no options.
    pub fn new(name: impl Into<String>) -> Self {
        JobMeta {
            name: name.into(),
            options: BTreeMap::new(),
            percentiles: DEFAULT_PERCENTILES.to_vec(),
            unified: UnifiedRw::None,
            fio: None,
        }
    }
}

/// The step that a run was. `jobs[i]` describes the group that threads gave as `record` i; a
/// group without a description is called `job i`.
pub fn step_result(outcome: &GroupOutcome, meta: StepMeta, jobs: &[JobMeta]) -> StepResult {
    let groups = outcome.groups.iter().enumerate();
    let jobs = groups.map(|(i, group)| numbered_result(i, group, jobs));
    step_of(outcome, meta, jobs.collect())
}

/// As [`step_result`]; frees the record of each group as soon as its result is made, since both together would need much memory
/// for thousands of jobs.
pub fn step_result_freeing(
    outcome: &mut GroupOutcome,
    meta: StepMeta,
    jobs: &[JobMeta],
) -> StepResult {
    let groups = outcome.groups.iter_mut().enumerate();
    let jobs = groups.map(|(i, group)| {
        let result = numbered_result(i, group, jobs);
        group.record = GroupRecord::default();
        result
    });
    let jobs = jobs.collect();
    step_of(outcome, meta, jobs)
}

fn numbered_result(number: usize, group: &GroupRun, jobs: &[JobMeta]) -> JobResult {
    match jobs.get(number) {
        Some(meta) => job_result(group, meta),
        None => job_result(group, &JobMeta::new(format!("job {number}"))),
    }
}

fn step_of(outcome: &GroupOutcome, meta: StepMeta, jobs: Vec<JobResult>) -> StepResult {
    StepResult {
        id: meta.id,
        title: meta.title,
        section: meta.section,
        mode: meta.mode,
        description: meta.description,
        start_s: outcome.start.as_secs_f64(),
        end_s: outcome.end.as_secs_f64(),
        incomplete: outcome.ending.incomplete(),
        jobs,
        series: all_series(outcome),
        curves: Vec::new(),
        counters: counters(&outcome.first_reading, &outcome.last_reading),
        events: events::end_of_life(outcome).into_iter().collect(),
        ..StepResult::default()
    }
}

/// Results determined by jobs, in words: queue depths that keep a latency, steady states.
pub fn findings(outcome: &GroupOutcome, jobs: &[JobMeta]) -> Vec<Notice> {
    let of_job = |(group, job): (&GroupRun, &JobMeta)| {
        let text = |finding: &Finding| match finding {
            Finding::Depth(depth) => format!(
                "job `{}`: the latency target led to a queue depth of {depth}",
                job.name
            ),
            Finding::Steady(verdict) => format!(
                "job `{}`: steady state {}: {:.0} IOPS, {:.1} MB/s on average over the time that was judged last",
                job.name,
                if verdict.attained {
                    "attained"
                } else {
                    "not attained"
                },
                verdict.iops(),
                verdict.bandwidth() / 1e6
            ),
        };
        let texts: Vec<String> = group.findings.iter().map(text).collect();
        texts
    };
    let texts = outcome.groups.iter().zip(jobs).flat_map(of_job);
    texts.map(Notice::info).collect()
}

/// One group of threads as one job, as fio's `group_reporting` does.
pub fn job_result(group: &GroupRun, meta: &JobMeta) -> JobResult {
    let runtime = group.runtime();
    let directions = directions(group, meta);
    let fio = meta.fio.as_ref().map(|fio| FioReport {
        threads: group.threads,
        error: group.error,
        depths: group.depths.clone(),
        rates: directions
            .iter()
            .filter_map(|d| group.rates.of(&d.kind))
            .collect(),
        ..fio.clone()
    });
    JobResult {
        name: meta.name.clone(),
        options: meta.options.clone(),
        start_s: group.start.as_secs_f64(),
        runtime_s: runtime.as_secs_f64(),
        idle_s: group.idle.as_secs_f64() / f64::from(group.threads.max(1)),
        directions,
        fio,
        latency_depth: group.findings.iter().find_map(|finding| match finding {
            Finding::Depth(depth) => Some(*depth),
            Finding::Steady(_) => None,
        }),
        steady_state: group.findings.iter().find_map(|finding| match finding {
            Finding::Steady(verdict) => Some(steady_state(verdict)),
            Finding::Depth(_) => None,
        }),
        errors: group
            .errors
            .iter()
            .map(|(reason, count)| ((*reason).to_string(), *count))
            .collect(),
    }
}

fn steady_state(verdict: &Verdict) -> SteadyState {
    SteadyState {
        attained: verdict.attained,
        value: verdict.value,
        iops: verdict.rates.iter().map(|rates| rates.0).collect(),
        bandwidth_bytes_per_s: verdict.rates.iter().map(|rates| rates.1).collect(),
    }
}

/// Results of a group by kind of operation, joined as the job requests. Flushes stay separate, as in fio.
fn directions(group: &GroupRun, meta: &JobMeta) -> Vec<DirectionResult> {
    let result = |kind, record: &DirectionRecord| {
        direction_result(kind, record, group.runtime(), &meta.percentiles)
    };
    let joined =
        |direction: &Direction| meta.unified == UnifiedRw::Mixed && *direction != Direction::Flush;
    let apart = group.record.present().filter(|(d, _)| !joined(d));
    let mut all: Vec<DirectionResult> = apart.map(|(d, r)| result(d.operation(), r)).collect();
    if meta.unified != UnifiedRw::None
        && let Some(mixed) = group.record.mixed()
    {
        all.insert(0, result(Operation::Mixed, &mixed));
    }
    all
}

fn direction_result(
    kind: Operation,
    record: &DirectionRecord,
    runtime: Nanos,
    percentiles: &[f64],
) -> DirectionResult {
    DirectionResult {
        kind,
        operations: record.operations,
        bytes: record.bytes.0,
        bandwidth_bytes_per_s: per_second(record.bytes.0 as f64, runtime),
        iops: per_second(record.operations as f64, runtime),
        latency: record.latency.summary(percentiles),
        service: record.service.as_ref().map(|s| s.summary(percentiles)),
        stages: record.stages.as_ref().map(|stages| LatencyStages {
            submission: stages.submission.summary(percentiles),
            completion: stages.completion.summary(percentiles),
        }),
    }
}

/// Adds a finished run to a document: the step with its events, its notices (marked
/// with the step) and whether its numbers are those of a cache, and whether the document is still
/// complete.
pub fn add_step(document: &mut ResultDocument, mut step: StepResult, notices: &[Notice]) {
    let found = events::of_step(&step);
    step.events.extend(found);
    step.events.sort_by(|a, b| a.t_s.total_cmp(&b.t_s));
    let cached = cached::notices(&step, document.target.link_bytes_per_s);
    document
        .notices
        .extend(notices.iter().chain(&cached).map(|n| Notice {
            step: Some(step.id.clone()),
            ..n.clone()
        }));
    document.complete &= step.incomplete.is_none();
    document.steps.push(step);
}

/// Rate per second over `time`; 0 for no time.
fn per_second(amount: f64, time: Nanos) -> f64 {
    if time.is_zero() {
        0.0
    } else {
        amount / time.as_secs_f64()
    }
}

/// All series of a time line: bandwidth, IOPS, mean and largest latency of each kind of operation
/// that occurred, then the instruments that were there. Bandwidth and IOPS have a value in every
/// interval; a latency has none where nothing was completed, and such series are irregular. Latencies count from the due
/// time; they are called so where that is not the submission.
fn all_series(outcome: &GroupOutcome) -> Vec<Series> {
    let timeline = &outcome.timeline;
    let has_schedule = |direction: Direction| {
        let mut records = outcome
            .groups
            .iter()
            .flat_map(|group| group.record.present());
        records.any(|(kind, record)| kind == direction && record.service.is_some())
    };
    let mut all = Vec::new();
    for direction in Direction::ALL {
        if timeline
            .bins()
            .iter()
            .any(|b| b.direction(direction).operations > 0)
        {
            direction_series(timeline, direction, has_schedule(direction), &mut all);
        }
    }
    instrument_series(timeline, &mut all);
    all
}

fn direction_series(
    timeline: &Timeline,
    direction: Direction,
    has_schedule: bool,
    all: &mut Vec<Series>,
) {
    let operation = direction.operation();
    let mut add = |what: &str, unit: &str, value: &dyn Fn(&DirectionBin, Nanos) -> Option<f64>| {
        let mut from = timeline.origin();
        let points = timeline.bins().iter().enumerate().map(|(i, bin)| {
            let end = timeline.end_of(i);
            let length = end.saturating_sub(from);
            from = end;
            (end, value(bin.direction(direction), length))
        });
        let name = match has_schedule && unit == "µs" {
            true => series::due(&operation, what),
            false => series::of(&operation, what),
        };
        let mut series = collect(&name, unit, timeline, points);
        if unit == "MB/s" || unit == "IOPS" {
            settle_tail(&mut series, timeline);
        }
        all.push(series);
    };
    if direction != Direction::Flush {
        add(series::BANDWIDTH, "MB/s", &|bin, length| {
            Some(per_second(bin.bytes as f64 / 1e6, length))
        });
    }
    add(series::IOPS, "IOPS", &|bin, length| {
        Some(per_second(bin.operations as f64, length))
    });
    add(series::LATENCY, "µs", &|bin, _| {
        (bin.operations > 0).then(|| bin.latency_sum_ns as f64 / bin.operations as f64 / 1e3)
    });
    add(series::LATENCY_MAX, "µs", &|bin, _| {
        (bin.operations > 0).then(|| bin.latency_max_ns as f64 / 1e3)
    });
    for (name, percent) in series::PERCENTILES {
        add(name, "µs", &|bin, _| {
            let ns = bin.latencies.percentile(percent)?.0;
            // A bucket may extend beyond the largest latency of its interval.
            Some(ns.min(bin.latency_max_ns) as f64 / 1e3)
        });
    }
}

/// A value of the interval between two readings; `None` unless both readings have the instrument.
type Instrument = fn(&Sample, &Sample) -> Option<f64>;

const INSTRUMENTS: [(&str, &str, Instrument); 7] = [
    (series::POWER, "W", |a, b| {
        let joules = b.reading.energy_j? - a.reading.energy_j?;
        Some(per_second(joules, b.at.saturating_sub(a.at)))
    }),
    (series::HOST_POWER, "W", |a, b| {
        let joules = b.reading.host_energy_j? - a.reading.host_energy_j?;
        Some(per_second(joules, b.at.saturating_sub(a.at)))
    }),
    (series::DEVICE_TEMPERATURE, "°C", |_, b| {
        b.reading.device_temperature_c
    }),
    (series::SURFACE_TEMPERATURE, "°C", |_, b| {
        b.reading.surface_temperature_c
    }),
    (series::THROTTLE, "%", |_, b| {
        Some(b.reading.throttle? * 100.0)
    }),
    (series::SLC_CACHE_USED, "GB", |_, b| {
        Some(b.reading.slc_used?.as_gb())
    }),
    (series::WRITE_AMPLIFICATION, "×", |a, b| {
        let (a, b) = (a.reading.counters?, b.reading.counters?);
        write_amplification(&a, &b)
    }),
];

fn instrument_series(timeline: &Timeline, all: &mut Vec<Series>) {
    for (name, unit, value) in INSTRUMENTS {
        let points = timeline
            .samples()
            .windows(2)
            .filter(|pair| pair[1].at > timeline.origin())
            .map(|pair| (pair[1].at, value(&pair[0], &pair[1])));
        let mut series = collect(name, unit, timeline, points);
        if unit == "W" {
            settle_tail(&mut series, timeline);
        }
        if !series.v.is_empty() {
            all.push(series);
        }
    }
}

/// The last interval ends with the run and may have any length. Over a few milliseconds, the operations that happen to
/// end there give rates above that of any link; an interval of less than half the usual length is therefore averaged
/// into the one before it, weighted by time, so that sums do not change.
fn settle_tail(series: &mut Series, timeline: &Timeline) {
    let [.., (before, a), (last, b)] = series
        .t_s
        .iter()
        .copied()
        .zip(series.v.iter().copied())
        .collect::<Vec<_>>()[..]
    else {
        return;
    };
    let n = series.t_s.len();
    let begin = if n > 2 {
        series.t_s[n - 3]
    } else {
        timeline.origin().as_secs_f64()
    };
    let (length, tail) = (before - begin, last - before);
    if tail < timeline.interval().as_secs_f64() / 2.0 && length > 0.0 {
        series.t_s.pop();
        series.v.pop();
        series.t_s[n - 2] = last;
        series.v[n - 2] = round_significant((a * length + b * tail) / (length + tail), DIGITS);
    }
}

/// Gathers the points that have a value. The interval is given as 0 (irregular) where one is
/// missing or an instrument was read more than a twentieth of the interval late (on a real target
/// no reading is on time to the nanosecond; the point keeps its true time).
fn collect(
    name: &str,
    unit: &str,
    timeline: &Timeline,
    points: impl Iterator<Item = (Nanos, Option<f64>)>,
) -> Series {
    let mut regular = true;
    let tolerance = timeline.interval().0 / 20;
    let (mut t_s, mut v) = (Vec::new(), Vec::new());
    for (i, (end, value)) in points.enumerate() {
        regular &= value.is_some() && end.0.abs_diff(timeline.end_of(i).0) <= tolerance;
        if let Some(value) = value {
            t_s.push(end.as_secs_f64());
            v.push(round_significant(value, DIGITS));
        }
    }
    let interval = timeline.interval().as_secs_f64();
    Series {
        name: name.to_string(),
        unit: unit.to_string(),
        interval_s: if regular { interval } else { 0.0 },
        t_s,
        v,
    }
}

/// Bytes programmed per byte the host wrote between two readings; `None` where it wrote nothing.
fn write_amplification(a: &Counters, b: &Counters) -> Option<f64> {
    let run = b.since(a);
    (run.host_written > Bytes::ZERO).then(|| run.write_amplification())
}

/// Differences of the device's counters over a run, by name with the unit in it; only those that
/// the target has.
pub fn counters(first: &Reading, last: &Reading) -> BTreeMap<String, f64> {
    let mut all = BTreeMap::new();
    if let (Some(a), Some(b)) = (first.energy_j, last.energy_j) {
        all.insert(counter::ENERGY.to_string(), b - a);
    }
    if let (Some(a), Some(b)) = (first.host_energy_j, last.host_energy_j) {
        all.insert(counter::HOST_ENERGY.to_string(), b - a);
    }
    if let (Some(a), Some(b)) = (first.transferred, last.transferred) {
        let mut put = |name: &str, a: Bytes, b: Bytes| {
            all.insert(name.to_string(), b.0.saturating_sub(a.0) as f64);
        };
        put(counter::DEVICE_READ, a.read, b.read);
        put(counter::DEVICE_WRITTEN, a.written, b.written);
        put(counter::DEVICE_READS, Bytes(a.reads), Bytes(b.reads));
        put(counter::DEVICE_WRITES, Bytes(a.writes), Bytes(b.writes));
    }
    let (Some(a), Some(b)) = (&first.counters, &last.counters) else {
        return all;
    };
    for (name, count) in device_counters(&b.since(a)) {
        all.insert(name.to_string(), count as f64);
    }
    if let Some(factor) = write_amplification(a, b) {
        all.insert(counter::WRITE_AMPLIFICATION.to_string(), factor);
    }
    all
}

/// The counters of a simulated device that only ever rise, by their names in results. The pattern lists every field
/// so that a new one cannot be forgotten.
pub fn device_counters(counters: &Counters) -> [(&'static str, u64); 15] {
    let Counters {
        host_read,
        host_written,
        host_discarded,
        flash_programmed,
        gc_writes,
        folded,
        refreshed,
        metadata,
        padding,
        parity,
        erases,
        page_reads,
        read_retries,
        uncorrectable_reads,
        map_misses,
        // Reported as a notice.
        unmapped_read: _,
        // States, not counts: they are in the series.
        slc_used: _,
        slc_limit: _,
        free: _,
    } = *counters;
    [
        (counter::HOST_READ, host_read.0),
        (counter::HOST_WRITTEN, host_written.0),
        (counter::HOST_DISCARDED, host_discarded.0),
        (counter::FLASH_PROGRAMMED, flash_programmed.0),
        (counter::GC_WRITES, gc_writes.0),
        ("folded_bytes", folded.0),
        ("refreshed_bytes", refreshed.0),
        ("metadata_bytes", metadata.0),
        ("padding_bytes", padding.0),
        ("parity_bytes", parity.0),
        ("erases", erases),
        ("page_reads", page_reads),
        ("read_retries", read_retries),
        ("uncorrectable_reads", uncorrectable_reads),
        ("map_misses", map_misses),
    ]
}
