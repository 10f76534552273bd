//! Finds allocation units by sequential writes: a card erases an AU before it continues there, so that the write that opens it
//! takes longer, at equal distances. This finds AUs that reads do not: on cards that look up addresses in no time, AUs larger
//! than the range read, and AUs at any offset. The times do not show the cost of these writes.

mod elsewhere;
mod first_page;
mod found;
mod halved;
mod single;
mod thrice;
mod written;

pub(super) use first_page::first_page;
pub(super) use found::Opened;
pub(super) use halved::halved;

use super::Probing;
use super::layout::PAGE_MAX;
use super::slow_writes::{APART, Fit, LEAST, folded, folded_few, levels, only};
use super::writes::PIECE;
use crate::timed::ProbeError;
use elsewhere::{JUMPS, again, again_large, again_long};
use nandscope_measure::target::Target;
use nandscope_units::Nanos;
use thrice::{every_second, with_thrice};
use written::{LONG, LOOK, Written, write};

/// Length of the writes and total, bytes: short writes for small AUs, and long ones, which no page exceeds, for large AUs.
const FINE: (u64, u64) = (32 << 10, 256 << 20);
/// Total of short writes at which their times are first evaluated, bytes.
const FINE_LEAST: u64 = 24 << 20;
const COARSE: (u64, u64) = (LONG, 1200 << 20);
/// Number of boundaries after which the search ends.
const ENOUGH: usize = 12;
/// Distance of boundaries, in writes, from which fewer boundaries, but more than `LEAST`, end the search.
const FAR: u64 = 64;
/// Distance of boundaries, in long writes, from which long writes confirm an AU. Boundaries of smaller AUs fall on long
/// writes in a pattern that repeats after a few writes; short writes confirm such AUs.
const FAR_APART: u64 = 16;
/// Divisor of the total time: limit of this search.
pub(super) const TIME: u64 = 6;

/// Writes sequentially from `begin` and finds the distance of the slow writes. `page` is the page size seen by reads, `first` the
/// start of the first page; every write begins at a page. `earlier` are the times of the writes before `begin` from the start of
/// the target, s; `read` is the size of an AU that reads show. Writes that show the same need fewer tests.
pub(super) fn units<T: Target>(
    probing: &mut Probing<'_, T>,
    begin: u64,
    (page, first): (u64, u64),
    earlier: &[f64],
    read: Option<u64>,
) -> Result<Option<Opened>, ProbeError> {
    // Half of the write budget is for interleaved AUs; after a search for an SLC cache, two thirds of the remaining budget.
    let (all, left) = (probing.options.writes.0, probing.writes_left());
    probing.kept = (all / 2).min(left / 3 * 2);
    let now = probing.target.now();
    let (middle, end) = (
        now + Nanos(probing.options.time.0 / TIME / 2),
        now + Nanos(probing.options.time.0 / TIME),
    );
    let is_read = |found: &Opened| read == Some(found.unit);
    let (short, long) = (
        FINE.0.next_multiple_of(page),
        COARSE.0.next_multiple_of(page),
    );
    let mut begin = begin.saturating_sub(first).next_multiple_of(page.max(512)) + first;
    let mut all = match earlier.len() as u64 * long == begin && long == PIECE {
        true => Written::earlier(earlier),
        false => Written::none(begin, long),
    };
    if let Some(found) = far(&all.times, long) {
        let found = found.opened(&all, None);
        if (is_read(&found) || !every_second(&all, &found))
            && again_large(probing, &mut begin, &found, &all)?
        {
            return Ok(Some(found));
        }
    }
    let mut fine = Written::none(begin, short);
    for least in [FINE_LEAST, 4 * FINE_LEAST, FINE.1] {
        let settled =
            |times: &[f64]| times.len() as u64 * short >= least && small(times, short).is_some();
        fine = write(probing, &mut begin, (short, FINE.1), middle, settled)?;
        // Fills up to a multiple of the long writes, so that these can continue.
        let rest = short * ((begin.next_multiple_of(long) - begin) / short);
        if fine.begin.is_multiple_of(long) && rest > 0 {
            let rest = write(probing, &mut begin, (short, rest), Nanos::MAX, |_| false)?;
            fine.times.extend(rest.times);
        }
        let shown = small(&fine.times, short).filter(|f| f.0.unit >= 2 * page);
        let Some((found, page)) = shown else { break };
        let found = found.opened(&fine, page);
        if again_short(probing, &mut begin, &found, (short, end), read)? {
            return Ok(Some(found));
        }
    }
    all.join(&fine);
    if all.end() != begin {
        all = Written::none(begin, long);
    }
    for least in [LOOK, 4 * LOOK, 16 * LOOK] {
        let settled =
            |times: &[f64]| times.len() >= least && large(&all.with(times).times, long).is_some();
        let coarse = write(probing, &mut begin, (long, COARSE.1), end, settled)?;
        let coarse = all.with(&coarse.times);
        let Some(found) = large(&coarse.times, long) else {
            break;
        };
        let found = found.opened(&coarse, None);
        let borne_out = match found.unit {
            _ if !is_read(&found) && every_second(&coarse, &found) => false,
            unit if unit >= FAR * long => again_large(probing, &mut begin, &found, &coarse)?,
            unit if unit >= FAR_APART * long => {
                again_long(probing, &mut begin, &found, (&coarse, &JUMPS), end)?
            }
            _ => again_short(probing, &mut begin, &found, (short, end), read)?,
        };
        if borne_out {
            return Ok(Some(found));
        }
        // A longer series of writes elsewhere distinguishes scatter from AUs.
        all = Written::none(begin, long);
    }
    Ok(None)
}

