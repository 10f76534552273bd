//! Whether slow writes are boundaries of units, or where the beat of writes and pages falls: writes and pages of different
//! lengths agree at common multiples of both, and such a place may be slow, or hide a boundary. Writes that are three times as
//! long meet pages of three times a power of two elsewhere, and units at the same places.

use super::found::Opened;
use super::written::{JUMP, Written, write};
use crate::probe::Probing;
use crate::probe::slow_writes::{APART, stands_out};
use crate::quantile::{median, quantile};
use crate::timed::ProbeError;
use nandscope_measure::target::Target;
use nandscope_units::Nanos;
use std::collections::BTreeMap;

/// How many times longer the writes are.
const TIMES: u64 = 3;
/// Boundaries that are looked at, and the fewest that say something.
const BOUNDARIES: (u64, usize) = (8, 3);
/// Up to this number of boundaries all of them must be slow; of more, three in four.
const ALL: usize = 4;
/// What opens a unit costs this share of what it did before at least.
const AS_MUCH: f64 = 0.25;
/// Writes in which a boundary shows: one that may lie across it, its own, and one that waits for it in a buffer.
const WIDTH: usize = 3;

/// Whether the same places are slow, and no others, in writes that are three times as long. A unit of few such writes says
/// nothing, and passes.
pub(super) fn with_thrice<T: Target>(
    probing: &mut Probing<'_, T>,
    begin: &mut u64,
    found: &Opened,
    length: u64,
    end: Nanos,
) -> Result<bool, ProbeError> {
    let length = TIMES * length;
    if found.unit < APART * length {
        return Ok(true);
    }
    let most = found.unit * (BOUNDARIES.0 + 1);
    let written = write(probing, begin, (length, most), end, |_| false)?;
    Ok(same_places(&written, found))
}

/// Whether the writes at the boundaries stand out of those at any other distance from them.
fn same_places(written: &Written, found: &Opened) -> bool {
    let (boundaries, others) = at(written, found, 0);
    let time = quick(&boundaries);
    boundaries.len() >= BOUNDARIES.1
        && others.len() > 1
        && stands_out(time, &others)
        && time - median(&others) >= AS_MUCH * found.extra_s
}

/// Whether places in the middle between two boundaries stand out as well, if by less: then every second boundary was seen, or
/// something else that depends on how much was written.
pub(super) fn every_second(written: &Written, found: &Opened) -> bool {
    let (middles, others) = at(written, found, found.unit / 2);
    middles.len() >= BOUNDARIES.1 && others.len() > 1 && stands_out(quick(&middles), &others)
}

/// The slowest of the writes about each place that lies `shift` after a boundary, and the quick times of all rows of writes that
/// hold neither such a place nor a boundary.
fn at(written: &Written, found: &Opened, shift: u64) -> (Vec<f64>, Vec<f64>) {
    let length = written.length;
    // Distance of the begin of a write from the last place of those that lie so much after a boundary.
    let offset = |i: usize, shift: u64| {
        let at = written.begin + i as u64 * length;
        (at % found.unit + 2 * found.unit - found.from - shift) % found.unit
    };
    let near = |i: usize, shift: u64| {
        let first = offset(i, shift);
        first + WIDTH as u64 * length > found.unit || first < found.within + length
    };
    let mut places = Vec::new();
    let mut others: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for (i, row) in written.times.windows(WIDTH).enumerate().skip(JUMP) {
        let slowest = row.iter().copied().fold(0.0, f64::max);
        let first = offset(i, shift);
        match () {
            // The first of them ends at the place or behind it, so that all of the range in which it may lie is in the row.
            () if first + length >= found.unit => places.push(slowest),
            () if near(i, shift) || near(i, 0) => {}
            () => others.entry(first / length).or_default().push(slowest),
        }
    }
    let others = others.values().filter(|t| t.len() + 1 >= BOUNDARIES.1);
    (places, others.map(|times| quick(times)).collect())
}

/// The quick quarter of some times; of few, the quickest.
fn quick(times: &[f64]) -> f64 {
    let share = if times.len() <= ALL { 0.0 } else { 0.25 };
    quantile(times, share)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: u64 = 96 << 10;

    fn found(unit: u64) -> Opened {
        Opened {
            unit,
            from: 0,
            within: 32 << 10,
            seen: 24,
            extra_s: 0.003,
            page: None,
        }
    }

    fn written(unit: u64, time: impl Fn(usize) -> f64) -> Written {
        let count = (9 * unit / LENGTH) as usize;
        Written {
            begin: 512 << 20,
            length: LENGTH,
            times: (0..count).map(time).collect(),
        }
    }

    #[test]
    fn a_unit_shows_with_writes_that_do_not_fill_it() {
        // 42 and two thirds of the writes.
        let unit = 4 << 20;
        let opens = |i: usize| {
            let (at, end) = (i as u64 * LENGTH, (i as u64 + 1) * LENGTH);
            at / unit != end / unit || at % unit == 0
        };
        let all = written(unit, |i| if opens(i) { 0.020 } else { 0.012 });
        assert!(same_places(&all, &found(unit)));
        // The unit is six times as large: five of six boundaries are none.
        let few = written(unit, |i| {
            if opens(i) && i % 256 < 40 {
                0.020
            } else {
                0.012
            }
        });
        assert!(!same_places(&few, &found(unit)));
    }

    #[test]
    fn a_beat_of_writes_and_pages_is_no_unit() {
        // Every second write completes a page more: so does one at each boundary of what seemed to be a unit.
        let unit = 32 * LENGTH;
        let beat = written(unit, |i| if i % 2 == 0 { 0.015 } else { 0.012 });
        assert!(!same_places(&beat, &found(unit)));
        let flat = written(unit, |_| 0.012);
        assert!(!same_places(&flat, &found(unit)));
    }

    #[test]
    fn a_smaller_delay_in_the_middle_shows_that_every_second_boundary_was_seen() {
        let unit = 32 * LENGTH;
        let of = |middle: f64| {
            written(unit, |i| match i % 32 {
                0 => 0.080,
                16 => middle,
                _ => 0.012,
            })
        };
        let begin = of(0.015).begin % unit;
        let found = Opened {
            from: begin,
            ..found(unit)
        };
        assert!(every_second(&of(0.015), &found));
        assert!(!every_second(&of(0.012), &found));
        assert!(same_places(&of(0.012), &found));
    }
}
