//! The span of a drive that a random test accesses, and how much of the published test is done on it.

use crate::jobs::phase;
use crate::ssd_traces::{SETTLE, SETTLE_QUICK};
use crate::step_runner::{Flow, StepRunner, SuiteError};
use nandscope_measure::target::Target;
use nandscope_units::number::binary_bytes;
use nandscope_units::{Bytes, Nanos};

/// Share of the published test that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Effort {
    /// Whether less data is moved, in a smaller span and for a shorter time.
    pub(crate) quick: bool,
    /// Idle time between two tests (S3-176 allows up to a minute).
    pub(crate) idle: Nanos,
    /// Idle time before a trace.
    pub(crate) settle: Nanos,
}

impl Effort {
    const WHOLE: Effort = Effort {
        quick: false,
        idle: Nanos::from_secs(30),
        settle: SETTLE,
    };

    /// The effort in virtual time, in which waiting is free.
    pub(crate) const fn simulated(quick: bool) -> Self {
        Effort {
            quick,
            ..Self::WHOLE
        }
    }

    /// The effort in real time: a quick run waits a tenth as long.
    pub(crate) const fn in_real_time(quick: bool) -> Self {
        if quick {
            Effort {
                quick,
                idle: Nanos::from_secs(3),
                settle: SETTLE_QUICK,
            }
        } else {
            Self::WHOLE
        }
    }

    /// Size of the span of a test over `gib` GiB: a quarter in a quick run, at most the whole device.
    pub(crate) const fn span(self, gib: u64, capacity: Bytes) -> u64 {
        const MIB: u64 = 1 << 20;
        let wanted = (gib << 30) / if self.quick { 4 } else { 1 };
        let most = capacity.0 / MIB * MIB;
        if wanted < most { wanted } else { most }
    }
}

/// Writes the span of a random test, so that reads find data.
pub(crate) fn written_span<T: Target>(
    runner: &mut StepRunner<'_, T>,
    id: &str,
    title: &str,
    span: u64,
    effort: Effort,
) -> Result<Flow, SuiteError> {
    let id = format!("{id}-prepare");
    if runner.skips(&id) {
        return Ok(Flow::Continue);
    }
    runner.begin_step(
        &id,
        &format!("{title}: writing its span"),
        "Preparation",
        format!(
            "A sequential write of {} on an otherwise empty drive, and {} s of idle time.",
            binary_bytes(span),
            effort.idle.as_secs_f64()
        ),
        2,
    );
    runner.mark_preparation();
    let text = format!("[prepare]\nrw=write\nbs=1m\niodepth=8\nsize={span}\n");
    let phase = phase(title, &text, runner.capacity(), runner.seed)?;
    let flow = match runner.run(phase) {
        Ok(Flow::Continue) => runner.idle(effort.idle),
        other => other,
    };
    runner.end_step();
    flow
}
