//! The loop of [`super`]: issues operations, waits for the target, records completions.

use super::failure::{self, ETIMEDOUT};
use super::interim::LoopObserver;
use super::span::Span;
use super::step::{Judgement, Step};
use super::thread::ThreadState;
use super::ties::Board;
use super::{Progress, Tied};
use crate::recorder::{Direction, Finished, RateSampler, Recorder};
use crate::target::{Outcome, Reading, Reply, Request, Target, TargetError};
use nandscope_result::DepthCounts;
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::{Op, OpKind};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

/// Operations between two calls of the observer.
const OBSERVE_EVERY_OPS: u64 = 65_536;
/// Time on the target's clock between two calls of the observer; also the longest wait, so that a
/// stop takes effect within a second of real time.
const OBSERVE_EVERY: Nanos = Nanos::from_secs(1);
/// Number of waits without any movement of the clock after which the target counts as broken.
const STANDSTILL: u32 = 1 << 24;
/// Latest due time of an operation: 146 years. Adding the time of an operation does not overflow.
const LATEST: Nanos = Nanos(1 << 62);
/// Time between two checks of a loop for changes by other loops.
const LOOK_AROUND: Nanos = Nanos::from_millis(10);
const LOOK_AROUND_HELD: Nanos = Nanos::from_micros(50);
/// Number of successive unsupported answers after which a time-based thread has nothing to measure.
const UNSUPPORTED_IN_A_ROW: u32 = 1024;

/// An operation in flight.
#[derive(Clone, Copy, Debug)]
struct Slot {
    thread: u32,
    kind: OpKind,
    length: u32,
    scheduled: bool,
    offset: Bytes,
    due: Nanos,
    issued: Nanos,
}

impl Slot {
    fn op(&self) -> Op {
        Op {
            kind: self.kind,
            offset: self.offset,
            length: self.length,
        }
    }
}

/// Counts per group that the recorder does not have.
#[derive(Clone, Debug, Default)]
pub(super) struct GroupTally {
    pub(super) errors: BTreeMap<&'static str, u64>,
    /// Linux error number of the first error; 0 without an error.
    pub(super) error: u32,
    pub(super) depths: DepthCounts,
    pub(super) unsupported: [u64; Direction::COUNT],
}

impl GroupTally {
    /// Stores the number of an error if it is the first.
    fn fail(&mut self, number: u32) {
        if self.error == 0 {
            self.error = number;
        }
    }
}

pub(super) struct Run<'a, T: Target + ?Sized> {
    pub(super) target: &'a mut T,
    pub(super) threads: Vec<ThreadState>,
    /// Number of this loop's first thread among all threads of the run.
    first: usize,
    slots: Vec<Slot>,
    free: Vec<u32>,
    pub(super) in_flight: u64,
    wakes: BinaryHeap<Reverse<(Nanos, u32)>>,
    live: usize,
    pub(super) recorder: Recorder,
    pub(super) tallies: Vec<GroupTally>,
    capacity: Bytes,
    pub(super) now: Nanos,
    pub(super) start: Nanos,
    pub(super) first_reading: Reading,
    /// A stop was requested.
    interrupted: bool,
    /// A stop was requested before all work was done.
    pub(super) cut_short: bool,
    pub(super) failures: Vec<String>,
    operations: u64,
    bytes: u64,
    observed_at: (u64, Nanos),
    /// Numbers of the threads that wait for others.
    held: Vec<usize>,
    /// Whether other threads of the run have their own loops.
    among_others: bool,
    /// Ends and changes of other threads that were processed.
    processed: (u64, u64),
    board: Option<Arc<Board>>,
}

