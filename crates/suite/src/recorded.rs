//! Runs recorded series on simulated devices: each series on one device, which keeps its state from run to run as the
//! recorded one did.

use crate::document::blank;
use crate::facts::series::{self, Run, Series};
use crate::jobs::phase;
use crate::modes::{Between, Turn, Turns};
use crate::options::ReviewOptions;
use crate::spec::SimSpec;
use crate::step_runner::{Flow, Pick, StepRunner, SuiteError};
use nandscope_device::{Afterwards, Fill, FillError, break_if};
use nandscope_measure::sim::SimTarget;
use nandscope_measure::target::{Target, TargetError};
use nandscope_result::{DirectionResult, ResultDocument};
use nandscope_units::Nanos;

/// Percentiles with figures of their own.
const PERCENTILES: [f64; 10] = [1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9];

/// Idle time after which the device is asked again whether its programs have finished.
const REST: Nanos = Nanos::from_millis(1);
/// Longest idle time before writes without simulated time: a full write buffer takes a few milliseconds.
const LONGEST_REST: Nanos = Nanos::from_secs(10);

/// Runs the series of a device behind a host, whose name is that of the first mode.
///
/// # Errors
/// [`SuiteError::Target`] if the device cannot be made or attached, or cannot finish a series; [`SuiteError::Step`] if a
/// run cannot be done on it.
pub(crate) fn run(
    spec: &SimSpec,
    options: &ReviewOptions,
    stop: &dyn Fn() -> bool,
) -> Result<ResultDocument, SuiteError> {
    let mode = spec
        .modes
        .first()
        .ok_or_else(|| SuiteError::Target(format!("{} is attached to no host", spec.name)))?;
    let all = series::of(&spec.profile.device.name, &mode.name)?;
    let mut document = blank(spec, options, series::PROCEDURE, "");
    let turns = Turns {
        earlier: 0,
        has_mode_figures: false,
        ..Turns::new(options, Between::Fresh)
    };
    let each: Vec<Turn> = all.iter().map(|_| Turn { spec, mode }).collect();
    turns.take(&each, &mut document, &mut (), stop, |runner, number| {
        one(runner, &all[number], stop)
    })?;
    match document.notices.last() {
        // An error ends a procedure early and keeps what was measured; a series without its last rows is of no use.
        Some(why) if !document.complete && !stop() => {
            let series = format!("series of {} behind {}", spec.name, mode.name);
            Err(SuiteError::Target(format!("{series}: {}", why.text)))
        }
        _ => Ok(document),
    }
}

