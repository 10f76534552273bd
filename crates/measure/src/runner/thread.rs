//! One thread of a job: combines the source of operations, their due times, pauses and the end of the thread, and
//! returns the next step at any instant.
//!
//! It does not access the target; the loop in [`super`] executes its steps.

use super::cursor::Cursor;
use super::failure::{EIO, ETIMEDOUT};
use super::lowest::Watch;
use super::pause::Pauses;
use super::schedule::Schedule;
use super::search::{self, Search};
use super::step::{Judgement, Step, Stop};
use super::ties::Board;
use super::{Finding, OnError, Tied, Ties};
use crate::recorder::{Direction, RateSampler};
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::{Op, OpKind, Pacing};
use std::sync::Arc;

/// A thread in mid-run.
pub(super) struct ThreadState {
    pub(super) group: usize,
    pub(super) on_error: OnError,
    pub(super) time_based: bool,
    /// Writes are durable on completion.
    pub(super) sync: bool,
    /// A longer operation ends the thread.
    pub(super) max_latency: [Nanos; Direction::COUNT],
    /// Latest wake-up in the loop's heap.
    pub(super) wake: Nanos,
    /// Whether the loop has counted the end of the thread.
    pub(super) counted_out: bool,
    /// Whether the first error was reported.
    pub(super) failed: bool,
    /// Unsupported answers since the last operation that was done.
    pub(super) unsupported_in_a_row: u32,
    /// Operations issued since the loop turned to the thread.
    pub(super) issued: u32,
    /// Rates of the measured operations.
    pub(super) sampler: RateSampler,
    cursor: Cursor,
    pacing: Pacing,
    ties: Ties,
    board: Option<(Arc<Board>, usize)>,
    /// Whether the thread has begun, after waiting for others, and takes part in its flow.
    begun: bool,
    /// Number of operations in its flow; then whether the next one is admitted already.
    shared: u64,
    admitted: bool,
    /// Time until which a thread ahead of its flow is held back.
    held_until: Nanos,
    search: Option<Search>,
    lowest: Option<Watch>,
    /// Time of the next steady-state check; [`Nanos::MAX`] for none.
    pub(super) next_look: Nanos,
    /// Wake-up for that in the loop's heap.
    pub(super) look_wake: Nanos,
    schedule: Schedule,
    pauses: Pauses,
    /// Whether only depth, time and flushes limit the thread.
    is_free: bool,
    pending: Option<(Op, Option<Nanos>)>,
    depth: u32,
    /// Number of outstanding operations at which the queue is refilled ([`Pacing::refill_at`]).
    refill_at: u32,
    /// The queue was full and is not yet empty enough to be filled again.
    emptying: bool,
    outstanding: u32,
    /// Ranges in flight, if operations must not overlap.
    in_flight: Vec<(u64, u64)>,
    /// Number of writes and trims in flight, which a flush waits for.
    outstanding_writes: u32,
    flushing: bool,
    /// A flush was the last operation.
    has_flushed: bool,
    start: Nanos,
    ramp_end: Option<Nanos>,
    deadline: Nanos,
    stop: Option<Stop>,
    /// Whether the closing operation was taken from the source.
    closed: bool,
    last_completion: Nanos,
    bytes_done: u64,
    expected_bytes: Option<u64>,
}

/// Time between two looks at a steady state.
const LOOK: Nanos = Nanos::from_secs(1);

/// First byte of an operation, and the byte after its last.
fn range(op: &Op) -> (u64, u64) {
    (op.offset.0, op.offset.0.saturating_add(op.length.into()))
}

/// Start of the measured part of a thread, in a group that begins at `origin`.
pub(super) fn measure_from(pacing: &Pacing, origin: Nanos) -> Nanos {
    origin + pacing.start_delay + pacing.ramp_time
}

