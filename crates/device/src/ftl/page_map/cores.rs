//! The processor cores of the controller. Work gets the core that is free first, in the order in which
//! it arrives at the cores.

use crate::invariant::{Checked, check_near, ensure};
use crate::profile::schema::ControllerSection;
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};

/// When each core is free, and what is still on its way to them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Cores {
    free_at: Vec<Nanos>,
    /// Relocation takes no time on them, so that commands are all of their work.
    commands_only: bool,
    /// Commands that are booked when they arrive.
    expected: u32,
}

impl Cores {
    pub(super) fn new(controller: &ControllerSection) -> Self {
        Cores {
            free_at: vec![Nanos::ZERO; controller.cores as usize],
            commands_only: controller.relocate_unit_us == 0.0,
            expected: 0,
        }
    }

    /// Whether a command that arrives at `arrival` may be booked now: nothing that is booked later can arrive
    /// before it. That is so if commands are all of the work and take equally long to arrive; one that
    /// is split (`splits`) takes longer.
    #[inline]
    pub(super) fn may_book(&self, now: Nanos, arrival: Nanos, splits: Nanos) -> bool {
        let in_order = self.commands_only && splits == Nanos::ZERO && self.expected == 0;
        in_order || arrival == now
    }

    /// A command will be booked when it arrives.
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

    /// Books the core that is free first for work that arrives at `from`; returns the end.
    #[inline]
    pub(super) fn book(&mut self, from: Nanos, time: Nanos) -> Nanos {
        let core = (0..self.free_at.len())
            .min_by_key(|core| self.free_at[*core])
            .unwrap_or(0);
        let done = self.free_at[core].max(from) + time;
        self.free_at[core] = done;
        done
    }

    /// Checks that these are the profile's cores, and that `expected` commands are on their way.
    pub(super) fn audit(
        &self,
        controller: &ControllerSection,
        expected: u32,
        now: Nanos,
    ) -> Checked {
        let fresh = Cores::new(controller);
        ensure!(
            self.free_at.len() == fresh.free_at.len() && self.commands_only == fresh.commands_only,
            "the cores are not those of the profile"
        );
        ensure!(
            self.expected == expected,
            "{expected} commands are on their way to the cores, {} were counted",
            self.expected
        );
        for at in &self.free_at {
            check_near("the end of work", *at, now)?;
        }
        Ok(())
    }
}