impl<'a, T: Target + ?Sized> Run<'a, T> {
    /// A loop for these threads before their start; the first one has the number `first`.
    pub(super) fn new(target: &'a mut T, threads: Vec<Tied>, span: &Span, first: usize) -> Self {
        let start = span.start;
        let board = threads.iter().find_map(|t| t.board.as_ref());
        let board = board.map(|(board, _)| Arc::clone(board));
        let threads: Vec<ThreadState> = threads
            .into_iter()
            .map(|t| ThreadState::new(t, start))
            .collect();
        let mut recorder = Recorder::new(span.groups, span.origin, span.plan);
        let first_reading = target.reading();
        recorder.sample(start, first_reading);
        Run {
            capacity: target.capacity(),
            live: threads.len(),
            slots: Vec::new(),
            free: Vec::new(),
            in_flight: 0,
            wakes: BinaryHeap::with_capacity(threads.len() + 1),
            tallies: vec![GroupTally::default(); span.groups],
            threads,
            first,
            recorder,
            now: start,
            start,
            first_reading,
            interrupted: false,
            cut_short: false,
            failures: Vec::new(),
            operations: 0,
            bytes: 0,
            observed_at: (0, start),
            held: Vec::new(),
            among_others: false,
            processed: (0, 0),
            board,
            target,
        }
    }

    /// Declares that other threads of the run have their own loops.
    pub(super) fn among_others(mut self) -> Self {
        self.among_others = true;
        self
    }

    /// Runs the loop until every thread has ended; returns an error only if the target failed as a whole.
    pub(super) fn drive(
        &mut self,
        observer: &mut dyn LoopObserver,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), TargetError> {
        let interim = observer.interim_interval();
        let mut next_interim = interim.map_or(Nanos::MAX, |interval| self.start + interval);
        let mut replies: Vec<Reply> = Vec::new();
        let mut next_sample = self.recorder.next_sample();
        let mut standstill = 0u32;
        for thread in 0..self.threads.len() {
            self.pursue(thread)?;
        }
        while self.live > 0 {
            if !self.interrupted && stop() {
                self.interrupt()?;
                continue;
            }
            self.react_to_others()?;
            if self.live == 0 {
                break;
            }
            let wake = self.wakes.peek().map(|w| w.0.0);
            if wake.is_some_and(|at| at > LATEST) {
                return Err(beyond_the_clock());
            }
            let wake = wake.unwrap_or(Nanos::MAX);
            let longest = self.now + self.longest_wait();
            let until = wake.min(next_sample).min(longest).min(next_interim);
            self.target.wait(until, &mut replies)?;
            let now = self.target.now();
            standstill = if now == self.now { standstill + 1 } else { 0 };
            if standstill > STANDSTILL {
                return Err(TargetError::Other(format!(
                    "the target's clock has not advanced from {now} in {STANDSTILL} waits; the target answers without taking time, or not at all"
                )));
            }
            self.now = now;
            let mut batch = (0, 0);
            for reply in &replies {
                if let Some(thread) = self.settle(reply) {
                    if thread != batch.0 {
                        self.count_batch(batch);
                        batch = (thread, 0);
                    }
                    batch.1 += 1;
                    self.pursue(thread)?;
                }
            }
            self.count_batch(batch);
            replies.clear();
            while let Some(&Reverse((at, thread))) = self.wakes.peek()
                && at <= now
            {
                self.wakes.pop();
                let thread = thread as usize;
                if self.threads[thread].wake == at {
                    self.threads[thread].wake = Nanos::MAX;
                }
                self.pursue(thread)?;
            }
            if now >= next_sample {
                // Merged intervals end later than the interval that was waited for.
                next_sample = self.recorder.next_sample();
            }
            if now >= next_sample {
                let reading = self.target.reading();
                self.recorder.sample(now, reading);
                next_sample = self.recorder.next_sample();
            }
            self.observe(observer);
            if let Some(interval) = interim.filter(|_| now >= next_interim) {
                // One part per interval, also if the clock passed several at once, so that all loops have equally many.
                while next_interim <= now {
                    next_interim += interval;
                    let part = self.part_so_far();
                    observer.part(part);
                }
            }
        }
        Ok(())
    }

