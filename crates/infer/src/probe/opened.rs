//! Allocation units as writing in order shows them: a card that continues to the next unit erases one for it, so the
//! write that opens it takes longer, at equal distances. This sees units that reads do not: those of cards that find
//! them in no time, those larger than what is read, and those that begin anywhere. It does not tell what the writes
//! cost.

mod elsewhere;
mod first_page;
mod found;
mod halved;
mod single;
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
use written::{LONG, LOOK, Written, write};

/// Lengths of the writes and how much is written with each, bytes: short ones for small units, and long ones, which no
/// page exceeds, for large units.
const FINE: (u64, u64) = (32 << 10, 256 << 20);
/// Of the short ones so much at least.
const FINE_LEAST: u64 = 24 << 20;
const COARSE: (u64, u64) = (LONG, 1200 << 20);
/// Number of boundaries after which the search ends.
const ENOUGH: usize = 12;
/// The same where so many writes lie between them, if there are more than the least.
const FAR: u64 = 64;
/// Long writes between two boundaries of a unit that long writes bear out: small units meet them in patterns that repeat after
/// a few of them, and short writes must show the same.
const FAR_APART: u64 = 16;
/// All of this takes at most one part in so many of the time.
pub(super) const TIME: u64 = 6;

/// Writes on in order from `begin`, one after the other, and looks for the distance of the slow writes. `page` is the distance
/// of pages that reads show, and where the first begins: each write begins at one. `earlier` are the times of the writes
/// before `begin`, from the beginning of the target on.
pub(super) fn units<T: Target>(
    probing: &mut Probing<'_, T>,
    begin: u64,
    (page, first): (u64, u64),
    earlier: &[f64],
) -> Result<Option<Opened>, ProbeError> {
    // Half of what may be written is for units that are written in turn; where a cache was looked for, most of the rest.
    let (all, left) = (probing.options.writes.0, probing.writes_left());
    probing.kept = (all / 2).min(left / 3 * 2);
    let now = probing.target.now();
    let (middle, end) = (
        now + Nanos(probing.options.time.0 / TIME / 2),
        now + Nanos(probing.options.time.0 / TIME),
    );
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
        if again_large(probing, &mut begin, &found, &all)? {
            return Ok(Some(found));
        }
    }
    let mut fine = Written::none(begin, short);
    for least in [FINE_LEAST, 4 * FINE_LEAST, FINE.1] {
        let settled =
            |times: &[f64]| times.len() as u64 * short >= least && small(times, short).is_some();
        fine = write(probing, &mut begin, (short, FINE.1), middle, settled)?;
        // Long writes continue these where they fill whole ones.
        let rest = short * ((begin.next_multiple_of(long) - begin) / short);
        if fine.begin.is_multiple_of(long) && rest > 0 {
            let rest = write(probing, &mut begin, (short, rest), Nanos::MAX, |_| false)?;
            fine.times.extend(rest.times);
        }
        let shown = small(&fine.times, short).filter(|f| f.0.unit >= 2 * page);
        let Some((found, page)) = shown else { break };
        let found = found.opened(&fine, page);
        if again(probing, &mut begin, &found, short, end)? {
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
            unit if unit >= FAR * long => again_large(probing, &mut begin, &found, &coarse)?,
            unit if unit >= FAR_APART * long => {
                again_long(probing, &mut begin, &found, (&coarse, &JUMPS), end)?
            }
            _ => again(probing, &mut begin, &found, short, end)?,
        };
        if borne_out {
            return Ok(Some(found));
        }
        // More writes in a row, elsewhere, tell scatter from a unit.
        all = Written::none(begin, long);
    }
    Ok(None)
}

/// The unit that short writes show, and the distance of pages, if they show it too. Up to the largest page slow writes may be
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

/// The unit that long writes show. No page is longer than one of them, so that there is one level.
fn large(times: &[f64], length: u64) -> Option<Fit> {
    let found = only(times, length).filter(|f| enough(f, length));
    let found = found.or_else(|| folded(times, length));
    found
        .filter(|f| f.unit >= APART * length)
        .or_else(|| far(times, length))
}

/// A unit so large that few boundaries of it are seen, through noise and pauses.
fn far(times: &[f64], length: u64) -> Option<Fit> {
    let found = only(times, length).filter(|f| enough(f, length));
    let found = found.filter(|f| f.unit >= FAR * length);
    found.or_else(|| folded_few(times, length).filter(|f| f.unit >= FAR * length))
}

/// Whether so many boundaries settle it.
fn enough(found: &Fit, length: u64) -> bool {
    found.seen >= ENOUGH || found.seen > LEAST && found.unit >= FAR * length
}
