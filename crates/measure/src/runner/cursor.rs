//! Walks a source of operations as often as the job says.

use nandscope_workload::{OpSource, Pacing, TimedOp};

/// A source and the passes over it that are left.
pub(super) struct Cursor {
    source: Box<dyn OpSource>,
    /// Starts over without end; time ends the thread.
    endless: bool,
    passes_left: u32,
    /// Whether the pass under way has given anything: a pass that gives nothing would spin.
    productive: bool,
}

/// What comes next.
pub(super) enum Next {
    /// An operation.
    Op(TimedOp),
    /// The first operation after the source started over.
    Restarted(TimedOp),
    /// Nothing more.
    End,
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

    /// Bytes that all passes will move, where that can be told.
    pub(super) fn expected_bytes(&self) -> Option<u64> {
        if self.endless {
            return None;
        }
        let passes = u64::from(self.passes_left) + 1;
        Some(self.source.expected_bytes()?.saturating_mul(passes))
    }

    #[inline]
    pub(super) fn next(&mut self) -> Next {
        if let Some(op) = self.source.next_op() {
            self.productive = true;
            return Next::Op(op);
        }
        self.start_over()
    }

    fn start_over(&mut self) -> Next {
        if !self.productive || (!self.endless && self.passes_left == 0) {
            return Next::End;
        }
        self.passes_left = self.passes_left.saturating_sub(1);
        self.productive = false;
        self.source.restart();
        match self.source.next_op() {
            Some(op) => {
                self.productive = true;
                Next::Restarted(op)
            }
            None => Next::End,
        }
    }
}
