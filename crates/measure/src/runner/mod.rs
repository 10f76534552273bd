//! Drives any number of threads through one target, in one loop, in virtual or real time.
//!
//! What a thread does next follows from values that compose: where operations come from
//! (`cursor`), when they are due (`schedule`), which pauses the job wants (`pause`) and when it
//! ends (`thread`). The loop here only issues, waits and hands finished operations to the
//! recorder; it knows nothing of devices or files.
//!
//! **Latency counts from when an operation was due.** In a closed loop that is the instant of
//! submission. With a rate limit or a trace it is the place in the schedule, so that a stall of
//! the target shows as many late operations and not as one (coordinated omission); the time from
//! submission is recorded beside it as service time.
//!
//! **What is measured**: operations completed after the ramp, up to the last one in flight when
//! the work or the time ends; these are waited for and counted, as fio does. A thread ends with
//! its last completion, or when its runtime is over, whichever is later.

mod cursor;
mod outcome;
mod pause;
mod schedule;
mod thread;

pub use outcome::{Ending, GroupOutcome, GroupRun, Observer, Progress, RunError, Silent};

use crate::recorder::{Direction, Finished, IntervalPlan, Recorder};
use crate::result::Notice;
use crate::target::{Outcome, Reading, Reply, Request, Target, TargetError};
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::{Op, OpKind, OpSource, Pacing};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use thread::{Step, ThreadState};

/// Operations between two calls of the observer.
const OBSERVE_EVERY_OPS: u64 = 65_536;
/// Time on the target's clock between two calls of the observer; also the longest wait, so that a
/// stop is heeded within a second of real time.
const OBSERVE_EVERY: Nanos = Nanos::from_secs(1);
/// Waits without any movement of the clock after which the target is taken for broken.
const STANDSTILL: u32 = 1 << 24;
/// Unsupported answers in a row after which a time-based thread has nothing to measure.
const UNSUPPORTED_IN_A_ROW: u32 = 1024;

/// What a failed operation means for its thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// The thread stops, as fio does without `continue_on_error`.
    #[default]
    Stop,
    /// The failure is counted and the thread goes on.
    Continue,
}

/// One thread: where its operations come from, how fast it goes, and under which group it is reported.
pub struct Thread {
    /// Where operations come from.
    pub source: Box<dyn OpSource>,
    /// Pacing, stop condition and queue depth.
    pub pacing: Pacing,
    /// The group under which the thread is recorded, from 0; threads of one group become one job
    /// in the result.
    pub record: usize,
    /// What a failed operation means.
    pub on_error: OnError,
}

impl Thread {
    /// A thread that stops at its first error.
    pub fn new(source: Box<dyn OpSource>, pacing: Pacing, record: usize) -> Self {
        Thread {
            source,
            pacing,
            record,
            on_error: OnError::Stop,
        }
    }
}

/// Runs all threads side by side until each has come to its end, `stop` answers true, or the
/// target fails; what was measured up to then is in the outcome in any case.
///
/// `plan` says how the time line is divided; `None` chooses by the longest runtime.
///
/// # Errors
/// Where the pacing of a thread contradicts itself. Nothing has been issued then.
pub fn run_group<T: Target + ?Sized>(
    target: &mut T,
    threads: Vec<Thread>,
    plan: Option<IntervalPlan>,
    observer: &mut dyn Observer,
    stop: &dyn Fn() -> bool,
) -> Result<GroupOutcome, RunError> {
    for (number, thread) in threads.iter().enumerate() {
        thread::check(thread).map_err(|problem| RunError {
            thread: number,
            problem,
        })?;
    }
    let mut run = Run::new(target, threads, plan);
    let failure = run.drive(observer, stop).err();
    Ok(run.conclude(failure))
}

/// An operation in flight.
#[derive(Clone, Copy, Debug)]
struct Slot {
    thread: u32,
    kind: OpKind,
    length: u32,
    scheduled: bool,
    offset: Bytes,
    due: Nanos,
}

/// What is counted per group beside the recorder.
#[derive(Clone, Debug, Default)]
struct GroupTally {
    errors: BTreeMap<&'static str, u64>,
    unsupported: [u64; Direction::COUNT],
}

