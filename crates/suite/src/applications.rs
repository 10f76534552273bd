//! Replay of recorded application traces, scaled to the device, as fast as the device answers: eight requests
//! outstanding, flushes waited for. Measures the waiting time of a user.

use crate::ssd_traces::{SETTLE, areas_read, write_areas};
use crate::step_runner::{Flow, Phase, Pick, SECOND, StepRunner, SuiteError};
use nandscope_measure::build::JobMeta;
use nandscope_measure::runner::Thread;
use nandscope_measure::target::Target;
use nandscope_result::slug;
use nandscope_units::Bytes;
use nandscope_workload::Pacing;
use nandscope_workload::trace::{
    Fit, NamedTrace, Replay, ReplayError, ReplayOptions, Timing, library,
};

const DEPTH: u32 = 8;
/// Identifier of the step that prepares the traces.
const PREPARE: &str = "prepare-traces";

/// Replays all traces of the library that fit the device; the others are left out with a notice.
pub(crate) fn run<T: Target>(runner: &mut StepRunner<'_, T>) -> Result<Flow, SuiteError> {
    if !runner.skips(PREPARE) && prepare(runner)? == Flow::Stop {
        return Ok(Flow::Stop);
    }
    for trace in library() {
        let id = format!("trace-{}", slug(trace.name));
        if runner.skips(&id) {
            continue;
        }
        let Some(replay) = scaled(runner.capacity(), trace)? else {
            runner.leave_out(&format!(
                "Application trace \"{}\": left out, since it touches more than the device holds ({})",
                trace.title,
                runner.capacity()
            ));
            continue;
        };
        runner.begin_step(
            &id,
            &format!("Application trace: {}", trace.title),
            "Application traces",
            format!("{} Replayed as fast as the device answers, {DEPTH} requests at a time, spread over the device.", trace.description),
            1,
        );
        let flow = one(runner, trace, replay);
        runner.end_step();
        if flow? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}

/// Writes the data that the traces read: after a format, reads would otherwise not touch the flash.
fn prepare<T: Target>(runner: &mut StepRunner<'_, T>) -> Result<Flow, SuiteError> {
    let mut areas = Vec::new();
    for trace in library() {
        let replay = scaled(runner.capacity(), trace)?;
        areas.extend(replay.into_iter().flat_map(areas_read));
    }
    if areas.is_empty() {
        return Ok(Flow::Continue);
    }
    runner.begin_step(
        PREPARE,
        "Application traces: writing what they read",
        "Application traces",
        format!(
            "All that the traces read is written in order, then {} s of idle time.",
            SETTLE.as_secs_f64()
        ),
        1,
    );
    let flow = write_areas(runner, areas, SETTLE);
    runner.end_step();
    flow
}

/// The trace, spread over the device; `None` if it touches more than the device holds.
fn scaled(capacity: Bytes, trace: &NamedTrace) -> Result<Option<Replay>, SuiteError> {
    let fault = |problem: String| SuiteError::Step {
        step: trace.title.to_string(),
        problem,
    };
    let (_, records) = trace.load().map_err(|e| fault(e.to_string()))?;
    let options = ReplayOptions {
        timing: Timing::ClosedLoop,
        fit: Fit::Scale,
    };
    match Replay::new(&records, &options, capacity) {
        Ok(replay) => Ok(Some(replay)),
        Err(ReplayError::Footprint { .. }) => Ok(None),
        Err(e) => Err(fault(e.to_string())),
    }
}

fn one<T: Target>(
    runner: &mut StepRunner<'_, T>,
    trace: &NamedTrace,
    replay: Replay,
) -> Result<Flow, SuiteError> {
    let pacing = Pacing {
        iodepth: DEPTH,
        ..Pacing::default()
    };
    let threads = vec![Thread::new(Box::new(replay), pacing, 0)];
    let phase = Phase {
        threads,
        jobs: vec![JobMeta::new(trace.name)],
        interval: SECOND,
    };
    if runner.run(phase)? == Flow::Stop {
        return Ok(Flow::Stop);
    }
    let Some(job) = runner.current().and_then(|s| s.jobs.last()) else {
        return Ok(Flow::Stop);
    };
    let bytes: u64 = job.directions.iter().map(|d| d.bytes).sum();
    let operations: u64 = job.directions.iter().map(|d| d.operations).sum();
    let latency_ns: f64 = job
        .directions
        .iter()
        .map(|d| d.latency.mean_ns * d.operations as f64)
        .sum();
    let mb = bytes as f64 / 1e6 / job.runtime_s.max(1e-9);
    let mean_us = latency_ns / (operations as f64).max(1.0) / 1e3;
    let seconds = job.runtime_s;
    let id = slug(trace.name);
    runner.figure(
        &format!("traces.{id}.bandwidth"),
        &format!("{}, bandwidth", trace.title),
        "MB/s",
        &[mb],
        Pick::Mean,
    );
    runner.figure(
        &format!("traces.{id}.latency"),
        &format!("{}, mean latency", trace.title),
        "µs",
        &[mean_us],
        Pick::Mean,
    );
    runner.figure(
        &format!("traces.{id}.time"),
        &format!("{}, time", trace.title),
        "s",
        &[seconds],
        Pick::Mean,
    );
    Ok(Flow::Continue)
}