impl ThreadState {
    /// A thread of a group that begins at `origin`.
    pub(super) fn new(tied: Tied, origin: Nanos) -> Self {
        let Tied { thread, board } = tied;
        let p = thread.pacing;
        let start = origin + p.start_delay;
        let cursor = Cursor::new(thread.source, &p);
        let begun = thread.ties.after.is_none();
        let mut state = ThreadState {
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
            issued: 0,
            sampler: RateSampler::default(),
            schedule: Schedule::new(&p, start),
            pauses: Pauses::new(&p, start),
            is_free: false,
            pending: None,
            depth: p.iodepth,
            refill_at: p.refill_at.unwrap_or(p.iodepth).min(p.iodepth - 1),
            emptying: false,
            outstanding: 0,
            in_flight: Vec::new(),
            outstanding_writes: 0,
            flushing: false,
            has_flushed: false,
            start,
            ramp_end: None,
            deadline: Nanos::MAX,
            stop: None,
            closed: false,
            last_completion: Nanos::ZERO,
            bytes_done: 0,
            expected_bytes: cursor.expected_bytes(),
            cursor,
            ties: thread.ties,
            board,
            begun: false,
            shared: 0,
            admitted: false,
            held_until: Nanos::ZERO,
            search: None,
            lowest: None,
            next_look: Nanos::MAX,
            look_wake: Nanos::MAX,
            pacing: p,
        };
        state.set_start(start);
        if begun {
            state.begin();
        }
        state
    }

    /// Sets the start of the thread, from which its times count.
    fn set_start(&mut self, start: Nanos) {
        let p = &self.pacing;
        let measure_from = start + p.ramp_time;
        self.start = start;
        self.ramp_end = (!p.ramp_time.is_zero()).then_some(measure_from);
        self.deadline = p.runtime.map_or(Nanos::MAX, |r| measure_from + r);
        self.schedule = Schedule::new(p, start);
        self.pauses = Pauses::new(p, measure_from);
        self.search = Search::new(p.latency_target, p.iodepth, measure_from);
        self.lowest = Watch::new(p.lowest, measure_from);
        if p.steady.seconds > 0 {
            self.next_look = start + LOOK;
        }
        self.is_free = self.board.is_none()
            && self.search.is_none()
            && self.schedule.is_free()
            && p.thinktime.is_zero()
            && p.duty_cycle.is_none()
            && !p.serialize_overlap;
    }

    /// Begins the thread's part in the run.
    fn begin(&mut self) {
        self.begun = true;
        if let (Some((board, _)), Some(flow)) = (&self.board, self.ties.flow) {
            board.join(flow);
        }
    }

    /// Reacts to the state of other threads: returns a step if this thread must wait or end.
    fn react_to_others(&mut self, now: Nanos) -> Option<Step> {
        let (board, judge) = self.board.as_ref()?;
        let is_steady = now >= self.next_look && board.is_steady(*judge, self.start, now);
        if now >= self.next_look {
            self.next_look = now + LOOK;
        }
        if self.stop.is_none() && (is_steady || board.is_ended(self.ties.group)) {
            self.stop = Some(Stop::Early(now));
        }
        if self.begun || self.stop.is_some() {
            return None;
        }
        if !self.ties.after.is_none_or(|job| board.is_over(job)) {
            return Some(Step::AwaitOthers(Nanos::MAX));
        }
        self.set_start(self.start.max(now));
        self.begin();
        None
    }

    /// Takes one operation from the thread's flow; returns the step to take instead if the flow does not admit it.
    fn share(&mut self, now: Nanos) -> Option<Step> {
        let flow = self.ties.flow?;
        let (board, _) = self.board.as_ref()?;
        if self.admitted {
            return None;
        }
        if now < self.held_until {
            return Some(Step::Sleep(self.held_until.min(self.deadline)));
        }
        if board.admit(flow, self.shared) {
            self.shared += 1;
            self.admitted = true;
            return None;
        }
        if flow.sleep.is_zero() {
            return Some(Step::AwaitOthers(self.deadline));
        }
        if self.outstanding > 0 {
            return Some(Step::AwaitReply);
        }
        self.held_until = now + flow.sleep;
        Some(Step::Sleep(self.held_until.min(self.deadline)))
    }

    /// Notifies other threads of the end of this one.
    pub(super) fn leave(&mut self) {
        if let Some((board, _)) = &self.board {
            let failed = self.failed || matches!(self.stop, Some(Stop::Cut(_)));
            board.leave(&self.ties, self.begun, self.shared, failed);
        }
    }

