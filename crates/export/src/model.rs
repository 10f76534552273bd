//! What is asked of a device: the three calls of the simulator, and no more.

use nandscope_device::{Command, Completion, Cut, Device, Status};
use nandscope_units::{Bytes, Nanos};

/// A device in virtual time.
pub trait Model {
    /// Its present time.
    fn now(&self) -> Nanos;

    /// Addressable bytes.
    fn capacity(&self) -> Bytes;

    /// Whether discards reach the medium.
    fn discards(&self) -> bool;

    /// Hands a command over at `at`, which is neither before the present nor after the next event.
    ///
    /// # Errors
    /// In words, where the device cannot take it at that time.
    fn submit(&mut self, command: Command, at: Nanos) -> Result<(), String>;

    /// When something happens next by itself.
    fn next_event(&self) -> Option<Nanos>;

    /// Lets time pass up to `until`, or to the first instant that has completions, which are
    /// appended; gives the instant reached.
    fn advance(&mut self, until: Nanos, completions: &mut Vec<Completion>) -> Nanos;

    /// Numbers writes from now on, for what follows.
    fn track_writes(&mut self);

    /// All writes of lower numbers are on the medium and stay there.
    fn durable_writes(&mut self) -> u64;

    /// Power goes and comes back; what was under way is never completed.
    fn cut_power(&mut self) -> Cut;

    /// Whether it takes no writes any more, at the end of its life.
    fn is_read_only(&self) -> bool {
        false
    }
}

impl Model for Device {
    fn now(&self) -> Nanos {
        Device::now(self)
    }

    fn capacity(&self) -> Bytes {
        Device::capacity(self)
    }

    fn discards(&self) -> bool {
        self.identity().discard
    }

    fn submit(&mut self, command: Command, at: Nanos) -> Result<(), String> {
        Device::submit(self, command, at).map_err(|e| e.to_string())
    }

    fn next_event(&self) -> Option<Nanos> {
        Device::next_event(self)
    }

    fn advance(&mut self, until: Nanos, completions: &mut Vec<Completion>) -> Nanos {
        Device::advance(self, until, completions)
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

/// A device that takes the same time for everything, and does all at once: none at all to find
/// out what the path to it costs, some to test those who drive it.
#[derive(Debug)]
pub struct Even {
    now: Nanos,
    capacity: Bytes,
    latency: Nanos,
    pending: std::collections::VecDeque<Completion>,
}

impl Even {
    /// A device of that size that takes `latency` for every command.
    pub fn new(capacity: Bytes, latency: Nanos) -> Self {
        Even {
            now: Nanos::ZERO,
            capacity,
            latency,
            pending: std::collections::VecDeque::new(),
        }
    }
}

impl Model for Even {
    fn now(&self) -> Nanos {
        self.now
    }

    fn capacity(&self) -> Bytes {
        self.capacity
    }

    fn discards(&self) -> bool {
        true
    }

    fn submit(&mut self, command: Command, at: Nanos) -> Result<(), String> {
        if at < self.now || self.next_event().is_some_and(|event| event < at) {
            return Err(format!(
                "{at} is out of turn, the device is at {}",
                self.now
            ));
        }
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

    fn track_writes(&mut self) {}

    /// Everything is on the medium as soon as it has come.
    fn durable_writes(&mut self) -> u64 {
        u64::MAX
    }

    fn cut_power(&mut self) -> Cut {
        self.pending.clear();
        Cut {
            damage: Vec::new(),
            ready: self.now,
        }
    }
}