struct Run<'a, T: Target + ?Sized> {
    target: &'a mut T,
    threads: Vec<ThreadState>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    in_flight: u64,
    wakes: BinaryHeap<Reverse<(Nanos, u32)>>,
    live: usize,
    recorder: Recorder,
    tallies: Vec<GroupTally>,
    capacity: Bytes,
    now: Nanos,
    start: Nanos,
    first_reading: Reading,
    /// Told to stop.
    interrupted: bool,
    /// And there was work left.
    cut_short: bool,
    failures: Vec<String>,
    operations: u64,
    bytes: u64,
    observed_at: (u64, Nanos),
}

impl<'a, T: Target + ?Sized> Run<'a, T> {
    fn new(target: &'a mut T, threads: Vec<Thread>, plan: Option<IntervalPlan>) -> Self {
        let start = target.now();
        let groups = threads.iter().map(|t| t.record + 1).max().unwrap_or(0);
        let threads: Vec<ThreadState> = threads
            .into_iter()
            .map(|t| ThreadState::new(t, start))
            .collect();
        let origin = threads.iter().map(ThreadState::measure_from).min();
        let origin = origin.unwrap_or(start);
        let plan = plan.unwrap_or_else(|| {
            let longest = threads.iter().filter_map(ThreadState::deadline).max();
            longest.map_or_else(IntervalPlan::default, |deadline| {
                IntervalPlan::for_duration(deadline.saturating_sub(origin))
            })
        });
        let mut recorder = Recorder::new(groups, origin, plan);
        let first_reading = target.reading();
        recorder.sample(start, first_reading);
        Run {
            capacity: target.capacity(),
            live: threads.len(),
            slots: Vec::new(),
            free: Vec::new(),
            in_flight: 0,
            wakes: BinaryHeap::with_capacity(threads.len() + 1),
            tallies: vec![GroupTally::default(); groups],
            threads,
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
            target,
        }
    }

