//! One stream under way: what has arrived and waits, what is in flight, when it flushes.

use super::{Stall, StreamRecord, kind_of};
use crate::layout::Place;
use crate::requirement::{Pattern, Stream, Sync};
use nandscope_measure::distribution::Distribution;
use nandscope_units::random::SplitMix64;
use nandscope_units::{Bytes, Nanos, saturating_u32};
use nandscope_workload::OpKind;
use std::collections::VecDeque;

/// Kind of the operation that a stream submits next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Blocks.
    Blocks,
    /// Nothing: it waits for its blocks in flight before it flushes.
    Draining,
    /// Nothing: its flush is in flight.
    Flushing,
}

/// A stream under way.
pub(super) struct Lane<'a> {
    stream: &'a Stream,
    place: Place,
    start: Nanos,
    end: Nanos,
    limit: Option<Bytes>,
    random: SplitMix64,
    /// Index of the next block to arrive, and its time.
    next_index: u64,
    next_arrival: Nanos,
    /// Index of the next block in the area.
    next_block: u64,
    /// Arrivals that were not submitted yet.
    waiting: VecDeque<Nanos>,
    /// Arrivals whose blocks are written and wait for their flush ([`Sync::Each`]).
    unsynced: Vec<Nanos>,
    backlog: u64,
    in_flight: u32,
    phase: Phase,
    dirty: u64,
    sync_due: Nanos,
    record: StreamRecord,
}

impl<'a> Lane<'a> {
    pub(super) fn new(
        stream: &'a Stream,
        place: Place,
        (start, duration): (Nanos, Nanos),
        seed: u64,
        limit: Option<Bytes>,
    ) -> Self {
        Lane {
            stream,
            place,
            start,
            end: start + duration,
            limit,
            random: SplitMix64::new(seed),
            next_index: 0,
            next_arrival: start,
            next_block: 0,
            waiting: VecDeque::new(),
            unsynced: Vec::new(),
            backlog: 0,
            in_flight: 0,
            phase: Phase::Blocks,
            dirty: 0,
            sync_due: match stream.sync {
                Sync::Interval(time) => start + time,
                _ => Nanos::MAX,
            },
            record: StreamRecord {
                arrived: 0,
                lost: 0,
                done: 0,
                done_in_last_quarter: 0,
                late: 0,
                peak: Bytes::ZERO,
                peak_at: Nanos::ZERO,
                emptied_at: Nanos::ZERO,
                latency: Distribution::new(),
                stall: None,
                failed: 0,
                failure: None,
            },
        }
    }

    /// Takes the blocks that have arrived up to `now`.
    pub(super) fn arrive(&mut self, now: Nanos) {
        while self.next_arrival <= now && self.next_arrival < self.end {
            let at = self.next_arrival;
            if self.backlog == 0 {
                self.record.emptied_at = at.saturating_sub(self.start);
            }
            self.next_index += 1;
            // From the index, so that no rounding error adds up.
            let passed = self.next_index as f64 / self.stream.blocks_per_s;
            self.next_arrival = (self.start + Nanos::from_secs_f64(passed)).max(at + Nanos(1));
            self.record.arrived += 1;
            let with = self.backlog + self.stream.block.0;
            if self.limit.is_some_and(|limit| with > limit.0) {
                self.record.lost += 1;
                continue;
            }
            self.backlog = with;
            self.waiting.push_back(at);
            if with > self.record.peak.0 {
                self.record.peak = Bytes(with);
                self.record.peak_at = at.saturating_sub(self.start);
            }
        }
    }

