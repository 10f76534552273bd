//! Jobs that return to their own writes: to read them (`verify_backlog`), to trim a part of them (`trim_percentage`),
//! or, with `verify_only`, to read instead of writing. Contents are compared elsewhere.

use super::{Generator, Random};
use crate::job::{Backlog, Job, JobError};
use crate::{Op, OpKind, OpSource, Pace, TimedOp};
use nandscope_units::Bytes;
use std::collections::VecDeque;

/// Operations of a clone of a job, including those for its verification; see [`Generator::new`].
///
/// # Errors
/// As [`Generator::new`].
pub fn of_job(
    job: &Job,
    clone: u32,
    capacity: Bytes,
    seed: u64,
) -> Result<Box<dyn OpSource>, JobError> {
    let generator = Generator::new(job, clone, capacity, seed)?;
    let verify = &job.verify;
    if !verify.is_wanted() {
        return Ok(Box::new(generator));
    }
    if verify.only && job.rw.kinds().contains(&OpKind::Write) {
        return Ok(Box::new(ReadInstead { generator }));
    }
    let trims = verify.trim_percent > 0 && verify.trim_backlog.after > 0;
    if verify.backlog.after == 0 && !trims {
        return Ok(Box::new(generator));
    }
    let path = [u64::from(job.ordinal), u64::from(clone), TRIMS];
    Ok(Box::new(ComeBack {
        generator,
        verify: verify.backlog,
        trim: if trims {
            verify.trim_backlog
        } else {
            Backlog::default()
        },
        trim_percent: verify.trim_percent,
        random: Random::new(job.rand_seed.unwrap_or(seed), &path),
        written: VecDeque::new(),
        to_trim: VecDeque::new(),
        since_trim: 0,
        trims_left: 0,
        reads_left: 0,
        last_was_read: false,
    }))
}

/// Purpose of the random sequence of trims.
const TRIMS: u64 = 18;

/// A source that reads instead of the writes of a job.
#[derive(Clone, Debug)]
struct ReadInstead {
    generator: Generator,
}

impl ReadInstead {
    fn next(&mut self, mut pull: impl FnMut(&mut Generator) -> Option<TimedOp>) -> Option<TimedOp> {
        loop {
            let next = pull(&mut self.generator)?;
            if next.op.kind == OpKind::Write {
                let kind = OpKind::Read;
                return Some(TimedOp {
                    op: Op { kind, ..next.op },
                    ..next
                });
            }
        }
    }
}

impl OpSource for ReadInstead {
    fn next_op(&mut self) -> Option<TimedOp> {
        self.next(OpSource::next_op)
    }

    fn next_op_at(&mut self, pace: &Pace) -> Option<TimedOp> {
        self.next(|generator| generator.next_op_at(pace))
    }

    fn restart(&mut self) {
        self.generator.restart();
    }

    fn largest(&self) -> Option<u32> {
        self.generator.largest()
    }
}

/// A source that reads and trims earlier writes of a job between its operations.
#[derive(Clone, Debug)]
struct ComeBack {
    generator: Generator,
    verify: Backlog,
    trim: Backlog,
    trim_percent: u32,
    random: Random,
    /// Written and not read back yet, oldest first.
    written: VecDeque<Op>,
    to_trim: VecDeque<Op>,
    since_trim: u64,
    trims_left: u64,
    reads_left: u64,
    last_was_read: bool,
}

impl ComeBack {
    fn next(&mut self, pull: impl FnOnce(&mut Generator) -> Option<TimedOp>) -> Option<TimedOp> {
        if let Some(op) = self.trimmed().or_else(|| self.read_back()) {
            return Some(op);
        }
        let Some(next) = pull(&mut self.generator) else {
            return self.rest();
        };
        self.last_was_read = false;
        if next.op.kind == OpKind::Write {
            self.wrote(next.op);
        }
        Some(next)
    }

    fn wrote(&mut self, op: Op) {
        if self.verify.after > 0 {
            self.written.push_back(op);
        }
        if self.trim.after > 0 {
            self.since_trim += 1;
            if self.random.percent(self.trim_percent) {
                self.to_trim.push_back(op);
            }
            if self.since_trim >= self.trim.after {
                self.since_trim = 0;
                self.trims_left = self.trim.size();
            }
        }
    }

    fn trimmed(&mut self) -> Option<TimedOp> {
        self.trims_left = self.trims_left.checked_sub(1)?;
        let op = self.to_trim.pop_front()?;
        Some(again(op, OpKind::Trim))
    }

    /// As in fio: the backlog is looked at before each operation that does not follow a read.
    fn read_back(&mut self) -> Option<TimedOp> {
        let after = self.verify.after;
        let waiting = self.written.len() as u64;
        if self.reads_left == 0 {
            let due = after > 0 && waiting > 0 && waiting.is_multiple_of(after);
            if !due || self.last_was_read {
                return None;
            }
            self.reads_left = self.verify.size();
        }
        self.reads_left -= 1;
        let Some(op) = self.written.pop_front() else {
            self.reads_left = 0;
            return None;
        };
        self.last_was_read = true;
        Some(again(op, OpKind::Read))
    }

    /// At the end of the work, reads back the writes not read back yet.
    fn rest(&mut self) -> Option<TimedOp> {
        let op = self.written.pop_front()?;
        Some(again(op, OpKind::Read))
    }
}

fn again(op: Op, kind: OpKind) -> TimedOp {
    TimedOp {
        op: Op { kind, ..op },
        due: None,
    }
}

impl OpSource for ComeBack {
    fn next_op(&mut self) -> Option<TimedOp> {
        self.next(OpSource::next_op)
    }

    fn next_op_at(&mut self, pace: &Pace) -> Option<TimedOp> {
        self.next(|generator| generator.next_op_at(pace))
    }

    fn closing(&self) -> Option<Op> {
        let closing = self.generator.closing();
        closing.filter(|_| !self.generator.has_flushed())
    }

    fn restart(&mut self) {
        self.generator.restart();
    }

    fn largest(&self) -> Option<u32> {
        self.generator.largest()
    }
}
