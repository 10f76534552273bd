//! The throughput of a long write: the fast start, the sustained rate, and the amount written before the change.
//! Reads one series of a step, without knowledge of the reasons.

use crate::{DirectionResult, Operation, Series, StepResult, series};

/// Shortest write with a sustained rate, seconds.
pub const SHORTEST_S: f64 = 20.0;
/// Least data of a write with a sustained rate, 10^9 bytes: less may fit into a buffer.
pub const LEAST_GB: f64 = 0.05;
/// Fewest intervals of a profile.
const FEWEST: usize = 10;
/// Share of the time that is called the slowest or the fastest part.
const TENTH: f64 = 0.1;
/// Number of samples that are averaged: enough to pass over a single odd one, few enough to see a cache that lasts only
/// some samples.
const WINDOW: usize = 3;
/// Ratio of the throughput to that at the start, below which the device counts as slowed down.
const SLOWED: f64 = 0.6;

/// The throughput profile of a write without pauses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThroughputProfile {
    /// Fastest mean over a short window near the start, MB/s.
    pub burst_mb_s: f64,
    /// Mean over the last quarter of the time, MB/s.
    pub sustained_mb_s: f64,
    /// Bytes written before the speed fell below six tenths of the burst, 10^9 bytes; `None`
    /// where it never did for good, or by no more than its noise.
    pub fast_gb: Option<f64>,
    /// Time, in seconds from the start of the series, until the speed fell as described at `fast_gb`; `None` as there.
    pub fast_s: Option<f64>,
    /// Amount of data written, 10^9 bytes.
    pub written_gb: f64,
    /// Time that the write took, seconds.
    pub time_s: f64,
    /// Rate in the slowest tenth of the time, MB/s.
    pub slowest_mb_s: f64,
    /// Rate in the fastest tenth of the time, MB/s.
    pub fastest_mb_s: f64,
}

impl ThroughputProfile {
    /// Amount of data written divided by the time, MB/s.
    pub fn mean_mb_s(&self) -> f64 {
        self.written_gb * 1e3 / self.time_s
    }

    /// Rate until the device slowed down for good, MB/s; `None` if it never did.
    pub fn fast_mb_s(&self) -> Option<f64> {
        Some(self.fast_gb? * 1e3 / self.fast_s.filter(|s| *s > 0.0)?)
    }

    /// True where the end is markedly slower than the start.
    pub fn slows(&self) -> bool {
        self.fast_gb.is_some() && self.sustained_mb_s < SLOWED * self.burst_mb_s
    }
}

/// The profile of a step that is one run of sequential writing; `None` for any other step, and for
/// one that is too short.
pub fn of_step(step: &StepResult) -> Option<ThroughputProfile> {
    of_series(sequential_write(step)?, step.start_s)
}

/// The write bandwidth of a step that is one run of sequential writing without pauses. Runs that follow one another
/// in a step, random writes, bursts and limited rates change their speed for reasons of their own.
pub fn sequential_write(step: &StepResult) -> Option<&Series> {
    let [job] = step.jobs.as_slice() else {
        return None;
    };
    let option = |name: &str| job.options.get(name).map(String::as_str);
    let sequential = option("rw").or(option("readwrite")) == Some("write");
    let wrote = |d: &DirectionResult| matches!(d.kind, Operation::Write | Operation::Flush);
    let paced = PACING.iter().any(|name| option(name).is_some());
    let one_run = sequential && !paced && job.idle_s == 0.0 && job.directions.iter().all(wrote);
    write_series(step).filter(|_| one_run)
}

/// Options with which a job paces itself.
const PACING: [&str; 4] = ["rate", "rate_iops", "thinktime", "nandscope_duty_cycle"];

/// Whether the device is known to use no SLC cache in the step: it reports its use, which is zero throughout.
pub fn without_cache(step: &StepResult) -> bool {
    let used = step.find_series(series::SLC_CACHE_USED);
    used.is_some_and(|s| s.v.iter().all(|v| *v == 0.0))
}

/// Least probability with which a sample of the fast part exceeds one of the slow part.
const EXCEEDS: f64 = 0.9;
/// Least distance of the rank sum from that of equal distributions, in standard deviations.
const SIGNIFICANT: f64 = 3.0;

/// Whether one stretch is faster than another by more than the noise of both: a rank-sum test (Mann and Whitney,
/// 1947), with a bound on the effect, since in a long series any difference is significant.
pub fn faster_beyond_noise(fast: &[f64], slow: &[f64]) -> bool {
    let (n, m) = (fast.len() as f64, slow.len() as f64);
    if fast.is_empty() || slow.is_empty() {
        return false;
    }
    let mut sorted: Vec<f64> = slow.to_vec();
    sorted.sort_by(f64::total_cmp);
    let pairs: f64 = fast
        .iter()
        .map(|v| {
            let below = sorted.partition_point(|s| s < v) as f64;
            let up_to = sorted.partition_point(|s| s <= v) as f64;
            (below + up_to) / 2.0
        })
        .sum();
    let variance = n * m * (n + m + 1.0) / 12.0;
    let distance = pairs - n * m / 2.0;
    // The first bound makes the distance positive.
    pairs >= EXCEEDS * n * m && distance * distance >= SIGNIFICANT * SIGNIFICANT * variance
}

