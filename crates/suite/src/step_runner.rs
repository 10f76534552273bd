//! Runs phases of a procedure on one target, joins them into steps, reports progress, and stops on request.

use crate::phases::join;
use crate::probe::{Probe, ProbeError};
use nandscope_measure::build::{self, JobMeta, StepMeta};
use nandscope_measure::depth_order;
use nandscope_measure::recorder::IntervalPlan;
use nandscope_measure::runner::{Ending, Observer, Progress, Thread, run_group};
use nandscope_measure::target::Target;
use nandscope_measure::unwritten;
use nandscope_result::{
    Conclusion, DataTable, Figure, Notice, Operation, ResultDocument, Series, StepResult,
    StopReason, slug,
};
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::{Op, OpKind, OpSource, Pacing, TimedOp};
use thiserror::Error;

/// Why a procedure failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SuiteError {
    /// The target cannot be made or attached.
    #[error("{0}")]
    Target(String),
    /// A step cannot be done on this target, such as a test file that does not fit.
    #[error("{step}: {problem}")]
    Step {
        /// Title of the step.
        step: String,
        /// Cause, and a remedy.
        problem: String,
    },
    /// The built-in facts or checks cannot be read: a fault of the program.
    #[error("{0}")]
    Facts(String),
    /// A given table of recorded cards, or an entry in it, is invalid.
    #[error("{0}")]
    Recorded(String),
}

/// Whether the procedure continues after a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Flow {
    Continue,
    Stop,
}

/// One run of the runner within a step.
pub(crate) struct Phase {
    pub(crate) threads: Vec<Thread>,
    /// Jobs in the order of the threads' record groups.
    pub(crate) jobs: Vec<JobMeta>,
    /// Interval of the series.
    pub(crate) interval: Nanos,
}

/// Receives progress within a phase, for the progress of the whole procedure.
pub(crate) trait Watcher {
    /// Called when part `number` of `count` parts of equal weight begins. A procedure without parts is one part.
    fn part(&mut self, number: usize, count: usize);
    /// Called when a stage of `steps` steps begins: `base` is the share of the procedure before it, `share` its own
    /// share.
    fn stage(&mut self, title: &str, base: f64, share: f64, steps: u32);
    /// Called when a step of the stage is finished: the last one of the document.
    fn step_done(&mut self, document: &ResultDocument);
    /// Called for a step of the stage that was finished by an earlier run.
    fn step_skipped(&mut self);
    /// Called with the finished share of the current step.
    fn phase_progress(&mut self, fraction: f64, at: Nanos);
}

/// A step under way.
pub(crate) struct StepRunner<'a, T: Target> {
    pub(crate) target: T,
    pub(crate) seed: u64,
    document: &'a mut ResultDocument,
    mode: Option<String>,
    stop: &'a dyn Fn() -> bool,
    watcher: &'a mut dyn Watcher,
    step: Option<StepResult>,
    notices: Vec<Notice>,
    /// Number of steps at the start of the document that an earlier run on the same target has finished.
    earlier: usize,
    /// Number of finished phases of the step; then number of all its phases.
    done: u32,
    phases: u32,
}

impl From<nandscope_infer::flashbench::RecordError> for SuiteError {
    fn from(error: nandscope_infer::flashbench::RecordError) -> Self {
        SuiteError::Recorded(error.0)
    }
}

impl<'a, T: Target> StepRunner<'a, T> {
    pub(crate) fn new(
        target: T,
        seed: u64,
        document: &'a mut ResultDocument,
        mode: Option<String>,
        stop: &'a dyn Fn() -> bool,
        watcher: &'a mut dyn Watcher,
    ) -> Self {
        StepRunner {
            target,
            seed,
            document,
            mode,
            stop,
            watcher,
            step: None,
            notices: Vec::new(),
            earlier: 0,
            done: 0,
            phases: 1,
        }
    }

    /// Treats the steps already in the document as finished on this target: [`StepRunner::skips`] skips them.
    pub(crate) fn resume(&mut self) {
        self.earlier = self.document.steps.len();
    }