    /// The loop. It ends when every thread has; an error is one of the target as a whole.
    fn drive(
        &mut self,
        observer: &mut dyn Observer,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), TargetError> {
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
            let wake = self.wakes.peek().map_or(Nanos::MAX, |w| w.0.0);
            let until = wake.min(next_sample).min(self.now + OBSERVE_EVERY);
            self.target.wait(until, &mut replies)?;
            let now = self.target.now();
            standstill = if now == self.now { standstill + 1 } else { 0 };
            if standstill > STANDSTILL {
                return Err(TargetError::Other(format!(
                    "the target's clock has stood still at {now} for {STANDSTILL} waits; the target answers without taking time, or not at all"
                )));
            }
            self.now = now;
            for reply in replies.drain(..) {
                if let Some(thread) = self.settle(&reply) {
                    self.pursue(thread)?;
                }
            }
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
                let reading = self.target.reading();
                self.recorder.sample(now, reading);
                next_sample = self.recorder.next_sample();
            }
            self.observe(observer);
        }
        Ok(())
    }

    /// Lets a thread do all that it can at the present.
    #[inline]
    fn pursue(&mut self, number: usize) -> Result<(), TargetError> {
        loop {
            let thread = &mut self.threads[number];
            match thread.next(self.now) {
                Step::Issue { op, due, scheduled } => self.issue(number, op, due, scheduled)?,
                Step::Sleep(until) => {
                    if thread.wake != until {
                        thread.wake = until;
                        self.wakes.push(Reverse((until, number as u32)));
                    }
                    return Ok(());
                }
                Step::AwaitReply => return Ok(()),
                Step::Finished => {
                    if !thread.counted_out {
                        thread.counted_out = true;
                        self.live -= 1;
                    }
                    return Ok(());
                }
            }
        }
    }

    #[inline]
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
        self.target.submit(Request {
            tag,
            kind: op.kind,
            offset: op.offset,
            length: op.length,
        })
    }

    /// Books a finished operation; gives the thread that may go on, or `None` for a tag that was never given out.
    #[inline]
    fn settle(&mut self, reply: &Reply) -> Option<usize> {
        let slot = *self.slots.get(reply.tag as usize)?;
        self.free.push(reply.tag);
        self.in_flight -= 1;
        let number = slot.thread as usize;
        let thread = &mut self.threads[number];
        match reply.outcome {
            Outcome::Done => {
                thread.replied(slot.kind, slot.length, reply.completed);
                thread.unsupported_in_a_row = 0;
                self.operations += 1;
                self.bytes = self.bytes.saturating_add(u64::from(slot.length));
                if thread.measures(reply.completed) {
                    self.recorder.record(
                        thread.group,
                        &Finished {
                            direction: slot.kind.into(),
                            bytes: slot.length,
                            due: slot.due,
                            submitted: slot.scheduled.then_some(reply.submitted),
                            completed: reply.completed,
                        },
                    );
                }
            }
            Outcome::Failed(reason) => {
                thread.replied(slot.kind, 0, reply.completed);
                *self.tallies[thread.group].errors.entry(reason).or_default() += 1;
                if thread.on_error == OnError::Stop {
                    thread.cut(self.now);
                    if thread.failed {
                        return Some(number);
                    }
                    thread.failed = true;
                    let text = failed(number, slot.kind, slot.offset, slot.length, reason);
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

    /// An operation that no target could do: the job is wrong, so its thread stops in any case.
    fn refuse(&mut self, number: usize, op: &Op, fault: &'static str) {
        let now = self.now;
        let thread = &mut self.threads[number];
        thread.replied(op.kind, 0, now);
        *self.tallies[thread.group].errors.entry(fault).or_default() += 1;
        thread.cut(now);
        self.failures
            .push(failed(number, op.kind, op.offset, op.length, fault));
    }

    fn interrupt(&mut self) -> Result<(), TargetError> {
        self.interrupted = true;
        for number in 0..self.threads.len() {
            self.cut_short |= self.threads[number].cut(self.now);
            self.pursue(number)?;
        }
        Ok(())
    }

    fn observe(&mut self, observer: &mut dyn Observer) {
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

    fn conclude(mut self, failure: Option<TargetError>) -> GroupOutcome {
        for thread in &mut self.threads {
            // Only where the target failed are there threads that have not ended.
            if failure.is_some() && !thread.counted_out {
                thread.cut(self.now);
            }
        }
        let mut groups: Vec<GroupRun> = Vec::new();
        groups.resize_with(self.tallies.len(), GroupRun::default);
        for thread in &mut self.threads {
            let (end, idle) = thread.conclude();
            let from = thread.measure_from().min(end);
            let group = &mut groups[thread.group];
            let first = group.threads == 0;
            group.start = if first { from } else { group.start.min(from) };
            group.end = group.end.max(end);
            group.idle += idle;
            group.threads += 1;
        }
        let end = groups.iter().map(|g| g.end).max().unwrap_or(self.start);
        let last_reading = self.target.reading();
        self.recorder.sample(self.now, last_reading);
        let (records, timeline) = self.recorder.finish(end);
        for ((group, record), tally) in groups.iter_mut().zip(records).zip(self.tallies) {
            group.record = record;
            group.errors = tally.errors;
            group.unsupported = tally.unsupported;
        }
        let ending = match (failure, self.failures.first()) {
            (Some(error), _) => Ending::Failed(format!(
                "{error}; {} operations in flight were lost",
                self.in_flight
            )),
            (None, Some(first)) => Ending::Failed(first.clone()),
            (None, None) if self.cut_short => Ending::Interrupted,
            (None, None) => Ending::Complete,
        };
        GroupOutcome {
            start: self.start,
            end,
            notices: notices(&groups, &self.failures),
            groups,
            timeline,
            first_reading: self.first_reading,
            last_reading,
            ending,
        }
    }
}

fn failed(thread: usize, kind: OpKind, offset: Bytes, length: u32, reason: &str) -> String {
    let kind = Direction::from(kind).name();
    format!(
        "thread {thread} stopped at its first error: {kind} of {length} bytes at byte {}: {reason}",
        offset.0
    )
}

/// What makes an operation impossible for any target of this capacity.
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

fn notices(groups: &[GroupRun], failures: &[String]) -> Vec<Notice> {
    let notice = |level: &str, text: String| Notice {
        level: level.to_string(),
        text,
        step: None,
    };
    let mut notices: Vec<Notice> = failures
        .iter()
        .map(|text| notice("error", text.clone()))
        .collect();
    for direction in Direction::ALL {
        let count: u64 = groups
            .iter()
            .map(|g| g.unsupported[direction.index()])
            .sum();
        if count > 0 {
            notices.push(notice(
                "warning",
                format!(
                    "the target or its host path does not support {}: {count} such operations did nothing and are not counted",
                    direction.name()
                ),
            ));
        }
    }
    for group in groups {
        if group.record.present().next().is_none() && group.errors.is_empty() && group.threads > 0 {
            notices.push(notice(
                "warning",
                "a job measured nothing: its work ended within the start delay or the ramp; shorten the ramp or make the job longer".to_string(),
            ));
        }
    }
    notices
}

#[cfg(test)]
mod tests;