/// The series of the write bandwidth of a step, in MB/s.
pub fn write_series(step: &StepResult) -> Option<&Series> {
    let name = series::of(&Operation::Write, series::BANDWIDTH);
    step.find_series(&name).filter(|s| s.unit == "MB/s")
}

/// The profile of a series of write bandwidth in MB/s that begins at `start_s` seconds; `None` if it is too short.
pub fn of_series(series: &Series, start_s: f64) -> Option<ThroughputProfile> {
    let samples = weighted(series, start_s);
    let (written_gb, time_s) = (gb(&samples), seconds(&samples));
    if samples.len() < FEWEST || time_s < SHORTEST_S || written_gb < LEAST_GB {
        return None;
    }
    let means: Vec<f64> = samples
        .windows(WINDOW)
        .map(|w| w.iter().map(|s| s.0).sum::<f64>() / WINDOW as f64)
        .collect();
    let early = (means.len() / 10).max(1);
    let burst = means[..early].iter().copied().fold(0.0, f64::max);
    let values: Vec<f64> = samples.iter().map(|s| s.0).collect();
    let beyond_noise = |i: &usize| faster_beyond_noise(&values[..*i], &values[*i..]);
    let knee = knee(&means, burst).filter(beyond_noise);
    let mut sorted = samples.clone();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let slowest = rate_of_first(sorted.iter(), time_s * TENTH);
    let fastest = rate_of_first(sorted.iter().rev(), time_s * TENTH);
    Some(ThroughputProfile {
        burst_mb_s: burst,
        sustained_mb_s: rate_of_first(samples.iter().rev(), time_s / 4.0),
        fast_gb: knee.map(|i| gb(&samples[..i])),
        fast_s: knee.map(|i| seconds(&samples[..i])),
        written_gb,
        time_s,
        slowest_mb_s: slowest,
        fastest_mb_s: fastest,
    })
}

/// Data of intervals, 10^9 bytes.
fn gb(samples: &[(f64, f64)]) -> f64 {
    samples.iter().map(|(v, dt)| v * dt).sum::<f64>() / 1e3
}

fn seconds(samples: &[(f64, f64)]) -> f64 {
    samples.iter().map(|(_, dt)| dt).sum()
}

/// Longest interval of a regular series, as a multiple of its usual one: a short rest at the end of a run belongs to the
/// interval before it.
const LONGEST: f64 = 1.5;

/// Rates with the length of their intervals in seconds; the series begins at `start_s`. The last interval ends with the
/// run, and may be shorter or longer than the others: only with its true length is the sum of rate times length what was
/// moved.
pub fn weighted(series: &Series, start_s: f64) -> Vec<(f64, f64)> {
    let usual = Some(series.interval_s).filter(|i| *i > 0.0);
    // Of several intervals the first is whole; a single one may be as short as the run.
    let mut before = match (usual, series.t_s.as_slice()) {
        (Some(usual), [first, _, ..]) => first - usual,
        _ => start_s,
    };
    let mut out = Vec::new();
    for (&t, &v) in series.t_s.iter().zip(&series.v) {
        let since = t - before;
        before = t;
        // A gap between two intervals was not measured, so only the usual interval counts.
        let dt = usual.map_or(since, |usual| match since > LONGEST * usual + 1e-9 {
            true => usual,
            false => since,
        });
        if v.is_finite() && dt.is_finite() && dt >= 0.0 {
            out.push((v, dt));
        }
    }
    out
}

/// Rate in the first `time` seconds of intervals, MB/s; the last of them counts in part.
fn rate_of_first<'a>(samples: impl Iterator<Item = &'a (f64, f64)>, time: f64) -> f64 {
    let (mut left, mut sum) = (time, 0.0);
    for &(v, dt) in samples {
        let part = dt.min(left);
        sum += v * part;
        left -= part;
        if left <= 0.0 {
            break;
        }
    }
    if time > left {
        sum / (time - left)
    } else {
        0.0
    }
}