/// Whether short writes bear an AU out: at other places, and with three times the length unless reads show the same size, `read`.
fn again_short<T: Target>(
    probing: &mut Probing<'_, T>,
    begin: &mut u64,
    found: &Opened,
    (length, end): (u64, Nanos),
    read: Option<u64>,
) -> Result<bool, ProbeError> {
    let is_same = again(probing, begin, found, length, end)?;
    let is_read = read == Some(found.unit);
    Ok(is_same && (is_read || with_thrice(probing, begin, found, length, end)?))
}

/// The AU that short writes show, and the page size, bytes, if they show one. Distances up to the largest page may be
/// those of pages, or of pages of several program units.
fn small(times: &[f64], length: u64) -> Option<(Fit, Option<u64>)> {
    let levels = levels(times, length);
    let page = levels.len().checked_sub(2).map(|i| levels[i].unit);
    let last = levels.last().filter(|f| f.unit > PAGE_MAX);
    let found = last.filter(|f| enough(f, length)).map(|f| (*f, page));
    found.or_else(|| {
        let folded = folded(times, length).filter(|f| f.unit > PAGE_MAX);
        folded.map(|f| (f, None))
    })
}

/// The AU that long writes show. No page is longer than such a write, so that all slow writes belong to one level.
fn large(times: &[f64], length: u64) -> Option<Fit> {
    let found = only(times, length).filter(|f| enough(f, length));
    let found = found.or_else(|| folded(times, length));
    found
        .filter(|f| f.unit >= APART * length)
        .or_else(|| far(times, length))
}

/// An AU so large that only few boundaries are seen, through noise and pauses.
fn far(times: &[f64], length: u64) -> Option<Fit> {
    let found = only(times, length).filter(|f| enough(f, length));
    let found = found.filter(|f| f.unit >= FAR * length);
    found.or_else(|| folded_few(times, length).filter(|f| f.unit >= FAR * length))
}

/// Whether the number of boundaries is enough to end the search.
fn enough(found: &Fit, length: u64) -> bool {
    found.seen >= ENOUGH || found.seen > LEAST && found.unit >= FAR * length
}
