//! The clock of real targets: monotonic, from zero, the same for all queues of a target.

use nandscope_units::Nanos;
use std::time::{Duration, Instant};

/// Time before the end of a wait from which the thread spins. The scheduler wakes a thread late by up to its timer
/// slack, 50 µs by default.
pub(super) const AWAKE: Nanos = Nanos::from_micros(60);

/// Monotonic time since the clock was made, plus its initial value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    epoch: Instant,
    start: Nanos,
}

impl Clock {
    pub(super) fn new() -> Self {
        Self::at(Nanos::ZERO)
    }

    /// A clock that shows `start` now.
    pub(super) fn at(start: Nanos) -> Self {
        Clock {
            epoch: Instant::now(),
            start,
        }
    }

    #[inline]
    pub(super) fn now(&self) -> Nanos {
        // 2^64 ns are 584 years.
        self.start + Nanos(self.epoch.elapsed().as_nanos() as u64)
    }

    /// Waits until this time; with [`Nanos::MAX`], which means that nothing is expected, returns at once.
    pub(super) fn idle_until(&self, until: Nanos) {
        if until != Nanos::MAX {
            self.sleep_until(until);
        }
    }

    /// Sleeps until this time.
    pub(super) fn sleep_until(&self, until: Nanos) {
        let left = until.saturating_sub(self.now());
        if left > AWAKE {
            std::thread::sleep(Duration::from_nanos((left - AWAKE).0));
        }
        while self.now() < until {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeps_to_the_point_and_never_short() {
        let clock = Clock::new();
        let until = clock.now() + Nanos::from_millis(2);
        clock.sleep_until(until);
        assert!(clock.now() >= until);
    }
}
