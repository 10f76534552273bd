//! Streams on a target: blocks arrive at their rate whether the device is ready or not, and wait in a buffer. The record
//! has the most that waited at any instant, which is the buffer that loses nothing.
//!
//! A block arrives as a whole, occupies the buffer from its arrival to its completion (with [`Sync::Each`] to the end of
//! its flush), and blocks of a stream start in the order of arrival. If an arrival and a completion fall on one instant,
//! the arrival counts first. With a limit of the buffer, a block that does not fit is lost.

mod lane;

use crate::layout::{LayoutError, places};
use crate::requirement::{Direction, Requirement, Sync};
use lane::Lane;
use nandscope_measure::distribution::Distribution;
use nandscope_measure::target::{Load, Outcome, Reply, Target, TargetError};
use nandscope_units::{Bytes, Nanos, saturating_u32};
use nandscope_workload::OpKind;
use serde::Serialize;
use thiserror::Error;

/// Turns of the loop in virtual time between two looks at the request to stop.
const TURNS: u32 = 1024;

/// A recording cannot be made.
#[derive(Debug, Error)]
pub enum RecordingError {
    /// The streams do not fit the device.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The target failed as a whole.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The caller ended it.
    #[error("interrupted; nothing was concluded")]
    Stopped,
}

/// How long to record, and with which buffers.
#[derive(Clone, Copy, Debug)]
pub struct RecordingOptions {
    /// Time in which blocks arrive; those that wait at its end are completed afterwards, for as long again at most.
    pub duration: Nanos,
    /// Seed of random places.
    pub seed: u64,
    /// Scale of the buffers given by the requirement; `None` for buffers without limit.
    pub limit: Limit,
}

/// Limit of the buffers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// No block is lost.
    None,
    /// The buffers of the requirement; streams without one lose nothing.
    AsRequired,
    /// These bytes for every stream.
    Of(Bytes),
}

/// The operation that took longest from submission to completion.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Stall {
    /// `read`, `write` or `flush`.
    pub kind: &'static str,
    /// Submission, since the start of the recording.
    pub at: Nanos,
    /// Time until completion.
    pub took: Nanos,
    /// Offset on the device; 0 for a flush.
    pub offset: Bytes,
}

/// Counts, buffer and latencies of one recorded stream.
#[derive(Clone, Debug)]
pub struct StreamRecord {
    /// Blocks that arrived.
    pub arrived: u64,
    /// Blocks that were lost because the buffer was full.
    pub lost: u64,
    /// Blocks that completed while blocks arrived.
    pub done: u64,
    /// Those of them in the last quarter.
    pub done_in_last_quarter: u64,
    /// Blocks later than the deadline, or not completed at all.
    pub late: u64,
    /// Most bytes that waited at once: the buffer that loses nothing.
    pub peak: Bytes,
    /// When that was, since the start.
    pub peak_at: Nanos,
    /// When nothing waited for the last time, since the start.
    pub emptied_at: Nanos,
    /// Time of each completed block from its arrival.
    pub latency: Distribution,
    /// The longest operation.
    pub stall: Option<Stall>,
    /// Failed operations, with the first reason.
    pub failed: u64,
    /// Why the first one failed.
    pub failure: Option<&'static str>,
}

/// All streams of a requirement as they were recorded.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Time in which blocks arrived.
    pub duration: Nanos,
    /// The streams in the order of the requirement.
    pub streams: Vec<StreamRecord>,
}

/// An operation that was submitted and has not completed.
struct InFlight {
    lane: usize,
    kind: OpKind,
    due: Nanos,
    submitted: Nanos,
    offset: u64,
}

/// Sends the streams of a requirement to a target. `progress` is called with the share that is done, and ends the
/// recording by returning false.
///
/// # Errors
/// [`RecordingError`] if the streams do not fit the target, it fails as a whole, or `progress` ends it.
pub fn record<T: Target + ?Sized>(
    target: &mut T,
    requirement: &Requirement,
    options: &RecordingOptions,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<Recording, RecordingError> {
    let places = places(requirement, target.capacity())?;
    let start = target.now();
    let lanes = requirement.streams.iter().zip(places).zip(0_u64..);
    let lanes = lanes.map(|((stream, place), number)| {
        let limit = match options.limit {
            Limit::None => None,
            Limit::AsRequired => stream.buffer,
            Limit::Of(bytes) => Some(bytes),
        };
        let seed = options.seed.wrapping_add(number << 32);
        Lane::new(stream, place, (start, options.duration), seed, limit)
    });
    let streams = &requirement.streams;
    target.prepare(&Load {
        depth: streams
            .iter()
            .map(|s| s.depth)
            .sum::<u32>()
            .saturating_add(saturating_u32(streams.len() as u64)),
        largest: streams
            .iter()
            .map(|s| saturating_u32(s.block.0))
            .max()
            .unwrap_or(0),
        batch: 1,
    })?;
    let mut run = Run {
        lanes: lanes.collect(),
        in_flight: Vec::new(),
        free: Vec::new(),
        start,
        end: start + options.duration,
    };
    run.drive(target, progress)?;
    let streams = run.lanes.into_iter().map(Lane::finish).collect();
    Ok(Recording {
        duration: options.duration,
        streams,
    })
}

/// A recording under way.
struct Run<'a> {
    lanes: Vec<Lane<'a>>,
    /// Operations by tag.
    in_flight: Vec<Option<InFlight>>,
    free: Vec<u32>,
    start: Nanos,
    end: Nanos,
}

