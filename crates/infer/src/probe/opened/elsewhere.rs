//! Confirms that slow writes are AU boundaries: they must be slow again elsewhere, and if the writes begin at another offset in
//! an AU.

use super::found::Opened;
use super::single::{AFTER, again_far};
use super::written::{JUMP, LONG, Written, write};
use crate::probe::Probing;
use crate::probe::slow_writes::{APART, FEW, bins, stands_out};
use crate::quantile::{median, quantile};
use crate::timed::ProbeError;
use nandscope_measure::target::Target;
use nandscope_units::Nanos;

/// Boundaries that must be seen again if few or many were seen. Up to `ALL` writes of a boundary must all be slow.
const AGAIN: [u64; 2] = [2, 8];
const ALL: usize = 4;
/// Jumps before the boundaries are tested again: number of AUs, and divisor of an AU that is added. Far away, a slightly wrong
/// distance is off by a whole write.
pub(super) const JUMPS: [(u64, u64); 2] = [(0, 2), (64, 4)];

/// Whether the same addresses are slow after the writes began elsewhere in an AU. Effects that depend on the amount written, such
/// as a full log or deferred merges, then occur at other addresses.
pub(super) fn again<T: Target>(
    probing: &mut Probing<'_, T>,
    begin: &mut u64,
    found: &Opened,
    length: u64,
    end: Nanos,
) -> Result<bool, ProbeError> {
    let count = AGAIN[usize::from(found.seen > FEW)];
    // A partial page may take a whole page, which fills an AU early; with another length it fills elsewhere.
    let length = other_length(found, length);
    for jump in JUMPS {
        if after_jump(probing, begin, found, (length, count), jump, (end, end))? != Some(true) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether `count` boundaries are seen where they are expected after a jump of whole AUs and a part of one; `None` if the time
/// for the first half of an AU, or for all, runs out.
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
        few if few == AGAIN[0] && length >= LONG => same_by_far(&written, found),
        _ => same(&written, found),
    };
    let whole = (written.times.len() as u64 + 1) * length > most;
    Ok((seen || whole).then_some(seen))
}

/// A longer write whose length divides the AU, or half of a write that a host may split.
fn other_length(found: &Opened, length: u64) -> u64 {
    if found.page.is_some() {
        return length;
    }
    let parts = found.unit / length.max(1);
    let longer = (2..=parts / APART).find(|times| parts.is_multiple_of(*times));
    match longer.map(|times| times * length) {
        Some(longer) if longer <= LONG => longer,
        _ if 2 * length > LONG && length.is_multiple_of(1024) => length / 2,
        _ => length,
    }
}

/// Divisor of the total time: limit for confirming a large AU.
const LARGE_TIME: u64 = 5;

/// Whether the boundaries of a large AU are slow again: two in a row if there is time and budget for these writes, single ones
/// otherwise. `shown` are the writes that showed the AU.
pub(super) fn again_large<T: Target>(
    probing: &mut Probing<'_, T>,
    begin: &mut u64,
    found: &Opened,
    shown: &Written,
) -> Result<bool, ProbeError> {
    let length = shown.length;
    // A large AU has a time limit of its own.
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

/// If the first half of an AU after a jump takes this many times as long as a whole AU, the card copies the AU for every few
/// writes that begin within it; a jump may close two AUs.
const COPIES: f64 = 3.5;

/// Whether the same addresses are slow after jumps if long writes begin elsewhere in an AU; on a card that copies the AU for
/// them, if they begin one write before a boundary. An effect of the number of writes then occurs at other addresses.
pub(super) fn again_long<T: Target>(
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

/// Whether `count` boundaries in a row are slow if the writes begin one write before a boundary, some AUs further up.
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
    // Skips the rest of the current AU.
    let next = *begin + found.unit / 2;
    let boundary = next.saturating_sub(found.from).next_multiple_of(found.unit) + found.from;
    let boundary = boundary + units * found.unit;
    *begin += ((boundary - *begin) / length).saturating_sub(1) * length;
    let written = write(probing, begin, (length, most), end, |_| false)?;
    Ok(same_by_far(&written, found))
}

/// Whether writes at the AU boundaries are slower than all others.
fn same(written: &Written, found: &Opened) -> bool {
    split(written, found, 0).is_some_and(|(time, others)| stands_out(time, &others))
}

/// Like `same`, for few writes per place: among many places one is the slowest by chance, but not by more than the second slowest
/// exceeds the median. A far smaller effect than before is something else.
fn same_by_far(written: &Written, found: &Opened) -> bool {
    // With a write buffer, the next write may be the one that waits for the erased block.
    split(written, found, 1).is_some_and(|(time, others)| {
        let most = others.iter().copied().fold(0.0, f64::max);
        let middle = median(&others);
        let as_much = time - middle > found.extra_s / 4.0;
        stands_out(time, &others) && time - most > most - middle && as_much
    })
}

/// The time of the slowest place with a boundary, and the times of all other places except `beside` on either side of it, s; of
/// each place a low quantile.
fn split(written: &Written, found: &Opened, beside: u64) -> Option<(f64, Vec<f64>)> {
    let times = written.times.get(JUMP..)?;
    let length = written.length;
    let start = written.begin + JUMP as u64 * length;
    let expected = |bin: u64| {
        // Whether the possible range of a boundary overlaps the write at this place.
        let last = (bin + 1) * length - 1;
        (last + found.unit - found.from) % found.unit < length + found.within.saturating_sub(1)
    };
    let (mut highest, mut others) = (0.0_f64, Vec::new());
    let bins = bins(times, |i| (start + i as u64 * length) % found.unit / length);
    for (bin, times) in bins.iter().filter(|b| b.1.len() >= AGAIN[0] as usize) {
        let time = quick(times);
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

/// The lower quartile of the times of a place, s; of up to [`ALL`], the shortest.
pub(super) fn quick(times: &[f64]) -> f64 {
    let share = if times.len() <= ALL { 0.0 } else { 0.25 };
    quantile(times, share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::writes::PIECE;

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
        // Begins one write before a boundary; another place may be slow as well.
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
        // A far smaller effect than before is not confirmed.
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
        // 640 KiB: five writes of 128 KiB are too few, ten of 64 KiB fit.
        assert_eq!(other_length(&found(640 << 10, None), 32 << 10), 64 << 10);
        assert_eq!(other_length(&found(1376 << 10, None), 32 << 10), 32 << 10);
        // A host may split longer writes.
        assert_eq!(other_length(&found(14 << 20, None), 512 << 10), 256 << 10);
        // The length stays if pages were distinguished from AUs.
        assert_eq!(
            other_length(&found(4 << 20, Some(64 << 10)), 32 << 10),
            32 << 10
        );
    }
}
