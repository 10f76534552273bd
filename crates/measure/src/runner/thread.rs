//! One thread of a job: it puts together where operations come from, when they are due, what
//! pauses they keep and when the thread ends, and says at any instant what to do next.
//!
//! It talks to no target; the loop in [`super`] does what it says.

use super::cursor::Cursor;
use super::pause::Pauses;
use super::schedule::Schedule;
use super::{OnError, Thread};
use crate::recorder::Direction;
use nandscope_units::Nanos;
use nandscope_workload::{Op, OpKind, Pacing, RateLimit};

/// The clock holds 584 years; a thread that waits for longer than this never gets to its work.
const LONGEST: Nanos = Nanos::from_secs(100 * 365 * 86_400);

/// What a thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Issue this operation, which was due then; `scheduled` where a schedule said so.
    Issue { op: Op, due: Nanos, scheduled: bool },
    /// Nothing before this instant.
    Sleep(Nanos),
    /// Nothing before one of its operations is complete.
    AwaitReply,
    /// Nothing more, ever.
    Finished,
}

/// Why a thread issues nothing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The source is at its end.
    Work,
    /// The runtime is over.
    Time,
    /// An error, or an interruption, at this instant.
    Cut(Nanos),
}

/// A thread in mid-run.
pub(super) struct ThreadState {
    pub(super) group: usize,
    pub(super) on_error: OnError,
    pub(super) time_based: bool,
    /// Writes are durable on completion.
    pub(super) sync: bool,
    /// A longer operation ends the thread.
    pub(super) max_latency: [Nanos; Direction::COUNT],
    /// Latest wake-up that stands in the loop's heap.
    pub(super) wake: Nanos,
    /// Whether the loop has seen it finish.
    pub(super) counted_out: bool,
    /// Whether its first error was reported.
    pub(super) failed: bool,
    /// Unsupported answers since the last operation that was done.
    pub(super) unsupported_in_a_row: u32,
    cursor: Cursor,
    schedule: Schedule,
    pauses: Pauses,
    pending: Option<(Op, Option<Nanos>)>,
    depth: u32,
    /// See [`Pacing::refill_at`].
    refill_at: u32,
    /// The queue was full and is not yet empty enough to be filled again.
    emptying: bool,
    outstanding: u32,
    /// Of these: writes and trims, which a flush waits for.
    outstanding_writes: u32,
    flushing: bool,
    start: Nanos,
    ramp_end: Option<Nanos>,
    deadline: Nanos,
    stop: Option<Stop>,
    /// Whether the closing operation was asked for.
    closed: bool,
    last_completion: Nanos,
    bytes_done: u64,
    expected_bytes: Option<u64>,
}

/// Checks what the types of a [`Thread`] do not.
pub(super) fn check(thread: &Thread) -> Result<(), String> {
    let p = &thread.pacing;
    if p.iodepth == 0 {
        return Err("its iodepth is 0; give it 1 or more".into());
    }
    if p.time_based && p.runtime.is_none() {
        return Err(
            "it is time_based but has no runtime, so it would never end; give a runtime".into(),
        );
    }
    let limits = [p.read_limit, p.write_limit, p.trim_limit];
    if limits
        .iter()
        .any(|l| matches!(l, RateLimit::BytesPerSecond(0) | RateLimit::OpsPerSecond(0)))
    {
        return Err(
            "a rate limit is 0, so it would never begin; leave the limit out or give 1 or more"
                .into(),
        );
    }
    let times = [
        ("startdelay", p.start_delay),
        ("ramp_time", p.ramp_time),
        ("thinktime", p.thinktime),
    ];
    if let Some((name, _)) = times.iter().find(|(_, time)| *time > LONGEST) {
        return Err(format!(
            "its {name} is longer than 100 years; give a shorter one"
        ));
    }
    match p.duty_cycle {
        Some(d) if d.busy_percent == 0 || d.busy_percent > 100 => Err(format!(
            "its duty cycle is busy {} % of the time; give 1 to 100",
            d.busy_percent
        )),
        Some(d) if d.burst_bytes == 0 => {
            Err("the bursts of its duty cycle hold 0 bytes; give a size".into())
        }
        _ => Ok(()),
    }
}

/// Where the measured part of a thread begins, in a group that begins at `origin`.
pub(super) fn measure_from(pacing: &Pacing, origin: Nanos) -> Nanos {
    origin + pacing.start_delay + pacing.ramp_time
}

impl ThreadState {
    /// A thread of a group that begins at `origin`.
    pub(super) fn new(thread: Thread, origin: Nanos) -> Self {
        let p = &thread.pacing;
        let start = origin + p.start_delay;
        let measure_from = measure_from(p, origin);
        let cursor = Cursor::new(thread.source, p);
        ThreadState {
            group: thread.record,
            on_error: thread.on_error,
            time_based: p.time_based,
            sync: p.sync,
            max_latency: {
                let [read, write, trim] = p.max_latency.map(|l| l.unwrap_or(Nanos::MAX));
                [read, write, trim, Nanos::MAX]
            },
            wake: Nanos::MAX,
            counted_out: false,
            failed: false,
            unsupported_in_a_row: 0,
            schedule: Schedule::new(p, start),
            pauses: Pauses::new(p, measure_from),
            pending: None,
            depth: p.iodepth,
            refill_at: p.refill_at.unwrap_or(p.iodepth).min(p.iodepth - 1),
            emptying: false,
            outstanding: 0,
            outstanding_writes: 0,
            flushing: false,
            start,
            ramp_end: (!p.ramp_time.is_zero()).then_some(measure_from),
            deadline: p.runtime.map_or(Nanos::MAX, |r| measure_from + r),
            stop: None,
            closed: false,
            last_completion: Nanos::ZERO,
            bytes_done: 0,
            expected_bytes: cursor.expected_bytes(),
            cursor,
        }
    }

