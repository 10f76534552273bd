//! A device that reports the effect of a power cut at many moments of one run. Each report comes from a
//! copy, so that the run is not affected: a hundred cuts cost one run.

use nandscope_device::{
    Command, CommandKind, Completion, Cut, Device, SimulatedDevice, Status, SubmitError, Telemetry,
};
use nandscope_units::{Bytes, Nanos};
use std::collections::{BTreeSet, VecDeque};

/// Effect of a power cut at one moment.
#[derive(Clone, Debug)]
pub struct Moment {
    /// When.
    pub at: Nanos,
    /// How many of the run's changes had happened: writes that were submitted, discards that were done.
    pub changes: usize,
    /// Lost and torn writes.
    pub cut: Cut,
}

/// A device that is watched; see the module's text.
pub struct Watched<'a> {
    device: &'a mut Device,
    ahead: VecDeque<Nanos>,
    discards: BTreeSet<u64>,
    changes: usize,
    moments: Vec<Moment>,
}

impl<'a> Watched<'a> {
    /// Watches `device` at `times`, which are sorted and not in its past.
    pub fn new(device: &'a mut Device, times: &[Nanos]) -> Self {
        device.track_writes();
        Watched {
            device,
            ahead: times.iter().copied().collect(),
            discards: BTreeSet::new(),
            changes: 0,
            moments: Vec::new(),
        }
    }

    /// Reports of all moments reached.
    pub fn into_moments(self) -> Vec<Moment> {
        self.moments
    }

    fn look(&mut self, at: Nanos) {
        self.ahead.pop_front();
        self.moments.push(Moment {
            at,
            changes: self.changes,
            cut: self.device.clone().cut_power(),
        });
    }

    fn count(&mut self, completions: &[Completion]) {
        for completion in completions {
            let discard = self.discards.remove(&completion.tag);
            self.changes += usize::from(discard && completion.status == Status::Ok);
        }
    }
}

impl SimulatedDevice for Watched<'_> {
    fn submit(&mut self, command: Command, at: Nanos) -> Result<(), SubmitError> {
        while let Some(next) = self.ahead.front().copied().filter(|next| *next <= at) {
            let mut passed = Vec::new();
            while self.device.now() < next && passed.is_empty() {
                self.device.advance(next, &mut passed);
            }
            // The caller has taken all earlier completions before it submits.
            if !passed.is_empty() {
                return Err(SubmitError::EventBefore { at, event: next });
            }
            self.look(next);
        }
        match command.kind {
            CommandKind::Write { .. } => self.changes += 1,
            CommandKind::Discard => _ = self.discards.insert(command.tag),
            _ => {}
        }
        self.device.submit(command, at)
    }

    fn next_event(&self) -> Option<Nanos> {
        self.device.next_event()
    }

    fn advance(&mut self, until: Nanos, completions: &mut Vec<Completion>) -> Nanos {
        let before = completions.len();
        loop {
            let next = self.ahead.front().copied().filter(|next| *next <= until);
            let reached = self.device.advance(next.unwrap_or(until), completions);
            match next {
                Some(next) if reached >= next && completions.len() == before => self.look(next),
                _ => {
                    self.count(&completions[before..]);
                    return reached;
                }
            }
        }
    }

    fn now(&self) -> Nanos {
        self.device.now()
    }

    fn capacity(&self) -> Bytes {
        self.device.capacity()
    }

    fn telemetry(&self) -> Telemetry {
        self.device.telemetry()
    }

    fn durable_writes(&mut self) -> u64 {
        self.device.durable_writes()
    }

    fn cut_power(&mut self) -> Cut {
        self.device.cut_power()
    }
}
