//! The service: requests in, completions out at the model's time on the wall clock. It owns the device
//! and its contents, and is independent of sockets and clocks: the caller passes the time.
//!
//! **Overhead of the path.** A request arrives some time after the client submitted it, and the reply
//! takes time as well. The sum is the overhead, which is measured ([`crate::overhead`]). A request is
//! submitted to the model at its arrival time less the overhead, but never before an event that has
//! already happened in the device. A client that submits its next request on the last reply then sees
//! the latencies and the rate of the model; one that keeps the device saturated does so anyway.

pub mod faults;
mod journaling;
mod pieces;

use crate::clock::{Clock, Speed};
use crate::command_journal::keeping::Keeping;
use crate::overhead::Overhead;
use crate::record::Recording;
use crate::request::{Action, Done, Origin, Refusal, Request};
use nandscope_blockio::fault::Faults;
use nandscope_blockio::memory_len;
use nandscope_blockio::store::Store;
use nandscope_blockio::undo::Undo;
use nandscope_device::{Command, CommandKind, Completion, SimulatedDevice, Status};
use nandscope_units::{Lba, Nanos};

/// Limit of device steps per turn, so that clients are served even if the model is slower than real
/// time.
const MOST_STEPS: usize = 10_000;

/// Writes after which it is seen how many are on the medium.
const WRITES_BETWEEN_LOOKS: u64 = 32;

/// A request that the device is at work on.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) origin: Origin,
    pub(crate) request: Request,
    pub(crate) kind: CommandKind,
    submitted: Nanos,
    /// Commands that are still out.
    pub(crate) commands: u32,
    status: Status,
    /// A flush has to follow before it is done.
    pub(crate) flush_after: bool,
    /// The device's number of the write that is under way; `None` for all other commands.
    pub(crate) write: Option<u64>,
    /// Bytes of the request that the commands given so far cover.
    pub(crate) given: std::ops::Range<u64>,
}

/// Drives a device for its clients.
#[derive(Debug)]
pub struct Service<M> {
    pub(crate) model: M,
    pub(crate) store: Store,
    clock: Clock,
    overhead: Overhead,
    pub(crate) pending: Vec<Option<Pending>>,
    pub(crate) free: Vec<usize>,
    pub(crate) outstanding: usize,
    pub(crate) completions: Vec<Completion>,
    settled: Vec<Completion>,
    ready: Vec<Done>,
    recording: Option<Recording>,
    /// Present if faults can be injected.
    pub(crate) faults: Option<Faults>,
    pub(crate) undo: Undo,
    /// Writes that the device was given.
    pub(crate) writes: u64,
    /// Delayed completions, ordered by time.
    delayed: Vec<Done>,
    /// Present if a journal is written.
    pub(crate) keeping: Option<Keeping>,
}

impl<M: SimulatedDevice> Service<M> {
    /// A service over a device and its contents. The device's present is zero on the wall.
    pub fn new(model: M, store: Store, speed: Speed) -> Self {
        Service {
            clock: Clock::new(speed, model.now()),
            model,
            store,
            overhead: Overhead::default(),
            pending: Vec::new(),
            free: Vec::new(),
            outstanding: 0,
            completions: Vec::new(),
            settled: Vec::new(),
            ready: Vec::new(),
            recording: None,
            faults: None,
            undo: Undo::default(),
            writes: 0,
            delayed: Vec::new(),
            keeping: None,
        }
    }

    /// Sets the overhead of the path between client and service, which is subtracted from arrival times.
    #[must_use]
    pub fn with_overhead(mut self, overhead: Overhead) -> Self {
        self.overhead = overhead;
        self
    }

    /// Writes down every request from now on. It takes 40 bytes of memory for each.
    #[must_use]
    pub fn with_recording(mut self) -> Self {
        self.recording = Some(Recording::new(self.model.capacity()));
        self
    }

    /// Enables faults ([`Service::inject`]); the data under unpersisted writes is kept from now on.
    /// `seed` is that of the random number generator.
    #[must_use]
    pub fn with_faults(mut self, seed: u64) -> Self {
        self.model.track_writes();
        self.faults = Some(Faults::new(seed));
        self
    }

    /// Device that is served.
    pub const fn model(&self) -> &M {
        &self.model
    }

    /// Contents of the device.
    pub const fn store(&self) -> &Store {
        &self.store
    }

    /// True if completions are paced by the wall clock.
    pub(crate) fn is_paced(&self) -> bool {
        self.clock.speed() != Speed::Max
    }

    /// Recorded requests, if recording is enabled.
    pub const fn recording(&self) -> Option<&Recording> {
        self.recording.as_ref()
    }

    /// Number of requests that are not completed yet.
    pub const fn outstanding(&self) -> usize {
        self.outstanding
    }

    /// The device and its contents back, after the last request ([`Service::drain`]).
    pub fn into_parts(self) -> (M, Store, Option<Recording>) {
        (self.model, self.store, self.recording)
    }

