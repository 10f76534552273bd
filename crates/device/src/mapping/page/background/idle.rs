//! Idle time, in which background work begins that no write waits for.

use crate::events::Event;
use crate::mapping::page::PageMapDevice;
use crate::mapping::page::scheduler::Wants;
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};

/// Time since the last write, and the timer that marks the begin of idle time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::mapping::page) struct IdleTimer {
    /// Time from the last write to the begin of idle time.
    pub(super) delay: Nanos,
    /// End of the last write; `None` while writes are outstanding.
    pub(super) since: Option<Nanos>,
    /// Whether a timer event is pending; there is at most one.
    pub(super) pending: bool,
    is_idle: bool,
}

impl IdleTimer {
    pub(super) fn new(delay: Nanos) -> Self {
        IdleTimer {
            delay,
            since: None,
            pending: false,
            is_idle: false,
        }
    }

    /// Whether idle time has begun.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.is_idle
    }

    /// Records the end of the last outstanding write. Returns the time of the timer to start, unless one is pending.
    fn start(&mut self, now: Nanos) -> Option<Nanos> {
        self.since = Some(now);
        if !self.pending {
            self.pending = true;
            return Some(now + self.delay);
        }
        None
    }

    /// Records that the host writes again.
    fn stop(&mut self) {
        self.since = None;
        self.is_idle = false;
    }

    /// Handles the timer. Idle time begins unless the host has written since the timer was started; in that case,
    /// returns the time of the next timer if no write is outstanding.
    fn expire(&mut self, now: Nanos) -> Option<Nanos> {
        self.pending = false;
        let due = self.since? + self.delay;
        if now < due {
            self.pending = true;
            return Some(due);
        }
        self.is_idle = true;
        None
    }
}

impl PageMapDevice {
    /// Starts the idle timer after the last outstanding write.
    pub(in crate::mapping::page) fn plan_idle(&mut self) {
        if let Some(at) = self.background.idle.start(self.schedule.now()) {
            self.schedule.push(at, Event::Idle);
        }
    }

    /// Ends idle time because the host writes.
    pub(in crate::mapping::page) fn wake_from_idle(&mut self) {
        self.background.idle.stop();
    }

    pub(in crate::mapping::page) fn on_idle(&mut self) -> Wants {
        if let Some(at) = self.background.idle.expire(self.schedule.now()) {
            self.schedule.push(at, Event::Idle);
        }
        if !self.background.idle.is_idle() {
            return Wants::Nothing;
        }
        self.end_linger(true);
        Wants::Relocation
    }
}
