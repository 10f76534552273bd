//! Writes after a rest, where those before showed no SLC cache: on a device in use it may be full from the beginning on, or in
//! part.

use super::Probing;
use super::confidence::Strength;
use super::filled::Filled;
use super::finding::{Finding, Value, size};
use super::slc::{ALONE, OF_CARD, fill, read_s, throttled};
use super::writes::{BATCH, FALL, SLOW, SMALLEST, batch};
use crate::quantile::median;
use crate::timed::ProbeError;
use nandscope_measure::target::Target;
use nandscope_units::Nanos;

/// Batches after a short rest that show whether a longer one is worth the time, and the last ones before it.
const FIRST: usize = 8;
const LAST: usize = 16;
/// The longer rest: caches are folded at some tens of megabytes per second or more.
const REST: Nanos = Nanos::from_secs(60);
/// Of the time that is left one part in so many may be used, and this part of the writes.
const TIME: u64 = 2;
const WRITES: (u64, u64) = (3, 4);

/// Leaves the device alone and writes on from `next`. Says how much is written faster than before, if that is enough for an SLC
/// cache, and returns whether it is.
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
    let warm = read_s(probing, filled)?;
    probing.target.idle(ALONE)?;
    let mut rates = Vec::new();
    for _ in 0..FIRST {
        rates.push(batch(probing, *next)?);
        *next += BATCH;
    }
    let fast = median(&rates);
    let factor = match probing.overlaps() {
        Some(_) => FALL,
        None => OF_CARD,
    };
    if fast < factor * slow {
        return Ok(false);
    }
    probing.target.idle(REST)?;
    let cool = read_s(probing, filled)?;
    let bar = (fast * slow).sqrt();
    let (cache, ended) = fill(probing, next, bar, most - FIRST as u64 * BATCH)?;
    if !ended || cache < SMALLEST || throttled(warm, cool) {
        return Ok(false);
    }
    // What went into the cache does not count.
    probing.cached = probing.cached.max(cache);
    probing.target.limit = probing.options.writes.0.saturating_add(probing.cached);
    let evidence = format!(
        "after {:.0} s without commands {} are written at {:.0} MB/s, and {:.0} MB/s follow, as before: what was written earlier was still in it",
        REST.as_secs_f64(),
        size(cache),
        fast / 1e6,
        slow / 1e6
    );
    let value = Value::Bytes(cache);
    probing.report.replace(Finding::new(
        "slc",
        "SLC cache",
        value,
        size(cache),
        Strength::Weak,
        evidence,
    ));
    Ok(true)
}
