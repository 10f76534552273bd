//! Plateaus of a bandwidth curve: stretches of about constant bandwidth, such as in the SLC cache and after it.
//!
//! Binary segmentation on the logarithm of the bandwidth: a stretch is split at the point that explains most of its
//! variance, if the two sides differ by a quarter or more; then neighbours that differ by less are joined again. A
//! stretch of noise stays whole. The transition between a faster and a slower plateau belongs to the plateau whose
//! bandwidth is nearer; a few intervals of another rate at the start or the end belong to their neighbour.
//!
//! A stretch with many empty intervals shows single operations and pauses, not a bandwidth: it is not a separate
//! plateau, and a curve that consists of such a stretch has no plateaus.

use nandscope_units::median;

/// A stretch of about constant bandwidth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plateau {
    /// Data moved before the plateau, GB (10^9 bytes).
    pub start_gb: f64,
    /// Data moved by the end of the plateau, GB.
    pub end_gb: f64,
    /// Median bandwidth of the plateau, MB/s.
    pub mb_per_s: f64,
}

/// Least ratio between neighbouring plateaus.
const RATIO: f64 = 1.25;
/// Smallest number of points in a plateau.
const POINTS_MIN: usize = 6;
/// Largest number of plateaus searched for.
const PLATEAUS_MAX: usize = 8;
/// Share of empty intervals above which a stretch is not a plateau: a median of empty and full intervals is not a
/// bandwidth.
const EMPTY_MAX: f64 = 0.1;
/// Value for an empty interval on the logarithmic scale, MB/s.
const NOTHING: f64 = 1e-3;

/// Finds the plateaus of a curve: `v[i]` MB/s is the mean over the interval that ends at `t_s[i]`
/// seconds; the first interval begins at `start_s`.
pub fn plateaus(start_s: f64, t_s: &[f64], v: &[f64]) -> Vec<Plateau> {
    let n = t_s.len().min(v.len());
    let logs: Vec<f64> = v[..n].iter().map(|mb| libm::log(mb.max(NOTHING))).collect();
    if n == 0 || mostly_pauses(empty(&logs), n) {
        return Vec::new();
    }
    let mut cuts = vec![0, n];
    while cuts.len() <= PLATEAUS_MAX {
        let best = cuts
            .windows(2)
            .filter_map(|w| best_split(&logs, w[0], w[1]))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((at, _)) = best else { break };
        cuts.push(at);
        cuts.sort_unstable();
    }
    join_alike(&logs, &mut cuts);
    join_transitions(&logs, &mut cuts);
    join_mixed_ends(&logs, &mut cuts);
    let moved = cumulative_gb(start_s, &t_s[..n], &v[..n]);
    cuts.windows(2)
        .map(|w| Plateau {
            start_gb: moved[w[0]],
            end_gb: moved[w[1]],
            mb_per_s: libm::exp(median(&logs[w[0]..w[1]])),
        })
        .collect()
}

/// Number of empty intervals.
fn empty(logs: &[f64]) -> usize {
    logs.iter().filter(|l| **l <= libm::log(NOTHING)).count()
}

fn mostly_pauses(empty: usize, of: usize) -> bool {
    empty as f64 > EMPTY_MAX * of as f64
}

/// The split of `from..to` that explains most variance, if both sides are bandwidths and differ enough.
fn best_split(logs: &[f64], from: usize, to: usize) -> Option<(usize, f64)> {
    if to - from < 2 * POINTS_MIN {
        return None;
    }
    let total: f64 = logs[from..to].iter().sum();
    let count = (to - from) as f64;
    let mut left = 0.0;
    let pauses = empty(&logs[from..to]);
    let mut pauses_left = 0;
    let mut best: Option<(usize, f64)> = None;
    for at in from + 1..to {
        left += logs[at - 1];
        pauses_left += empty(&logs[at - 1..at]);
        let (n, m) = ((at - from) as f64, (to - at) as f64);
        if at - from < POINTS_MIN
            || to - at < POINTS_MIN
            || mostly_pauses(pauses_left, at - from)
            || mostly_pauses(pauses - pauses_left, to - at)
        {
            continue;
        }
        let difference = left / n - (total - left) / m;
        let gain = difference * difference * n * m / count;
        if best.is_none_or(|(_, g)| gain > g) {
            best = Some((at, gain));
        }
    }
    best.filter(|(at, _)| {
        (median(&logs[from..*at]) - median(&logs[*at..to])).abs() >= libm::log(RATIO)
    })
}

