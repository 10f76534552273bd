//! Targets in virtual time: [`MockTarget`], a queue with k servers and a fixed service time, whose
//! throughput and latency have closed forms, and [`NullTarget`], which completes everything at once.

use nandscope_device::Counters;
use nandscope_measure::target::{Outcome, Reading, Reply, Request, Target, TargetError};
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::OpKind;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Target with k parallel servers behind one first-come queue; each server takes a fixed time for an operation.
///
/// In a closed loop with queue depth q the throughput is `min(q, k) / service` and the latency
/// `max(q / k, 1) * service`.
#[derive(Clone, Debug)]
pub struct MockTarget {
    now: Nanos,
    capacity: Bytes,
    free_at: Vec<Nanos>,
    service: Nanos,
    stall: Option<(Nanos, Nanos)>,
    fail_every: Option<(u64, &'static str)>,
    unsupported: Option<OpKind>,
    gone_at: Option<Nanos>,
    submitted: u64,
    pending: BinaryHeap<Reverse<(Nanos, u64, Pending)>>,
    counters: Counters,
    watts: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pending {
    tag: u32,
    kind: OpKind,
    length: u32,
    submitted: Nanos,
    failure: Option<&'static str>,
}

impl MockTarget {
    /// `servers` (at least 1) that each take `service` (at least 1 ns) per operation.
    pub fn new(capacity: Bytes, servers: usize, service: Nanos) -> Self {
        MockTarget {
            now: Nanos::ZERO,
            capacity,
            free_at: vec![Nanos::ZERO; servers.max(1)],
            service: service.max(Nanos(1)),
            stall: None,
            fail_every: None,
            unsupported: None,
            gone_at: None,
            submitted: 0,
            pending: BinaryHeap::new(),
            counters: Counters::default(),
            watts: 2.0,
        }
    }

    /// No operation is begun from `from` to `until`; operations that arrive in this time wait.
    pub fn with_stall(mut self, from: Nanos, until: Nanos) -> Self {
        self.stall = Some((from, until));
        self
    }

    /// Every `n`th operation fails for this reason.
    pub fn with_failures(mut self, n: u64, reason: &'static str) -> Self {
        self.fail_every = Some((n.max(1), reason));
        self
    }

    /// Operations of this kind are answered as unsupported.
    pub fn without(mut self, kind: OpKind) -> Self {
        self.unsupported = Some(kind);
        self
    }

    /// The whole target vanishes at this instant.
    pub fn gone_at(mut self, at: Nanos) -> Self {
        self.gone_at = Some(at);
        self
    }

    fn answer(&mut self, pending: Pending) -> Outcome {
        if self.unsupported == Some(pending.kind) {
            return Outcome::Unsupported;
        }
        if let Some(reason) = pending.failure {
            return Outcome::Failed(reason);
        }
        let bytes = Bytes(u64::from(pending.length));
        match pending.kind {
            OpKind::Read => self.counters.host_read += bytes,
            OpKind::Write => {
                self.counters.host_written += bytes;
                // A write amplification of exactly 2 makes the series predictable.
                self.counters.flash_programmed += bytes + bytes;
            }
            OpKind::Trim => self.counters.host_discarded += bytes,
            OpKind::Flush => {}
        }
        Outcome::Done
    }
}

impl Target for MockTarget {
    fn now(&self) -> Nanos {
        self.now
    }

    fn capacity(&self) -> Bytes {
        self.capacity
    }

    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        let Some(server) = self.free_at.iter_mut().min() else {
            return Err(TargetError::Other("the mock has no servers".into()));
        };
        let mut start = (*server).max(self.now);
        if let Some((from, until)) = self.stall
            && start >= from
            && start < until
        {
            start = until;
        }
        let completed = start + self.service;
        *server = completed;
        self.submitted += 1;
        let failure = self
            .fail_every
            .and_then(|(n, reason)| self.submitted.is_multiple_of(n).then_some(reason));
        self.pending.push(Reverse((
            completed,
            self.submitted,
            Pending {
                tag: request.tag,
                kind: request.kind,
                length: request.length,
                submitted: self.now,
                failure,
            },
        )));
        Ok(())
    }

    fn wait(&mut self, until: Nanos, replies: &mut Vec<Reply>) -> Result<(), TargetError> {
        let next = self.pending.peek().map_or(Nanos::MAX, |p| p.0.0);
        let reached = next.min(until);
        if reached == Nanos::MAX {
            return Ok(());
        }
        if let Some(gone) = self.gone_at
            && reached >= gone
        {
            return Err(TargetError::Gone("removed while in use".into()));
        }
        self.now = self.now.max(reached);
        while let Some(&Reverse((completed, _, pending))) = self.pending.peek() {
            if completed > self.now {
                break;
            }
            self.pending.pop();
            let outcome = self.answer(pending);
            replies.push(Reply {
                tag: pending.tag,
                submitted: pending.submitted,
                completed,
                outcome,
            });
        }
        Ok(())
    }

    /// A constant 2 W, 40 °C and 30 °C, so that series of the instruments have known values.
    fn reading(&mut self) -> Reading {
        Reading {
            energy_j: Some(self.watts * self.now.as_secs_f64()),
            host_energy_j: None,
            transferred: None,
            device_temperature_c: Some(40.0),
            surface_temperature_c: Some(30.0),
            throttle: Some(1.0),
            slc_used: Some(Bytes::ZERO),
            read_only_since: None,
            counters: Some(self.counters),
        }
    }
}

/// Target that completes every operation at once; its clock advances by a nanosecond per operation so that timed jobs
/// end. The time of a run on it is the overhead of the measuring program.
#[derive(Clone, Debug)]
pub struct NullTarget {
    now: Nanos,
    capacity: Bytes,
    finished: Vec<Reply>,
}

impl NullTarget {
    /// A null target of this capacity.
    pub fn new(capacity: Bytes) -> Self {
        NullTarget {
            now: Nanos::ZERO,
            capacity,
            finished: Vec::new(),
        }
    }
}

impl Target for NullTarget {
    fn now(&self) -> Nanos {
        self.now
    }

    fn capacity(&self) -> Bytes {
        self.capacity
    }

    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        self.finished.push(Reply {
            tag: request.tag,
            submitted: self.now,
            completed: self.now,
            outcome: Outcome::Done,
        });
        Ok(())
    }

    fn wait(&mut self, until: Nanos, replies: &mut Vec<Reply>) -> Result<(), TargetError> {
        if self.finished.is_empty() {
            if until != Nanos::MAX {
                self.now = self.now.max(until);
            }
            return Ok(());
        }
        self.now += Nanos(self.finished.len() as u64);
        let now = self.now;
        replies.extend(self.finished.drain(..).map(|reply| Reply {
            completed: now,
            ..reply
        }));
        Ok(())
    }

    fn reading(&mut self) -> Reading {
        Reading::default()
    }
}
