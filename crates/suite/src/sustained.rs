//! Sustained random access: queue depths from 1 to 32, each for a minute or 32 GB, with idle time between them. The
//! score is the mean of queue depths 1, 2 and 4, as few programs queue deeper; power and throughput per watt are listed
//! with it.

use crate::jobs::phase;
use crate::span::{Effort, written_span};
use crate::step_runner::{Flow, Pick, StepRunner, SuiteError};
use nandscope_measure::target::Target;
use nandscope_result::{StepResult, series};
use nandscope_units::number::binary_bytes;

/// A sustained test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sustained {
    /// `read` or `write`.
    direction: &'static str,
}

pub(crate) const READ: Sustained = Sustained { direction: "read" };
pub(crate) const WRITE: Sustained = Sustained { direction: "write" };

/// Queue depths (S3-173).
const DEPTHS: [u32; 6] = [1, 2, 4, 8, 16, 32];
/// Largest queue depth in the mean that is the score (S3-174).
const SCORED: u32 = 4;
/// Size of the accessed span (S3-177, S3-192), GiB.
const SPAN_GIB: u64 = 64;
/// Data per queue depth (S3-175), GB.
const DATA_GB: u64 = 32;
/// Time per queue depth (S3-175), s.
const TIME_S: u64 = 60;

