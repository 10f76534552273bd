//! Allocation units as writing in order shows them: a card that continues to the next unit erases one for it, so the
//! write that opens it takes longer, at equal distances. This sees units that reads do not: those of cards that find
//! them in no time, those larger than what is read, and those that begin anywhere. It does not tell what the writes
//! cost.

use super::Probing;
use super::layout::PAGE_MAX;
use super::slow_writes::{
    APART, FEW, Fit, LEAST, bar as slow_from, bins, folded, folded_few, levels, only, stands_out,
};
use super::writes::{PIECE, TOGETHER};
use crate::quantile::{median, quantile};
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
/// Long writes between two boundaries of a unit that long writes bear out: small units meet them in patterns that repeat after
/// a few of them, and short writes must show the same.
const FAR_APART: u64 = 16;
/// All of this takes at most one part in so many of the time.
pub(super) const TIME: u64 = 6;

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
        // A power of two: what divides both.
        let grain = GRAIN.min(1 << self.unit.trailing_zeros());
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

/// Boundaries that must be seen again, of a few and of many; of so few, all must be slow.
const AGAIN: [u64; 2] = [2, 8];
const ALL: usize = 4;
/// The first writes after a jump close what was open before.
const JUMP: usize = 2;
/// Jumps before the same places are looked at again: units, and the part of one. Far away, a distance that is off by little is
/// off by all of a write.
const JUMPS: [(u64, u64); 2] = [(0, 2), (64, 4)];

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
    // Parts of pages that take a page each fill a unit early: writes of another length fill it elsewhere.
    let length = other_length(found, length);
    for jump in JUMPS {
        if after_jump(probing, begin, found, (length, count), jump, (end, end))? != Some(true) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether so many boundaries are seen where they are expected after a jump of some units and a part of one; `None` if the time
/// for the first half of a unit, or for all, ends before.
fn after_jump<T: Target>(
    probing: &mut Probing<'_, T>,
    begin: &mut u64,
    found: &Opened,
    (length, count): (u64, u64),
    (units, part): (u64, u64),
    (soon, end): (Nanos, Nanos),
) -> Result<Option<bool>, ProbeError> {
    let most = found.unit * (count + 1);
    let room = probing.target.whole().0.saturating_sub(*begin + most);
    let units = units.min((room / found.unit.max(1)).saturating_sub(1));
    let jump = units * found.unit + found.unit / part;
    *begin += (jump / length).max(1) * length;
    let half = (found.unit / 2).next_multiple_of(length);
    let mut written = write(probing, begin, (length, half), soon, |_| false)?;
    if (written.times.len() as u64) * length == half {
        let rest = write(probing, begin, (length, most - half), end, |_| false)?;
        written.times.extend(rest.times);
    }
    let seen = match count {
        few if few == AGAIN[0] && length >= COARSE.0 => same_by_far(&written, found),
        _ => same(&written, found),
    };
    let whole = (written.times.len() as u64 + 1) * length > most;
    Ok((seen || whole).then_some(seen))
}

/// A longer write that divides the unit, or half of one that a host may cut into several.
fn other_length(found: &Opened, length: u64) -> u64 {
    if found.page.is_some() {
        return length;
    }
    let parts = found.unit / length.max(1);
    let longer = (2..=parts / APART).find(|times| parts.is_multiple_of(*times));
    match longer.map(|times| times * length) {
        Some(longer) if longer <= COARSE.0 => longer,
        _ if 2 * length > COARSE.0 && length.is_multiple_of(1024) => length / 2,
        _ => length,
    }
}

/// Boundaries of a large unit that are looked at again, and writes before each of them: of other numbers, so that nothing
/// that happens after so many writes falls on all of them.
const LEADS: [u64; 4] = [6, 13, 9, 17];
/// Of these so many must be slow.
const BORNE_OUT: usize = 3;
/// Parts of the unit at which no boundary lies, unless the unit is smaller; each is looked at twice.
const PARTS: [u64; 4] = [2, 3, 5, 7];
/// To bear out a large unit takes at most one part in so many of the time.
const LARGE_TIME: u64 = 5;
/// Writes after each of them.
const AFTER: u64 = 3;

/// Whether the places of a large unit are slow again: two in a row elsewhere, where so much can be written soon, or single
/// ones. `shown` are the writes that showed them.
fn again_large<T: Target>(
    probing: &mut Probing<'_, T>,
    begin: &mut u64,
    found: &Opened,
    shown: &Written,
) -> Result<bool, ProbeError> {
    let length = shown.length;
    // What was found is worth time of its own.
    let time = Nanos(probing.options.time.0 / LARGE_TIME);
    let end = probing.target.now() + time;
    let most = found.unit * (AGAIN[0] + 1);
    let takes = (most / length) as f64 * median(&shown.times);
    let spare = probing.writes_left().saturating_sub(probing.kept);
    let room = probing.target.whole().0.saturating_sub(*begin);
    match takes < time.as_secs_f64() / 2.0 && most < spare && most + 2 * found.unit < room {
        true => again_long(probing, begin, found, (shown, &JUMPS[..1]), end),
        false => again_far(probing, *begin, found, length, end),
    }
}

/// A card that takes so many times as long as for a whole unit for half of one, of which the writes begin within the unit, copies
/// it for every few of them; a jump may close two.
const COPIES: f64 = 3.5;

/// Whether the same places are slow after jumps when long writes begin elsewhere in a unit; on a card that copies the unit for
/// them, when they begin one before a boundary. What happens after so many writes happens one earlier then.
fn again_long<T: Target>(
    probing: &mut Probing<'_, T>,
    begin: &mut u64,
    found: &Opened,
    (shown, jumps): (&Written, &[(u64, u64)]),
    end: Nanos,
) -> Result<bool, ProbeError> {
    let length = shown.length;
    let count = AGAIN[usize::from(found.seen > FEW)];
    let count = if jumps.len() == 1 { AGAIN[0] } else { count };
    let mut copies = false;
    for (units, part) in jumps.iter().copied() {
        if !copies {
            let takes = (found.unit / length) as f64 * median(&shown.times);
            let soon = probing.target.now() + Nanos::from_secs_f64(COPIES * takes);
            let until = (soon.min(end), end);
            match after_jump(probing, begin, found, (length, count), (units, part), until)? {
                Some(true) => continue,
                Some(false) => return Ok(false),
                None => copies = true,
            }
        }
        if !after_lead(probing, begin, found, (length, count), units, end)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether so many boundaries in a row are slow when the writes begin one before another, some units up.
fn after_lead<T: Target>(
    probing: &mut Probing<'_, T>,
    begin: &mut u64,
    found: &Opened,
    (length, count): (u64, u64),
    units: u64,
    end: Nanos,
) -> Result<bool, ProbeError> {
    let most = found.unit * count + (JUMP as u64 + AFTER) * length;
    let room = probing.target.whole().0.saturating_sub(*begin + most);
    let units = units.min((room / found.unit.max(1)).saturating_sub(2));
    // A unit that was begun is left behind.
    let next = *begin + found.unit / 2;
    let boundary = next.saturating_sub(found.from).next_multiple_of(found.unit) + found.from;
    let boundary = boundary + units * found.unit;
    *begin += ((boundary - *begin) / length).saturating_sub(1) * length;
    let written = write(probing, begin, (length, most), end, |_| false)?;
    Ok(same_by_far(&written, found))
}

/// Whether single boundaries of a large unit are slow when a few writes lead to each of them, and places at parts of it are
/// not.
fn again_far<T: Target>(
    probing: &mut Probing<'_, T>,
    written: u64,
    found: &Opened,
    length: u64,
    end: Nanos,
) -> Result<bool, ProbeError> {
    // Units that were written last may be open still, so that nothing opens them: others lie above them.
    let last = probing.target.whole().0 / found.unit.max(1);
    let first = (written / found.unit + 2).min(last.saturating_sub(LEADS.len() as u64 + 2));
    // The first of the others may wait for a merge.
    let bar = |others: &[f64]| slow_from(others).max(quantile(others, 0.75) + found.extra_s / 2.0);
    let (mut slow, mut others) = (Vec::new(), Vec::new());
    for (number, lead) in (first + 1..).zip(LEADS) {
        let Some((here, beside)) = lead_to(probing, found, length, (number, 0, lead), end)? else {
            return Ok(false);
        };
        slow.push(here);
        others.extend(beside);
        // One of them may be missing; none is looked at that changes nothing.
        if slow.iter().filter(|t| **t > bar(&others)).count() >= BORNE_OUT {
            break;
        }
    }
    let bar = bar(&others);
    if slow.iter().filter(|t| **t > bar).count() < BORNE_OUT {
        return Ok(false);
    }
    // What lies nearer to the boundaries than to the others is one, too.
    let middle = (median(&others) + median(&slow)) / 2.0;
    for ((number, lead), part) in (first..).zip(LEADS).zip(PARTS) {
        let mut seen = 0;
        // A pause makes one of them slow, and a boundary each.
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

/// The slowest write of those in which a boundary may lie, and the others, when `lead` writes lead to it: the boundary with
/// this number, or a place so much after it. `None` where the budget ends before.
fn lead_to<T: Target>(
    probing: &mut Probing<'_, T>,
    found: &Opened,
    length: u64,
    (number, shift, lead): (u64, u64, u64),
    end: Nanos,
) -> Result<Option<(f64, Vec<f64>)>, ProbeError> {
    let bin = |at: u64| at / length;
    // The writes in which the boundary may lie.
    let range = bin(found.from)..=bin(found.from + found.within.saturating_sub(1));
    let width = range.end() - range.start() + 1;
    // On the same grid as the writes that showed the unit.
    let place = range.start() * length + (number * found.unit + shift) / length * length;
    let mut begin = place.saturating_sub(lead * length);
    let lead = (place - begin) / length;
    let count = lead + width + AFTER;
    if begin + count * length > probing.target.whole().0 {
        // A place beyond the end shows nothing.
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

/// Pages that are written before and after the range in which a boundary lies. A card may copy a unit for each before it.
const PAGES_BEFORE: u64 = 2;
const PAGES_AFTER: u64 = 8;
/// The range in which nearly all writes of a page lie, as a share of their middle, at most: where some of them take longer,
/// several pages are programmed together, and the slow one need not be the first.
const ALIKE: f64 = 0.25;

/// The page that opens a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FirstPage {
    /// Its place from the beginning of the target on, modulo the unit, bytes.
    pub(super) at: u64,
    /// Length of the writes, bytes.
    pub(super) page: u64,
    /// Whether other pages take equally long, so that each is programmed alone: then a unit begins there.
    pub(super) alone: bool,
}

/// Where the first unit begins, from writes of single pages about some of the boundaries: the one that opens a unit is the
/// first page of it, or of several that are programmed together, the last. Pages begin at `first` after a multiple of their
/// size; `None` where no page is slow each time.
pub(super) fn first_page<T: Target>(
    probing: &mut Probing<'_, T>,
    found: &Opened,
    (page, first): (u64, u64),
    end: Nanos,
) -> Result<Option<FirstPage>, ProbeError> {
    if !found.unit.is_multiple_of(page) || found.unit < 4 * (found.within + PAGES_BEFORE * page) {
        return Ok(None);
    }
    // A write that took longer may have completed a page that began before it.
    let from = (found.unit + found.from).saturating_sub(page);
    let from = from.saturating_sub(first).next_multiple_of(page) + first;
    let pages = (found.within + page) / page + PAGES_AFTER;
    let mut turns: Vec<Vec<f64>> = Vec::new();
    for number in 0..LEADS.len() as u64 {
        // Of other numbers, so that what happens after so many writes falls on all places.
        let before = PAGES_BEFORE + number;
        let mut begin = (from + number * found.unit).saturating_sub(before * page);
        let count = before + pages;
        if begin + count * page > probing.target.whole().0 {
            break;
        }
        let written = write(probing, &mut begin, (page, count * page), end, |_| false)?;
        if (written.times.len() as u64) < count {
            break;
        }
        turns.push(written.times[before as usize..].to_vec());
    }
    if turns.len() < LEADS.len() {
        return Ok(None);
    }
    // The second quickest of four: a stall makes one slow, and cannot make one quick.
    let of = |i: usize| quantile(&turns.iter().map(|t| t[i]).collect::<Vec<_>>(), 0.3);
    let quick: Vec<f64> = (0..pages as usize).map(of).collect();
    let slowest = (0..quick.len()).max_by(|a, b| quick[*a].total_cmp(&quick[*b]));
    let Some(slowest) = slowest else {
        return Ok(None);
    };
    let others: Vec<f64> = (0..quick.len())
        .filter(|i| *i != slowest)
        .map(|i| quick[i])
        .collect();
    let spread = quantile(&others, 0.96) - quantile(&others, 0.04);
    let seen = FirstPage {
        at: (from + slowest as u64 * page) % found.unit,
        page,
        alone: spread < ALIKE * median(&others),
    };
    Ok(stands_out(quick[slowest], &others).then_some(seen))
}

/// Whether writes are slow at the boundaries of the units, and nowhere else as slow.
fn same(written: &Written, found: &Opened) -> bool {
    split(written, found, 0).is_some_and(|(time, others)| stands_out(time, &others))
}

/// The same where each place was written a few times only: of many places one is the slowest by chance, but not as far from
/// the next one as that is from the middle. What took far longer before was another thing.
fn same_by_far(written: &Written, found: &Opened) -> bool {
    // A buffer delays what waits for an erased block by a write.
    split(written, found, 1).is_some_and(|(time, others)| {
        let most = others.iter().copied().fold(0.0, f64::max);
        let middle = median(&others);
        let as_much = time - middle > found.extra_s / 4.0;
        stands_out(time, &others) && time - most > most - middle && as_much
    })
}

/// The quick time of the places where units are opened, and those of all others but so many beside them.
fn split(written: &Written, found: &Opened, beside: u64) -> Option<(f64, Vec<f64>)> {
    let times = written.times.get(JUMP..)?;
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
        let count = found.unit.div_ceil(length);
        let near =
            (count - beside.min(count)..=count + beside).any(|by| expected((bin + by) % count));
        match expected(*bin) {
            true => highest = highest.max(time),
            false if near => {}
            false => others.push(time),
        }
    }
    (others.len() > 1).then_some((highest, others))
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
    let keep = probing.kept;
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

impl Written {
    fn none(begin: u64, length: u64) -> Self {
        Written {
            begin,
            length,
            times: Vec::new(),
        }
    }

    /// Writes of [`PIECE`] from the beginning on, several at once: the first of a batch waits for no other, so that each
    /// place in a batch has a level of its own.
    fn earlier(gaps: &[f64]) -> Self {
        let levels: Vec<f64> = (0..TOGETHER)
            .map(|place| {
                let same = gaps.iter().skip(place).step_by(TOGETHER).copied();
                median(&same.collect::<Vec<f64>>())
            })
            .collect();
        let level = median(gaps);
        let times = gaps.iter().enumerate();
        Written {
            begin: 0,
            length: PIECE,
            times: times
                .map(|(i, t)| t - levels[i % TOGETHER] + level)
                .collect(),
        }
    }

    fn end(&self) -> u64 {
        self.begin + self.times.len() as u64 * self.length
    }

    /// Adds shorter writes that continue these, as many together as are as long as one.
    fn join(&mut self, shorter: &Written) {
        let together = (self.length / shorter.length.max(1)).max(1) as usize;
        let whole = self.length.is_multiple_of(shorter.length.max(1))
            && shorter.times.len().is_multiple_of(together);
        if whole && shorter.begin == self.end() {
            let sums = shorter.times.chunks(together).map(|c| c.iter().sum());
            let sums: Vec<f64> = sums.collect();
            self.times = self.with(&sums).times;
        }
    }

    /// These and others of the same length that continue them, brought to the level of the later ones.
    fn with(&self, later: &[f64]) -> Written {
        let rise = match self.times.is_empty() || later.is_empty() {
            true => 0.0,
            false => median(later) - median(&self.times),
        };
        let before = self.times.iter().map(|t| t + rise);
        Written {
            begin: self.begin,
            length: self.length,
            times: before.chain(later.iter().copied()).collect(),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_of_several_kinds_are_brought_to_one_level() {
        // The first of each batch waits for no other.
        let gaps: Vec<f64> = (0..64)
            .map(|i| if i % TOGETHER == 0 { 12.0 } else { 10.0 })
            .collect();
        let mut all = Written::earlier(&gaps);
        assert!(all.times.iter().all(|t| (t - 10.0).abs() < 1e-9));
        let short = Written {
            begin: all.end(),
            length: PIECE / 16,
            times: vec![1.0; 32],
        };
        all.join(&short);
        assert_eq!((all.times.len(), all.times[0]), (66, 16.0));
        // What does not continue them, or fills no whole one, is left out.
        all.join(&short);
        assert_eq!(all.times.len(), 66);
        assert_eq!(all.with(&[20.0, 20.0]).times[..2], [20.0, 20.0]);
    }

    #[test]
    fn a_unit_begins_at_the_one_place_where_a_partition_may() {
        let found = Opened {
            unit: 4 << 20,
            from: 3 << 20,
            within: 512 << 10,
            seen: 9,
            extra_s: 0.01,
            page: None,
        };
        assert_eq!(found.first(PAGE_MAX), Some(3 << 20));
        // Units of 768 KiB may begin at each multiple of 256 KiB in a partition that begins at one of a MiB.
        let small = Opened {
            unit: 768 << 10,
            from: 200 << 10,
            within: 64 << 10,
            ..found
        };
        assert_eq!(small.first(32 << 10), Some(256 << 10));
        assert_eq!(small.first(PAGE_MAX), None);
    }

    #[test]
    fn the_slowest_of_many_places_is_no_boundary() {
        let found = Opened {
            unit: 32 << 20,
            from: 0,
            within: 512 << 10,
            seen: 4,
            extra_s: 0.004,
            page: None,
        };
        // From one write before a boundary on; another place is slow as well.
        let written = |boundary: f64, other: f64| Written {
            begin: (64 << 20) - PIECE,
            length: PIECE,
            times: (0..133)
                .map(|i| match i % 64 {
                    1 => boundary,
                    20 => other,
                    n => 0.040 + f64::from(n) * 1e-6,
                })
                .collect(),
        };
        assert!(same_by_far(&written(0.044, 0.040), &found));
        assert!(!same_by_far(&written(0.044, 0.0425), &found));
        assert!(same(&written(0.044, 0.0425), &found));
        // Nor is what took far longer before.
        let merged = Opened {
            extra_s: 8.0,
            ..found
        };
        assert!(!same_by_far(&written(0.044, 0.040), &merged));
    }

    #[test]
    fn a_unit_is_borne_out_by_writes_of_another_length() {
        let found = |unit: u64, page| Opened {
            unit,
            from: 0,
            within: 32 << 10,
            seen: 9,
            extra_s: 0.01,
            page,
        };
        assert_eq!(other_length(&found(4 << 20, None), 32 << 10), 64 << 10);
        // Five writes of 128 KiB, and no number of writes of 64 KiB but ten.
        assert_eq!(other_length(&found(640 << 10, None), 32 << 10), 64 << 10);
        assert_eq!(other_length(&found(1376 << 10, None), 32 << 10), 32 << 10);
        // Longer ones may be cut by the host.
        assert_eq!(other_length(&found(14 << 20, None), 512 << 10), 256 << 10);
        // Pages were told from units.
        assert_eq!(
            other_length(&found(4 << 20, Some(64 << 10)), 32 << 10),
            32 << 10
        );
    }
}
