//! A card reduced to the properties that flashbench measures, with constant costs and one operation at a time, so that
//! the expected answers are known.

use nandscope_measure::target::{Outcome, Reading, Reply, Request, Target, TargetError};
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::OpKind;

/// A card with constant costs.
#[derive(Clone, Debug)]
pub struct Card {
    /// Page size, bytes: a read across a page boundary takes longer.
    pub page: u64,
    /// Allocation unit, bytes: a read across a unit boundary takes even longer; writes open units.
    pub unit: u64,
    /// Extra time of a read across a page boundary, µs.
    pub page_us: u64,
    /// Extra time of a read across a unit boundary, µs.
    pub unit_us: u64,
    /// Number of units that can be open at once.
    pub open: usize,
    /// Whether a unit is closed unless it is continued at its last position.
    pub linear_only: bool,
    /// Whether unit 0 is always open in addition to the others.
    pub pinned: bool,
    /// Number of units at the start in which writes take twice as long.
    pub slow_units: u64,
    /// Time to close an AU and open another, ms.
    pub merge_ms: u64,
    /// Write rate within an open unit, bytes per µs.
    pub bytes_per_us: u64,
    /// Start of each write, bytes, if recorded.
    pub log: Option<Vec<u64>>,
    /// Number of reads so far.
    pub reads: u64,
    capacity: Bytes,
    now: Nanos,
    /// Time until which the card is busy.
    free: Nanos,
    pending: Vec<Reply>,
    /// Open units, least recently written first, each with its last position.
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
            // A unit boundary is also a page boundary, whether or not pages divide units.
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
            // The unit was written completely and is begun again: a new unit is opened without a copy.
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