fn join_alike(logs: &[f64], cuts: &mut Vec<usize>) {
    loop {
        let alike = (1..cuts.len() - 1).find(|i| {
            let (a, b) = (
                median(&logs[cuts[i - 1]..cuts[*i]]),
                median(&logs[cuts[*i]..cuts[i + 1]]),
            );
            (a - b).abs() < libm::log(RATIO)
        });
        match alike {
            Some(i) => cuts.remove(i),
            None => return,
        };
    }
}

fn join_transitions(logs: &[f64], cuts: &mut Vec<usize>) {
    let mut i = 1;
    while i + 2 < cuts.len() {
        let level = |from: usize| median(&logs[cuts[from]..cuts[from + 1]]);
        let (before, own, after) = (level(i - 1), level(i), level(i + 1));
        let between = before.min(after) < own && own < before.max(after);
        if between && spread(&logs[cuts[i]..cuts[i + 1]]) >= libm::log(RATIO) {
            let nearer_before = (own - before).abs() < (own - after).abs();
            cuts.remove(if nearer_before { i } else { i + 1 });
        } else {
            i += 1;
        }
    }
}

/// Joins a short first or last stretch of two rates to its neighbour: it is too short to be split, and its median may be a rate
/// that was never measured.
fn join_mixed_ends(logs: &[f64], cuts: &mut Vec<usize>) {
    let is_mixed = |from: usize, to: usize| {
        to - from < 2 * POINTS_MIN && spread(&logs[from..to]) >= libm::log(RATIO)
    };
    if cuts.len() > 2 && is_mixed(cuts[0], cuts[1]) {
        cuts.remove(1);
    }
    let last = cuts.len() - 1;
    if last > 1 && is_mixed(cuts[last - 1], cuts[last]) {
        cuts.remove(last - 1);
    }
}

/// Interquartile range.
fn spread(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let quarter = sorted.len() / 4;
    match (sorted.get(quarter), sorted.iter().rev().nth(quarter)) {
        (Some(low), Some(high)) => high - low,
        _ => 0.0,
    }
}

