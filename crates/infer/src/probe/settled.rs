//! Waits until a device is idle after writes: reads of the same places then take equal times.

use super::Probing;
use crate::timed::ProbeError;
use nandscope_measure::target::Target;
use nandscope_units::{Bytes, Nanos};

const BLOCK: u64 = 4096;
/// Idle time per rest, during which a cache is folded; then the most rests; then the largest relative difference of the
/// times of nine in ten reads when the device is idle.
const REST: Nanos = Nanos::from_secs(15);
const RESTS: u32 = 6;
const SAME: f64 = 0.1;

/// Rests until reads of `places` take the same time twice, at most until `until`.
pub(super) fn settle<T: Target>(
    probing: &mut Probing<'_, T>,
    places: &[u64],
    until: Nanos,
) -> Result<(), ProbeError> {
    let step = probing.clock.as_secs_f64();
    for _ in 0..RESTS {
        if probing.target.now() + REST > until {
            break;
        }
        probing.target.flush()?;
        probing.target.idle(REST)?;
        let before = times(probing, places)?;
        let after = times(probing, places)?;
        if 10 * same(&before, &after, step) >= 9 * places.len() {
            break;
        }
    }
    Ok(())
}

/// Number of places whose two reads took the same time, within `SAME` and a step of the clock.
fn same(before: &[f64], after: &[f64], step: f64) -> usize {
    let pairs = before.iter().zip(after);
    let differs = |(b, a): &(&f64, &f64)| (*b - *a).abs() <= SAME * a.min(**b) + step;
    pairs.filter(differs).count()
}

fn times<T: Target>(probing: &mut Probing<'_, T>, places: &[u64]) -> Result<Vec<f64>, ProbeError> {
    probing.timed(|p| {
        let reads = places.iter().map(|at| p.read(Bytes(*at), Bytes(BLOCK)));
        reads.map(|took| took.map(|t| t.as_secs_f64())).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_the_same_within_a_tenth_and_a_step_of_the_clock() {
        assert_eq!(same(&[100.0, 100.0, 100.0], &[109.0, 112.0, 91.0], 0.0), 2);
        assert_eq!(same(&[100.0, 100.0], &[130.0, 131.0], 30.0), 2);
        assert_eq!(same(&[60.0], &[97.0], 30.0), 0);
    }
}