    /// Counts the operations of a thread that one wait returned.
    #[inline]
    fn count_batch(&mut self, (thread, operations): (usize, u32)) {
        if operations > 0 && self.threads[thread].measures(self.now) {
            let group = self.threads[thread].group;
            self.tallies[group].depths.completion(operations);
        }
    }

    /// Longest wait for the target: other loops act on threads here without waking them.
    fn longest_wait(&self) -> Nanos {
        let longest = self.target.longest_wait();
        match (
            self.among_others && self.board.is_some(),
            self.held.is_empty(),
        ) {
            (false, _) => longest,
            (true, true) => longest.min(LOOK_AROUND),
            (true, false) => longest.min(LOOK_AROUND_HELD),
        }
    }

    /// Resumes threads that waited for others, until no further thread is released.
    fn react_to_others(&mut self) -> Result<(), TargetError> {
        let Some(board) = self.board.clone() else {
            return Ok(());
        };
        loop {
            let now = (board.ends(), board.changes());
            let before = std::mem::replace(&mut self.processed, now);
            if now == before {
                return Ok(());
            }
            let held = std::mem::take(&mut self.held);
            if now.0 != before.0 {
                for thread in 0..self.threads.len() {
                    self.pursue(thread)?;
                }
            } else {
                for thread in held {
                    self.pursue(thread)?;
                }
            }
        }
    }

    /// Wakes a thread at this instant.
    fn wake(&mut self, number: usize, at: Nanos) {
        let thread = &mut self.threads[number];
        if thread.wake != at {
            thread.wake = at;
            self.wakes.push(Reverse((at, number as u32)));
        }
    }

    /// Executes all steps of a thread that are possible at the present.
    #[inline]
    fn pursue(&mut self, number: usize) -> Result<(), TargetError> {
        let result = self.advance(number);
        let thread = &mut self.threads[number];
        if thread.next_look != Nanos::MAX && thread.look_wake != thread.next_look {
            thread.look_wake = thread.next_look;
            self.wakes.push(Reverse((thread.next_look, number as u32)));
        }
        let issued = std::mem::take(&mut thread.issued);
        if issued > 0 {
            let (group, batch) = (thread.group, thread.batch());
            self.tallies[group].depths.submissions(issued, batch);
        }
        result
    }

    fn advance(&mut self, number: usize) -> Result<(), TargetError> {
        while let Some(op) = self.threads[number].next_freely(self.now) {
            self.announce_upcoming(number);
            self.issue(number, op, self.now, false)?;
        }
        if self.threads[number].is_filled() {
            return Ok(());
        }
        self.advance_held(number)
    }

    /// Announces the next operations of a thread to the target.
    #[inline]
    fn announce_upcoming(&mut self, number: usize) {
        for offset in self.threads[number].upcoming().into_iter().flatten() {
            self.target.expect(offset);
        }
    }

    /// As [`Run::advance`], for a thread that more than its depth may limit.
    #[inline(never)]
    fn advance_held(&mut self, number: usize) -> Result<(), TargetError> {
        loop {
            match self.threads[number].next(self.now) {
                Step::Issue { op, due, scheduled } => {
                    self.announce_upcoming(number);
                    self.issue(number, op, due, scheduled)?;
                }
                Step::Sleep(until) => {
                    self.wake(number, until);
                    return Ok(());
                }
                Step::AwaitReply => return Ok(()),
                Step::AwaitOthers(until) => {
                    if !self.held.contains(&number) {
                        self.held.push(number);
                    }
                    if until != Nanos::MAX {
                        self.wake(number, until);
                    }
                    return Ok(());
                }
                Step::Finished => {
                    let thread = &mut self.threads[number];
                    if !thread.counted_out {
                        thread.counted_out = true;
                        thread.next_look = Nanos::MAX;
                        thread.leave();
                        self.live -= 1;
                    }
                    return Ok(());
                }
            }
        }
    }

