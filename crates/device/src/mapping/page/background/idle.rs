//! Idle time: when background work may begin that no write waits for.

use crate::events::Event;
use crate::mapping::page::PageMapDevice;
use crate::mapping::page::scheduler::Wants;
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};

/// The time since the last write, and the timer that ends it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::mapping::page) struct IdleTimer {
    /// Time after the last write at which idle time begins.
    pub(super) delay: Nanos,
    /// End of the last write, if none is outstanding.
    pub(super) since: Option<Nanos>,
    /// A timer event is pending; there is never more than one.
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

    /// The last outstanding write ends now. Returns when the timer must run out, unless it is pending.
    fn start(&mut self, now: Nanos) -> Option<Nanos> {
        self.since = Some(now);
        if !self.pending {
            self.pending = true;
            return Some(now + self.delay);
        }
        None
    }

    /// The host writes again.
    fn stop(&mut self) {
        self.since = None;
        self.is_idle = false;
    }

    /// The timer has run out. Idle time begins unless the host has written since it was started: then the time is
    /// returned at which it must run out again, if no write is outstanding.
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
    /// The last outstanding write is done.
    pub(in crate::mapping::page) fn plan_idle(&mut self) {
        if let Some(at) = self.background.idle.start(self.schedule.now()) {
            self.schedule.push(at, Event::Idle);
        }
    }

    /// The host writes again.
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
