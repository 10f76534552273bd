//! A card reduced to what flashbench looks for, every cost a constant, one operation at a time: so
//! that what a procedure must find is known beforehand.

use nandscope_measure::target::{Outcome, Reading, Reply, Request, Target, TargetError};
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::OpKind;

/// The card.
#[derive(Clone, Debug)]
pub struct Card {
    /// A read across a page costs more.
    pub page: u64,
    /// A read across a unit costs more still; writes open units.
    pub unit: u64,
    /// How much more across a page, µs.
    pub page_us: u64,
    /// And across a unit, µs.
    pub unit_us: u64,
    /// Units that are open at once.
    pub open: usize,
    /// A unit that is not written on where it was left is closed.
    pub linear_only: bool,
    /// Unit 0 is open beside the others, always.
    pub pinned: bool,
    /// Units at the start in which writes take twice as long.
    pub slow_units: u64,
    /// Time to close an AU and open another, ms.
    pub merge_ms: u64,
    /// Write rate within an open unit, bytes per µs.
    pub bytes_per_us: u64,
    /// Start of each write, bytes, if recorded.
    pub log: Option<Vec<u64>>,
    /// Reads so far.
    pub reads: u64,
    capacity: Bytes,
    now: Nanos,
    /// The card is busy until then.
    free: Nanos,
    pending: Vec<Reply>,
    /// Units that are open, least recently written first, and where each was left.
    opened: Vec<(u64, u64)>,
}

impl Card {
    /// Pages of 16 KiB, units of 4 MiB, three of them open.
    pub fn new(capacity: Bytes) -> Self {
        Card {
            page: 16 << 10,
            unit: 4 << 20,
            page_us: 60,
            unit_us: 150,
            open: 3,
            linear_only: false,
            pinned: false,
            slow_units: 0,
            merge_ms: 200,
            bytes_per_us: 10,
            log: None,
            reads: 0,
            capacity,
            now: Nanos::ZERO,
            free: Nanos::ZERO,
            pending: Vec::new(),
            opened: Vec::new(),
        }
    }

    fn read(&mut self, from: u64, to: u64) -> Nanos {
        self.reads += 1;
        let crosses = |boundary: u64| (to - 1) / boundary > from / boundary;
        let mut us = 700;
        if crosses(self.page) {
            us += self.page_us;
        }
        if crosses(self.unit) {
            us += self.unit_us;
            // A boundary of a unit is one of a page, whether or not pages divide units.
            if !crosses(self.page) {
                us += self.page_us;
            }
        }
        Nanos::from_micros(us)
    }

    fn write(&mut self, from: u64, to: u64) -> Nanos {
        if let Some(log) = &mut self.log {
            log.push(from);
        }
        let unit = from / self.unit;
        let mut time = Nanos(300_000 + (to - from) * 1000 / self.bytes_per_us);
        if unit < self.slow_units {
            time = time + time;
        }
        if self.pinned && unit == 0 {
            return time;
        }
        let merge = Nanos::from_millis(self.merge_ms);
        let known = self.opened.iter().position(|(u, _)| *u == unit);
        match known.map(|i| self.opened.remove(i)) {
            // Written whole and begun again: a new unit is opened, and nothing need be copied.
            Some((_, left))
                if self.linear_only && from != left && !from.is_multiple_of(self.unit) =>
            {
                time += merge;
            }
            Some(_) => {}
            None => {
                if self.opened.len() >= self.open {
                    let (_, left) = self.opened.remove(0);
                    if !left.is_multiple_of(self.unit) {
                        time += merge;
                    }
                }
            }
        }
        self.opened.push((unit, to));
        time
    }
}

impl Target for Card {
    fn now(&self) -> Nanos {
        self.now
    }

    fn capacity(&self) -> Bytes {
        self.capacity
    }

    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        let (from, to) = (
            request.offset.0,
            request.offset.0 + u64::from(request.length),
        );
        assert!(to <= self.capacity.0, "{request:?} extends past the end");
        assert!(from.is_multiple_of(512) && request.length.is_multiple_of(512));
        let time = match request.kind {
            OpKind::Read => self.read(from, to),
            OpKind::Write => self.write(from, to),
            OpKind::Trim | OpKind::Flush => Nanos::from_micros(10),
        };
        self.free = self.free.max(self.now) + time;
        self.pending.push(Reply {
            tag: request.tag,
            submitted: self.now,
            completed: self.free,
            outcome: Outcome::Done,
        });
        Ok(())
    }

    fn wait(&mut self, until: Nanos, replies: &mut Vec<Reply>) -> Result<(), TargetError> {
        let next = self.pending.iter().map(|r| r.completed).min();
        match next {
            Some(next) if next <= until => {
                self.now = next;
                let (done, left) = self.pending.iter().partition(|r| r.completed <= next);
                self.pending = left;
                let done: Vec<Reply> = done;
                replies.extend(done);
            }
            None if until == Nanos::MAX => {}
            _ => self.now = self.now.max(until),
        }
        Ok(())
    }

    fn reading(&mut self) -> Reading {
        Reading::default()
    }
}
