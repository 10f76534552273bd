//! The span of a drive that a random test goes over.

use crate::jobs::phase;
use crate::session::{Flow, Session, SuiteError};
use nandscope_measure::target::Target;
use nandscope_units::Nanos;

/// Idle time between queue depths (S3-176 allows up to a minute).
pub(crate) const IDLE: Nanos = Nanos::from_secs(30);

/// A quarter of the span in a quick run.
pub(crate) const fn span_gib(gib: u64, quick: bool) -> u64 {
    if quick { gib / 4 } else { gib }
}

/// Writes the span that a random test goes over, so that reads find data.
pub(crate) fn written_span<T: Target>(
    session: &mut Session<'_, T>,
    id: &str,
    title: &str,
    gib: u64,
    quick: bool,
) -> Result<Flow, SuiteError> {
    let gib = span_gib(gib, quick);
    session.begin_step(
        &format!("{id}-prepare"),
        &format!("{title}: writing its span"),
        "Preparation",
        format!(
            "A sequential write of {gib} GiB on an otherwise empty drive, and 30 s of idle time."
        ),
        2,
    );
    let text = format!("[prepare]\nrw=write\nbs=1m\niodepth=8\nsize={gib}g\n");
    let phase = phase(title, &text, session.capacity(), session.seed)?;
    let flow = match session.run(phase) {
        Ok(Flow::Continue) => session.idle(IDLE),
        other => other,
    };
    session.end_step();
    flow
}