/// Writes the span, then walks the queue depths.
pub(crate) fn run<T: Target>(
    runner: &mut StepRunner<'_, T>,
    test: Sustained,
    effort: Effort,
) -> Result<Flow, SuiteError> {
    let direction = test.direction;
    let title = format!("Sustained random {direction}");
    runner.note_stage(&title, 0.0, 1.0, 1 + DEPTHS.len() as u32);
    let id = format!("sustained-{direction}");
    let span = effort.span(SPAN_GIB, runner.capacity());
    if written_span(runner, &id, &title, span, effort)? == Flow::Stop {
        return Ok(Flow::Stop);
    }
    let mut scored = Scored::default();
    for depth in DEPTHS {
        let last = depth == DEPTHS[DEPTHS.len() - 1];
        let step = format!("{id}-qd{depth}");
        if runner.skips(&step) {
            let figure = figure_id(direction, depth);
            let watts = runner.earlier_value(&format!("{figure}.power"));
            if let Some(mb) = runner.earlier_value(&figure) {
                scored.add(depth, mb, watts);
            }
            continue;
        }
        runner.begin_step(
            &step,
            &format!("{title}, queue depth {depth}"),
            "Sustained random access",
            format!("Random {direction}s of 4 KiB over {} at queue depth {depth}, a minute or {DATA_GB} GB, whichever ends first; {} s of idle time after it.", binary_bytes(span), effort.idle.as_secs_f64()),
            2,
        );
        let flow = one_depth(runner, direction, depth, (span, effort.quick), &mut scored);
        if last {
            scored.figures(runner, direction);
        }
        let flow = match flow {
            Ok(Flow::Continue) if !last => runner.idle(effort.idle),
            other => other,
        };
        runner.end_step();
        if flow? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}

/// Identifier of the bandwidth at a queue depth.
fn figure_id(direction: &str, depth: u32) -> String {
    format!("sustained.{direction}.qd{depth}")
}

fn one_depth<T: Target>(
    runner: &mut StepRunner<'_, T>,
    direction: &str,
    depth: u32,
    (span, quick): (u64, bool),
    scored: &mut Scored,
) -> Result<Flow, SuiteError> {
    let (data_mb, time_s) = if quick {
        (DATA_GB * 100, TIME_S / 10)
    } else {
        (DATA_GB * 1000, TIME_S)
    };
    let bytes = data_mb * 1_000_000 / 4096 * 4096;
    let text = format!(
        "[qd{depth}]\nrw=rand{direction}\nbs=4k\niodepth={depth}\nsize={span}\nio_size={bytes}\nruntime={time_s}\nnorandommap=1\n"
    );
    let phase = phase("sustained", &text, runner.capacity(), runner.seed)?;
    if runner.run(phase)? == Flow::Stop {
        return Ok(Flow::Stop);
    }
    let Some((mb, watts)) = runner.current().and_then(measured) else {
        return Ok(Flow::Continue);
    };
    let id = figure_id(direction, depth);
    let title = format!("Sustained random {direction}, queue depth {depth}");
    runner.figure(&id, &title, "MB/s", &[mb], Pick::Mean);
    if let Some(watts) = watts {
        runner.figure(
            &format!("{id}.power"),
            &format!("{title}, power"),
            "W",
            &[watts],
            Pick::Mean,
        );
    }
    tails(runner, &id, &title);
    scored.add(depth, mb, watts);
    Ok(Flow::Continue)
}

/// Latency percentiles with separate figures, and their names.
const TAILS: [(f64, &str); 2] = [(99.0, "p99"), (99.9, "p99.9")];

/// Adds the 99th and 99.9th percentiles of the latency.
fn tails<T: Target>(runner: &mut StepRunner<'_, T>, id: &str, title: &str) {
    let job = runner.current().and_then(|s| s.jobs.last());
    let Some(direction) = job.and_then(|j| j.directions.first()) else {
        return;
    };
    let of = |wanted: f64| {
        let mut percentiles = direction.latency.percentiles.iter();
        percentiles.find(|(p, _)| *p == wanted && direction.defines(wanted))
    };
    let found: Vec<_> = TAILS
        .iter()
        .filter_map(|(p, name)| of(*p).map(|(_, ns)| (*name, *ns as f64 / 1e3)))
        .collect();
    for (name, us) in found {
        let title = format!("{title}, {name} latency");
        runner.figure(&format!("{id}.{name}"), &title, "µs", &[us], Pick::Mean);
    }
}

/// Bandwidth in MB/s, and mean power in W where it is measured, of a step with one job.
fn measured(step: &StepResult) -> Option<(f64, Option<f64>)> {
    let bandwidth = step.jobs.last()?.directions.first()?.bandwidth_bytes_per_s / 1e6;
    Some((bandwidth, mean_power(step)))
}

/// Mean power of a step, W; `None` without a power meter.
fn mean_power(step: &StepResult) -> Option<f64> {
    let power = step.find_series(series::POWER)?;
    let mut before = step.start_s;
    let (mut joules, mut seconds) = (0.0, 0.0);
    for (t, watts) in power.t_s.iter().zip(&power.v) {
        joules += watts * (t - before);
        seconds += t - before;
        before = *t;
    }
    (seconds > 0.0).then(|| joules / seconds)
}

/// Values at the queue depths.
#[derive(Debug, Default)]
struct Scored {
    /// MB/s at the scored queue depths.
    mb: Vec<f64>,
    /// Power at the scored queue depths where it is measured, W.
    watts: Vec<f64>,
    /// MB/s at queue depths beyond the scored ones.
    deep: Vec<f64>,
}

impl Scored {
    fn add(&mut self, depth: u32, mb: f64, watts: Option<f64>) {
        if depth <= SCORED {
            self.mb.push(mb);
            self.watts.extend(watts);
        } else {
            self.deep.push(mb);
        }
    }

    fn figures<T: Target>(&self, runner: &mut StepRunner<'_, T>, direction: &str) {
        let id = format!("sustained.{direction}");
        let title = format!("Sustained random {direction}, mean of queue depths 1, 2 and 4");
        runner.figure(&format!("{id}.score"), &title, "MB/s", &self.mb, Pick::Mean);
        runner.figure(
            &format!("{id}.power"),
            &format!("{title}, power"),
            "W",
            &self.watts,
            Pick::Mean,
        );
        let ends = |pick: fn(f64, f64) -> f64| self.deep.iter().copied().reduce(pick);
        if let (Some(slowest), Some(fastest)) = (ends(f64::min), ends(f64::max))
            && fastest > 0.0
        {
            runner.figure(
                &format!("{id}.steady"),
                &format!("Sustained random {direction}, slowest of queue depths 8 to 32, share of the fastest"),
                "%",
                &[slowest / fastest * 100.0],
                Pick::Mean,
            );
        }
        let (mb, watts): (f64, f64) = (self.mb.iter().sum(), self.watts.iter().sum());
        if watts > 0.0 && self.watts.len() == self.mb.len() {
            runner.figure(
                &format!("{id}.efficiency"),
                &format!("{title}, efficiency"),
                "MB/s/W",
                &[mb / watts],
                Pick::Mean,
            );
        }
    }
}
