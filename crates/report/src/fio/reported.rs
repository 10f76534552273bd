//! Jobs of a result as fio reports them: with their group, and what verification read back among their reads.

use super::merged::merged;
use super::stats;
use nandscope_result::{
    DepthCounts, DirectionResult, JobResult, Operation, RateSamples, ResultDocument, StepResult,
    step_id,
};
use std::borrow::Cow;

/// One kind of operation of a job.
pub struct Part<'a> {
    /// Results of the operation.
    pub result: Cow<'a, DirectionResult>,
    /// Length of the measured part, ms: at least 1 where something was done.
    pub runtime_ms: u64,
    /// Rates of the operation over time.
    pub rates: RateSamples,
}

impl Part<'_> {
    /// Bytes per second.
    pub fn bytes_per_s(&self) -> u64 {
        self.result.bandwidth_bytes_per_s.max(0.0) as u64
    }
}

/// One entry of a report of fio.
pub struct Reported<'a> {
    /// The job, or the jobs that are reported together.
    pub job: &'a JobResult,
    /// Name of the first job of the entry.
    pub name: &'a str,
    /// Number of the reporting group.
    pub group: u32,
    /// Number of threads.
    pub threads: u32,
    /// Number of the first error; 0 without one.
    pub error: u32,
    /// Results by kind of operation, for those that occurred.
    pub parts: Vec<Part<'a>>,
    /// Counts of queue depths.
    pub depths: DepthCounts,
}

impl<'a> Reported<'a> {
    fn of(job: &'a JobResult, step: usize) -> Self {
        let facts = job.fio.as_ref();
        Reported {
            job,
            name: facts.map_or(&job.name, |fio| &fio.name),
            group: facts.map_or(step as u32, |fio| fio.group),
            threads: facts.map_or(1, |fio| fio.threads.max(1)),
            error: facts.map_or_else(|| stats::error(job), |fio| fio.error),
            parts: job.directions.iter().map(|d| part(job, d)).collect(),
            depths: facts.map_or_else(DepthCounts::default, |fio| fio.depths.clone()),
        }
    }

    /// The part of this operation.
    pub fn part(&self, kind: &Operation) -> Option<&Part<'a>> {
        self.parts.iter().find(|part| part.result.kind == *kind)
    }

    /// An option of the job; empty without it.
    pub fn option(&self, name: &str) -> &str {
        self.job.options.get(name).map_or("", String::as_str)
    }

    /// Whether a flag that is off by default is on.
    pub fn is_on(&self, name: &str) -> bool {
        !matches!(self.option(name), "" | "0")
    }

    /// Whether percentiles of the completion latency are shown, which is the default.
    pub fn shows_completion(&self) -> bool {
        self.option("clat_percentiles") != "0"
    }

    /// Reads, writes and trims are reported together only.
    pub fn is_mixed(&self) -> bool {
        matches!(self.option("unified_rw_reporting"), "mixed" | "1")
    }

    /// Number of failed operations, if the job continues after errors.
    pub fn errors_passed(&self) -> Option<u64> {
        let goes_on = !matches!(self.option("continue_on_error"), "" | "none" | "0");
        goes_on.then(|| self.job.errors.values().sum())
    }

    /// Digits of a shortened number.
    pub fn digits(&self) -> usize {
        let digits = self.option("significant_figures").parse();
        digits.unwrap_or(super::number::DIGITS)
    }

    /// Adds the reads that verified the job's writes: fio counts them among the reads of the job.
    fn read_back(&mut self, back: Reported<'a>) {
        if self.error == 0 {
            self.error = back.error;
        }
        self.depths.merge(&back.depths);
        for part in back.parts {
            let kind = part.result.kind.clone();
            match self.parts.iter_mut().find(|own| own.result.kind == kind) {
                Some(own) => {
                    own.runtime_ms += part.runtime_ms;
                    let both = merged(&own.result, &part.result, own.runtime_ms);
                    own.result = Cow::Owned(both);
                }
                None => self.parts.insert(0, part),
            }
        }
    }
}

fn part<'a>(job: &'a JobResult, result: &'a DirectionResult) -> Part<'a> {
    let known = job.fio.iter().flat_map(|fio| &fio.rates);
    let rates = known.into_iter().find(|rates| rates.kind == result.kind);
    Part {
        result: Cow::Borrowed(result),
        runtime_ms: stats::runtime_ms(job).max(u64::from(result.operations > 0)),
        rates: rates.cloned().unwrap_or_default(),
    }
}

/// All entries in order.
pub fn all(document: &ResultDocument) -> Vec<Reported<'_>> {
    let mut entries: Vec<Reported> = Vec::new();
    let mut before: Option<&StepResult> = None;
    for (number, step) in document.steps.iter().enumerate() {
        let single = before.is_some_and(|before| before.jobs.len() == 1);
        for job in &step.jobs {
            let entry = Reported::of(job, number);
            match entries.last_mut() {
                // With several jobs in the group, it is unknown whose writes were read back.
                Some(last) if single && step_id::is_read_back(&step.id) => last.read_back(entry),
                _ => entries.push(entry),
            }
        }
        before = Some(step);
    }
    entries
}