    #[inline(always)]
    fn issue(
        &mut self,
        number: usize,
        op: Op,
        due: Nanos,
        scheduled: bool,
    ) -> Result<(), TargetError> {
        if let Some(fault) = fault(&op, self.capacity) {
            self.refuse(number, &op, fault);
            return Ok(());
        }
        let slot = Slot {
            thread: number as u32,
            kind: op.kind,
            length: op.length,
            scheduled,
            offset: op.offset,
            due,
            issued: self.now,
        };
        let tag = match self.free.pop() {
            Some(tag) => {
                self.slots[tag as usize] = slot;
                tag
            }
            None => {
                self.slots.push(slot);
                (self.slots.len() - 1) as u32
            }
        };
        self.in_flight += 1;
        let thread = &mut self.threads[number];
        if op.kind != OpKind::Flush && thread.measures(self.now) {
            thread.issued += 1;
            let depth = thread.outstanding();
            self.tallies[thread.group].depths.issue(depth);
        }
        self.target.submit(Request {
            tag,
            thread: (self.first + number) as u32,
            kind: op.kind,
            offset: op.offset,
            length: op.length,
            durable: op.kind == OpKind::Write && self.threads[number].sync,
        })
    }

    /// Records a finished operation; returns the thread that may continue, or `None` for an unknown tag.
    #[inline]
    fn settle(&mut self, reply: &Reply) -> Option<usize> {
        let slot = *self.slots.get(reply.tag as usize)?;
        self.free.push(reply.tag);
        self.in_flight = self.in_flight.saturating_sub(1);
        let number = slot.thread as usize;
        let thread = &mut self.threads[number];
        thread.release(&slot.op());
        match reply.outcome {
            Outcome::Done => {
                thread.replied(slot.kind, slot.length, reply.completed);
                thread.unsupported_in_a_row = 0;
                // As in fio, the delay after the scheduled start does not count.
                let latency = reply.completed.saturating_sub(slot.issued);
                if latency > thread.max_latency[Direction::from(slot.kind).index()]
                    && !thread.failed
                {
                    thread.failed = true;
                    thread.cut(self.now);
                    self.tallies[thread.group].fail(ETIMEDOUT);
                    self.failures
                        .push(too_long(self.first + number, &slot, latency));
                }
                self.operations += 1;
                self.bytes = self.bytes.saturating_add(u64::from(slot.length));
                let is_measured = thread.measures(reply.completed);
                if is_measured && thread.has_judge() {
                    self.judge(number, &slot, latency);
                }
                let thread = &mut self.threads[number];
                if is_measured {
                    let from = thread.measure_from();
                    let direction = Direction::from(slot.kind);
                    thread
                        .sampler
                        .count(direction, slot.length, reply.completed, from);
                    self.recorder.record(
                        thread.group,
                        &Finished {
                            direction: slot.kind.into(),
                            bytes: slot.length,
                            due: slot.due,
                            issued: slot.issued,
                            scheduled: slot.scheduled,
                            submitted: reply.submitted,
                            completed: reply.completed,
                        },
                    );
                }
            }
            Outcome::Failed(reason) => {
                thread.replied(slot.kind, 0, reply.completed);
                let tally = &mut self.tallies[thread.group];
                *tally.errors.entry(reason).or_default() += 1;
                tally.fail(failure::number(reason));
                if !thread.on_error.goes_on(slot.kind, reason) {
                    thread.cut(self.now);
                    if thread.failed {
                        return Some(number);
                    }
                    thread.failed = true;
                    let text = failed(
                        self.first + number,
                        slot.kind,
                        slot.offset,
                        slot.length,
                        reason,
                    );
                    self.failures.push(text);
                }
            }
            Outcome::Unsupported => {
                thread.replied(slot.kind, 0, reply.completed);
                let direction = Direction::from(slot.kind);
                self.tallies[thread.group].unsupported[direction.index()] += 1;
                thread.unsupported_in_a_row += 1;
                if thread.time_based && thread.unsupported_in_a_row >= UNSUPPORTED_IN_A_ROW {
                    thread.cut(self.now);
                }
            }
        }
        Some(number)
    }

