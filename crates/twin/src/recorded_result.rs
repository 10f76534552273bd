//! Measurements from a result document (`RESULT.json`) of `run`, `review` or `probe`.

use crate::clues::Clues;
use crate::fill;
use crate::fio::Options;
use crate::observation::{Figures, Observation, State};
use nandscope_result::{BYTES, DirectionResult, JobResult, Operation, ResultDocument, StepResult};
use nandscope_units::Bytes;

/// Options of a job that change its rates in ways that a cell does not hold.
const OTHER_WORKLOADS: [&str; 21] = [
    "rate",
    "rate_iops",
    "thinktime",
    "latency_target",
    "flow",
    "zonemode",
    "zonesize",
    "fsync",
    "fdatasync",
    "sync",
    "bssplit",
    "bsrange",
    "blocksize_range",
    "read_iolog",
    "random_distribution",
    "percentage_random",
    "verify",
    "write_hint",
    "sqthread_poll",
    "rate_process",
    "duty_cycle",
];

/// Measurements of a result document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// Rates and percentiles of its jobs.
    pub observations: Vec<Observation>,
    /// Sizes that a probe or a fill found.
    pub clues: Clues,
    /// Parts that are not used, with the reason.
    pub findings: Vec<String>,
}

/// Measurements of a document; `file` is for messages, `state` is that of steps that do not state theirs.
pub fn read(file: &str, document: &ResultDocument, state: State) -> Recording {
    let mut recording = Recording::default();
    let first = document.steps.iter().find_map(|s| s.mode.as_ref());
    let (mut others, mut skipped) = (0, 0);
    for step in &document.steps {
        if step.mode.is_some() && step.mode.as_ref() != first {
            others += 1;
            continue;
        }
        if step.preparation || step.incomplete.is_some() {
            continue;
        }
        for job in &step.jobs {
            let found = of_job(step, job, state);
            skipped += usize::from(found.is_empty());
            recording
                .observations
                .extend(found.into_iter().map(|one| Observation {
                    place: format!("{file}, step `{}`, job `{}`", step.id, job.name),
                    ..one
                }));
        }
    }
    recording.clues = clues(document);
    if others > 0 {
        let first = first.map_or("", String::as_str);
        recording.findings.push(format!(
            "{file}: {others} steps on other hosts than `{first}` are not used"
        ));
    }
    if skipped > 0 {
        recording.findings.push(format!(
            "{file}: {skipped} jobs are not used: they run beside others, are paced, flush, or are neither reads nor writes of one size"
        ));
    }
    recording
}

/// Cells of a job; empty if it is no plain workload.
fn of_job(step: &StepResult, job: &JobResult, state: State) -> Vec<Observation> {
    let end = job.start_s + job.runtime_s;
    let beside = |other: &&JobResult| {
        !std::ptr::eq(*other, job)
            && other.start_s < end
            && job.start_s < other.start_s + other.runtime_s
    };
    let is_plain = |name: &&str| match job.options.get(*name).map(String::as_str) {
        None | Some("0" | "none" | "random" | "off" | "100") => true,
        Some(_) => false,
    };
    if step.jobs.iter().any(|other| beside(&other))
        || !OTHER_WORKLOADS.iter().all(is_plain)
        || job.idle_s > 0.02 * job.runtime_s
        || !job.errors.is_empty()
    {
        return Vec::new();
    }
    let options = job.options.iter().map(|(k, v)| (k.as_str(), v.as_str()));
    let options = Options {
        values: options.collect(),
        entries: 1,
    };
    let Ok(shape) = options.shape(state_of(step, state)) else {
        return Vec::new();
    };
    let of_direction = |direction: &DirectionResult| {
        let of_kind = match direction.kind {
            Operation::Read => crate::Direction::Read,
            Operation::Write => crate::Direction::Write,
            _ => return None,
        };
        let iops = direction.iops;
        (iops.is_finite() && iops > 0.0).then(|| Observation {
            place: String::new(),
            cell: crate::Cell {
                direction: of_kind,
                ..shape
            },
            figures: figures(direction),
            mb_per_s: None,
            order: Some(job.start_s),
        })
    };
    job.directions.iter().filter_map(of_direction).collect()
}

fn figures(direction: &DirectionResult) -> Figures {
    let percentile = |wanted: f64| {
        let all = &direction.latency.percentiles;
        let found = all.iter().find(|(p, _)| (p - wanted).abs() < 1e-6)?;
        direction.defines(wanted).then_some(found.1 as f64 / 1e3)
    };
    Figures {
        iops: direction.iops,
        p50_us: percentile(50.0),
        p90_us: percentile(90.0),
        p99_us: percentile(99.0),
    }
}

/// State before a step: reviews name it in the step's id.
fn state_of(step: &StepResult, state: State) -> State {
    let has = |word: &str| step.id.split('-').any(|part| part == word);
    match (has("fresh"), has("steady")) {
        (true, _) => State::Fresh,
        (_, true) => State::Steady,
        _ => state,
    }
}

/// Sizes from the answers of a probe, the capacity of the target, and the longest sequential write.
fn clues(document: &ResultDocument) -> Clues {
    let answer = |id: &str| {
        let of_probe = document
            .all_figures()
            .find(|f| f.id == format!("probe.{id}"));
        of_probe.filter(|f| f.unit == BYTES && f.value > 0.0)
    };
    let filled = document.steps.iter().filter_map(fill::of_step);
    Clues {
        capacity: Some(document.target.capacity_bytes)
            .filter(|c| *c > 0)
            .map(Bytes),
        au: answer("unit").map(|f| Bytes(f.value as u64)),
        page: answer("large-page")
            .or_else(|| answer("page"))
            .map(|f| Bytes(f.value as u64)),
        slc_gb: answer("slc")
            .map(|f| f.value / 1e9)
            .or(filled.reduce(f64::max)),
    }
}
