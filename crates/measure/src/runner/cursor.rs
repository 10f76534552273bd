//! Walks a source of operations as often as the job says.

use nandscope_units::Bytes;
use nandscope_workload::{Op, OpSource, Pace, Pacing, TimedOp};

/// A source and the passes over it that are left.
pub(super) struct Cursor {
    source: Box<dyn OpSource>,
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
        if let Some(op) = self.pull(pace) {
            self.productive = true;
            return Some(op);
        }
        self.start_over(pace)
    }

    /// See [`OpSource::next_place`].
    #[inline]
    pub(super) fn next_place(&mut self) -> Option<Bytes> {
        self.source.next_place()
    }

    /// Last operation of a run whose time has ended.
    pub(super) fn closing(&mut self) -> Option<Op> {
        self.source.closing()
    }

    #[inline]
    fn pull(&mut self, pace: Option<&Pace>) -> Option<TimedOp> {
        match pace {
            None => self.source.next_op(),
            Some(pace) => self.source.next_op_at(pace),
        }
    }

    fn start_over(&mut self, pace: Option<&Pace>) -> Option<TimedOp> {
        if !self.productive || (!self.endless && self.passes_left == 0) {
            return None;
        }
        self.passes_left = self.passes_left.saturating_sub(1);
        self.productive = false;
        self.source.restart();
        let op = self.pull(pace)?;
        self.productive = true;
        Some(op)
    }
}