    /// Results determined by the thread.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let steady = || {
            let (board, judge) = self.board.as_ref()?;
            board.verdict(*judge).map(Finding::Steady)
        };
        let steady = (self.pacing.steady.seconds > 0).then(steady).flatten();
        let depth = self
            .search
            .as_ref()
            .map(|search| Finding::Depth(search.depth()));
        depth.into_iter().chain(steady).collect()
    }

    /// Whether measurements may end the thread.
    #[inline]
    pub(super) fn has_judge(&self) -> bool {
        self.search.is_some() || self.lowest.is_some() || self.next_look != Nanos::MAX
    }

    /// Judges an operation with this latency, which may end the thread.
    pub(super) fn judge(
        &mut self,
        kind: OpKind,
        bytes: u32,
        latency: Nanos,
        now: Nanos,
    ) -> Judgement {
        if let Some((board, judge)) = self.board.as_ref().filter(|_| self.next_look != Nanos::MAX) {
            board.count(*judge, u64::from(bytes));
        }
        if kind == OpKind::Flush || self.stop.is_some() {
            return Judgement::Accept;
        }
        let direction = Direction::from(kind).index();
        if let Some(watch) = &mut self.lowest
            && let Some(reason) = watch.finished(direction, u64::from(bytes), now)
        {
            return Judgement::Fail { reason, error: EIO };
        }
        let found = self
            .search
            .as_mut()
            .map(|search| search.finished(latency, now));
        match found {
            None | Some(search::Finding::Continue) => Judgement::Accept,
            Some(search::Finding::Over) => {
                self.stop = Some(Stop::Early(now));
                Judgement::Accept
            }
            Some(search::Finding::Missed) => Judgement::Fail {
                reason: format!(
                    "not even a queue depth of 1 keeps its latency_target of {}",
                    self.pacing.latency_target.latency
                ),
                error: ETIMEDOUT,
            },
            Some(search::Finding::Found) => {
                self.ramp_end = Some(now);
                Judgement::Restart
            }
        }
    }

    /// Start of the thread's measurement.
    pub(super) fn measure_from(&self) -> Nanos {
        self.ramp_end.unwrap_or(self.start)
    }

    /// Length of the run, if time ends it.
    pub(super) fn deadline(&self) -> Option<Nanos> {
        (self.deadline != Nanos::MAX).then_some(self.deadline)
    }

    /// Next operation of a thread limited only by depth, time and flushes; `None` if [`ThreadState::next`] must decide.
    /// It counts as issued.
    #[inline(always)]
    pub(super) fn next_freely(&mut self, now: Nanos) -> Option<Op> {
        let runs = self.start <= now && now < self.deadline && self.stop.is_none();
        if !(self.is_free && runs && self.pending.is_none()) || self.is_full() || self.flushing {
            return None;
        }
        let Some(next) = self.cursor.next(None) else {
            self.stop = Some(Stop::Work);
            return None;
        };
        if next.op.kind == OpKind::Flush || next.due.is_some() {
            self.pending = Some((next.op, self.schedule.due(&next)));
            return None;
        }
        self.count_issued(next.op.kind);
        Some(next.op)
    }

    /// Operations in flight.
    #[inline]
    pub(super) fn outstanding(&self) -> u32 {
        self.outstanding
    }

    /// Number of operations submitted together.
    #[inline]
    pub(super) fn batch(&self) -> u32 {
        self.pacing.batch
    }

    /// Whether the queue is full and nothing else limits the thread: the next step is [`Step::AwaitReply`].
    #[inline]
    pub(super) fn is_filled(&self) -> bool {
        self.is_free && self.outstanding >= self.depth
    }

    /// An operation of this kind is issued.
    #[inline]
    fn count_issued(&mut self, kind: OpKind) {
        self.outstanding += 1;
        self.has_flushed = kind == OpKind::Flush;
        match kind {
            OpKind::Flush => self.flushing = true,
            OpKind::Write | OpKind::Trim => self.outstanding_writes += 1,
            OpKind::Read => {}
        }
    }

    /// Next step at `now`. An [`Step::Issue`] counts as done: the caller issues the operation.
    pub(super) fn next(&mut self, now: Nanos) -> Step {
        if self.board.is_some()
            && let Some(step) = self.react_to_others(now)
        {
            return step;
        }
        if self.stop.is_none() && now >= self.deadline {
            self.stop = Some(Stop::Time);
        }
        if self.stop.is_some() {
            return self.wind_down(now);
        }
        if self.is_full() || self.flushing || self.is_held_back(now) {
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
            if self.pacing.rate_ignores_pauses {
                self.schedule.shift(self.pauses.until().saturating_sub(now));
            }
        }
        // A pause of the job does not count as a delay of the target.
        let earliest = self.pauses.until();
        let due = scheduled.map_or(earliest, |s| s.max(earliest));
        if due > now {
            return Step::Sleep(due.min(self.deadline));
        }
        let is_flush = op.kind == OpKind::Flush;
        if (is_flush && self.outstanding_writes > 0) || self.overlaps(&op) {
            return Step::AwaitReply;
        }
        if let Some(step) = self.share(now) {
            return step;
        }
        self.admitted = false;
        self.pending = None;
        if self.pacing.serialize_overlap {
            self.in_flight.push(range(&op));
        }
        self.count_issued(op.kind);
        if !is_flush {
            self.pauses.issued(op.length, now);
        }
        Step::Issue {
            op,
            due: if scheduled.is_some() { due } else { now },
            scheduled: scheduled.is_some(),
        }
    }

    /// Whether an operation overlaps one in flight, if that is not allowed.
    #[inline]
    fn overlaps(&self, op: &Op) -> bool {
        let (from, to) = range(op);
        self.in_flight
            .iter()
            .any(|(start, end)| *start < to && from < *end)
    }

    /// Whether outstanding operations prevent another one.
    #[inline]
    fn is_full(&mut self) -> bool {
        if self.outstanding >= self.depth {
            self.emptying = true;
        } else if self.outstanding <= self.refill_at {
            self.emptying = false;
        }
        self.emptying
    }

    /// Whether the search for a queue depth allows no more.
    #[inline]
    fn is_held_back(&mut self, now: Nanos) -> bool {
        let outstanding = self.outstanding;
        let search = self.search.as_mut();
        search.is_some_and(|search| search.holds_back(outstanding, now))
    }

    /// The range of an operation is no longer in flight.
    #[inline]
    pub(super) fn release(&mut self, op: &Op) {
        if self.in_flight.is_empty() {
            return;
        }
        let done = range(op);
        if let Some(place) = self.in_flight.iter().position(|range| *range == done) {
            self.in_flight.swap_remove(place);
        }
    }

    /// Counts a completed operation.
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

    /// Whether an operation completed then is measured: all except those of the ramp, including its last instant.
    #[inline]
    pub(super) fn measures(&self, completed: Nanos) -> bool {
        self.ramp_end.is_none_or(|end| completed > end)
    }

    /// Stops the thread at `now`; returns false if it had ended before.
    pub(super) fn cut(&mut self, now: Nanos) -> bool {
        let cut_short = self.stop.is_none();
        if cut_short {
            self.stop = Some(Stop::Cut(now));
        }
        cut_short
    }

    /// End and total pauses of a finished thread.
    pub(super) fn conclude(&mut self) -> (Nanos, Nanos) {
        let end = match self.stop {
            Some(Stop::Time) => self.deadline.max(self.last_completion),
            Some(Stop::Cut(at) | Stop::Early(at)) => at.max(self.last_completion),
            Some(Stop::Work) | None => self.last_completion.max(self.start),
        };
        (end, self.pauses.idle(end))
    }

    /// End of the thread; the present if it is still running.
    pub(super) fn end_so_far(&self, now: Nanos) -> Nanos {
        match self.counted_out {
            true => self.last_completion.max(self.measure_from()),
            false => now,
        }
    }

    /// Finished share of the thread's work, 0 to 1, if known.
    pub(super) fn fraction(&self, now: Nanos) -> Option<f64> {
        if matches!(self.stop, Some(Stop::Work | Stop::Time | Stop::Early(_))) {
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

    /// Operations that the thread will issue next ([`Cursor::upcoming`]).
    #[inline]
    pub(super) fn upcoming(&mut self) -> Option<impl Iterator<Item = Bytes>> {
        self.cursor.upcoming()
    }

    /// Waits for outstanding operations. As in fio, a job whose time is over then also executes the operations at the
    /// end of its work (`end_fsync`).
    fn wind_down(&mut self, now: Nanos) -> Step {
        if self.outstanding > 0 {
            return Step::AwaitReply;
        }
        let op = match self.stop {
            Some(Stop::Time | Stop::Early(_)) if !(self.closed || self.has_flushed) => {
                self.cursor.closing()
            }
            _ => None,
        };
        self.closed = true;
        let Some(op) = op else {
            return Step::Finished;
        };
        self.count_issued(op.kind);
        Step::Issue {
            op,
            due: now,
            scheduled: false,
        }
    }
}