    /// Takes a request that arrived at `wall`.
    pub fn submit(&mut self, origin: Origin, request: Request, wall: Nanos) {
        if let Err(why) = self.check_faults(&request, wall) {
            return self.refuse(origin, &request, why, wall);
        }
        let lies = self.faults.as_ref().is_some_and(|f| f.lies);
        let at = self.arrival(wall.saturating_sub(self.overhead.of(&request)));
        let discards = self.model.supports_discard();
        let kind = match request.action {
            Action::Read | Action::Fetch => CommandKind::Read,
            // With `lie on`, flushes are acknowledged but not performed.
            Action::Flush if lies => CommandKind::Identify,
            Action::Flush => CommandKind::Flush,
            Action::Discard | Action::Zero if discards => CommandKind::Discard,
            Action::Discard => return self.refuse(origin, &request, Refusal::Unsupported, wall),
            Action::Write | Action::Zero | Action::WriteZeroes => CommandKind::Write {
                fua: request.durable && !lies,
            },
        };
        if let Some(recording) = &mut self.recording {
            recording.note(&request, kind, (at, wall));
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.pending.push(None);
            self.pending.len() - 1
        });
        let (given, ranges) = pieces::first(&request, kind);
        self.pending[slot] = Some(Pending {
            origin,
            kind,
            submitted: at,
            // A request has less than 4 GiB.
            commands: u32::try_from(ranges.len()).unwrap_or(u32::MAX),
            status: Status::Ok,
            flush_after: request.durable && kind == CommandKind::Discard && !lies,
            write: self.number(kind),
            given,
            request,
        });
        self.outstanding += 1;
        for (lba, sectors) in ranges {
            self.give(slot, kind, lba, sectors, at);
        }
        self.settle();
    }

    /// Wall-clock time of the next work; `None` if idle.
    pub fn due(&self) -> Option<Nanos> {
        if !self.ready.is_empty() {
            return Some(Nanos::ZERO);
        }
        let delayed = self.delayed.first().map(|done| done.due);
        if self.clock.speed() == Speed::Max && self.outstanding == 0 {
            return delayed;
        }
        let event = self.model.next_event().map(|at| self.clock.wall_time(at));
        event.into_iter().chain(delayed).min()
    }

    /// Advances the device to the present and appends completions to `done`. At [`Speed::Max`] it
    /// advances until half of the requests are done, so that clients can keep the queue filled. After
    /// too many steps it stops early; then [`Service::due`] is in the past.
    pub fn run(&mut self, wall: Nanos, done: &mut Vec<Done>) {
        match self.clock.device_time(wall) {
            Some(present) => self.step_while(MOST_STEPS, |_, event| event <= present),
            None => {
                let enough = self.outstanding / 2;
                self.step_while(MOST_STEPS, |service, _| service.outstanding > enough);
            }
        }
        self.give_up_without_events(wall);
        let late = self.delayed.partition_point(|done| done.due <= wall);
        done.append(&mut self.ready);
        done.extend(self.delayed.drain(..late));
    }

    /// Completes requests without pacing, in at most `steps` steps; returns true if none is left.
    pub fn drain(&mut self, steps: usize, done: &mut Vec<Done>) -> bool {
        self.step_while(steps, |service, _| service.outstanding > 0);
        self.give_up_without_events(Nanos::ZERO);
        done.append(&mut self.ready);
        done.append(&mut self.delayed);
        self.outstanding == 0
    }

    /// Processes events of the device while `more` returns true for the next one, at most `most` events.
    fn step_while(&mut self, most: usize, more: impl Fn(&Self, Nanos) -> bool) {
        for _ in 0..most {
            match self.model.next_event() {
                Some(event) if more(self, event) => self.step(event),
                _ => return,
            }
        }
    }

    /// A device with requests but no planned events will never complete them. That is a bug in the
    /// model; clients get errors instead of no reply.
    fn give_up_without_events(&mut self, wall: Nanos) {
        if self.outstanding == 0 || self.model.next_event().is_some() {
            return;
        }
        for pending in self.take_pending() {
            let why = Refusal::Failed("the simulated device no longer responds".to_string());
            self.refuse(pending.origin, &pending.request, why, wall);
        }
    }

    fn step(&mut self, event: Nanos) {
        self.model.advance(event, &mut self.completions);
        self.settle();
    }

    /// The device's time for a request that was made at `wall`, with the device brought there.
    fn arrival(&mut self, wall: Nanos) -> Nanos {
        let now = self.model.now();
        let Some(made) = self.clock.device_time(wall) else {
            return now;
        };
        let at = made.max(now);
        self.step_while(MOST_STEPS, |_, event| event < at);
        // A device that computes too slowly gets it earlier in its own time.
        let next = self.model.next_event().unwrap_or(at);
        at.min(next).max(self.model.now())
    }

    fn give(&mut self, slot: usize, kind: CommandKind, lba: Lba, sectors: u32, at: Nanos) {
        let command = Command {
            tag: slot as u64,
            kind,
            lba,
            sectors,
        };
        let continued = self.pending[slot]
            .as_ref()
            .is_some_and(|p| p.flush_after || p.has_rest());
        let settled = self.is_settled(at);
        if self.model.submit(command, at).is_ok() {
            self.note_command(command, at, settled, continued);
        } else {
            // The model checks time strictly; a rejected command is a bug in this module.
            debug_assert!(
                false,
                "the device did not accept command {command:?} at {at}"
            );
            self.completions.push(Completion {
                tag: slot as u64,
                status: Status::Unsupported,
                submitted: at,
                completed: at,
                payload: None,
            });
        }
    }

    pub(crate) fn refuse(&mut self, origin: Origin, request: &Request, why: Refusal, wall: Nanos) {
        self.ready.push(Done {
            origin,
            action: request.action,
            offset: request.offset,
            length: request.length,
            outcome: Err(why),
            due: wall,
            latency: Nanos::ZERO,
        });
    }

    /// Takes what the device has completed.
    fn settle(&mut self) {
        let mut completions = std::mem::take(&mut self.settled);
        completions.append(&mut self.completions);
        for completion in completions.drain(..) {
            let slot = memory_len(completion.tag);
            let Some(Some(pending)) = self.pending.get_mut(slot) else {
                continue;
            };
            pending.commands -= 1;
            if completion.status != Status::Ok {
                pending.status = completion.status;
            }
            if pending.commands > 0 {
                continue;
            }
            if pending.status == Status::Ok && pending.has_rest() {
                self.continue_zeroes(slot, completion.completed);
                continue;
            }
            if pending.flush_after && pending.status == Status::Ok {
                pending.flush_after = false;
                pending.commands = 1;
                let now = self.model.now();
                self.give(slot, CommandKind::Flush, Lba(0), 0, now);
                continue;
            }
            self.finish(slot, completion.completed);
        }
        self.settled = completions;
    }

    fn finish(&mut self, slot: usize, completed: Nanos) {
        let Some(pending) = self.pending[slot].take() else {
            return;
        };
        self.free.push(slot);
        self.outstanding -= 1;
        let mut outcome = outcome(pending.status);
        if outcome.is_ok() {
            outcome = self.take_effect(&pending, true);
        }
        let delay = self.faults.as_mut().map_or(Nanos::ZERO, Faults::delay);
        let request = pending.request;
        let latency = completed.saturating_sub(pending.submitted) + delay;
        let done = Done {
            origin: pending.origin,
            action: request.action,
            offset: request.offset,
            length: request.length,
            outcome,
            due: self.clock.wall_time(completed + delay),
            latency: self.clock.wall_span(latency),
        };
        if delay == Nanos::ZERO {
            return self.ready.push(done);
        }
        let place = self.delayed.partition_point(|d| d.due <= done.due);
        self.delayed.insert(place, done);
    }

    /// A request has reached the device; what that does to the contents, and whether it can be read.
    pub(crate) fn take_effect(
        &mut self,
        pending: &Pending,
        acknowledged: bool,
    ) -> Result<(), Refusal> {
        let request = &pending.request;
        let Some(faults) = &mut self.faults else {
            return self.change(pending);
        };
        if matches!(request.action, Action::Read | Action::Fetch) {
            let range = request.offset..request.offset + u64::from(request.length);
            return if faults.fails_read(&range) {
                Err(Refusal::Unreadable)
            } else {
                Ok(())
            };
        }
        if let Some(number) = pending.write {
            let range = pieces::sectors_of(&pending.given);
            self.undo
                .note(&self.store, number, range, acknowledged)
                .map_err(|e| Refusal::from(&e))?;
        }
        self.change(pending)?;
        if pending.write.is_some_and(|n| n % WRITES_BETWEEN_LOOKS == 0) {
            self.undo.forget_before(self.model.durable_writes());
        }
        Ok(())
    }

    /// Applies the commands of a request that are completed to the contents.
    fn change(&mut self, pending: &Pending) -> Result<(), Refusal> {
        let request = &pending.request;
        let changed = match request.action {
            Action::Write => match &mut self.faults {
                Some(faults) if faults.corrupts() => {
                    let mut data = request.data.clone();
                    faults.corrupt(&mut data);
                    self.store.write(request.offset, &data)
                }
                _ => self.store.write(request.offset, &request.data),
            },
            Action::Discard | Action::Zero | Action::WriteZeroes => {
                let given = &pending.given;
                self.store.discard(given.start, given.end - given.start)
            }
            Action::Read | Action::Fetch | Action::Flush => Ok(()),
        };
        changed.map_err(|e| Refusal::from(&e))
    }
}

fn outcome(status: Status) -> Result<(), Refusal> {
    match status {
        Status::Ok => Ok(()),
        Status::LbaOutOfRange => Err(Refusal::OutOfRange),
        Status::UncorrectableRead => Err(Refusal::Unreadable),
        Status::ReadOnly => Err(Refusal::ReadOnly),
        Status::Unsupported => Err(Refusal::Unsupported),
    }
}
