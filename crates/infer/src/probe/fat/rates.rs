//! Finds first AUs that are written at another rate than the others, even after many other AUs were written.

use super::{Unit, in_order_from};
use crate::flashbench::{median, shuffled};
use crate::probe::Probing;
use crate::timed::{Probe, ProbeError};
use nandscope_measure::target::Target;
use nandscope_units::{Bytes, Nanos};

/// Passes over the AUs: as a rule; at least, if the budget does not allow more; and at most, if an AU may differ.
pub(super) const PASSES: (u64, u64, u64) = (3, 1, 5);
/// An AU differs if its rate deviates by this many times the scatter of all rates, and by `FACTOR`.
const SCATTER: f64 = 6.0;
pub(in crate::probe) const FACTOR: f64 = 1.15;
/// Least share of the rows in which a doubtful AU differs: a stall affects one row only.
const SOME: f64 = 0.5;
/// Least share of the rows in which a doubtful AU differs by `SLIGHT`.
const ALMOST_ALL: f64 = 0.8;
const SLIGHT: f64 = 1.03;
/// Number of AUs written before each measurement of one, so that the shared log no longer holds its data.
const OTHERS: u32 = 33;

/// Time for a number of passes if one AU takes `one`: every pass writes one AU more.
pub(super) fn needed(passes: u64, units: u32, one: Nanos) -> Nanos {
    let all = one.0.saturating_mul(passes * u64::from(units + 1));
    Nanos(all.saturating_add(all / 8))
}

/// Rates of the first AUs, `rates[pass][unit]`, bytes per second, in up to `most` passes as the time allows, and more if an AU is
/// doubtful. One pass is enough to show equal rates, which do not occur by chance. Every pass has a different order and starts
/// with an AU that does not count, so that deferred work delays none of the others.
pub(super) fn rates<T: Target>(
    probing: &mut Probing<'_, T>,
    unit: Unit,
    (units, most): (u32, u64),
    one: Nanos,
) -> Result<Vec<Vec<f64>>, ProbeError> {
    let mut passes: Vec<Vec<f64>> = Vec::new();
    if needed(PASSES.1, units, one) > probing.time_left() {
        return Ok(passes);
    }
    let seed = probing.options.seed;
    let bytes = u64::from(units + 1) * unit.size;
    for pass in 0..PASSES.2 {
        let fits = needed(1, units, one) <= probing.time_left() && bytes <= probing.writes_left();
        let doubtful = pass < most || !compare(&passes, 1.0).doubtful.is_empty();
        if pass >= PASSES.1 && !(fits && doubtful) {
            break;
        }
        let mut row = vec![0.0; units as usize];
        let order = shuffled(units, seed ^ 0xfa7 ^ pass);
        for number in std::iter::once(units).chain(order) {
            let spent = probing.timed(|p| whole(p, u64::from(number) * unit.size, unit))?;
            if let Some(rate) = row.get_mut(number as usize) {
                *rate = unit.size as f64 / spent.as_secs_f64().max(1e-9);
            }
        }
        passes.push(row);
    }
    Ok(passes)
}

/// Writes an AU in pieces.
pub(super) fn whole<T: Target>(
    probe: &mut Probe<'_, T>,
    begin: u64,
    unit: Unit,
) -> Result<Nanos, ProbeError> {
    let piece = unit.piece.clamp(512, unit.size);
    let mut spent = Nanos::ZERO;
    for at in (begin..begin + unit.size).step_by(piece as usize) {
        spent += probe.write(Bytes(at), Bytes(piece.min(begin + unit.size - at)))?;
    }
    Ok(spent)
}

/// Comparison of the rates of the first units.
pub(in crate::probe) struct Compared {
    /// AUs that differ in enough passes in one direction, with the median ratio of their rates.
    pub(in crate::probe) different: Vec<(usize, f64)>,
    /// AUs that differ in some passes, but too few to be sure.
    pub(in crate::probe) doubtful: Vec<usize>,
    /// Smallest factor by which an AU would have been seen to differ.
    pub(in crate::probe) resolution: f64,
}

