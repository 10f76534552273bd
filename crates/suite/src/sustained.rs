//! Sustained random access: queue depths from 1 to 32, each for a minute or 32 GB, with idle time between them. The
//! score is the mean of queue depths 1, 2 and 4, as few programs queue deeper; power and throughput per watt are listed
//! with it.

use crate::jobs::phase;
use crate::span::{IDLE, span_gib, written_span};
use crate::step_runner::{Flow, Pick, StepRunner, SuiteError};
use nandscope_measure::target::Target;
use nandscope_result::{StepResult, series};

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
    quick: bool,
) -> Result<Flow, SuiteError> {
    let direction = test.direction;
    let title = format!("Sustained random {direction}");
    runner.note_stage(&title, 0.0, 1.0, 1 + DEPTHS.len() as u32);
    let id = format!("sustained-{direction}");
    if written_span(runner, &id, &title, SPAN_GIB, quick)? == Flow::Stop {
        return Ok(Flow::Stop);
    }
    let mut scored = Scored::default();
    for depth in DEPTHS {
        let last = depth == DEPTHS[DEPTHS.len() - 1];
        runner.begin_step(
            &format!("{id}-qd{depth}"),
            &format!("{title}, queue depth {depth}"),
            "Sustained random access",
            format!("Random {direction}s of 4 KiB over {SPAN_GIB} GiB at queue depth {depth}, a minute or {DATA_GB} GB, whichever ends first; {} s of idle time after it.", IDLE.as_secs_f64()),
            2,
        );
        let flow = one_depth(runner, direction, depth, quick, &mut scored);
        if last {
            scored.figures(runner, direction);
        }
        let flow = match flow {
            Ok(Flow::Continue) if !last => runner.idle(IDLE),
            other => other,
        };
        runner.end_step();
        if flow? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}

fn one_depth<T: Target>(
    runner: &mut StepRunner<'_, T>,
    direction: &str,
    depth: u32,
    quick: bool,
    scored: &mut Scored,
) -> Result<Flow, SuiteError> {
    let (data_mb, time_s) = if quick {
        (DATA_GB * 100, TIME_S / 10)
    } else {
        (DATA_GB * 1000, TIME_S)
    };
    let span = span_gib(SPAN_GIB, quick);
    let bytes = data_mb * 1_000_000 / 4096 * 4096;
    let text = format!(
        "[qd{depth}]\nrw=rand{direction}\nbs=4k\niodepth={depth}\nsize={span}g\nio_size={bytes}\nruntime={time_s}\nnorandommap=1\n"
    );
    let phase = phase("sustained", &text, runner.capacity(), runner.seed)?;
    if runner.run(phase)? == Flow::Stop {
        return Ok(Flow::Stop);
    }
    let Some((mb, watts)) = runner.current().and_then(measured) else {
        return Ok(Flow::Continue);
    };
    let id = format!("sustained.{direction}.qd{depth}");
    let title = format!("Sustained random {direction}, queue depth {depth}");
    runner.figure(&id, &title, "MB/s", &[mb], Pick::Mean);
    runner.figure(
        &format!("{id}.power"),
        &format!("{title}, power"),
        "W",
        &[watts],
        Pick::Mean,
    );
    tails(runner, &id, &title);
    if depth <= SCORED {
        scored.mb.push(mb);
        scored.watts.push(watts);
    } else {
        scored.deep.push(mb);
    }
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

/// Bandwidth in MB/s and mean power in W of a step with one job.
pub(crate) fn measured(step: &StepResult) -> Option<(f64, f64)> {
    let bandwidth = step.jobs.last()?.directions.first()?.bandwidth_bytes_per_s / 1e6;
    let power = step.find_series(series::POWER)?;
    let mut before = step.start_s;
    let (mut joules, mut seconds) = (0.0, 0.0);
    for (t, watts) in power.t_s.iter().zip(&power.v) {
        joules += watts * (t - before);
        seconds += t - before;
        before = *t;
    }
    (seconds > 0.0).then(|| (bandwidth, joules / seconds))
}

/// Sums over the scored queue depths.
#[derive(Debug, Default)]
struct Scored {
    mb: Vec<f64>,
    watts: Vec<f64>,
    /// MB/s at queue depths beyond the scored ones.
    deep: Vec<f64>,
}

impl Scored {
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
        if watts > 0.0 {
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
