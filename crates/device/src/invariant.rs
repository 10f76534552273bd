//! Checks of a device's state, and the bounds that several of them share. Tests run them at any time; loading a
//! snapshot that fails one is refused.

use nandscope_units::Nanos;
use thiserror::Error;

/// Message of the first violated invariant of a device's state.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct InvalidState(pub(crate) String);

/// Result of a check of invariants.
pub(crate) type Checked<T = ()> = Result<T, InvalidState>;

/// Returns [`InvalidState`] with the message unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        let holds: bool = $condition;
        if !holds {
            return Err($crate::invariant::InvalidState(format!($($message)+)));
        }
    };
}
pub(crate) use ensure;

/// Longest time from now to any planned event: one week. Time advances in steps of 100 ms, so later events would take
/// long to reach.
const HORIZON: Nanos = Nanos::from_secs(7 * 86_400);
/// Highest device time: 100 years.
const OLDEST: Nanos = Nanos::from_secs(100 * 365 * 86_400);
/// Upper bound of sums over a device's life; two such sums can be added without overflow.
const MOST: u64 = 1 << 62;

/// Checks that the clock is below its limit, with room for every planned event.
pub(crate) fn check_clock(now: Nanos) -> Checked {
    ensure!(now <= OLDEST, "the clock is at {now}, beyond {OLDEST}");
    Ok(())
}

/// Checks that `at` is at most the horizon of one week after `now`.
pub(crate) fn check_near(what: &str, at: Nanos, now: Nanos) -> Checked {
    ensure!(at <= now + HORIZON, "{what} is at {at}, and now is {now}");
    Ok(())
}

/// Checks that a sum over the device's life is far from overflow.
pub(crate) fn check_sum(what: &str, sum: u64) -> Checked {
    ensure!(sum <= MOST, "{what} sum up to {sum}");
    Ok(())
}

/// Checks that a number is finite and within `least..=most`.
pub(crate) fn check_number(what: &str, value: f64, least: f64, most: f64) -> Checked {
    ensure!(
        (least..=most).contains(&value),
        "{what} is {value}, not from {least} to {most}"
    );
    Ok(())
}

/// Marks the used entries of a list of `length`; `free` names the unused ones.
pub(crate) fn places_in_use(what: &str, length: usize, free: &[u32]) -> Checked<Vec<bool>> {
    let mut used = vec![true; length];
    for index in free {
        let place = used.get_mut(*index as usize);
        ensure!(
            place.is_some_and(|used| std::mem::replace(used, false)),
            "free entry {index} of the table of {length} {what} does not exist or is listed twice"
        );
    }
    Ok(used)
}