    /// Whether an earlier run has finished the step with this identifier, which is then skipped.
    pub(crate) fn skips(&mut self, id: &str) -> bool {
        let id = self.step_id(id);
        let mut earlier = self.document.steps.iter().take(self.earlier);
        let done = earlier.any(|step| step.id == id);
        if done {
            self.watcher.step_skipped();
        }
        done
    }

    /// Leaves out a step that this device does not support, with the reason.
    pub(crate) fn leave_out(&mut self, why: &str) {
        if self.document.notices.iter().all(|n| n.text != why) {
            self.document.notices.push(Notice::warning(why));
        }
        self.watcher.step_skipped();
    }

    /// Identifier of a step in the document: prefixed with the mode.
    fn step_id(&self, id: &str) -> String {
        match &self.mode {
            Some(mode) => format!("{}-{id}", slug(mode)),
            None => id.to_string(),
        }
    }

    pub(crate) fn capacity(&self) -> Bytes {
        self.target.capacity()
    }

    /// Value of a figure that an earlier run has measured on this target; `id` is prefixed with the mode.
    pub(crate) fn earlier_value(&self, id: &str) -> Option<f64> {
        let id = id_in_mode(self.mode.as_deref(), id);
        let steps = self.document.steps.iter().take(self.earlier);
        let mut figures = steps.flat_map(|step| &step.figures);
        figures.find(|f| f.id == id).map(|f| f.value)
    }

    /// Table of a step that an earlier run has finished on this target.
    pub(crate) fn earlier_table(&self, id: &str, title: &str) -> Option<&DataTable> {
        let id = self.step_id(id);
        let mut steps = self.document.steps.iter().take(self.earlier);
        let step = steps.find(|step| step.id == id)?;
        step.tables.iter().find(|table| table.title == title)
    }

    /// Announces the next of several parts; see [`Watcher::part`].
    pub(crate) fn note_part(&mut self, number: usize, count: usize) {
        self.watcher.part(number, count);
    }

    /// Announces the next stage of the procedure; see [`Watcher::stage`].
    pub(crate) fn note_stage(&mut self, title: &str, base: f64, share: f64, steps: u32) {
        self.watcher.stage(title, base, share, steps);
        self.watcher.phase_progress(0.0, self.target.now());
    }

    /// Begins a step of `phases` phases; [`StepRunner::end_step`] must have ended the previous step.
    pub(crate) fn begin_step(
        &mut self,
        id: &str,
        title: &str,
        section: &str,
        description: String,
        phases: u32,
    ) {
        let now = self.target.now().as_secs_f64();
        self.done = 0;
        self.phases = phases.max(1);
        self.step = Some(StepResult {
            id: self.step_id(id),
            title: title.to_string(),
            section: section.to_string(),
            mode: self.mode.clone(),
            description,
            start_s: now,
            end_s: now,
            ..StepResult::default()
        });
    }

    /// Marks the current step as one that only prepares later ones.
    pub(crate) fn mark_preparation(&mut self) {
        if let Some(step) = self.step.as_mut() {
            step.preparation = true;
        }
    }

    /// Runs one phase and joins it to the step.
    pub(crate) fn run(&mut self, phase: Phase) -> Result<Flow, SuiteError> {
        self.run_as(phase, |_| {})
    }

    /// Leaves the target idle for a while, with the instruments recording.
    pub(crate) fn idle(&mut self, time: Nanos) -> Result<Flow, SuiteError> {
        // A start delay would not be measured; a flush scheduled at the end is.
        let source = OneFlush {
            due: time,
            issued: false,
        };
        let phase = Phase {
            threads: vec![Thread::new(Box::new(source), Pacing::default(), 0)],
            jobs: vec![JobMeta::new("idle")],
            interval: SECOND,
        };
        self.run_as(phase, |part| {
            part.jobs.clear();
            part.series
                .retain(|s| !s.name.starts_with(Operation::Flush.as_str()));
        })
    }

