//! Allocation units as writing in order shows them: a card that continues to the next unit erases one for it, so the
//! write that opens it takes longer, at equal distances. This sees units that reads do not: those of cards that find
//! them in no time, those larger than what is read, and those that begin anywhere. It does not tell what the writes
//! cost.

use super::Probing;
use super::layout::PAGE_MAX;
use super::slow_writes::{APART, FEW, Fit, LEAST, bins, folded, levels, only, stands_out};
use crate::quantile::quantile;
use crate::timed::ProbeError;
use nandscope_measure::target::Target;
use nandscope_units::{Bytes, Nanos};

/// Lengths of the writes and how much is written with each, bytes: short ones for small units, and long ones, which no
/// page exceeds, for large units.
const FINE: (u64, u64) = (32 << 10, 256 << 20);
/// Of the short ones so much at least.
const FINE_LEAST: u64 = 24 << 20;
const COARSE: (u64, u64) = (512 << 10, 1200 << 20);
/// With long writes so much is written before the next look at the times.
const LOOK: usize = 128;
/// Number of boundaries after which the search ends.
const ENOUGH: usize = 12;
/// The same where so many writes lie between them, if there are more than the least.
const FAR: u64 = 64;
/// Long writes between two boundaries, at least: small units meet them in patterns that repeat after a few of them.
const FAR_APART: u64 = 16;
/// All of this takes at most one part in so many of the time.
const TIME: u64 = 6;

/// Writes that took longer at equal distances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Opened {
    /// Their distance, bytes.
    pub(super) unit: u64,
    /// Smallest begin of the first of them from the beginning of the target, modulo the distance, bytes.
    pub(super) from: u64,
    /// Length of the range after `from`, bytes.
    pub(super) within: u64,
    /// Number of slow writes seen.
    pub(super) seen: usize,
    /// Additional time of the slow writes, s.
    pub(super) extra_s: f64,
    /// The distance of writes that took longer by less: pages, bytes.
    pub(super) page: Option<u64>,
}

impl Opened {
    /// The one multiple of `grain` from the beginning of the target on at which the first unit can begin, where there is one.
    /// A card may open a unit no earlier than its first page is complete.
    pub(super) fn first(&self, page: u64) -> Option<u64> {
        let grain = match self.unit.is_multiple_of(GRAIN) {
            true => GRAIN,
            false => self.unit,
        };
        // One unit up, so that nothing is below zero.
        let (from, to) = (self.unit + self.from, self.unit + self.from + self.within);
        let least = (from + 1).saturating_sub(self.page.unwrap_or(page).min(from));
        let first = least.next_multiple_of(grain);
        (first < to && first + grain >= to).then_some(first % self.unit)
    }
}

/// Partitions begin at multiples of this from the beginning of the device, or at no multiple of a page.
const GRAIN: u64 = 1 << 20;

