//! NVMe power states in the text forms: `[[power_state]]` of a device, `[[apst]]` of a host.

use serde::{Deserialize, Serialize};

/// A power state, as in the power state descriptor of the identify data. The first is PS0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerStateSection {
    /// Maximum power in this state (MP), mW: the budget of an operational state; a device draws this power in a
    /// non-operational one.
    pub max_mw: f64,
    /// Whether commands are executed in this state. A device leaves any other state for a command.
    pub operational: bool,
    /// Time to enter a non-operational state (ENLAT), µs.
    pub entry_us: f64,
    /// Time to leave the state for an operational one (EXLAT), µs.
    pub exit_us: f64,
}

/// Autonomous power state transition (APST): when a host lets a device enter a power state by itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApstSection {
    /// Longest time of entry and exit together, µs: the device enters the deepest state within it.
    pub tolerance_us: f64,
    /// Idle time before the transition, ms.
    pub after_ms: f64,
}

/// States that a host lets a device enter: number of the state, and idle time before it, ms; the shallowest first.
pub(crate) fn chosen_by_host(
    states: &[PowerStateSection],
    rows: &[ApstSection],
) -> Vec<(usize, f64)> {
    let mut chosen: Vec<(usize, f64)> = Vec::new();
    for row in rows {
        let within = |state: &PowerStateSection| {
            !state.operational && state.entry_us + state.exit_us <= row.tolerance_us
        };
        let Some(deepest) = states.iter().rposition(within) else {
            continue;
        };
        if chosen.last().is_none_or(|(state, _)| *state < deepest) {
            chosen.push((deepest, row.after_ms));
        }
    }
    chosen
}