    /// Runs one phase and adds its result, filtered by `keep`, to the step.
    fn run_as(
        &mut self,
        phase: Phase,
        keep: impl FnOnce(&mut StepResult),
    ) -> Result<Flow, SuiteError> {
        let Some(mut step) = self.step.take() else {
            return Ok(Flow::Stop);
        };
        let mut part = match self.run_part(phase, &step.title) {
            Ok(part) => part,
            Err(e) => {
                // The earlier phases stay in the step.
                self.step = Some(step);
                return Err(e);
            }
        };
        keep(&mut part);
        let flow = if part.incomplete.is_some() {
            Flow::Stop
        } else {
            Flow::Continue
        };
        join(&mut step, part);
        self.step = Some(step);
        Ok(flow)
    }

    fn run_part(&mut self, phase: Phase, title: &str) -> Result<StepResult, SuiteError> {
        let plan = Some(IntervalPlan::with_interval(phase.interval));
        let mut observer = Relay {
            watcher: self.watcher,
            done: self.done,
            phases: self.phases,
            start: self.target.now(),
        };
        let outcome = run_group(
            &mut self.target,
            phase.threads,
            plan,
            &mut observer,
            self.stop,
        )
        .map_err(|e| SuiteError::Step {
            step: title.to_string(),
            problem: e.to_string(),
        })?;
        self.done += 1;
        self.watcher
            .phase_progress(f64::from(self.done) / f64::from(self.phases), outcome.end);
        if let Ending::Failed(why) = &outcome.ending {
            self.notices.push(Notice::error(why.clone()));
        }
        for notice in outcome.notices.iter().chain(&unwritten::notice(&outcome)) {
            if !self.notices.contains(notice) {
                self.notices.push(notice.clone());
            }
        }
        Ok(build::step_result(
            &outcome,
            StepMeta::default(),
            &phase.jobs,
        ))
    }

