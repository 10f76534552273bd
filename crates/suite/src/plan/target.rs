//! [`PlannedTarget`], the stand-in for a target whose speed is known.

use super::{Rates, Speed};
use nandscope_measure::target::{Outcome, Reading, Reply, Request, Target, TargetError};
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::OpKind;
use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Bytes of the operations whose time [`Rates`] states.
pub(super) const SHORT: u32 = 4096;
/// Time of a discard. Drives need 0.1 to 10 ms; no procedure issues enough of them to matter.
const DISCARD: Nanos = Nanos(1_000_000);
/// Number of sequential streams that the stand-in recognizes at once.
const STREAMS: usize = 8;

/// Clock and byte counters of a stand-in, shared with whoever plans.
#[derive(Debug, Default)]
pub(super) struct Account {
    now: Cell<Nanos>,
    read: Cell<u64>,
    written: Cell<u64>,
}

impl Account {
    /// Time, bytes read and bytes written since the start.
    pub(super) fn so_far(&self) -> (Nanos, Bytes, Bytes) {
        (
            self.now.get(),
            Bytes(self.read.get()),
            Bytes(self.written.get()),
        )
    }
}

/// A target in virtual time. All transfers share one path; random operations wait for one of a few servers besides.
#[derive(Debug)]
pub(super) struct PlannedTarget {
    capacity: Bytes,
    read: Side,
    write: Side,
    /// When the path has transferred all that was submitted.
    path_free: Nanos,
    /// Ends of the latest sequential streams, the oldest at `next_stream`.
    streams: [u64; STREAMS],
    next_stream: usize,
    /// Operations under way: completion, order of submission, tag, submission.
    pending: BinaryHeap<Reverse<(Nanos, u64, u32, Nanos)>>,
    submitted: u64,
    account: std::rc::Rc<Account>,
}

/// Reads or writes.
#[derive(Debug)]
struct Side {
    rates: Rates,
    /// When each server of random operations is free.
    servers: BinaryHeap<Reverse<Nanos>>,
}

impl Side {
    fn new(rates: Rates) -> Self {
        let servers = (0..rates.parallel.max(1)).map(|_| Reverse(Nanos::ZERO));
        Side {
            rates,
            servers: servers.collect(),
        }
    }

    /// Time on the path.
    fn transfer(&self, bytes: u32) -> Nanos {
        Nanos::from_secs_f64(f64::from(bytes) / self.rates.bytes_per_s)
    }

    /// End of a random operation that is submitted at `now`.
    fn serve(&mut self, now: Nanos, bytes: u32) -> Nanos {
        let free = self.servers.pop().map_or(now, |Reverse(at)| at.max(now));
        let end = free + self.rates.random + self.transfer(bytes.saturating_sub(SHORT));
        self.servers.push(Reverse(end));
        end
    }
}

impl PlannedTarget {
    pub(super) fn new(capacity: Bytes, speed: &Speed, account: std::rc::Rc<Account>) -> Self {
        PlannedTarget {
            capacity,
            read: Side::new(speed.read),
            write: Side::new(speed.write),
            path_free: Nanos::ZERO,
            streams: [0; STREAMS],
            next_stream: 0,
            pending: BinaryHeap::new(),
            submitted: 0,
            account,
        }
    }

    /// Whether the operation continues one of the latest streams, which it then extends.
    fn is_sequential(&mut self, offset: u64, end: u64) -> bool {
        let known = self.streams.iter().position(|&at| at == offset);
        let place = known.unwrap_or(self.next_stream);
        self.streams[place] = end;
        if known.is_none() {
            self.next_stream = (place + 1) % STREAMS;
        }
        known.is_some()
    }

    fn transfer(&mut self, request: &Request) -> Nanos {
        let now = self.account.now.get();
        let (offset, bytes) = (request.offset.0, request.length);
        let sequential = self.is_sequential(offset, offset + u64::from(bytes));
        let (side, moved) = match request.kind {
            OpKind::Read => (&mut self.read, &self.account.read),
            _ => (&mut self.write, &self.account.written),
        };
        moved.set(moved.get() + u64::from(bytes));
        self.path_free = self.path_free.max(now) + side.transfer(bytes);
        let served = match sequential {
            true => now + side.rates.sequential + side.transfer(bytes.saturating_sub(SHORT)),
            false => side.serve(now, bytes),
        };
        served.max(self.path_free)
    }
}

impl Target for PlannedTarget {
    fn now(&self) -> Nanos {
        self.account.now.get()
    }

    fn capacity(&self) -> Bytes {
        self.capacity
    }

    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        let now = self.account.now.get();
        let end = match request.kind {
            OpKind::Read | OpKind::Write => self.transfer(&request),
            OpKind::Trim => now + DISCARD,
            OpKind::Flush => now.max(self.path_free) + self.write.rates.sequential,
        };
        self.submitted += 1;
        let entry = (end, self.submitted, request.tag, now);
        self.pending.push(Reverse(entry));
        Ok(())
    }

    fn longest_wait(&self) -> Nanos {
        Nanos::MAX
    }

    fn wait(&mut self, until: Nanos, replies: &mut Vec<Reply>) -> Result<(), TargetError> {
        let first = self.pending.peek().map(|Reverse(entry)| entry.0);
        let Some(at) = first.filter(|at| *at <= until) else {
            // With nothing outstanding and no end, there is nothing to wait for.
            if until < Nanos::MAX {
                self.account.now.set(self.account.now.get().max(until));
            }
            return Ok(());
        };
        self.account.now.set(self.account.now.get().max(at));
        while let Some(&Reverse((completed, _, tag, submitted))) = self.pending.peek()
            && completed <= at
        {
            self.pending.pop();
            replies.push(Reply {
                tag,
                submitted,
                completed,
                outcome: Outcome::Done,
            });
        }
        Ok(())
    }

    fn reading(&mut self) -> Reading {
        Reading::default()
    }
}
