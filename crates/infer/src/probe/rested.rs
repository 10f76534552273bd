//! Writes after a rest if sequential writes showed no SLC cache: on a device in use, the cache may be partly or completely full
//! at first, and a write buffer that fills before it may hide it.

use super::Probing;
use super::confidence::Strength;
use super::filled::Filled;
use super::finding::{Value, size};
use super::link::reads_at_once;
use super::question::Question;
use super::slc::{ALONE, OF_CARD, read_s, throttled};
use super::writes::{BATCH, FALL, SLOW, SMALLEST, STAYS, batch, cache_end};
use crate::quantile::median;
use crate::timed::ProbeError;
use nandscope_measure::target::Target;
use nandscope_units::{Bytes, Nanos};

/// Batches after a short rest that show whether a longer rest is worthwhile; and last batches before it, for comparison.
const FIRST: usize = 8;
const LAST: usize = 16;
/// Length of the longer rest: devices fold their cache at some tens of MB/s or more.
const REST: Nanos = Nanos::from_secs(60);
/// Divisor of the remaining time, and share of the remaining write budget (3/4), for this search.
const TIME: u64 = 2;
const WRITES: (u64, u64) = (3, 4);

/// Lets the device rest and writes on from `next`. If the rate falls after an amount that fits an SLC cache, adds the finding and
/// returns true.
pub(super) fn look<T: Target>(
    probing: &mut Probing<'_, T>,
    filled: &Filled,
    next: &mut u64,
) -> Result<bool, ProbeError> {
    let last = &filled.rates[filled.rates.len().saturating_sub(LAST)..];
    let slow = median(last);
    let most = probing.writes_left() / WRITES.1 * WRITES.0;
    let takes = most as f64 / slow.max(1.0);
    let time = Nanos::from_secs_f64(takes) + ALONE + REST;
    let room = *next + most <= probing.target.whole().0;
    if slow < SLOW || most < 2 * SMALLEST || Nanos(TIME * time.0) > probing.time_left() || !room {
        return Ok(false);
    }
    let written = Bytes(filled.rates.len() as u64 * BATCH);
    let card = !reads_at_once(probing, written)?;
    let falls = if card { OF_CARD } else { FALL };
    let warm = read_s(probing, filled)?;
    let mut tried = 0;
    // A fall too early for an SLC cache may be that of a write buffer before it.
    if card || cache_end(&filled.rates).is_none() {
        tried = FIRST;
        probing.target.idle(ALONE)?;
        let fast = median(&onwards(probing, next, FIRST, |_| false)?);
        if fast < falls * slow {
            return Ok(false);
        }
    }
    probing.target.idle(REST)?;
    let cool = read_s(probing, filled)?;
    let count = (most / BATCH) as usize - tried;
    let rates = onwards(probing, next, count, |rates| end(rates).is_some())?;
    let Some(end) = end(&rates).filter(|_| !throttled(warm, cool)) else {
        return Ok(false);
    };
    let (fast, after) = (median(&rates[..end]), median(&rates[end..]));
    if fast < falls * after {
        return Ok(false);
    }
    say(probing, end as u64 * BATCH, (fast, after));
    Ok(true)
}

/// Number of batches in the SLC cache, once enough slower ones follow it.
fn end(rates: &[f64]) -> Option<usize> {
    cache_end(rates).filter(|end| *end as u64 * BATCH >= SMALLEST && rates.len() >= end + 2 * STAYS)
}

/// Writes at most `most` batches, until `enough` is true of their rates.
fn onwards<T: Target>(
    probing: &mut Probing<'_, T>,
    next: &mut u64,
    most: usize,
    enough: impl Fn(&[f64]) -> bool,
) -> Result<Vec<f64>, ProbeError> {
    let mut rates = Vec::new();
    while rates.len() < most && !enough(&rates) {
        rates.push(batch(probing, *next)?);
        *next += BATCH;
    }
    Ok(rates)
}

fn say<T: Target>(probing: &mut Probing<'_, T>, cache: u64, (fast, after): (f64, f64)) {
    // Writes to the SLC cache are free of the write budget.
    probing.cached = probing.cached.max(cache);
    probing.target.limit = probing.options.writes.0.saturating_add(probing.cached);
    let evidence = format!(
        "after {:.0} s without commands {} are written at {:.0} MB/s, and more at {:.0} MB/s: before, the cache was in use, or a buffer hid it",
        REST.as_secs_f64(),
        size(cache),
        fast / 1e6,
        after / 1e6
    );
    let value = Value::Bytes(cache);
    probing
        .report
        .replace(Question::Slc.answer(value, size(cache), Strength::Weak, evidence));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_ends_where_enough_batches_after_it_are_slower() {
        let rates = |cache: usize, after: usize| [vec![900e6; cache], vec![200e6; after]].concat();
        assert_eq!(end(&rates(20, 2 * STAYS)), Some(20));
        assert_eq!(end(&rates(20, 2 * STAYS - 1)), None);
        // Too early for an SLC cache.
        assert_eq!(end(&rates(9, 2 * STAYS)), None);
        // A write buffer before the cache.
        let buffer = [vec![3000e6; 6], rates(30, 2 * STAYS)].concat();
        assert_eq!(end(&buffer), Some(36));
    }
}
