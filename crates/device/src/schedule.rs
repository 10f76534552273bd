//! [`Schedule`], the present time of a device and the events to come.

use crate::command::SubmitError;
use crate::events::{Event, EventQueue};
use crate::invariant::{Checked, check_clock};
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};

/// The present time of a device and the events to come.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Schedule {
    now: Nanos,
    events: EventQueue,
}

impl Schedule {
    /// The present time.
    #[inline(always)]
    pub(crate) fn now(&self) -> Nanos {
        self.now
    }

    /// Sets the present time.
    #[inline(always)]
    pub(crate) fn set_now(&mut self, to: Nanos) {
        debug_assert!(to >= self.now, "time goes back");
        self.now = to;
    }

    /// Plans an event.
    #[inline]
    pub(crate) fn push(&mut self, at: Nanos, event: Event) {
        self.events.push(at, event);
    }

    /// Time of the next event.
    #[inline]
    pub(crate) fn next_time(&self) -> Option<Nanos> {
        self.events.next_time()
    }

    /// Removes and returns the next event if it is not later than `limit`. The present time does not change.
    #[inline]
    pub(crate) fn pop_until(&mut self, limit: Nanos) -> Option<(Nanos, Event)> {
        self.events.pop_until(limit)
    }

    /// Checks that a command may be submitted at `at`.
    ///
    /// # Errors
    /// [`SubmitError`] if `at` is before the present or after the next event.
    #[inline]
    pub(crate) fn admit(&self, at: Nanos) -> Result<(), SubmitError> {
        SubmitError::check(self.now, self.events.next_time(), at)
    }

    /// The present time and the event queue, for a part that plans its own events.
    #[inline(always)]
    pub(crate) fn parts(&mut self) -> (Nanos, &mut EventQueue) {
        (self.now, &mut self.events)
    }

    /// The events to come.
    pub(crate) fn events(&self) -> &EventQueue {
        &self.events
    }

    pub(crate) fn audit(&self) -> Checked {
        check_clock(self.now)?;
        self.events.audit(self.now)
    }
}
