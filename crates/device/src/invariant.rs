//! Invariants of a device's state: how a check of them fails, and the bounds that several of them
//! share. Tests check them at any instant; a snapshot is refused where one does not hold.

use nandscope_units::Nanos;
use thiserror::Error;

/// The first invariant of a device's state that does not hold.
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

/// The longest that anything in a device takes: a week. Time passes in steps of 100 ms, so that an
/// event that is further away would take long to reach.
const HORIZON: Nanos = Nanos::from_secs(7 * 86_400);
/// The oldest a device gets: 100 years.
const OLDEST: Nanos = Nanos::from_secs(100 * 365 * 86_400);
/// Sums over the life of a device stay below; twice as much can still be added up.
const MOST: u64 = 1 << 62;

/// The clock leaves room for all that is to come.
pub(crate) fn check_clock(now: Nanos) -> Checked {
    ensure!(now <= OLDEST, "the clock is at {now}, beyond {OLDEST}");
    Ok(())
}

/// `at` is not further ahead than anything takes.
pub(crate) fn check_near(what: &str, at: Nanos, now: Nanos) -> Checked {
    ensure!(at <= now + HORIZON, "{what} is at {at}, and now is {now}");
    Ok(())
}

/// A sum over the life of a device can grow further.
pub(crate) fn check_sum(what: &str, sum: u64) -> Checked {
    ensure!(sum <= MOST, "{what} sum up to {sum}");
    Ok(())
}

/// A number is finite and within a range.
pub(crate) fn check_number(what: &str, value: f64, least: f64, most: f64) -> Checked {
    ensure!(
        (least..=most).contains(&value),
        "{what} is {value}, not from {least} to {most}"
    );
    Ok(())
}

/// Which places of a list of `length` are in use, where `free` names the others.
pub(crate) fn places_in_use(what: &str, length: usize, free: &[u32]) -> Checked<Vec<bool>> {
    let mut used = vec![true; length];
    for index in free {
        let place = used.get_mut(*index as usize);
        ensure!(
            place.is_some_and(|used| std::mem::replace(used, false)),
            "the free place {index} of {length} {what} does not exist or is listed twice"
        );
    }
    Ok(used)
}
