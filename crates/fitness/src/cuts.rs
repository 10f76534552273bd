//! Power cuts during a recording: at times spread over it, the power of a copy of the device is cut as a flush completes,
//! and every write that completed before that flush was submitted must be on the medium.

use nandscope_device::Device;
use nandscope_measure::sim::SimTarget;
use nandscope_measure::target::{Load, Outcome, Reading, Reply, Request, Target, TargetError};
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::OpKind;
use serde::Serialize;
use std::collections::BTreeMap;

/// Cuts in a recording.
const CUTS: u64 = 32;

/// Counts of power cuts, and of those that damaged flushed data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cuts {
    /// Power cuts.
    pub cuts: u64,
    /// Cuts after which flushed data was damaged.
    pub losses: u64,
}

/// A target whose device can be copied.
pub(crate) trait Cuttable: Target {
    fn device(&self) -> &Device;
    fn into_device(self) -> Device;
}

impl Cuttable for SimTarget<Device> {
    fn device(&self) -> &Device {
        SimTarget::device(self)
    }

    fn into_device(self) -> Device {
        SimTarget::into_device(self)
    }
}

/// A simulated device whose copies lose their power.
pub(crate) struct CutTarget<T = SimTarget<Device>> {
    target: T,
    /// Writes submitted, and the numbers of those outstanding.
    writes: u64,
    outstanding: BTreeMap<u32, u64>,
    /// Flushes outstanding, with the number of the first write that they need not make durable.
    flushes: BTreeMap<u32, u64>,
    every: Nanos,
    next: Nanos,
    pub(crate) found: Cuts,
}

impl CutTarget {
    /// Cuts during this time from now on.
    pub(crate) fn new(mut device: Device, duration: Nanos) -> Self {
        device.track_writes();
        CutTarget::with(SimTarget::new(device), duration)
    }
}

impl<T: Cuttable> CutTarget<T> {
    /// Cuts during this time from now on. The target's device tracks its writes.
    fn with(target: T, duration: Nanos) -> Self {
        let every = Nanos(duration.0 / CUTS);
        CutTarget {
            next: target.now() + every,
            target,
            writes: 0,
            outstanding: BTreeMap::new(),
            flushes: BTreeMap::new(),
            every,
            found: Cuts::default(),
        }
    }

    pub(crate) fn into_device(self) -> Device {
        self.target.into_device()
    }

    /// A flush is complete: all writes below `durable` must survive.
    fn cut(&mut self, durable: u64) {
        if self.target.now() < self.next {
            return;
        }
        self.next = self.target.now() + self.every;
        let mut copy = self.target.device().clone();
        let cut = copy.cut_power();
        self.found.cuts += 1;
        self.found.losses += u64::from(cut.damage.iter().any(|d| d.write < durable));
    }
}

impl<T: Cuttable> Target for CutTarget<T> {
    fn now(&self) -> Nanos {
        self.target.now()
    }

    fn capacity(&self) -> Bytes {
        self.target.capacity()
    }

    fn prepare(&mut self, load: &Load) -> Result<(), TargetError> {
        self.target.prepare(load)
    }

    fn longest_wait(&self) -> Nanos {
        self.target.longest_wait()
    }

    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        match request.kind {
            OpKind::Write => {
                self.outstanding.insert(request.tag, self.writes);
                self.writes += 1;
            }
            OpKind::Flush => {
                let durable = self.outstanding.values().min().copied();
                self.flushes
                    .insert(request.tag, durable.unwrap_or(self.writes));
            }
            OpKind::Read | OpKind::Trim => {}
        }
        self.target.submit(request)
    }

    fn wait(&mut self, until: Nanos, replies: &mut Vec<Reply>) -> Result<(), TargetError> {
        let before = replies.len();
        self.target.wait(until, replies)?;
        for reply in &replies[before..] {
            self.outstanding.remove(&reply.tag);
            if let Some(durable) = self.flushes.remove(&reply.tag)
                && reply.outcome == Outcome::Done
            {
                self.cut(durable);
            }
        }
        Ok(())
    }

    fn reading(&mut self) -> Reading {
        self.target.reading()
    }
}

#[cfg(test)]
mod tests;