fn one(
    runner: &mut StepRunner<'_, SimTarget>,
    series: &Series,
    stop: &dyn Fn() -> bool,
) -> Result<Flow, SuiteError> {
    let runs = series.runs();
    runner.note_stage(&series.name, 0.0, 1.0, runs.len() as u32);
    let mut state = State::new(runner.seed, stop);
    if state.fill(runner, series.filled)? == Flow::Stop {
        return Ok(Flow::Stop);
    }
    let used_gb = series.overwritten * runner.capacity().0 as f64 / 1e9;
    for run in &runs {
        if state.write_until(runner, used_gb + run.after_gb)? == Flow::Stop
            || measure(runner, series, run)? == Flow::Stop
        {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}

/// Writes between the measured runs, which take no virtual time.
struct State<'a> {
    seed: u64,
    written_gb: f64,
    stop: &'a dyn Fn() -> bool,
}

impl<'a> State<'a> {
    fn new(seed: u64, stop: &'a dyn Fn() -> bool) -> Self {
        State {
            seed,
            written_gb: 0.0,
            stop,
        }
    }

    fn fill(&self, runner: &mut StepRunner<'_, SimTarget>, share: f64) -> Result<Flow, SuiteError> {
        if share == 0.0 {
            return Ok(Flow::Continue);
        }
        let step = &mut |_| break_if((self.stop)());
        let device = runner.target.device_mut();
        ended(device.fill(share, Fill::Sequential, step))
    }

    /// Overwrites random places until `gb` were written since the start of the recording. The writes of the measured runs
    /// are few against those and are not counted.
    fn write_until(
        &mut self,
        runner: &mut StepRunner<'_, SimTarget>,
        gb: f64,
    ) -> Result<Flow, SuiteError> {
        let device = runner.target.device_mut();
        let count = (gb - self.written_gb) * 1e9 / device.overwrite_unit().0 as f64;
        if count < 1.0 {
            return Ok(Flow::Continue);
        }
        self.written_gb = gb;
        self.seed += 1;
        let step = &mut |_| break_if((self.stop)());
        let until = runner.target.now() + LONGEST_REST;
        loop {
            let device = runner.target.device_mut();
            let done = device.overwrite(count as u64, self.seed, Afterwards::Load, step);
            // After a run of writes the device still programs what it has acknowledged.
            if done != Err(FillError::Busy) || runner.target.now() >= until {
                return ended(done);
            }
            let waited = rest(&mut runner.target);
            waited.map_err(|e| SuiteError::Target(e.to_string()))?;
        }
    }
}

/// Leaves the device idle for [`REST`].
fn rest(target: &mut SimTarget) -> Result<(), TargetError> {
    let until = target.now() + REST;
    let mut replies = Vec::new();
    while target.now() < until {
        target.wait(until, &mut replies)?;
    }
    Ok(())
}

fn ended<T>(filled: Result<T, FillError>) -> Result<Flow, SuiteError> {
    match filled {
        Ok(_) => Ok(Flow::Continue),
        Err(FillError::Stopped) => Ok(Flow::Stop),
        Err(e) => Err(SuiteError::Target(e.to_string())),
    }
}

fn measure(
    runner: &mut StepRunner<'_, SimTarget>,
    series: &Series,
    run: &Run,
) -> Result<Flow, SuiteError> {
    let title = run.title();
    let id = format!("{}-{}", series.name, run.id());
    runner.begin_step(&id, &title, "Recorded series", String::new(), 1);
    let list: Vec<String> = PERCENTILES.iter().map(f64::to_string).collect();
    let size = match series.span.as_str() {
        "" => "100%",
        span => span,
    };
    let text = format!(
        "[run]\nrw={}\nbs={}\niodepth={}\nnumjobs={}\nsize={size}\nruntime={}ms\nioengine=libaio\ntime_based=1\nnorandommap=1\npercentile_list={}\n",
        run.operation,
        run.block,
        run.depth,
        run.jobs,
        (series.seconds * 1e3).round(),
        list.join(":")
    );
    let flow =
        phase(&title, &text, runner.capacity(), runner.seed).and_then(|phase| runner.run(phase));
    let step = runner.current();
    let job = step.and_then(|s| s.jobs.last());
    if let Some(direction) = job.and_then(|j| j.directions.first()).cloned() {
        figures(runner, &direction, &title, |figure| {
            series.figure_id(run, figure)
        });
    }
    runner.end_step();
    flow
}

fn figures(
    runner: &mut StepRunner<'_, SimTarget>,
    direction: &DirectionResult,
    title: &str,
    id: impl Fn(&str) -> String,
) {
    let rate = direction.bandwidth_bytes_per_s / 1e6;
    runner.figure(&id("rate"), title, "MB/s", &[rate], Pick::Mean);
    let latency = direction.since_issue();
    let mean = latency.mean_ns / 1e3;
    let title_of = |what: &str| format!("{title}, {what} latency");
    runner.figure(&id("mean"), &title_of("mean"), "µs", &[mean], Pick::Mean);
    for (percentile, ns) in &latency.percentiles {
        let name = format!("p{percentile}");
        let us = *ns as f64 / 1e3;
        runner.figure(&id(&name), &title_of(&name), "µs", &[us], Pick::Mean);
    }
}