    /// Lets a thread judge a measured operation, which may end the thread.
    fn judge(&mut self, number: usize, slot: &Slot, latency: Nanos) {
        let thread = &mut self.threads[number];
        match thread.judge(slot.kind, slot.length, latency, self.now) {
            Judgement::Accept => {}
            // The records of other threads in the same group cannot be removed separately.
            Judgement::Restart => {
                let group = thread.group;
                thread.sampler = RateSampler::default();
                if self.threads.iter().filter(|t| t.group == group).count() == 1 {
                    self.recorder.forget(group);
                    self.tallies[group].depths = DepthCounts::default();
                }
            }
            Judgement::Fail { reason, error } => {
                self.tallies[thread.group].fail(error);
                thread.failed = true;
                thread.cut(self.now);
                let number = self.first + number;
                self.failures
                    .push(format!("thread {number} stopped: {reason}"));
            }
        }
    }

    /// Stops a thread whose job contains an operation that no target can execute.
    fn refuse(&mut self, number: usize, op: &Op, fault: &'static str) {
        let now = self.now;
        let thread = &mut self.threads[number];
        thread.release(op);
        thread.replied(op.kind, 0, now);
        let tally = &mut self.tallies[thread.group];
        *tally.errors.entry(fault).or_default() += 1;
        tally.fail(failure::number(fault));
        thread.cut(now);
        self.failures.push(failed(
            self.first + number,
            op.kind,
            op.offset,
            op.length,
            fault,
        ));
    }

    fn interrupt(&mut self) -> Result<(), TargetError> {
        self.interrupted = true;
        for number in 0..self.threads.len() {
            self.cut_short |= self.threads[number].cut(self.now);
            self.pursue(number)?;
        }
        Ok(())
    }

    fn observe(&mut self, observer: &mut dyn LoopObserver) {
        let (operations, at) = self.observed_at;
        if self.operations - operations < OBSERVE_EVERY_OPS
            && self.now.saturating_sub(at) < OBSERVE_EVERY
        {
            return;
        }
        self.observed_at = (self.operations, self.now);
        let shares: Option<Vec<f64>> = self.threads.iter().map(|t| t.fraction(self.now)).collect();
        observer.progress(&Progress {
            elapsed: self.now.saturating_sub(self.start),
            operations: self.operations,
            bytes: Bytes(self.bytes),
            fraction: shares.map(|s| s.iter().sum::<f64>() / s.len().max(1) as f64),
        });
    }
}

fn too_long(thread: usize, slot: &Slot, latency: Nanos) -> String {
    let kind = Direction::from(slot.kind).operation();
    format!(
        "thread {thread} stopped: {kind} of {} bytes at byte {} took {latency}, longer than its max_latency",
        slot.length, slot.offset.0
    )
}

fn failed(thread: usize, kind: OpKind, offset: Bytes, length: u32, reason: &str) -> String {
    let kind = Direction::from(kind).operation();
    format!(
        "thread {thread} stopped at its first error: {kind} of {length} bytes at byte {}: {reason}",
        offset.0
    )
}

/// Cause why no target of this capacity can do an operation.
#[inline]
fn fault(op: &Op, capacity: Bytes) -> Option<&'static str> {
    if op.kind == OpKind::Flush {
        return None;
    }
    if op.length == 0 {
        return Some("the length is zero");
    }
    if !(op.offset.0 | u64::from(op.length)).is_multiple_of(nandscope_units::SECTOR_BYTES) {
        return Some("offset or length is not a multiple of 512 bytes");
    }
    if (op.offset + Bytes(u64::from(op.length))) > capacity {
        return Some("the range reaches beyond the end of the target");
    }
    None
}

fn beyond_the_clock() -> TargetError {
    TargetError::Other(
        "the next operation is due after more than 146 years, where the clock ends; check the times of the trace, `thinktime` and `startdelay`"
            .to_string(),
    )
}
