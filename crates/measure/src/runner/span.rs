//! State shared by all loops of a run: its start, its time line, and the load on the target.

use super::Thread;
use super::thread::measure_from;
use crate::recorder::IntervalPlan;
use crate::target::Load;
use nandscope_units::Nanos;

/// State that all threads of a run share, also if each has a loop of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// When the run begins, on the target's clock.
    pub(super) start: Nanos,
    /// When the first thread begins to measure.
    pub(super) origin: Nanos,
    /// Number of groups in which threads are recorded.
    pub(super) groups: usize,
    pub(super) plan: IntervalPlan,
}

impl Span {
    pub(super) fn new(threads: &[Thread], start: Nanos, plan: Option<IntervalPlan>) -> Self {
        let origin = threads.iter().map(|t| measure_from(&t.pacing, start)).min();
        let origin = origin.unwrap_or(start);
        let plan = plan.unwrap_or_else(|| {
            let ends = threads.iter().filter_map(|t| {
                let runtime = t.pacing.runtime?;
                Some(measure_from(&t.pacing, start) + runtime)
            });
            ends.max().map_or_else(IntervalPlan::default, |end| {
                IntervalPlan::for_duration(end.saturating_sub(origin))
            })
        });
        Span {
            start,
            origin,
            groups: threads.iter().map(|t| t.record + 1).max().unwrap_or(0),
            plan,
        }
    }
}

impl Span {
    /// The span, planned for a start at zero, moved to begin at `start`.
    pub(super) fn begun_at(self, start: Nanos) -> Self {
        Span {
            start,
            origin: start + self.origin,
            ..self
        }
    }
}

/// Load that the threads put on the target.
pub(super) fn load(threads: &[Thread]) -> Load {
    let depths = threads.iter().map(|t| t.pacing.iodepth);
    Load {
        depth: depths.fold(0, u32::saturating_add),
        batch: threads.iter().map(|t| t.pacing.batch).max().unwrap_or(1),
        largest: threads
            .iter()
            .filter_map(|t| t.source.largest())
            .max()
            .unwrap_or(0),
    }
}
