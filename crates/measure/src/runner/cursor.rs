//! Walks a source of operations as often as the job says.

use nandscope_units::Bytes;
use nandscope_workload::{Op, OpSource, Pace, Pacing, TimedOp};
use std::collections::VecDeque;

/// More operations are taken ahead of time once only so many are left: what the next ones need comes from memory in
/// the time of two or three.
const FEW: usize = 4;
/// Operations taken ahead of time at most.
const MANY: usize = 8;

/// A source and the passes over it that are left.
pub(super) struct Cursor {
    source: Box<dyn OpSource>,
    /// Operations taken from the source ahead of time, in order, and how many of the last ones were not told yet.
    ahead: VecDeque<TimedOp>,
    untold: usize,
    /// Starts over without end; time ends the thread.
    endless: bool,
    passes_left: u32,
    /// Whether the pass under way has given anything: a pass that gives nothing would spin.
    productive: bool,
}

impl Cursor {
    pub(super) fn new(source: Box<dyn OpSource>, pacing: &Pacing) -> Self {
        Cursor {
            source,
            ahead: VecDeque::new(),
            untold: 0,
            endless: pacing.time_based && pacing.runtime.is_some(),
            passes_left: pacing.loops.max(1) - 1,
            productive: false,
        }
    }

    /// Bytes that all passes will move, if known.
    pub(super) fn expected_bytes(&self) -> Option<u64> {
        if self.endless {
            return None;
        }
        let passes = u64::from(self.passes_left) + 1;
        Some(self.source.expected_bytes()?.saturating_mul(passes))
    }

    /// The next operation, of another pass where one has ended; `None` where nothing more comes.
    #[inline]
    pub(super) fn next(&mut self, pace: Option<&Pace>) -> Option<TimedOp> {
        if self.ahead.len() <= FEW {
            self.take_over(pace);
        }
        match self.ahead.pop_front() {
            None => self.start_over(pace),
            next => next,
        }
    }

    /// Where the operations go that were taken ahead of time since this was last asked; `None` if none were.
    #[inline]
    pub(super) fn foreseen(&mut self) -> Option<impl Iterator<Item = Bytes>> {
        if self.untold == 0 {
            return None;
        }
        let untold = std::mem::take(&mut self.untold);
        let told = self.ahead.len().saturating_sub(untold);
        Some(self.ahead.range(told..).map(|next| next.op.offset))
    }

    /// See [`OpSource::closing`].
    pub(super) fn closing(&self) -> Option<Op> {
        self.source.closing()
    }

    /// Takes over what the source gives next.
    fn take_over(&mut self, pace: Option<&Pace>) {
        let before = self.ahead.len();
        match pace {
            None => self.source.take_ahead(&mut self.ahead, MANY),
            // What is taken depends on the present.
            Some(pace) if before == 0 => self.ahead.extend(self.source.next_op_at(pace)),
            Some(_) => {}
        }
        self.untold = self.ahead.len() - before;
        self.productive |= self.untold > 0;
    }

    fn start_over(&mut self, pace: Option<&Pace>) -> Option<TimedOp> {
        if !self.productive || (!self.endless && self.passes_left == 0) {
            return None;
        }
        self.passes_left = self.passes_left.saturating_sub(1);
        self.productive = false;
        self.source.restart();
        self.take_over(pace);
        self.ahead.pop_front()
    }
}
