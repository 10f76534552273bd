//! NVMe power states in the text forms: `[[power_state]]` of a device, `[[apst]]` of a host.

use serde::{Deserialize, Serialize};

/// One power state, as the power state descriptor of the identify data gives it. The first is PS0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerStateSection {
    /// Greatest power in this state (MP), mW: the budget of an operational state; a device draws all of it in another.
    pub max_mw: f64,
    /// Commands are executed in this state. A device leaves any other state for a command.
    pub operational: bool,
    /// Time to enter a state that is not operational (ENLAT), µs.
    pub entry_us: f64,
    /// Time to leave it for an operational state (EXLAT), µs.
    pub exit_us: f64,
}

/// When a host lets a device enter a power state by itself (autonomous power state transitions, APST).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApstSection {
    /// The device enters the deepest state whose entry and exit together take no longer, µs.
    pub tolerance_us: f64,
    /// Idle time before, ms.
    pub after_ms: f64,
}

/// Which of the states a host lets a device enter, as the number of the state and the idle time before it, ms; the
/// shallowest first.
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
