//! Suspension of programs and erases for host reads, and their resumption.

use super::{Array, Die, NONE, OpClass, SUSPENDS_MAX};
use crate::events::EventQueue;
use nandscope_units::Nanos;

impl Array {
    pub(super) fn may_suspend(&self, die: Die, now: Nanos) -> bool {
        let d = &self.dies[die];
        self.times.suspend.is_some()
            && d.array != NONE
            && d.suspended.op == NONE
            && d.suspended.count < SUSPENDS_MAX
            && d.array_until.saturating_sub(now) >= self.times.suspend_threshold
            && self.slots[d.array as usize].op.class != OpClass::Read
    }

    pub(super) fn suspend(&mut self, die: Die, now: Nanos, events: &mut EventQueue) {
        let lead = self.take_suspended(die, now);
        self.start_urgent_read(die, lead, now, events);
    }

    /// Suspends the program or erase of a die; returns the time for the suspension.
    pub(super) fn take_suspended(&mut self, die: Die, now: Nanos) -> Nanos {
        let d = &mut self.dies[die];
        debug_assert_eq!(
            d.suspended.op, NONE,
            "two operations of a die are suspended"
        );
        d.suspended.op = d.array;
        d.suspended.left = d.array_until.saturating_sub(now);
        d.suspended.count += 1;
        d.overtakes += 1;
        d.array = NONE;
        self.times.suspend.unwrap_or(Nanos::ZERO)
    }

    pub(super) fn resume(&mut self, die: Die, now: Nanos, events: &mut EventQueue) {
        let lead = self.times.suspend.unwrap_or(Nanos::ZERO);
        let d = &mut self.dies[die];
        let index = std::mem::replace(&mut d.suspended.op, NONE);
        debug_assert_ne!(index, NONE, "nothing is suspended");
        d.overtakes = 0;
        let until = now + lead + d.suspended.left;
        self.occupy(die, index, until, events);
    }
}
