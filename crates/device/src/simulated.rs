//! [`SimulatedDevice`], the interface of everything that behaves as a device in virtual time, and
//! [`FixedLatencyDevice`], the simplest of them.

use crate::command::SubmitError;
use crate::command::{Command, Completion, Status};
use crate::device::Device;
use crate::powercut::Cut;
use crate::telemetry::Telemetry;
use nandscope_units::{Bytes, Lba, Nanos};
use std::collections::VecDeque;

/// A device in virtual time: driven by [`submit`](Self::submit), [`next_event`](Self::next_event)
/// and [`advance`](Self::advance), read by its instruments.
///
/// [`track_writes`](Self::track_writes) and [`durable_writes`](Self::durable_writes) have defaults
/// for a device that persists every write at once.
pub trait SimulatedDevice {
    /// Present time of the device.
    fn now(&self) -> Nanos;

    /// Addressable capacity.
    fn capacity(&self) -> Bytes;

    /// True if the host path passes discards on.
    fn supports_discard(&self) -> bool {
        true
    }

    /// Submits a command at `at`, which is neither before the present nor after the next event.
    ///
    /// # Errors
    /// [`SubmitError`] if `at` is before the present or after the next event. A command that fails
    /// later completes with a status.
    fn submit(&mut self, command: Command, at: Nanos) -> Result<(), SubmitError>;

    /// Begins to fetch from memory what a command at `lba` will need. Call it as early as the place is
    /// known; it changes nothing.
    fn prefetch(&self, lba: Lba) {
        let _ = lba;
    }

    /// Time of the next event; `None` if nothing happens without a new command.
    fn next_event(&self) -> Option<Nanos>;

    /// Advances to `until`, or to the first instant at which commands complete; appends their
    /// completions and returns the time reached.
    fn advance(&mut self, until: Nanos, completions: &mut Vec<Completion>) -> Nanos;

    /// Reads the instruments.
    fn telemetry(&self) -> Telemetry {
        Telemetry::default()
    }

    /// Numbers writes from now on; the next one is 0.
    fn track_writes(&mut self) {}

    /// All writes of lower numbers are persistent.
    fn durable_writes(&mut self) -> u64 {
        u64::MAX
    }

    /// Cuts and restores the power. Outstanding commands never complete.
    fn cut_power(&mut self) -> Cut;

    /// True if the device has reached its end of life and refuses writes.
    fn is_read_only(&self) -> bool {
        false
    }
}

impl SimulatedDevice for Device {
    fn now(&self) -> Nanos {
        Device::now(self)
    }

    fn capacity(&self) -> Bytes {
        Device::capacity(self)
    }

    fn supports_discard(&self) -> bool {
        self.identity().discard
    }

    #[inline]
    fn submit(&mut self, command: Command, at: Nanos) -> Result<(), SubmitError> {
        Device::submit(self, command, at)
    }

    #[inline]
    fn prefetch(&self, lba: Lba) {
        Device::prefetch(self, lba);
    }

    #[inline]
    fn next_event(&self) -> Option<Nanos> {
        Device::next_event(self)
    }

    #[inline]
    fn advance(&mut self, until: Nanos, completions: &mut Vec<Completion>) -> Nanos {
        Device::advance(self, until, completions)
    }

    fn telemetry(&self) -> Telemetry {
        Device::telemetry(self)
    }

    fn track_writes(&mut self) {
        Device::track_writes(self);
    }

    fn durable_writes(&mut self) -> u64 {
        Device::durable_writes(self)
    }

    fn cut_power(&mut self) -> Cut {
        Device::cut_power(self)
    }

    fn is_read_only(&self) -> bool {
        self.health().is_read_only()
    }
}

/// A device on which every command takes the same time, without a limit on parallel commands. With a latency of zero it
/// measures the overhead of the path to a device.
#[derive(Clone, Debug)]
pub struct FixedLatencyDevice {
    now: Nanos,
    capacity: Bytes,
    latency: Nanos,
    /// Pending completions, in the order of submission, which is that of completion.
    pending: VecDeque<Completion>,
}

impl FixedLatencyDevice {
    /// A device of `capacity` that completes every command after `latency`.
    pub fn new(capacity: Bytes, latency: Nanos) -> Self {
        FixedLatencyDevice {
            now: Nanos::ZERO,
            capacity,
            latency,
            pending: VecDeque::new(),
        }
    }
}

impl SimulatedDevice for FixedLatencyDevice {
    fn now(&self) -> Nanos {
        self.now
    }

    fn capacity(&self) -> Bytes {
        self.capacity
    }

    fn submit(&mut self, command: Command, at: Nanos) -> Result<(), SubmitError> {
        SubmitError::check(self.now, self.next_event(), at)?;
        self.now = at;
        self.pending.push_back(Completion {
            tag: command.tag,
            status: Status::Ok,
            submitted: at,
            completed: at + self.latency,
            payload: None,
        });
        Ok(())
    }

    fn next_event(&self) -> Option<Nanos> {
        self.pending.front().map(|c| c.completed)
    }

    fn advance(&mut self, until: Nanos, completions: &mut Vec<Completion>) -> Nanos {
        match self.next_event() {
            Some(event) if event <= until => {
                self.now = event;
                while self.next_event() == Some(event) {
                    completions.extend(self.pending.pop_front());
                }
            }
            _ if until != Nanos::MAX => self.now = self.now.max(until),
            _ => {}
        }
        self.now
    }

    fn cut_power(&mut self) -> Cut {
        self.pending.clear();
        Cut {
            damage: Vec::new(),
            ready: self.now,
        }
    }
}
