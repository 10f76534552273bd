//! The processor cores of the controller. Work gets the core that is free first, in the order in which
//! it arrives at the cores.

use crate::invariant::{Checked, check_near, ensure};
use crate::profile::schema::ControllerSection;
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};

/// Times at which cores become free, and commands still on their way to them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Cores {
    /// Time at which each core becomes free, as a ring in ascending order from `next`. Cores are interchangeable, and
    /// most work ends later than all work booked before.
    free_at: Vec<Nanos>,
    /// Index of the core that becomes free first.
    next: usize,
    /// Whether relocation takes no core time, so that cores execute commands only.
    commands_only: bool,
    /// Number of commands under way that are booked when they arrive.
    expected: u32,
}

impl Cores {
    pub(super) fn new(controller: &ControllerSection) -> Self {
        Cores {
            free_at: vec![Nanos::ZERO; controller.cores as usize],
            next: 0,
            commands_only: controller.relocate_unit_us == 0.0,
            expected: 0,
        }
    }

    /// Whether a command that arrives at `arrival` may be booked now, because no command booked later can arrive
    /// earlier. That holds if cores execute commands only and all commands take equally long to arrive; a command split
    /// into transfers takes `splits` longer.
    #[inline]
    pub(super) fn may_book(&self, now: Nanos, arrival: Nanos, splits: Nanos) -> bool {
        let in_order = self.commands_only && splits == Nanos::ZERO && self.expected == 0;
        in_order || arrival == now
    }

    /// Counts a command that will be booked when it arrives.
    pub(super) fn expect(&mut self) {
        self.expected += 1;
    }

    /// An expected command has arrived.
    pub(super) fn arrived(&mut self) {
        debug_assert!(self.expected > 0, "an unexpected command arrives");
        self.expected -= 1;
    }

    /// Whether there is only one core, and nothing is booked on it beyond `now`.
    pub(super) fn is_one_and_free(&self, now: Nanos) -> bool {
        matches!(self.free_at[..], [at] if at <= now)
    }

    /// End of work that arrives at `from`, if it were booked now.
    #[inline]
    pub(super) fn end_of(&self, from: Nanos, time: Nanos) -> Nanos {
        self.free_at[self.next].max(from) + time
    }

    /// Books the core that becomes free first for work that arrives at `from`; returns the end.
    #[inline]
    pub(super) fn book(&mut self, from: Nanos, time: Nanos) -> Nanos {
        let place = self.next;
        let done = self.end_of(from, time);
        self.free_at[place] = done;
        self.next = self.after(place);
        if self.free_at[self.before(place)] > done {
            self.sort_in(place);
        }
        done
    }

    #[inline]
    fn after(&self, place: usize) -> usize {
        if place + 1 < self.free_at.len() {
            place + 1
        } else {
            0
        }
    }

    #[inline]
    fn before(&self, place: usize) -> usize {
        place.checked_sub(1).unwrap_or(self.free_at.len() - 1)
    }

    /// Moves the core at `place` before the cores that become free later.
    #[cold]
    fn sort_in(&mut self, mut place: usize) {
        while place != self.next {
            let before = self.before(place);
            if self.free_at[before] <= self.free_at[place] {
                break;
            }
            self.free_at.swap(before, place);
            place = before;
        }
    }

    /// Checks that the number of cores is the profile's, and that `expected` commands are on their way.
    pub(super) fn audit(
        &self,
        controller: &ControllerSection,
        expected: u32,
        now: Nanos,
    ) -> Checked {
        let fresh = Cores::new(controller);
        ensure!(
            self.free_at.len() == fresh.free_at.len()
                && self.next < self.free_at.len()
                && self.commands_only == fresh.commands_only,
            "the cores are not those of the profile"
        );
        ensure!(
            self.expected == expected,
            "{expected} commands are on their way to the cores, {} were counted",
            self.expected
        );
        ensure!(
            self.free_at[self.next..]
                .iter()
                .chain(&self.free_at[..self.next])
                .is_sorted(),
            "the cores are not listed in the order in which they are free"
        );
        for at in &self.free_at {
            check_near("the end of work", *at, now)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn work_gets_the_core_that_is_free_first() {
        let mut random = Random::new(1);
        for cores in 1..9 {
            let mut ends = vec![Nanos::ZERO; cores];
            let mut booked = Cores {
                free_at: ends.clone(),
                next: 0,
                commands_only: true,
                expected: 0,
            };
            let mut from = Nanos::ZERO;
            for _ in 0..2_000 {
                from += Nanos(random.below(40));
                let time = Nanos(random.below(100));
                let first = ends.iter_mut().min().expect("there is a core");
                *first = from.max(*first) + time;
                let end = *first;
                assert_eq!(booked.end_of(from, time), end);
                assert_eq!(booked.book(from, time), end);
            }
        }
    }
}
