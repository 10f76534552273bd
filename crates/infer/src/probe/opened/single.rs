//! Tests single boundaries of a large AU, with a few writes before each.

use super::found::Opened;
use super::written::{JUMP, write};
use crate::probe::Probing;
use crate::probe::slow_writes::bar as slow_from;
use crate::quantile::{median, quantile};
use crate::timed::ProbeError;
use nandscope_measure::target::Target;
use nandscope_units::Nanos;

/// Writes before each tested boundary. The numbers differ, so that an effect of the number of writes does not occur at all
/// boundaries.
pub(super) const LEADS: [u64; 4] = [6, 13, 9, 17];
/// Number of tested boundaries that must be slow.
const BORNE_OUT: usize = 3;
/// Divisors of the AU: places without a boundary unless the AU is smaller; each is tested twice.
const PARTS: [u64; 4] = [2, 3, 5, 7];
/// Writes after each boundary.
pub(super) const AFTER: u64 = 3;

/// Whether single boundaries of a large AU are slow after a few writes, and places at fractions of the AU are not.
pub(super) fn again_far<T: Target>(
    probing: &mut Probing<'_, T>,
    written: u64,
    found: &Opened,
    length: u64,
    end: Nanos,
) -> Result<bool, ProbeError> {
    // Recently written AUs may still be open and would not be opened again: tests AUs above them.
    let last = probing.target.whole().0 / found.unit.max(1);
    let first = (written / found.unit + 2).min(last.saturating_sub(LEADS.len() as u64 + 2));
    // The first of the other writes may wait for a merge.
    let bar = |others: &[f64]| slow_from(others).max(quantile(others, 0.75) + found.extra_s / 2.0);
    let (mut slow, mut others) = (Vec::new(), Vec::new());
    for (number, lead) in (first + 1..).zip(LEADS) {
        let Some((here, beside)) = lead_to(probing, found, length, (number, 0, lead), end)? else {
            return Ok(false);
        };
        slow.push(here);
        others.extend(beside);
        // One boundary may be missing; ends when enough are slow.
        if slow.iter().filter(|t| **t > bar(&others)).count() >= BORNE_OUT {
            break;
        }
    }
    let bar = bar(&others);
    if slow.iter().filter(|t| **t > bar).count() < BORNE_OUT {
        return Ok(false);
    }
    // A place whose time is nearer to that of boundaries than to that of other writes may be a boundary as well.
    let middle = (median(&others) + median(&slow)) / 2.0;
    for ((number, lead), part) in (first..).zip(LEADS).zip(PARTS) {
        let mut seen = 0;
        // A pause makes one of two tries slow, a boundary both.
        for number in [number, number + 1] {
            let place = (number, found.unit / part, lead);
            let Some((here, _)) = lead_to(probing, found, length, place, end)? else {
                return Ok(false);
            };
            if here <= middle {
                break;
            }
            seen += 1;
        }
        if seen > 1 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The slowest write in the possible range of a boundary, and the times of the others, s, after `lead` writes. The boundary is
/// that of AU `number`, or `shift` bytes after it. `None` if the budget ends before.
fn lead_to<T: Target>(
    probing: &mut Probing<'_, T>,
    found: &Opened,
    length: u64,
    (number, shift, lead): (u64, u64, u64),
    end: Nanos,
) -> Result<Option<(f64, Vec<f64>)>, ProbeError> {
    let bin = |at: u64| at / length;
    // Writes that may contain the boundary.
    let range = bin(found.from)..=bin(found.from + found.within.saturating_sub(1));
    let width = range.end() - range.start() + 1;
    // On the grid of the writes that showed the AU.
    let place = range.start() * length + (number * found.unit + shift) / length * length;
    let mut begin = place.saturating_sub(lead * length);
    let lead = (place - begin) / length;
    let count = lead + width + AFTER;
    if begin + count * length > probing.target.whole().0 {
        // A place beyond the end counts as quick.
        return Ok(Some((0.0, Vec::new())));
    }
    let written = write(probing, &mut begin, (length, count * length), end, |_| {
        false
    })?;
    if (written.times.len() as u64) < count {
        return Ok(None);
    }
    let (mut highest, mut others) = (0.0_f64, Vec::new());
    for (i, time) in (0..).zip(&written.times).skip(JUMP) {
        match (lead..lead + width).contains(&i) {
            true => highest = highest.max(*time),
            false => others.push(*time),
        }
    }
    Ok(Some((highest, others)))
}