    /// The next operation to submit at `now`: kind, arrival, offset, length.
    pub(super) fn next(&mut self, now: Nanos) -> Option<(OpKind, Nanos, u64, u32)> {
        if now >= self.sync_due && self.phase == Phase::Blocks {
            self.begin_interval(now);
        }
        match self.phase {
            Phase::Flushing => None,
            Phase::Draining if self.in_flight > 0 => None,
            Phase::Draining => {
                self.phase = Phase::Flushing;
                self.dirty = 0;
                Some((OpKind::Flush, now, 0, 0))
            }
            Phase::Blocks if self.in_flight >= self.stream.depth => None,
            Phase::Blocks => {
                let due = self.waiting.pop_front()?;
                self.in_flight += 1;
                self.dirty = self.dirty.saturating_add(self.stream.block.0);
                self.end_of_batch();
                let length = saturating_u32(self.stream.block.0);
                Some((kind_of(self.stream.direction), due, self.offset(), length))
            }
        }
    }

    /// The interval between two flushes is over.
    fn begin_interval(&mut self, now: Nanos) {
        if let Sync::Interval(time) = self.stream.sync {
            self.sync_due = now + time;
            if self.dirty > 0 {
                self.phase = Phase::Draining;
            }
        }
    }

    /// Whether the block that was just submitted is the last one before a flush.
    fn end_of_batch(&mut self) {
        let is_last = match self.stream.sync {
            Sync::Each => self.in_flight >= self.stream.depth || self.waiting.is_empty(),
            Sync::Bytes(bytes) => self.dirty >= bytes.0,
            Sync::Never | Sync::Interval(_) => false,
        };
        if is_last {
            self.phase = Phase::Draining;
        }
    }

    /// Offset of the next block.
    fn offset(&mut self) -> u64 {
        let block = match self.stream.pattern {
            Pattern::Sequential => {
                let block = self.next_block;
                self.next_block = (block + 1) % self.place.blocks;
                block
            }
            Pattern::Random => self.random.below(self.place.blocks),
        };
        self.place.start + block * self.stream.block.0
    }

    /// Time at which the stream acts without a completion; `None` if it only waits for one, or has ended.
    pub(super) fn wake(&self, now: Nanos) -> Option<Nanos> {
        let arrival = (self.next_arrival < self.end).then_some(self.next_arrival);
        let is_dirty = self.dirty > 0 && self.phase == Phase::Blocks && self.in_flight == 0;
        let sync = (is_dirty && self.sync_due != Nanos::MAX && arrival.is_some())
            .then(|| self.sync_due.max(now));
        arrival.into_iter().chain(sync).min()
    }

    pub(super) fn fail(&mut self, why: &'static str) {
        self.record.failed += 1;
        self.record.failure.get_or_insert(why);
    }

    /// An operation is complete.
    pub(super) fn completed(&mut self, kind: OpKind, due: Nanos, at: Nanos, stall: Stall) {
        if self
            .record
            .stall
            .is_none_or(|longest| stall.took > longest.took)
        {
            self.record.stall = Some(stall);
        }
        if kind == OpKind::Flush {
            self.phase = Phase::Blocks;
            for due in std::mem::take(&mut self.unsynced) {
                self.done(due, at);
            }
            return;
        }
        self.in_flight = self.in_flight.saturating_sub(1);
        match self.stream.sync {
            Sync::Each => self.unsynced.push(due),
            _ => self.done(due, at),
        }
    }

    /// A block leaves the buffer.
    fn done(&mut self, due: Nanos, at: Nanos) {
        let took = at.saturating_sub(due);
        self.record.latency.record(took);
        if self.stream.deadline.is_some_and(|d| took > d.time) {
            self.record.late += 1;
        }
        self.backlog = self.backlog.saturating_sub(self.stream.block.0);
        if at > self.end {
            return;
        }
        self.record.done += 1;
        let quarter = Nanos((self.end - self.start).0 / 4);
        self.record.done_in_last_quarter += u64::from(at > self.end.saturating_sub(quarter));
        if self.backlog == 0 {
            self.record.emptied_at = at.saturating_sub(self.start);
        }
    }

    /// The record; blocks that never completed are late.
    pub(super) fn finish(mut self) -> StreamRecord {
        let never = self.record.arrived - self.record.lost - self.record.latency.count();
        if self.stream.deadline.is_some() {
            self.record.late += never;
        }
        self.record
    }
}