    /// Adds a figure to the current step. `id` is prefixed with the mode and the step's identifier.
    pub(crate) fn figure(&mut self, id: &str, title: &str, unit: &str, values: &[f64], pick: Pick) {
        let Some(step) = self.step.as_mut() else {
            return;
        };
        let Some(value) = pick.of(values) else { return };
        let several = values.len() > 1;
        step.figures.push(Figure {
            id: id_in_mode(self.mode.as_deref(), id),
            title: title.to_string(),
            mode: self.mode.clone(),
            value,
            unit: unit.to_string(),
            low: several.then(|| values.iter().copied().fold(f64::INFINITY, f64::min)),
            high: several.then(|| values.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
            ..Figure::default()
        });
    }

    /// Times single operations, outside of the runner: `measure` gets a [`Probe`] on the target, and the device
    /// counters are added to the step. `None` if it was stopped.
    pub(crate) fn probe<R>(
        &mut self,
        measure: impl FnOnce(&mut Probe<'_, T>) -> Result<R, ProbeError>,
    ) -> Result<Option<R>, SuiteError> {
        let Some(step) = self.step.as_mut() else {
            return Ok(None);
        };
        let (done, phases) = (f64::from(self.done), f64::from(self.phases));
        let watcher = &mut *self.watcher;
        let mut tell = |fraction: f64, at| {
            watcher.phase_progress((done + fraction.clamp(0.0, 1.0)) / phases, at);
        };
        let first = self.target.reading();
        let result = measure(&mut Probe::new(&mut self.target, self.stop, &mut tell));
        self.done += 1;
        let last = self.target.reading();
        let part = StepResult {
            end_s: self.target.now().as_secs_f64(),
            counters: build::counters(&first, &last),
            ..StepResult::default()
        };
        let title = step.title.clone();
        join(step, part);
        match result {
            Ok(value) => Ok(Some(value)),
            Err(ProbeError::Stopped) => {
                step.incomplete = Some(StopReason::Interrupted);
                Ok(None)
            }
            Err(ProbeError::Failed(problem)) => Err(SuiteError::Step {
                step: title,
                problem,
            }),
        }
    }

    /// Adds a series to the current step; one without samples is left out.
    pub(crate) fn series(&mut self, series: Series) {
        if let Some(step) = self.step.as_mut()
            && !series.v.is_empty()
        {
            step.series.push(series);
        }
    }

    /// Adds a table to the current step.
    pub(crate) fn table(&mut self, table: DataTable) {
        if let Some(step) = self.step.as_mut() {
            step.tables.push(table);
        }
    }

    /// Adds a conclusion to the current step; its `id` is prefixed with the mode.
    pub(crate) fn conclude(&mut self, conclusion: Conclusion) {
        if let Some(step) = self.step.as_mut() {
            step.conclusions.push(Conclusion {
                id: id_in_mode(self.mode.as_deref(), &conclusion.id),
                mode: self.mode.clone(),
                ..conclusion
            });
        }
    }

    /// Whether there are measurements that an error must not lose.
    fn has_measured(&self) -> bool {
        !self.document.steps.is_empty()
            || self.step.as_ref().is_some_and(|step| !step.jobs.is_empty())
    }

    /// The step under way.
    pub(crate) fn current(&self) -> Option<&StepResult> {
        self.step.as_ref()
    }

    /// Turns the error of a procedure into its end if anything was measured before, so that this is not lost.
    ///
    /// # Errors
    /// With that error if nothing was measured.
    pub(crate) fn keep_measured(
        &mut self,
        flow: Result<Flow, SuiteError>,
    ) -> Result<Flow, SuiteError> {
        match flow {
            Err(e) if self.has_measured() => {
                self.break_off(&e.to_string());
                Ok(Flow::Stop)
            }
            flow => flow,
        }
    }

    /// Ends a procedure that cannot continue: measurements of the current step are kept, marked as incomplete.
    fn break_off(&mut self, problem: &str) {
        if let Some(step) = self.step.as_mut() {
            step.incomplete = Some(StopReason::Failed(problem.to_string()));
        }
        self.end_step();
        self.document.notices.push(Notice::error(problem));
        self.document.complete = false;
    }

    /// Ends the step and adds it to the document, unless nothing was run in it: it could not be begun, and an error says
    /// why.
    pub(crate) fn end_step(&mut self) {
        if self.done == 0 {
            self.step.take_if(|step| step.incomplete.is_none());
        }
        let mut notices = std::mem::take(&mut self.notices);
        notices.retain(|n| {
            self.document
                .notices
                .iter()
                .all(|known| known.text != n.text)
        });
        if let Some(step) = self.step.take() {
            build::add_step(self.document, step, &notices);
            depth_order::check_last(self.document);
            self.watcher.step_done(self.document);
        }
    }
}

/// Interval of the series in a review: the resolution of a power meter on the bus.
pub(crate) const SECOND: Nanos = Nanos::from_secs(1);

/// Choice of the score among several values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pick {
    Best,
    Mean,
    /// The value with this index, that of a run whose other figures are listed too.
    At(usize),
}

impl Pick {
    fn of(self, values: &[f64]) -> Option<f64> {
        match self {
            Pick::Best => values.iter().copied().reduce(f64::max),
            Pick::At(run) => values.get(run).copied(),
            Pick::Mean => {
                (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
            }
        }
    }
}

/// Identifier of a figure: mode, then `id`.
pub(crate) fn id_in_mode(mode: Option<&str>, id: &str) -> String {
    mode.map_or_else(|| id.to_string(), |m| format!("{}.{id}", slug(m)))
}

struct Relay<'a> {
    watcher: &'a mut dyn Watcher,
    done: u32,
    phases: u32,
    start: Nanos,
}

impl Observer for Relay<'_> {
    fn progress(&mut self, progress: &Progress) {
        let within = progress.fraction.unwrap_or(0.0).clamp(0.0, 1.0);
        let fraction = (f64::from(self.done) + within) / f64::from(self.phases);
        self.watcher
            .phase_progress(fraction, self.start + progress.elapsed);
    }
}

/// A source of a single flush, which ends an idle phase.
struct OneFlush {
    due: Nanos,
    issued: bool,
}

impl OpSource for OneFlush {
    fn next_op(&mut self) -> Option<TimedOp> {
        let op = Op {
            kind: OpKind::Flush,
            offset: Bytes::ZERO,
            length: 0,
        };
        (!std::mem::replace(&mut self.issued, true)).then_some(TimedOp {
            op,
            due: Some(self.due),
        })
    }
}
