//! The span of a drive that a random test accesses.

use crate::jobs::phase;
use crate::step_runner::{Flow, StepRunner, SuiteError};
use nandscope_measure::target::Target;
use nandscope_units::Nanos;

/// Idle time between queue depths (S3-176 allows up to a minute).
pub(crate) const IDLE: Nanos = Nanos::from_secs(30);

/// Size of the span, GiB: a quarter in a quick run.
pub(crate) const fn span_gib(gib: u64, quick: bool) -> u64 {
    if quick { gib / 4 } else { gib }
}

/// Writes the span of a random test, so that reads find data.
pub(crate) fn written_span<T: Target>(
    runner: &mut StepRunner<'_, T>,
    id: &str,
    title: &str,
    gib: u64,
    quick: bool,
) -> Result<Flow, SuiteError> {
    let gib = span_gib(gib, quick);
    runner.begin_step(
        &format!("{id}-prepare"),
        &format!("{title}: writing its span"),
        "Preparation",
        format!(
            "A sequential write of {gib} GiB on an otherwise empty drive, and 30 s of idle time."
        ),
        2,
    );
    runner.mark_preparation();
    let text = format!("[prepare]\nrw=write\nbs=1m\niodepth=8\nsize={gib}g\n");
    let phase = phase(title, &text, runner.capacity(), runner.seed)?;
    let flow = match runner.run(phase) {
        Ok(Flow::Continue) => runner.idle(IDLE),
        other => other,
    };
    runner.end_step();
    flow
}
