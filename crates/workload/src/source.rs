//! The interface between a workload and the runner: the source of operations, and their pacing.

use crate::Op;
use crate::condition::{LatencyTarget, LowestRates, SteadyState};
use crate::pattern::Random;
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// An operation and, for a trace, when it is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedOp {
    /// Operation to issue.
    pub op: Op,
    /// Scheduled time from the start of the thread, for an open-loop source such as a trace.
    /// `None` means as soon as the pacing allows.
    pub due: Option<Nanos>,
}

/// The schedules of reads and writes under rate limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The present, on the clock of the schedules.
    pub now: Nanos,
    /// When the next read may begin; zero without a limit.
    pub read: Nanos,
    /// Earliest time of the next write; zero without a limit.
    pub write: Nanos,
}

/// A Poisson process: exponentially distributed gaps between arrivals.
#[derive(Clone, Debug)]
pub struct Arrivals(Random);

impl Arrivals {
    /// The process of one direction of a thread; each has its own sequence.
    pub fn new(seed: u64, direction: u64) -> Self {
        Arrivals(Random::new(seed, &[direction]))
    }

    /// Draws the time to the next arrival, which is `mean` on average.
    pub fn gap(&mut self, mean: Nanos) -> Nanos {
        // 1 - u is never zero.
        let gap = -libm::log(1.0 - self.0.unit()) * mean.0 as f64;
        Nanos(gap as u64)
    }
}

/// The source of a thread's operations: a pattern of a job file, a trace, a folder copy.
/// The same source with the same seed gives the same operations.
/// It can move to another thread.
pub trait OpSource: Send {
    /// The next operation, or `None` at the end of the work.
    fn next_op(&mut self) -> Option<TimedOp>;

    /// The next operation of a thread with rate limits. A source that mixes directions chooses
    /// the one that the limits let go first, as fio does.
    fn next_op_at(&mut self, pace: &Pace) -> Option<TimedOp> {
        let _ = pace;
        self.next_op()
    }

    /// Appends the next operations to `ops` until it has `most`, or the work ends. Only sources whose operations and
    /// [`OpSource::closing`] do not depend on operations issued before may do so; the target then prepares for them.
    /// This default adds one operation to an empty queue.
    fn take_ahead(&mut self, ops: &mut VecDeque<TimedOp>, most: usize) {
        let _ = most;
        if ops.is_empty() {
            ops.extend(self.next_op());
        }
    }

    /// The operation that closes a run ended by its time, when nothing is outstanding: the flush of `end_fsync`; `None`
    /// if the last issued operation was a flush.
    fn closing(&self) -> Option<Op> {
        None
    }

    /// Restarts the work for a time-based job; the source continues its random sequence. Sources that cannot restart do
    /// nothing, and then end.
    fn restart(&mut self) {}

    /// Total bytes that the source will transfer, if known; for progress only.
    fn expected_bytes(&self) -> Option<u64> {
        None
    }

    /// Length of its longest operation in bytes, if known; used to allocate memory before the run.
    fn largest(&self) -> Option<u32> {
        None
    }
}

/// Pacing of a thread: rate, stop condition and queue depth are separate values that compose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pacing {
    /// Operations outstanding at once, at least 1.
    pub iodepth: u32,
    /// Number of operations submitted together, at least 1 (fio's `iodepth_batch`). The kernel may merge adjacent
    /// operations of one submission.
    pub batch: u32,
    /// Number of outstanding operations down to which a full queue must drain before it is refilled: the smaller of
    /// fio's `iodepth_low` and `iodepth` less `iodepth_batch_complete_min`. `None` refills after each completion.
    pub refill_at: Option<u32>,
    /// Time from the start of the group before which nothing is issued.
    pub start_delay: Nanos,
    /// Length of the first part of the run, which is not measured.
    pub ramp_time: Nanos,
    /// The run ends after this long (from the end of the ramp), even in the middle of the work.
    pub runtime: Option<Nanos>,
    /// Whether the source restarts until `runtime` has passed.
    pub time_based: bool,
    /// The source is run this many times in all, at least 1.
    pub loops: u32,
    /// Pause after every `thinktime_blocks` operations (fio's `thinktime`): once they are complete, the thread waits.
    pub thinktime: Nanos,
    /// Number of operations between two pauses; 0 for no pauses.
    pub thinktime_blocks: u32,
    /// Pause also once this long has passed since the last pause (`thinktime_iotime`).
    pub think_after: Option<Nanos>,
    /// After a pause a rate limit does not catch up (`rate_ignore_thinktime`).
    pub rate_ignores_pauses: bool,
    /// Whether an operation waits for those in flight that it overlaps (`serialize_overlap`).
    pub serialize_overlap: bool,
    /// Rates below which the thread ends with an error (`rate_min`, `rate_iops_min`).
    pub lowest: LowestRates,
    /// Search for the queue depth that keeps a latency (`latency_target`).
    pub latency_target: LatencyTarget,
    /// Steady state that ends the thread (`steadystate`).
    pub steady: SteadyState,
    /// Longest time of a read, write or trim; a longer one ends the thread with an error (`max_latency`).
    pub max_latency: [Option<Nanos>; 3],
    /// Seed of random arrivals by which rates are kept (`rate_process=poisson`).
    pub arrivals: Option<u64>,
    /// Writes are durable on completion (`sync`).
    pub sync: bool,
    /// Read rate, bytes or operations per second.
    pub read_limit: RateLimit,
    /// Write rate, bytes or operations per second.
    pub write_limit: RateLimit,
    /// Trim rate, bytes or operations per second.
    pub trim_limit: RateLimit,
    /// Bursts with idle time between them (an extension of nandscope).
    pub duty_cycle: Option<DutyCycle>,
    /// Longest idle time between two operations of a source with due times (an extension of nandscope; AnandTech's
    /// suites cap it at 25 ms).
    pub idle_cap: Option<Nanos>,
}

impl Default for Pacing {
    fn default() -> Self {
        Pacing {
            iodepth: 1,
            batch: 1,
            refill_at: None,
            start_delay: Nanos::ZERO,
            ramp_time: Nanos::ZERO,
            runtime: None,
            time_based: false,
            loops: 1,
            thinktime: Nanos::ZERO,
            thinktime_blocks: 1,
            think_after: None,
            rate_ignores_pauses: false,
            serialize_overlap: false,
            lowest: LowestRates::default(),
            latency_target: LatencyTarget::default(),
            steady: SteadyState::default(),
            max_latency: [None; 3],
            arrivals: None,
            sync: false,
            read_limit: RateLimit::Unlimited,
            write_limit: RateLimit::Unlimited,
            trim_limit: RateLimit::Unlimited,
            duty_cycle: None,
            idle_cap: None,
        }
    }
}

/// Upper limit of the rate of one direction of a thread: an open-loop schedule from the start of the thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RateLimit {
    /// No limit.
    #[default]
    Unlimited,
    /// At most this bandwidth, B/s.
    BytesPerSecond(u64),
    /// Operations per second.
    OpsPerSecond(u64),
}

/// Bursts of a given size that take a given share of the time; the rest is idle. A burst of
/// 32 MB at 20 % that took 1 s is followed by 4 s of idle time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DutyCycle {
    /// Data transferred between two pauses.
    pub burst_bytes: u64,
    /// Share of the time spent in bursts, percent, 1 to 100.
    pub busy_percent: u32,
}
