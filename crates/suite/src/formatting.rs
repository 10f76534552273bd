//! Formatting: a quick format to exFAT; the whole device is discarded if the host's path passes discards on. The
//! following test shows the effect.

use crate::folders::single;
use crate::step_runner::{Flow, StepRunner, SuiteError};
use nandscope_measure::target::Target;
use nandscope_units::Nanos;
use nandscope_workload::files::{ExfatLayout, FormatPlan};

/// Idle time after a format.
const SETTLE: Nanos = Nanos::from_secs(30);

/// Formats the device.
pub(crate) fn run<T: Target>(
    runner: &mut StepRunner<'_, T>,
    id: &str,
    title: &str,
) -> Result<Flow, SuiteError> {
    if runner.skips(id) {
        return Ok(Flow::Continue);
    }
    let layout = ExfatLayout::new(runner.capacity()).map_err(|e| SuiteError::Step {
        step: title.to_string(),
        problem: e.to_string(),
    })?;
    runner.begin_step(
        id,
        title,
        "Formatting",
        "A quick format to exFAT: the whole device is discarded where the path to it passes discards on, then the structures of an empty file system are written; 30 s of idle time."
            .to_string(),
        2,
    );
    let flow = match runner.run(single(
        Box::new(FormatPlan::default().source(&layout)),
        "format",
    )) {
        Ok(Flow::Continue) => runner.idle(SETTLE),
        other => other,
    };
    runner.end_step();
    flow
}

/// Start of a test file on a freshly formatted device.
pub(crate) fn first_file_offset<T: Target>(runner: &StepRunner<'_, T>) -> u64 {
    ExfatLayout::new(runner.capacity()).map_or(0, |layout| layout.heap().next_multiple_of(1 << 20))
}
