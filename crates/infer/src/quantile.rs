//! Order statistics of a few values.

pub use nandscope_units::median;

/// The `share` quantile (0 to 1) of the values, by nearest rank; 0 if there are no values.
pub(crate) fn quantile(values: &[f64], share: f64) -> f64 {
    let mut values = values.to_vec();
    let at = (share * (values.len().saturating_sub(1)) as f64).round() as usize;
    if at >= values.len() {
        return 0.0;
    }
    *values.select_nth_unstable_by(at, f64::total_cmp).1
}

/// Mean of the values within `off` of `middle`; `middle` if there is no such value.
pub(crate) fn mean_near(values: &[f64], middle: f64, off: f64) -> f64 {
    let near = values.iter().filter(|v| (*v - middle).abs() <= off);
    let (sum, count) = near.fold((0.0, 0.0), |(sum, count), v| (sum + v, count + 1.0));
    if count > 0.0 { sum / count } else { middle }
}