/// Writes on in order from `begin`, one after the other, and looks for the distance of the slow writes. `page` is the distance
/// of pages that reads show, and where the first begins: each write begins at one.
pub(super) fn units<T: Target>(
    probing: &mut Probing<'_, T>,
    begin: u64,
    (page, first): (u64, u64),
) -> Result<Option<Opened>, ProbeError> {
    let now = probing.target.now();
    let (middle, end) = (
        now + Nanos(probing.options.time.0 / TIME / 2),
        now + Nanos(probing.options.time.0 / TIME),
    );
    let mut begin = begin.saturating_sub(first).next_multiple_of(page.max(512)) + first;
    let short = FINE.0.next_multiple_of(page);
    let settled =
        |times: &[f64]| times.len() as u64 * short >= FINE_LEAST && small(times, short).is_some();
    let fine = write(probing, &mut begin, (short, FINE.1), middle, settled)?;
    let shown = small(&fine.times, short).filter(|f| f.0.unit >= 2 * page);
    if let Some((found, page)) = shown {
        let found = found.opened(&fine, page);
        if again(probing, &mut begin, &found, short, end)? {
            return Ok(Some(found));
        }
    }
    let long = COARSE.0.next_multiple_of(page);
    let settled = |times: &[f64]| large(times, long).is_some();
    let coarse = write(probing, &mut begin, (long, COARSE.1), end, settled)?;
    if let Some(found) = large(&coarse.times, long) {
        let found = found.opened(&coarse, None);
        if again(probing, &mut begin, &found, long, end)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The unit that short writes show, and the distance of pages, if they show it too. Slow writes at the distance of a page are
/// those of pages: only a larger distance beside it is that of units.
fn small(times: &[f64], length: u64) -> Option<(Fit, Option<u64>)> {
    let levels = levels(times, length);
    let page = levels.len().checked_sub(2).map(|i| levels[i].unit);
    let last = levels
        .last()
        .filter(|f| f.unit > PAGE_MAX || page.is_some());
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
    found.filter(|f| f.unit >= FAR_APART * length)
}

/// Whether so many boundaries settle it.
fn enough(found: &Fit, length: u64) -> bool {
    found.seen >= ENOUGH || found.seen > LEAST && found.unit >= FAR * length
}

/// Boundaries that must be seen again, of a few and of many; of so few, all must be slow.
const AGAIN: [u64; 2] = [2, 8];
const ALL: usize = 4;
/// The first writes after a jump close what was open before.
const JUMP: usize = 2;
/// Jumps before the same places are looked at again, parts of a unit.
const JUMPS: [u64; 2] = [2, 4];

/// Whether the same places are slow when the writes before them begin elsewhere in a unit. What depends on how much was
/// written, such as a full log or merges that were put off, happens at other places then.
fn again<T: Target>(
    probing: &mut Probing<'_, T>,
    begin: &mut u64,
    found: &Opened,
    length: u64,
    end: Nanos,
) -> Result<bool, ProbeError> {
    let count = AGAIN[usize::from(found.seen > FEW)];
    // Parts of pages that take a page each fill a unit early; of longer writes they take less. A host may cut what is longer
    // than a long write into several, of which each may take its time.
    let twice = found.page.is_none() && 2 * length <= COARSE.0;
    let length = match twice && found.unit.is_multiple_of(2 * APART * length) {
        true => 2 * length,
        false => length,
    };
    for part in JUMPS {
        *begin += (found.unit / part / length).max(1) * length;
        let most = found.unit * (count + 1);
        let written = write(probing, begin, (length, most), end, |_| false)?;
        if !same(&written, found) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether writes are slow at the boundaries of the units, and nowhere else as slow.
fn same(written: &Written, found: &Opened) -> bool {
    let Some(times) = written.times.get(JUMP..) else {
        return false;
    };
    let length = written.length;
    let start = written.begin + JUMP as u64 * length;
    let expected = |bin: u64| {
        // Whether the range in which a boundary lies reaches into the writes of this bin.
        let last = (bin + 1) * length - 1;
        (last + found.unit - found.from) % found.unit < length + found.within.saturating_sub(1)
    };
    let (mut highest, mut others) = (0.0_f64, Vec::new());
    let bins = bins(times, |i| (start + i as u64 * length) % found.unit / length);
    for (bin, times) in bins.iter().filter(|b| b.1.len() >= AGAIN[0] as usize) {
        let share = match times.len() {
            n if n <= ALL => 0.0,
            _ => 0.25,
        };
        let time = quantile(times, share);
        match expected(*bin) {
            true => highest = highest.max(time),
            false => others.push(time),
        }
    }
    others.len() > 1 && stands_out(highest, &others)
}

/// Times of writes in order.
struct Written {
    begin: u64,
    length: u64,
    times: Vec<f64>,
}

fn write<T: Target>(
    probing: &mut Probing<'_, T>,
    begin: &mut u64,
    (length, most): (u64, u64),
    end: Nanos,
    settled: impl Fn(&[f64]) -> bool,
) -> Result<Written, ProbeError> {
    let mut written = Written {
        begin: *begin,
        length,
        times: Vec::new(),
    };
    let whole = probing.target.whole().0;
    // Half of what may be written is for units that are written in turn.
    let keep = probing.options.writes.0 / 2;
    while (written.times.len() as u64) * length < most {
        let spent = probing.target.now() >= end || probing.writes_left() < keep + length;
        if spent || *begin + length > whole {
            break;
        }
        let at = Bytes(*begin);
        let took = probing.timed(|p| p.write(at, Bytes(length)))?;
        written.times.push(took.as_secs_f64());
        *begin += length;
        let looks = written.times.len() / LOOK;
        let look =
            written.times.len().is_multiple_of(LOOK) && (looks.is_multiple_of(4) || looks < 4);
        if look && settled(&written.times) {
            break;
        }
    }
    Ok(written)
}

impl Fit {
    fn opened(self, written: &Written, page: Option<u64>) -> Opened {
        let from = (written.begin as f64 + self.from).max(0.0).ceil() as u64;
        Opened {
            unit: self.unit,
            from: from % self.unit,
            within: ((self.to - self.from) as u64).min(written.length),
            seen: self.seen,
            extra_s: self.extra_s,
            page,
        }
    }
}