/// Number of samples of the fast part at the start: it ends with the last fast window before
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
    use nandscope_units::random::SplitMix64;

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
        let profile = of_series(&series(v), 0.0).unwrap();
        assert!((profile.burst_mb_s - 375.0).abs() < 1e-9);
        assert!((profile.sustained_mb_s - 30.0).abs() < 1e-9);
        assert!(
            (profile.fast_gb.unwrap() - 5.625).abs() < 0.5,
            "{profile:?}"
        );
        assert!((profile.written_gb - (5.625 + 7.5 + 6.0)).abs() < 1e-9);
        assert!(profile.slows());
    }

    #[test]
    fn a_stall_within_the_fast_part_and_a_late_recovery_do_not_move_its_end() {
        let mut v = vec![375.0; 100];
        v[20] = 1.0;
        v[21] = 1.0;
        v.extend(vec![75.0; 400]);
        v.extend(vec![375.0; 10]);
        v.extend(vec![75.0; 100]);
        let profile = of_series(&series(v), 0.0).unwrap();
        assert!(
            (profile.fast_gb.unwrap() - 36.75).abs() < 0.5,
            "{profile:?}"
        );
    }

    #[test]
    fn a_cache_of_five_samples_is_seen() {
        let mut v = vec![375.0; 5];
        v.extend(vec![75.0; 1995]);
        let profile = of_series(&series(v), 0.0).unwrap();
        assert!((profile.burst_mb_s - 375.0).abs() < 1e-9);
        assert!(
            (profile.fast_gb.unwrap() - 1.875).abs() < 0.08,
            "{profile:?}"
        );
    }

    #[test]
    fn a_steady_device_has_no_knee() {
        let v = (0..100).map(|i| 60.0 + f64::from(i % 3)).collect();
        let profile = of_series(&series(v), 0.0).unwrap();
        assert_eq!(profile.fast_gb, None);
        assert!(!profile.slows());
    }

    #[test]
    fn a_dip_that_recovers_is_no_knee() {
        let v = (0..200)
            .map(|i| if (50..60).contains(&i) { 5.0 } else { 60.0 })
            .collect();
        assert_eq!(of_series(&series(v), 0.0).unwrap().fast_gb, None);
    }

    #[test]
    fn noise_is_no_knee() {
        // Two speeds that take turns irregularly, as garbage collection makes them; the fast one first.
        let mut random = SplitMix64::new(1);
        let v: Vec<f64> = (0..600)
            .map(|i| {
                let fast = random.below(16) < 5 || i < 8;
                if fast { 400.0 } else { 90.0 }
            })
            .collect();
        assert!(!of_series(&series(v), 0.0).unwrap().slows());
        let falls: Vec<f64> = (0..40).map(|i| if i < 10 { 400.0 } else { 90.0 }).collect();
        assert!(faster_beyond_noise(&falls[..10], &falls[10..]));
        assert!(!faster_beyond_noise(&falls[..2], &falls[10..12]));
        assert!(!faster_beyond_noise(&falls, &falls) && !faster_beyond_noise(&[], &falls));
    }

    fn step(jobs: &[&str]) -> StepResult {
        let job = |rw: &&str| crate::JobResult {
            options: [("rw".to_string(), (*rw).to_string())].into(),
            ..crate::JobResult::default()
        };
        let mut v = vec![400.0; 20];
        v.extend(vec![40.0; 80]);
        StepResult {
            jobs: jobs.iter().map(job).collect(),
            series: vec![series(v)],
            ..StepResult::default()
        }
    }

    #[test]
    fn only_one_run_of_sequential_writing_has_a_profile() {
        assert!(of_step(&step(&["write"])).is_some_and(|p| p.slows()));
        for jobs in [&[][..], &["randwrite"], &["write", "randwrite"], &["rw"]] {
            assert_eq!(of_step(&step(jobs)), None, "{jobs:?}");
        }
        let mut paced = step(&["write"]);
        paced.jobs[0].options.insert("rate".into(), "10m".into());
        assert_eq!(of_step(&paced), None);
    }

    /// A fast file: one interval of which 0.08 s were measured.
    #[test]
    fn an_interval_counts_as_long_as_it_was() {
        let short = Series {
            t_s: vec![100.08],
            ..series(vec![1_406.0])
        };
        assert!((gb(&weighted(&short, 100.0)) - 0.112_48).abs() < 1e-9);
        let mut last = series(vec![100.0, 100.0, 50.0]);
        last.t_s[2] = 3.4;
        assert!((gb(&weighted(&last, 0.0)) - 0.27).abs() < 1e-9);
        // Neither a ramp before the first interval nor a gap is time in which data was moved.
        last.t_s[2] = 30.0;
        assert!((gb(&weighted(&last, -50.0)) - 0.25).abs() < 1e-9);
    }

    #[test]
    fn the_slowest_tenth_is_a_tenth_of_the_time() {
        let mut v = vec![100.0; 85];
        v.extend([10.0; 5]);
        v.extend([110.0; 10]);
        let profile = of_series(&series(v), 0.0).unwrap();
        assert!((profile.slowest_mb_s - 55.0).abs() < 1e-9, "{profile:?}");
        assert!((profile.fastest_mb_s - 110.0).abs() < 1e-9, "{profile:?}");
        assert!((profile.mean_mb_s() - 96.5).abs() < 1e-9, "{profile:?}");
    }

    #[test]
    fn too_short_says_nothing() {
        assert_eq!(of_series(&series(vec![100.0; 10]), 0.0), None);
        // Two megabytes in thirty seconds may all be in a buffer.
        assert_eq!(of_series(&series(vec![0.07; 30]), 0.0), None);
        assert_eq!(of_series(&series(vec![f64::NAN; 100]), 0.0), None);
    }
}