impl Run<'_> {
    fn drive<T: Target + ?Sized>(
        &mut self,
        target: &mut T,
        progress: &mut dyn FnMut(f64) -> bool,
    ) -> Result<(), RecordingError> {
        let whole = self.end.saturating_sub(self.start);
        let give_up = self.end + whole;
        let mut replies: Vec<Reply> = Vec::new();
        let mut turns = 0_u32;
        // In real time a turn may take as long as the target sleeps.
        let is_virtual = target.longest_wait() == Nanos::MAX;
        loop {
            let now = target.now();
            self.lanes.iter_mut().for_each(|lane| lane.arrive(now));
            for reply in replies.drain(..) {
                self.reply(&reply);
            }
            let is_over = now >= give_up;
            if !is_over {
                self.issue(target, now)?;
            }
            let busy = self.in_flight.len() > self.free.len();
            let wake = self.lanes.iter().filter_map(|lane| lane.wake(now)).min();
            if !busy && (is_over || wake.is_none()) {
                return Ok(());
            }
            if !is_virtual || turns.is_multiple_of(TURNS) {
                let passed = now.saturating_sub(self.start).0 as f64;
                let share = (passed / whole.0.max(1) as f64).min(1.0);
                if !progress(share) {
                    return Err(RecordingError::Stopped);
                }
            }
            turns = turns.wrapping_add(1);
            let until = if is_over { None } else { wake };
            let longest = now + target.longest_wait();
            target.wait(until.unwrap_or(Nanos::MAX).min(longest), &mut replies)?;
        }
    }

    /// Submits what the lanes may submit now.
    fn issue<T: Target + ?Sized>(
        &mut self,
        target: &mut T,
        now: Nanos,
    ) -> Result<(), RecordingError> {
        for (number, lane) in self.lanes.iter_mut().enumerate() {
            while let Some((kind, due, offset, length)) = lane.next(now) {
                let tag = match self.free.pop() {
                    Some(tag) => tag,
                    None => {
                        self.in_flight.push(None);
                        saturating_u32(self.in_flight.len() as u64 - 1)
                    }
                };
                self.in_flight[tag as usize] = Some(InFlight {
                    lane: number,
                    kind,
                    due,
                    submitted: now,
                    offset,
                });
                target.submit(nandscope_measure::target::Request {
                    tag,
                    thread: 0,
                    kind,
                    offset: Bytes(offset),
                    length,
                    durable: false,
                })?;
            }
        }
        Ok(())
    }

    fn reply(&mut self, reply: &Reply) {
        let slot = self.in_flight.get_mut(reply.tag as usize);
        let Some(done) = slot.and_then(Option::take) else {
            return;
        };
        self.free.push(reply.tag);
        let lane = &mut self.lanes[done.lane];
        match reply.outcome {
            Outcome::Done => {}
            Outcome::Failed(why) => lane.fail(why),
            Outcome::Unsupported => lane.fail("the target does not know this operation"),
        }
        let stall = Stall {
            kind: kind_name(done.kind),
            at: done.submitted.saturating_sub(self.start),
            took: reply.completed.saturating_sub(done.submitted),
            offset: Bytes(done.offset),
        };
        lane.completed(done.kind, done.due, reply.completed, stall);
    }
}

fn kind_name(kind: OpKind) -> &'static str {
    match kind {
        OpKind::Read => "read",
        OpKind::Write => "write",
        OpKind::Trim => "trim",
        OpKind::Flush => "flush",
    }
}

/// The kind of a stream's blocks.
fn kind_of(direction: Direction) -> OpKind {
    match direction {
        Direction::Read => OpKind::Read,
        Direction::Write => OpKind::Write,
    }
}

/// Operations per second of a requirement, with its flushes.
pub(crate) fn operations_per_s(requirement: &Requirement) -> f64 {
    let of = |s: &crate::requirement::Stream| {
        let flushes = match s.sync {
            Sync::Never => 0.0,
            Sync::Each => s.blocks_per_s,
            Sync::Interval(time) => 1.0 / time.as_secs_f64(),
            Sync::Bytes(bytes) => s.bytes_per_s() / bytes.0 as f64,
        };
        s.blocks_per_s + flushes
    };
    requirement.streams.iter().map(of).sum()
}
