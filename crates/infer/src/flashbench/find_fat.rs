//! `flashbench --find-fat`: writes the first allocation units one after the other, each as a whole, in pieces of every length
//! from the AU size down. Rates of the FAT area differ if the card treats it specially.

use super::boundary::CLEAR;
use super::open_au::{Care, OpenAu, Order};
use crate::quantile::median;
use crate::timed::{Probe, ProbeError};
use nandscope_measure::target::Target;
use nandscope_units::{Bytes, Nanos};

/// Rates in bytes per second: `rates[length][unit]`, lengths as in [`OpenAu::lengths`].
///
/// # Errors
/// `ProbeError::Failed` if the units do not fit the device or a write fails; `ProbeError::Stopped` if it was
/// interrupted.
pub fn find_fat<T: Target>(
    probe: &mut Probe<'_, T>,
    unit: u64,
    lengths: &[u64],
    units: u32,
    order: Order,
    seed: u64,
) -> Result<Vec<Vec<f64>>, ProbeError> {
    if probe.capacity().0 < u64::from(units) * unit {
        return Err(ProbeError::Failed(format!(
            "AUs of {}: {units} do not fit {}",
            Bytes(unit),
            probe.capacity()
        )));
    }
    let mut rates = Vec::with_capacity(lengths.len());
    for (i, length) in lengths.iter().enumerate() {
        let places = order.places(u32::try_from(unit / length).unwrap_or(u32::MAX), seed);
        let mut row = Vec::with_capacity(units as usize);
        for number in 0..u64::from(units) {
            probe.progress((i as f64 + number as f64 / f64::from(units)) / lengths.len() as f64);
            let mut spent = Nanos::ZERO;
            for place in &places {
                let offset = number * unit + u64::from(*place) * length;
                spent += probe.write(Bytes(offset), Bytes(*length))?;
            }
            let bytes = places.len() as f64 * *length as f64;
            row.push(bytes / spent.as_secs_f64().max(1e-9));
        }
        rates.push(row);
    }
    Ok(rates)
}

/// Rate of a unit compared with the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Treatment {
    /// Number of the AU, from 0.
    pub unit: u32,
    /// Rate of the AU divided by the median rate of all AUs: the median over all lengths.
    pub ratio: f64,
}

/// AUs that are faster or slower than the median AU by [`CLEAR`] or more. The ratio is the median over the lengths, so that a
/// stall during one length has no effect. `None` if there are fewer than four AUs.
pub fn treatments(rates: &[Vec<f64>]) -> Option<Vec<Treatment>> {
    let units = rates.iter().map(Vec::len).min().filter(|n| *n >= 4)?;
    let treated = (0..units).filter_map(|unit| {
        let ratios = rates.iter().map(|row| row[unit] / median(row).max(1e-9));
        let ratio = median(&ratios.collect::<Vec<_>>());
        (ratio >= CLEAR || ratio <= 1.0 / CLEAR).then_some(Treatment {
            unit: unit as u32,
            ratio,
        })
    });
    Some(treated.collect())
}

/// AUs that are faster in both passes or slower in both, with the ratio closer to 1.
pub fn confirmed(
    first: Option<Vec<Treatment>>,
    second: Option<Vec<Treatment>>,
) -> Option<Vec<Treatment>> {
    let (first, second) = (first?, second?);
    let both = first.into_iter().filter_map(|a| {
        let b = second.iter().find(|b| b.unit == a.unit)?;
        let agree = (a.ratio > 1.0) == (b.ratio > 1.0);
        let weaker = if (a.ratio > 1.0) == (a.ratio < b.ratio) {
            a
        } else {
            *b
        };
        agree.then_some(weaker)
    });
    Some(both.collect())
}

/// Lengths of the pieces from the AU size down to `least`, bytes.
pub fn lengths(unit: u64, least: u64) -> Vec<u64> {
    let plan = OpenAu {
        unit,
        order: Order::Linear,
        seed: 0,
        budget: None,
        care: Care::default(),
    };
    plan.lengths(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_passes_must_agree() {
        let treated = |unit, ratio| Treatment { unit, ratio };
        let first = vec![treated(0, 0.2), treated(1, 3.0), treated(4, 0.5)];
        let second = vec![treated(0, 0.4), treated(1, 2.0), treated(4, 2.0)];
        assert_eq!(
            confirmed(Some(first.clone()), Some(second)),
            Some(vec![treated(0, 0.4), treated(1, 2.0)])
        );
        assert_eq!(confirmed(Some(first), None), None);
    }

    #[test]
    fn a_treated_unit_is_found_and_a_stalled_one_is_not() {
        let mut rates = vec![vec![3.6, 3.7, 7.1, 7.0, 7.2, 7.1, 7.0, 7.1]; 5];
        // A stall during one length.
        rates[2][5] = 0.4;
        let found = treatments(&rates).unwrap();
        let units: Vec<u32> = found.iter().map(|t| t.unit).collect();
        assert_eq!(units, [0, 1]);
        assert!((found[0].ratio - 0.51).abs() < 0.01);
        assert_eq!(treatments(&vec![vec![5.0; 8]; 3]), Some(vec![]));
        assert_eq!(treatments(&vec![vec![5.0; 3]; 3]), None);
        assert_eq!(treatments(&[]), None);
    }
}
