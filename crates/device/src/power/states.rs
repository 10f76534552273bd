//! NVMe power states that a device enters by itself after an idle time: how long a command waits until the device has
//! left a state, and the energy that it saves.
//!
//! Background work of the device (folding, collection) ends the idle time without a wait.

use crate::convert::Narrow;
use crate::invariant::{Checked, ensure};
use crate::link::is_nvme;
use crate::profile::host::HostProfile;
use crate::profile::power_state::chosen_by_host;
use crate::profile::schema::{InterfaceSection, Profile};
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};

/// A non-operational power state.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct IdleState {
    /// Number of the state, such as 4 for PS4.
    pub(crate) number: u32,
    watts: f64,
    /// Idle time after which the device begins to enter the state.
    after: Nanos,
    entry: Nanos,
    exit: Nanos,
}

impl IdleState {
    /// Idle time after which the device has entered the state.
    fn reached(&self) -> Nanos {
        self.after + self.entry
    }
}

/// The states that the device enters with this host, in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct IdleStates(Vec<IdleState>);

impl IdleStates {
    /// The states for an interface; empty if it is not NVMe.
    pub(crate) fn new(profile: &Profile, interface: &InterfaceSection, host: &HostProfile) -> Self {
        if !is_nvme(&interface.link) {
            return IdleStates::default();
        }
        let mut states: Vec<IdleState> = Vec::new();
        for (number, after_ms) in chosen_by_host(&profile.power_state, &host.apst) {
            let section = &profile.power_state[number];
            // A device that is entering a state finishes this before it continues to the next.
            let before = states.last().map_or(Nanos::ZERO, IdleState::reached);
            states.push(IdleState {
                number: number.narrow(),
                watts: section.max_mw / 1e3,
                after: Nanos::from_micros_f64(after_ms * 1e3).max(before),
                entry: Nanos::from_micros_f64(section.entry_us),
                exit: Nanos::from_micros_f64(section.exit_us),
            });
        }
        IdleStates(states)
    }

    /// Whether the device never leaves its operational state by itself.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The state after an idle time; `None` while the device is operational.
    pub(crate) fn after(&self, idle: Nanos) -> Option<&IdleState> {
        self.0.iter().rev().find(|state| state.reached() <= idle)
    }

    /// Wait of a command that arrives after an idle time: the rest of a started entry, and the exit.
    pub(crate) fn wake_time(&self, idle: Nanos) -> Nanos {
        let entered = self.0.iter().rev().find(|state| state.after <= idle);
        entered.map_or(Nanos::ZERO, |state| {
            state.reached().saturating_sub(idle) + state.exit
        })
    }

    /// Energy saved relative to the power `idle_w` between two idle times, J.
    pub(crate) fn saved_j(&self, idle_w: f64, from: Nanos, to: Nanos) -> f64 {
        let mut end = to;
        let mut saved = 0.0;
        for state in self.0.iter().rev() {
            let begin = state.reached().max(from);
            saved += (idle_w - state.watts) * end.saturating_sub(begin).as_secs_f64();
            end = end.min(begin);
        }
        saved
    }

    /// Whether the state after an idle time is the last one.
    pub(crate) fn is_last(&self, idle: Nanos) -> bool {
        self.0.last().is_none_or(|state| state.reached() <= idle)
    }

    /// Checks that the profile has these states, and that they follow one another.
    pub(crate) fn audit(&self, profile: &Profile) -> Checked {
        for state in &self.0 {
            let section = profile.power_state.get(state.number as usize);
            ensure!(
                section.is_some_and(|s| !s.operational
                    && state.watts == s.max_mw / 1e3
                    && state.entry == Nanos::from_micros_f64(s.entry_us)
                    && state.exit == Nanos::from_micros_f64(s.exit_us)),
                "the device has no idle power state {}",
                state.number
            );
        }
        let ordered = self
            .0
            .windows(2)
            .all(|pair| pair[0].number < pair[1].number && pair[0].reached() <= pair[1].after);
        ensure!(
            ordered && self.0.iter().all(|state| state.after <= LONGEST),
            "the idle power states are not entered in their order"
        );
        Ok(())
    }
}

/// Upper bound of a wait for a power state, including entries of previous states.
const LONGEST: Nanos = Nanos::from_secs(20_000);
