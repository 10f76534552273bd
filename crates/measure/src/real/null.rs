//! A target on the real clock that completes everything at once: a run on it costs only the generator. It is driven
//! like a real target, including the tags in write data; only the kernel is missing.

use super::clock::Clock;
use super::slot::Slot;
use crate::data_source::DataSource;
use crate::target::{Load, Outcome, Reading, Reply, Request, Target, TargetError};
use nandscope_units::{Bytes, Nanos};

/// See the module's text.
#[derive(Debug)]
pub struct RealNull {
    clock: Clock,
    capacity: Bytes,
    slots: Vec<Slot>,
    queued: Vec<u32>,
    operations: u64,
}

impl RealNull {
    /// A target of this size.
    pub fn new(capacity: Bytes) -> Self {
        RealNull {
            clock: Clock::new(),
            capacity,
            slots: Vec::new(),
            queued: Vec::new(),
            operations: 0,
        }
    }
}

impl Target for RealNull {
    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn capacity(&self) -> Bytes {
        self.capacity
    }

    fn prepare(&mut self, load: &Load) -> Result<(), TargetError> {
        let slot = |i| Slot::new(load.largest as usize, u64::from(i), &DataSource::default());
        self.slots = (0..load.depth).map(slot).collect();
        self.queued = Vec::with_capacity(load.depth as usize);
        Ok(())
    }

    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        let tag = request.tag as usize;
        while tag >= self.slots.len() {
            self.slots.push(Slot::new(0, 0, &DataSource::default()));
        }
        self.operations += 1;
        self.slots[tag].begin(&request, self.operations, Nanos::ZERO);
        self.queued.push(request.tag);
        Ok(())
    }

    fn wait(&mut self, until: Nanos, replies: &mut Vec<Reply>) -> Result<(), TargetError> {
        if self.queued.is_empty() {
            self.clock.idle_until(until);
            return Ok(());
        }
        let submitted = self.clock.now();
        for tag in &self.queued {
            self.slots[*tag as usize].submitted = submitted;
        }
        let completed = self.clock.now();
        replies.extend(self.queued.drain(..).map(|tag| Reply {
            tag,
            submitted: self.slots[tag as usize].submitted,
            completed,
            outcome: Outcome::Done,
        }));
        Ok(())
    }

    fn reading(&mut self) -> Reading {
        Reading::default()
    }
}