fn cumulative_gb(start_s: f64, t_s: &[f64], v: &[f64]) -> Vec<f64> {
    let mut moved = vec![0.0];
    let (mut before, mut sum) = (start_s, 0.0);
    for (t, mb) in t_s.iter().zip(v) {
        sum += (t - before).max(0.0) * mb / 1e3;
        before = *t;
        moved.push(sum);
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(parts: &[(usize, f64)]) -> (Vec<f64>, Vec<f64>) {
        let mut v = Vec::new();
        for (n, mb) in parts {
            for i in 0..*n {
                // A ripple of a few percent.
                v.push(mb * (1.0 + 0.03 * ((i * 7 % 5) as f64 - 2.0) / 2.0));
            }
        }
        ((1..=v.len()).map(|i| i as f64).collect(), v)
    }

    #[test]
    fn finds_three_regions_where_they_are() {
        let (t, v) = curve(&[(13, 400.0), (3000, 72.0), (150, 32.0)]);
        let found = plateaus(0.0, &t, &v);
        let speeds: Vec<f64> = found.iter().map(|p| p.mb_per_s.round()).collect();
        assert_eq!(speeds, [400.0, 72.0, 32.0]);
        assert!((found[0].end_gb - 5.2).abs() < 0.05, "{:?}", found[0]);
        assert!((found[1].end_gb - 221.2).abs() < 0.5, "{:?}", found[1]);
    }

    /// At the start of folding, fast and slow seconds alternate before the rate settles.
    #[test]
    fn the_transition_between_two_regions_is_no_region() {
        let (_, mut v) = curve(&[(13, 400.0), (3000, 76.0)]);
        v.extend([60.9, 45.2, 44.7, 51.4, 32.1, 32.1, 43.6, 50.1]);
        v.extend(curve(&[(150, 32.5)]).1);
        let t: Vec<f64> = (1..=v.len()).map(|i| i as f64).collect();
        let speeds: Vec<f64> = plateaus(0.0, &t, &v)
            .iter()
            .map(|p| p.mb_per_s.round())
            .collect();
        assert_eq!(speeds, [400.0, 76.0, 33.0]);
        // A short region with a distinct rate is kept.
        let (t, v) = curve(&[(13, 400.0), (3000, 76.0), (8, 50.0), (150, 32.5)]);
        assert_eq!(plateaus(0.0, &t, &v).len(), 4);
    }

    /// A slow card that accepts a write in every second or third interval, or stalls for most of the time.
    #[test]
    fn single_operations_with_pauses_are_no_plateaus() {
        let t: Vec<f64> = (1..=40).map(|i| f64::from(i) / 10.0).collect();
        let v: Vec<f64> = (0..40)
            .map(|i| if i % 3 == 0 { 32.768 } else { 0.0 })
            .collect();
        assert_eq!(plateaus(0.0, &t, &v), []);
        // Rare stalls have no effect.
        let (t, mut v) = curve(&[(40, 30.0)]);
        v[7] = 0.0;
        v[21] = 0.0;
        let found = plateaus(0.0, &t, &v);
        assert!(found.len() == 1 && (found[0].mb_per_s - 30.0).abs() < 1.0);
    }

    /// A card that first merges earlier writes, and then accepts data at full speed.
    #[test]
    fn a_pause_at_the_start_is_no_plateau() {
        let (t, mut v) = curve(&[(600, 90.0)]);
        v[..4].copy_from_slice(&[0.0, 0.0, 0.0, 65.0]);
        let found = plateaus(0.0, &t, &v);
        assert!(
            found.len() == 1 && (found[0].mb_per_s - 90.0).abs() < 2.0,
            "{found:?}"
        );
        // A pause after the cache does not hide the step.
        let (t, mut v) = curve(&[(300, 90.0), (300, 30.0)]);
        v[..3].fill(0.0);
        v[300..303].fill(0.0);
        let found: Vec<f64> = plateaus(0.0, &t, &v).iter().map(|p| p.mb_per_s).collect();
        assert!(
            found.len() == 2 && found[0] > 80.0 && found[1] < 33.0,
            "{found:?}"
        );
    }

    /// A second fill begins while the card still folds data of the first one, for three seconds.
    #[test]
    fn a_rate_that_was_never_measured_is_no_plateau() {
        let (_, cache) = curve(&[(28, 398.0), (200, 76.0)]);
        let v = [&[76.0, 76.0, 108.0][..], &cache].concat();
        let t: Vec<f64> = (1..=v.len()).map(|i| i as f64).collect();
        let speeds = |v: &[f64]| -> Vec<f64> {
            let found = plateaus(0.0, &t, v);
            found.iter().map(|p| p.mb_per_s.round()).collect()
        };
        assert_eq!(speeds(&v), [398.0, 76.0]);
        let backwards: Vec<f64> = v.iter().rev().copied().collect();
        assert_eq!(speeds(&backwards), [76.0, 398.0]);
    }

    #[test]
    fn leaves_a_flat_curve_whole_and_takes_an_empty_one() {
        let (t, v) = curve(&[(500, 90.0)]);
        assert_eq!(plateaus(0.0, &t, &v).len(), 1);
        assert!(plateaus(0.0, &[], &[]).is_empty());
        assert_eq!(plateaus(0.0, &[1.0], &[5.0]).len(), 1);
    }
}
