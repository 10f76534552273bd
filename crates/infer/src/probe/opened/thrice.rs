//! Distinguishes AU boundaries from beats of writes and pages. Where the end of a write and that of a page coincide, at common
//! multiples of both lengths, a write may take longer or shorter than others. Writes three times as long coincide with pages of
//! three times a power of two elsewhere, but AU boundaries stay where they are.

use super::elsewhere::quick;
use super::found::Opened;
use super::written::{JUMP, Written, write};
use crate::probe::Probing;
use crate::probe::slow_writes::{APART, stands_out};
use crate::quantile::{median, quantile};
use crate::timed::ProbeError;
use nandscope_measure::target::Target;
use nandscope_units::Nanos;
use std::collections::BTreeMap;

/// Factor by which the writes are longer.
const TIMES: u64 = 3;
/// Number of boundaries measured, and the least number that decides.
const BOUNDARIES: (u64, usize) = (8, 3);
/// Least extra time of a boundary, as a share of its extra time in shorter writes.
const AS_MUCH: f64 = 0.25;
/// Spread of the middle half of other places, as a share of the extra time of a boundary, beyond which nothing shows.
const BLIND: f64 = 0.3;
/// Number of writes in which a boundary shows: one that may lie across it, the first behind it, and one that waits in a buffer.
const WIDTH: usize = 3;

/// Whether the boundaries of the AU found take longer in writes three times as long, too. An AU passes without a test if so few
/// of these writes fit it that all lie near a boundary, and wherever they cannot decide (see [`same_places`]).
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
    Ok(same_places(&written, found).unwrap_or(true))
}

/// Whether the writes at the boundaries take longer than those at other places: by more than these scatter, or by a quarter of
/// the extra time seen before, as fewer of the long writes fit an AU and scatter more. It is enough if most do, and the rest still
/// exceed three quarters of the other places: a write that begins before a boundary may hide most of the time. `None` for fewer
/// boundaries, as on a slow card, without other places, and if the middle half of these spreads too far: longer writes then show
/// nothing.
fn same_places(written: &Written, found: &Opened) -> Option<bool> {
    let (boundaries, others) = at(written, found, 0);
    let spread = || quantile(&others, 0.75) - quantile(&others, 0.25);
    if boundaries.len() < BOUNDARIES.1 || others.len() < 2 || spread() > BLIND * found.extra_s {
        return None;
    }
    let as_much = |time: f64| time - median(&others) >= AS_MUCH * found.extra_s;
    let at = quick(&boundaries);
    let least = boundaries.iter().copied().fold(f64::INFINITY, f64::min);
    let most_do = as_much(median(&boundaries)) && least > quantile(&others, 0.75);
    Some(as_much(at) || stands_out(at, &others) || most_do)
}

/// Whether writes in the middle between two boundaries exceed the scatter as well: only every second boundary was seen, or
/// something that depends on the amount written.
pub(super) fn every_second(written: &Written, found: &Opened) -> bool {
    let (middles, others) = at(written, found, found.unit / 2);
    middles.len() >= BOUNDARIES.1 && others.len() > 1 && stands_out(quick(&middles), &others)
}

/// For each place `shift` bytes after a boundary, the longest time of the [`WIDTH`] writes around it; and the quick times of
/// other places, s. Writes that may contain a boundary or such a place are left out of the latter.
fn at(written: &Written, found: &Opened, shift: u64) -> (Vec<f64>, Vec<f64>) {
    let length = written.length;
    // Distance from the last place `shift` after a boundary to the start of a write.
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
            // The first write ends at the place or behind it: the whole range in which the boundary may lie is in these writes.
            () if first + length >= found.unit => places.push(slowest),
            () if near(i, shift) || near(i, 0) => {}
            () => others.entry(first / length).or_default().push(slowest),
        }
    }
    let others = others.values().filter(|t| t.len() + 1 >= BOUNDARIES.1);
    (places, others.map(|times| quick(times)).collect())
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
    fn an_au_shows_in_writes_that_do_not_divide_it() {
        // 42 and two thirds of the writes.
        let unit = 4 << 20;
        let opens = |i: usize| {
            let (at, end) = (i as u64 * LENGTH, (i as u64 + 1) * LENGTH);
            at / unit != end / unit || at % unit == 0
        };
        let all = written(unit, |i| if opens(i) { 0.020 } else { 0.012 });
        assert_eq!(same_places(&all, &found(unit)), Some(true));
        // Of an AU of six times the size, only every sixth supposed boundary is slow.
        let few = written(unit, |i| {
            if opens(i) && i % 256 < 40 {
                0.020
            } else {
                0.012
            }
        });
        assert_eq!(same_places(&few, &found(unit)), Some(false));
    }

    #[test]
    fn a_beat_of_writes_and_pages_is_no_au() {
        // Every second write completes one page more, at each supposed boundary and elsewhere.
        let unit = 32 * LENGTH;
        let beat = written(unit, |i| if i % 2 == 0 { 0.015 } else { 0.012 });
        assert_eq!(same_places(&beat, &found(unit)), Some(false));
        let flat = written(unit, |_| 0.012);
        assert_eq!(same_places(&flat, &found(unit)), Some(false));
        // Four writes per AU are all near a boundary.
        assert_eq!(same_places(&flat, &found(4 * LENGTH)), None);
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
        assert_eq!(same_places(&of(0.012), &found), Some(true));
    }
}
