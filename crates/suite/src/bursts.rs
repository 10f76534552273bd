//! Burst random access: short bursts of 4 KiB operations, one command at a time, with four times as much idle time
//! between them, as in interactive use.

use crate::jobs::phase;
use crate::span::{Effort, written_span};
use crate::step_runner::{Flow, Pick, StepRunner, SuiteError};
use nandscope_measure::target::Target;
use nandscope_units::number::binary_bytes;

/// A burst test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bursts {
    /// `read` or `write`.
    direction: &'static str,
    burst_mib: u64,
    total_mib: u64,
}

/// 32 MB bursts, 1 GB in all (S3-167, S3-170).
pub(crate) const READ: Bursts = Bursts {
    direction: "read",
    burst_mib: 32,
    total_mib: 1024,
};
/// 4 MB bursts, 128 MB in all (S3-184, S3-185).
pub(crate) const WRITE: Bursts = Bursts {
    direction: "write",
    burst_mib: 4,
    total_mib: 128,
};

/// Size of the accessed span (S3-169, S3-186), GiB.
const SPAN_GIB: u64 = 16;
/// Share of the time in bursts (S3-171), percent.
const DUTY_PERCENT: u32 = 20;

/// Writes the span, then runs the bursts over it.
pub(crate) fn run<T: Target>(
    runner: &mut StepRunner<'_, T>,
    bursts: Bursts,
    effort: Effort,
) -> Result<Flow, SuiteError> {
    let Bursts {
        direction,
        burst_mib,
        total_mib,
    } = bursts;
    let title = format!("Burst random {direction}");
    runner.note_stage(&title, 0.0, 1.0, 2);
    let id = format!("burst-{direction}");
    let total = if effort.quick {
        total_mib / 4
    } else {
        total_mib
    };
    let span = effort.span(SPAN_GIB, runner.capacity());
    if written_span(runner, &id, &title, span, effort)? == Flow::Stop {
        return Ok(Flow::Stop);
    }
    if runner.skips(&id) {
        return Ok(Flow::Continue);
    }
    runner.begin_step(
        &id,
        &title,
        "Bursts",
        format!("Random {direction}s of 4 KiB at queue depth 1 over {}, in bursts of {burst_mib} MiB that take {DUTY_PERCENT} % of the time, {total} MiB in all.", binary_bytes(span)),
        1,
    );
    let text = format!(
        "[burst-{direction}]\nrw=rand{direction}\nbs=4k\niodepth=1\nsize={span}\nio_size={total}m\nnorandommap=1\nnandscope_duty_cycle={burst_mib}m:{DUTY_PERCENT}\n"
    );
    let phase = phase(&title, &text, runner.capacity(), runner.seed)?;
    let flow = runner.run(phase);
    let job = runner.current().and_then(|s| s.jobs.last());
    let mean_us = job
        .and_then(|j| j.directions.first())
        .map(|d| d.latency.mean_ns / 1e3);
    if let Some(us) = mean_us.filter(|us| *us > 0.0) {
        // One command at a time: bandwidth within bursts is the block over the mean latency.
        runner.figure(
            &format!("burst.{direction}"),
            &title,
            "MB/s",
            &[4096.0 / us],
            Pick::Mean,
        );
    }
    runner.end_step();
    flow
}
