//! Repeats a source of operations as often as the job requires.

use nandscope_units::Bytes;
use nandscope_workload::{Op, OpSource, Pace, Pacing, TimedOp};
use std::collections::VecDeque;

/// Number of remaining operations below which more are taken ahead of time. The memory accesses of an operation
/// take as long as two or three operations.
const FEW: usize = 4;
/// Largest number of operations taken ahead of time.
const MANY: usize = 8;

/// A source and the number of remaining passes over it.
pub(super) struct Cursor {
    source: Box<dyn OpSource>,
    /// Operations taken from the source ahead of time, in order.
    ahead: VecDeque<TimedOp>,
    /// Number of operations at the end of `ahead` not yet announced to the target.
    unannounced: usize,
    /// Starts over without end; time ends the thread.
    endless: bool,
    passes_left: u32,
    /// Whether the current pass has produced an operation: an empty pass would be repeated for ever.
    productive: bool,
}

impl Cursor {
    pub(super) fn new(source: Box<dyn OpSource>, pacing: &Pacing) -> Self {
        Cursor {
            source,
            ahead: VecDeque::new(),
            unannounced: 0,
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

    /// The next operation, of another pass if the current one has ended; `None` after the last pass.
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

    /// Offsets of the operations taken from the source since the last call; `None` if none were taken.
    #[inline]
    pub(super) fn upcoming(&mut self) -> Option<impl Iterator<Item = Bytes>> {
        if self.unannounced == 0 {
            return None;
        }
        let unannounced = std::mem::take(&mut self.unannounced);
        let announced = self.ahead.len().saturating_sub(unannounced);
        Some(self.ahead.range(announced..).map(|next| next.op.offset))
    }

    /// The operation that ends the job ([`OpSource::closing`]).
    pub(super) fn closing(&self) -> Option<Op> {
        self.source.closing()
    }

    /// Takes the next operations from the source.
    fn take_over(&mut self, pace: Option<&Pace>) {
        let before = self.ahead.len();
        match pace {
            None => self.source.take_ahead(&mut self.ahead, MANY),
            // A paced source is asked for one operation at a time: its choice depends on the time of the call.
            Some(pace) if before == 0 => self.ahead.extend(self.source.next_op_at(pace)),
            Some(_) => {}
        }
        self.unannounced = self.ahead.len() - before;
        self.productive |= self.unannounced > 0;
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