/// Compares AUs by rows of rates, `rates[row][unit]`. An AU differs in a row if it deviates by far more than the scatter of the
/// row, which is that of the middle half of the AUs. It is treated specially if it differs in a share of `enough` of the rows,
/// and is doubtful if it differs in half of them, or slightly in almost all.
pub(in crate::probe) fn compare(rates: &[Vec<f64>], enough: f64) -> Compared {
    let units = rates.iter().map(Vec::len).min().unwrap_or(0);
    let rows: Vec<(f64, f64)> = rates
        .iter()
        .map(|row| {
            let middle = median(row).max(1e-9);
            let off: Vec<f64> = row.iter().map(|r| (r - middle).abs()).collect();
            // For normal noise, this equals the standard deviation; equal times are only equal within the step of the clock.
            (middle, (1.48 * median(&off)).max(0.005 * middle))
        })
        .collect();
    let (mut different, mut doubtful) = (Vec::new(), Vec::new());
    for unit in 0..units {
        let ratios = rates.iter().zip(&rows).map(|(p, r)| p[unit] / r.0);
        let ratios: Vec<f64> = ratios.collect();
        // Share of the rows in which the AU differs in one direction, by more than the scatter and by a factor.
        let share = |factor: f64| {
            let bar = |r: &(f64, f64)| (SCATTER * r.1 / r.0).max(factor - 1.0);
            let pairs = || ratios.iter().zip(&rows);
            let above = pairs().filter(|(q, r)| *q - 1.0 > bar(r)).count();
            let below = pairs().filter(|(q, r)| 1.0 / *q - 1.0 > bar(r)).count();
            above.max(below) as f64 / ratios.len().max(1) as f64
        };
        if share(FACTOR) >= enough {
            different.push((unit, median(&ratios)));
        } else if share(FACTOR) >= SOME || share(SLIGHT) >= ALMOST_ALL {
            doubtful.push(unit);
        }
    }
    // One of three or more rows may scatter more than the others.
    let mut scatter: Vec<f64> = rows.iter().map(|r| SCATTER * r.1 / r.0).collect();
    scatter.sort_unstable_by(f64::total_cmp);
    if scatter.len() >= 3 {
        scatter.pop();
    }
    Compared {
        different,
        doubtful,
        resolution: 1.0 + scatter.last().copied().unwrap_or(0.0),
    }
}

/// Whether the AU that differs most still differs after many other AUs were written: data in a shared log makes writes
/// slower until it is merged, pass after pass. `false` if the budget is not enough.
pub(super) fn lasting<T: Target>(
    probing: &mut Probing<'_, T>,
    unit: Unit,
    units: u32,
    compared: &Compared,
) -> Result<bool, ProbeError> {
    let apart = |ratio: f64| ratio.max(1.0 / ratio.max(1e-9));
    let most = compared.different.iter().copied();
    let Some((suspect, ratio)) = most.max_by(|a, b| apart(a.1).total_cmp(&apart(b.1))) else {
        return Ok(true);
    };
    let special = |n: &u32| compared.different.iter().any(|d| d.0 == *n as usize);
    let Some(control) = (0..units).find(|n| !special(n)) else {
        return Ok(false);
    };
    let plan = in_order_from(super::FIRST + 4, unit.size, probing.options.seed);
    let others = plan.fitting(probing.target.whole(), OTHERS);
    let mut longest = Nanos::ZERO;
    for turn in 0..PASSES.0 {
        if longest > probing.time_left() {
            return Ok(false);
        }
        let began = probing.target.now();
        for number in 0..others {
            let at = plan.place(u64::from(number)) + turn * unit.size;
            if at + unit.piece <= probing.target.whole().0 {
                probing.timed(|p| p.write(Bytes(at), Bytes(unit.piece)))?;
            }
        }
        let mut order = [u64::from(control), suspect as u64];
        if turn % 2 == 1 {
            order.reverse();
        }
        let mut took = [0.0; 2];
        for number in order {
            let spent = probing.timed(|p| whole(p, number * unit.size, unit))?;
            took[usize::from(number == suspect as u64)] = spent.as_secs_f64();
        }
        // Rate of the suspect divided by that of the control.
        let here = took[0] / took[1].max(1e-9);
        let same_side = (here > 1.0) == (ratio > 1.0);
        if !same_side || apart(here) < FACTOR {
            return Ok(false);
        }
        longest = longest.max(probing.target.now().saturating_sub(began));
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_that_differ_each_time_are_told_from_scatter() {
        let row = |of: &dyn Fn(usize) -> f64| (0..16).map(of).collect::<Vec<f64>>();
        let quick = |u: usize| 10.0 + (u % 3) as f64 * 0.05;
        let special = row(&|u| if u == 5 { 13.0 } else { quick(u) });
        let found = compare(&[special.clone(), special.clone(), special.clone()], 1.0);
        assert_eq!(found.different.len(), 1);
        assert_eq!(found.different[0].0, 5);
        assert!(found.resolution < FACTOR, "{}", found.resolution);
        // Slow in one pass only: a stall.
        let plain = row(&quick);
        let found = compare(&[special, plain.clone(), plain], 1.0);
        assert!(found.different.is_empty());
        assert!(found.doubtful.is_empty());
        // Wide scatter hides the difference, and gives no "no".
        let wild = row(&|u| 5.0 + u as f64);
        let found = compare(&[wild.clone(), wild.clone(), wild], 1.0);
        assert!(found.resolution > FACTOR);
        assert!(compare(&[], 1.0).different.is_empty());
    }
}