    /// Where its measured part begins.
    pub(super) fn measure_from(&self) -> Nanos {
        self.ramp_end.unwrap_or(self.start)
    }

    /// Length of the run where time decides it.
    pub(super) fn deadline(&self) -> Option<Nanos> {
        (self.deadline != Nanos::MAX).then_some(self.deadline)
    }

    /// What to do at `now`. An [`Step::Issue`] is taken as done: the caller issues it.
    #[inline]
    pub(super) fn next(&mut self, now: Nanos) -> Step {
        if self.stop.is_none() && now >= self.deadline {
            self.stop = Some(Stop::Time);
        }
        if self.stop.is_some() {
            return self.wind_down(now);
        }
        if self.is_full() || self.flushing {
            return Step::AwaitReply;
        }
        if now < self.start {
            return Step::Sleep(self.start.min(self.deadline));
        }
        let Some((op, scheduled)) = self.fetch(now) else {
            self.stop = Some(Stop::Work);
            return self.wind_down(now);
        };
        if self.pauses.draining() {
            if self.outstanding > 0 {
                return Step::AwaitReply;
            }
            self.pauses.begin(now);
        }
        // A pause that the job asked for is no lateness of the target.
        let earliest = self.pauses.until();
        let due = scheduled.map_or(earliest, |s| s.max(earliest));
        if due > now {
            return Step::Sleep(due.min(self.deadline));
        }
        let is_flush = op.kind == OpKind::Flush;
        if is_flush && self.outstanding_writes > 0 {
            return Step::AwaitReply;
        }
        self.pending = None;
        self.outstanding += 1;
        match op.kind {
            OpKind::Flush => self.flushing = true,
            OpKind::Write | OpKind::Trim => self.outstanding_writes += 1,
            OpKind::Read => {}
        }
        if !is_flush {
            self.pauses.issued(op.length, now);
        }
        Step::Issue {
            op,
            due: if scheduled.is_some() { due } else { now },
            scheduled: scheduled.is_some(),
        }
    }

    /// Whether nothing may be issued because of what is outstanding.
    #[inline]
    fn is_full(&mut self) -> bool {
        if self.outstanding >= self.depth {
            self.emptying = true;
        } else if self.outstanding <= self.refill_at {
            self.emptying = false;
        }
        self.emptying
    }

    /// One of its operations has come back.
    #[inline]
    pub(super) fn replied(&mut self, kind: OpKind, bytes: u32, completed: Nanos) {
        self.outstanding = self.outstanding.saturating_sub(1);
        match kind {
            OpKind::Flush => self.flushing = false,
            OpKind::Write | OpKind::Trim => {
                self.outstanding_writes = self.outstanding_writes.saturating_sub(1);
            }
            OpKind::Read => {}
        }
        self.bytes_done = self.bytes_done.saturating_add(u64::from(bytes));
        self.last_completion = self.last_completion.max(completed);
    }

    /// Whether an operation completed then belongs to the measurement: all but those of the ramp,
    /// whose last instant still belongs to it.
    #[inline]
    pub(super) fn measures(&self, completed: Nanos) -> bool {
        self.ramp_end.is_none_or(|end| completed > end)
    }

    /// Issues nothing more from `now` on. False where it had come to its end by itself already,
    /// so that nothing was cut short.
    pub(super) fn cut(&mut self, now: Nanos) -> bool {
        let cut_short = self.stop.is_none();
        if cut_short {
            self.stop = Some(Stop::Cut(now));
        }
        cut_short
    }

    /// When it ended, and how long its pauses were; for a thread that has finished.
    pub(super) fn conclude(&mut self) -> (Nanos, Nanos) {
        let end = match self.stop {
            Some(Stop::Time) => self.deadline.max(self.last_completion),
            Some(Stop::Cut(at)) => at.max(self.last_completion),
            Some(Stop::Work) | None => self.last_completion.max(self.start),
        };
        (end, self.pauses.idle(end))
    }

    /// Share of its work that is done, 0 to 1, where that can be told.
    pub(super) fn fraction(&self, now: Nanos) -> Option<f64> {
        if matches!(self.stop, Some(Stop::Work | Stop::Time)) {
            return Some(1.0);
        }
        let by_time = self.deadline().map(|deadline| {
            let whole = deadline.saturating_sub(self.start).0.max(1);
            now.saturating_sub(self.start).0 as f64 / whole as f64
        });
        let by_work = self
            .expected_bytes
            .map(|all| self.bytes_done as f64 / all.max(1) as f64);
        let share = match (by_time, by_work) {
            (Some(a), Some(b)) => a.max(b),
            (a, b) => a.or(b)?,
        };
        Some(share.clamp(0.0, 1.0))
    }

    #[inline]
    fn fetch(&mut self, now: Nanos) -> Option<(Op, Option<Nanos>)> {
        if self.pending.is_none() {
            let next = self.cursor.next(self.schedule.pace(now).as_ref())?;
            self.pending = Some((next.op, self.schedule.due(&next)));
        }
        self.pending
    }

    /// Waits for what is outstanding. As in fio, a job whose time is over then does what it does at
    /// the end of its work as well (`end_fsync`).
    fn wind_down(&mut self, now: Nanos) -> Step {
        if self.outstanding > 0 {
            return Step::AwaitReply;
        }
        let op = match self.stop {
            Some(Stop::Time) if !self.closed => self.cursor.closing(),
            _ => None,
        };
        self.closed = true;
        let Some(op) = op else {
            return Step::Finished;
        };
        self.outstanding = 1;
        self.flushing = true;
        Step::Issue {
            op,
            due: now,
            scheduled: false,
        }
    }
}
