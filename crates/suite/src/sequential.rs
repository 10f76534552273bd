//! A sequential write over the whole device, then a sequential read of it, with 128 KiB and one command at a time, as
//! with fio: the end of the cache, the rate after it, and the effect of the write on the read.

use crate::jobs::phase;
use crate::plateaus::{Plateau, plateaus};
use crate::step_runner::{Flow, Pick, StepRunner, SuiteError};
use nandscope_measure::target::Target;
use nandscope_result::{Operation, Series, series};

/// Length of the start and of the end of the read whose means are reported, s.
const EDGE_S: f64 = 10.0;

/// Runs write and read in the state `state`, over the first `percent` of the device.
pub(crate) fn run<T: Target>(
    runner: &mut StepRunner<'_, T>,
    state: &str,
    percent: u32,
) -> Result<Flow, SuiteError> {
    let part = if percent == 100 {
        "the whole device".to_string()
    } else {
        format!("the first {percent} % of the device")
    };
    let how = format!("A write over {part} {HOW}.");
    let written = pass(runner, "write", state, percent, &how, |runner| {
        let id = format!("fio.{state}.write");
        write_figures(runner, &id, &format!("Sequential write, {state}"));
    })?;
    if written == Flow::Stop {
        return Ok(Flow::Stop);
    }
    let how = format!(
        "A read over {part} {HOW}, right after the write: work that the device deferred shows at the start."
    );
    pass(runner, "read", state, percent, &how, |runner| {
        read_figures(runner, state);
    })
}

/// The chapter of the report.
const SECTION: &str = "Sequential across the device";
/// Description of both passes.
const HOW: &str = "in blocks of 128 KiB, one command at a time (fio, iodepth 1)";

fn pass<T: Target>(
    runner: &mut StepRunner<'_, T>,
    word: &str,
    state: &str,
    percent: u32,
    how: &str,
    figures: impl FnOnce(&mut StepRunner<'_, T>),
) -> Result<Flow, SuiteError> {
    let id = format!("fio-{word}-{state}");
    if runner.skips(&id) {
        return Ok(Flow::Continue);
    }
    let title = format!("fio sequential {word}, {state}");
    runner.begin_step(&id, &title, SECTION, how.to_string(), 1);
    let text = format!("[seq-{word}]\nrw={word}\nbs=128k\niodepth=1\nsize={percent}%\n");
    let phase = phase(&title, &text, runner.capacity(), runner.seed)?;
    let flow = runner.run(phase);
    figures(runner);
    runner.end_step();
    flow
}

/// Adds mean, plateaus and extremes of the current write, under the identifier `id`; `title` names the write.
pub(crate) fn write_figures<T: Target>(runner: &mut StepRunner<'_, T>, id: &str, title: &str) {
    let Some(bandwidth) = runner
        .current()
        .and_then(|s| s.find_series(&series::of(&Operation::Write, series::BANDWIDTH)))
        .cloned()
    else {
        return;
    };
    let start_s = runner.current().map_or(0.0, |s| s.start_s);
    mean_figure(runner, id, title, &Operation::Write);
    let found = plateaus(start_s, &bandwidth.t_s, &bandwidth.v);
    for (i, plateau) in found.iter().enumerate() {
        plateau_figures(runner, id, title, i + 1, plateau);
    }
    extremes(runner, id, title, &bandwidth);
}

fn plateau_figures<T: Target>(
    runner: &mut StepRunner<'_, T>,
    id: &str,
    title: &str,
    number: usize,
    plateau: &Plateau,
) {
    let id = format!("{id}.plateau-{number}");
    let title = format!("{title}, region {number}");
    let median = format!("{title}, median");
    runner.figure(&id, &median, "MB/s", &[plateau.mb_per_s], Pick::Mean);
    runner.figure(
        &format!("{id}.end"),
        &format!("{title}, ends at"),
        "GB",
        &[plateau.end_gb],
        Pick::Mean,
    );
}

fn read_figures<T: Target>(runner: &mut StepRunner<'_, T>, state: &str) {
    let Some(bandwidth) = runner
        .current()
        .and_then(|s| s.find_series(&series::of(&Operation::Read, series::BANDWIDTH)))
        .cloned()
    else {
        return;
    };
    let start_s = runner.current().map_or(0.0, |s| s.start_s);
    mean_figure(
        runner,
        &format!("fio.{state}.read"),
        &format!("Sequential read, {state}"),
        &Operation::Read,
    );
    let (Some(&last), true) = (bandwidth.t_s.last(), bandwidth.v.len() > 2) else {
        return;
    };
    let mean_between = |from: f64, to: f64| {
        let values = bandwidth
            .t_s
            .iter()
            .zip(&bandwidth.v)
            .filter(|(t, _)| **t > from && **t <= to)
            .map(|(_, v)| *v);
        let values: Vec<f64> = values.collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let edge = EDGE_S.min((last - start_s) / 4.0);
    // The last interval is shorter, because the run ends in it.
    let last_whole = bandwidth.t_s[bandwidth.t_s.len() - 2];
    if let Some(v) = mean_between(start_s, start_s + edge) {
        runner.figure(
            &format!("fio.{state}.read.start"),
            &format!("Sequential read, {state}, at its start"),
            "MB/s",
            &[v],
            Pick::Mean,
        );
    }
    if let Some(v) = mean_between(last_whole - edge, last_whole) {
        runner.figure(
            &format!("fio.{state}.read.end"),
            &format!("Sequential read, {state}, at its end"),
            "MB/s",
            &[v],
            Pick::Mean,
        );
    }
}

fn mean_figure<T: Target>(
    runner: &mut StepRunner<'_, T>,
    id: &str,
    title: &str,
    operation: &Operation,
) {
    let result = runner
        .current()
        .and_then(|s| s.jobs.last())
        .and_then(|j| j.directions.iter().find(|d| d.kind == *operation));
    if let Some(mb) = result.map(|d| d.bandwidth_bytes_per_s / 1e6) {
        runner.figure(id, &format!("{title}, mean"), "MB/s", &[mb], Pick::Mean);
    }
}

fn extremes<T: Target>(runner: &mut StepRunner<'_, T>, id: &str, title: &str, bandwidth: &Series) {
    let whole = &bandwidth.v[..bandwidth.v.len().saturating_sub(1)];
    let (Some(low), Some(high)) = (
        whole.iter().copied().reduce(f64::min),
        whole.iter().copied().reduce(f64::max),
    ) else {
        return;
    };
    runner.figure(
        &format!("{id}.low"),
        &format!("{title}, slowest interval"),
        "MB/s",
        &[low],
        Pick::Mean,
    );
    runner.figure(
        &format!("{id}.high"),
        &format!("{title}, fastest interval"),
        "MB/s",
        &[high],
        Pick::Mean,
    );
}
