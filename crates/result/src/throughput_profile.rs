//! How a long write went: fast at first, slow for good, and how much was written before the
//! change. It reads one series of a step; it does not know why a device slows down.

use crate::{Operation, Series, StepResult, series};

/// A step shorter than this says nothing of what lasts, seconds.
const SHORTEST_S: f64 = 20.0;
/// Fewer samples than this are no course.
const FEWEST: usize = 20;
/// Samples that are averaged: enough to pass over a single odd one, few enough to see a cache
/// that lasts only some samples.
const WINDOW: usize = 3;
/// Below this share of the speed at the start the device has slowed down.
const SLOWED: f64 = 0.6;

/// The course of a write without pause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThroughputProfile {
    /// Fastest mean over a short window near the start, MB/s.
    pub burst_mb_s: f64,
    /// Mean over the last quarter of the time, MB/s.
    pub sustained_mb_s: f64,
    /// Bytes written before the speed fell below six tenths of the burst, 10^9 bytes; `None`
    /// where it never did for good.
    pub fast_gb: Option<f64>,
    /// The same in seconds from the start of the series.
    pub fast_s: Option<f64>,
    /// All that was written, 10^9 bytes.
    pub written_gb: f64,
}

impl ThroughputProfile {
    /// True where the end is markedly slower than the start.
    pub fn slows(&self) -> bool {
        self.fast_gb.is_some() && self.sustained_mb_s < SLOWED * self.burst_mb_s
    }
}

/// The course of the writes of a step, where it has a series of them that is long enough.
pub fn of_step(step: &StepResult) -> Option<ThroughputProfile> {
    of_series(write_series(step)?)
}

/// The series of the speed of writing, MB/s.
pub fn write_series(step: &StepResult) -> Option<&Series> {
    let name = series::of(&Operation::Write, series::BANDWIDTH);
    step.find_series(&name).filter(|s| s.unit == "MB/s")
}

/// The same from the series itself.
pub fn of_series(series: &Series) -> Option<ThroughputProfile> {
    let samples = weighted(series);
    let total_s: f64 = samples.iter().map(|s| s.1).sum();
    if samples.len() < FEWEST || total_s < SHORTEST_S {
        return None;
    }
    let means: Vec<f64> = samples
        .windows(WINDOW)
        .map(|w| w.iter().map(|s| s.0).sum::<f64>() / WINDOW as f64)
        .collect();
    let early = (means.len() / 10).max(1);
    let burst = means[..early].iter().copied().fold(0.0, f64::max);
    let written = |part: &[(f64, f64)]| part.iter().map(|(v, dt)| v * dt).sum::<f64>() / 1e3;
    let knee = knee(&means, burst);
    let time = |part: &[(f64, f64)]| part.iter().map(|(_, dt)| dt).sum::<f64>();
    Some(ThroughputProfile {
        burst_mb_s: burst,
        sustained_mb_s: last_quarter(&samples, total_s),
        fast_gb: knee.map(|i| written(&samples[..i])),
        fast_s: knee.map(|i| time(&samples[..i])),
        written_gb: written(&samples),
    })
}

/// Values with the length of their intervals in seconds.
pub fn weighted(series: &Series) -> Vec<(f64, f64)> {
    let mut before: Option<f64> = None;
    let mut out = Vec::new();
    for (&t, &v) in series.t_s.iter().zip(&series.v) {
        let usual = if series.interval_s > 0.0 {
            Some(series.interval_s)
        } else {
            None
        };
        let dt = usual.or(before.map(|b| t - b)).unwrap_or(0.0);
        if v.is_finite() && dt.is_finite() && dt >= 0.0 {
            out.push((v, dt));
        }
        before = Some(t);
    }
    out
}

fn last_quarter(samples: &[(f64, f64)], total_s: f64) -> f64 {
    let mut left = total_s / 4.0;
    let (mut sum, mut time) = (0.0, 0.0);
    for &(v, dt) in samples.iter().rev() {
        if left <= 0.0 {
            break;
        }
        sum += v * dt;
        time += dt;
        left -= dt;
    }
    if time > 0.0 { sum / time } else { 0.0 }
}

/// How many samples the fast part at the start holds: it ends with the last fast window before
/// which at least three in four were fast, so that neither a short stall within it nor a short
/// recovery long after it moves its end. `None` where nothing of weight follows.
fn knee(means: &[f64], burst: f64) -> Option<usize> {
    let mut fast = 0;
    let mut last = None;
    for (i, mean) in means.iter().enumerate() {
        if *mean >= SLOWED * burst {
            fast += 1;
            if fast * 4 >= (i + 1) * 3 {
                last = Some(i);
            }
        }
    }
    let end = last? + WINDOW.div_ceil(2);
    (means.len().saturating_sub(end) * 10 > means.len()).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(v: Vec<f64>) -> Series {
        Series {
            name: "write bandwidth".into(),
            unit: "MB/s".into(),
            interval_s: 1.0,
            t_s: (1..=v.len()).map(|i| i as f64).collect(),
            v,
        }
    }

    #[test]
    fn finds_burst_knee_and_what_lasts() {
        let mut v = vec![375.0; 15];
        v.extend(vec![75.0; 100]);
        v.extend(vec![30.0; 200]);
        let course = of_series(&series(v)).unwrap();
        assert!((course.burst_mb_s - 375.0).abs() < 1e-9);
        assert!((course.sustained_mb_s - 30.0).abs() < 1e-9);
        assert!((course.fast_gb.unwrap() - 5.625).abs() < 0.5, "{course:?}");
        assert!((course.written_gb - (5.625 + 7.5 + 6.0)).abs() < 1e-9);
        assert!(course.slows());
    }

    #[test]
    fn a_stall_within_the_fast_part_and_a_late_recovery_do_not_move_its_end() {
        let mut v = vec![375.0; 100];
        v[20] = 1.0;
        v[21] = 1.0;
        v.extend(vec![75.0; 400]);
        v.extend(vec![375.0; 10]);
        v.extend(vec![75.0; 100]);
        let course = of_series(&series(v)).unwrap();
        assert!((course.fast_gb.unwrap() - 36.75).abs() < 0.5, "{course:?}");
    }

    #[test]
    fn a_cache_of_five_samples_is_seen() {
        let mut v = vec![375.0; 5];
        v.extend(vec![75.0; 1995]);
        let course = of_series(&series(v)).unwrap();
        assert!((course.burst_mb_s - 375.0).abs() < 1e-9);
        assert!((course.fast_gb.unwrap() - 1.875).abs() < 0.08, "{course:?}");
    }

    #[test]
    fn a_steady_device_has_no_knee() {
        let v = (0..100).map(|i| 60.0 + f64::from(i % 3)).collect();
        let course = of_series(&series(v)).unwrap();
        assert_eq!(course.fast_gb, None);
        assert!(!course.slows());
    }

    #[test]
    fn a_dip_that_recovers_is_no_knee() {
        let v = (0..200)
            .map(|i| if (50..60).contains(&i) { 5.0 } else { 60.0 })
            .collect();
        assert_eq!(of_series(&series(v)).unwrap().fast_gb, None);
    }

    #[test]
    fn too_short_says_nothing() {
        assert_eq!(of_series(&series(vec![100.0; 10])), None);
        assert_eq!(of_series(&series(vec![f64::NAN; 100])), None);
    }
}
