//! Distributions of latencies.
//!
//! A [`Distribution`] has the counts of an HdrHistogram with fixed bounds, and exact sums, so that minimum, maximum, mean and
//! standard deviation are not rounded by the histogram. It is independent of jobs and devices.

use crate::bucket_counts::BucketCounts;
use hdrhistogram::Histogram;
use nandscope_result::Latency;
use nandscope_result::histogram::{self, HIGHEST_NS, HistogramError, decode, encode};
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};

/// Latencies in nanoseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "Kept", try_from = "Kept")]
pub struct Distribution {
    counts: BucketCounts,
    count: u64,
    sum: u128,
    sum_of_squares: u128,
    min: u64,
    max: u64,
}

/// Serialized form of a [`Distribution`]: the histogram as in the result document, and the exact sums.
#[derive(Serialize, Deserialize)]
struct Kept {
    histogram: String,
    count: u64,
    sum: u128,
    sum_of_squares: u128,
    min: u64,
    max: u64,
}

impl From<Distribution> for Kept {
    fn from(d: Distribution) -> Self {
        Kept {
            histogram: encode(&d.counts.histogram()),
            count: d.count,
            sum: d.sum,
            sum_of_squares: d.sum_of_squares,
            min: d.min,
            max: d.max,
        }
    }
}

impl TryFrom<Kept> for Distribution {
    type Error = HistogramError;

    fn try_from(kept: Kept) -> Result<Self, HistogramError> {
        // With the fixed bounds, whatever those of the text are.
        let mut histogram = histogram::empty();
        let added = histogram.add(&decode(&kept.histogram)?);
        added.map_err(|e| HistogramError::Encoding(e.to_string()))?;
        Ok(Distribution {
            counts: BucketCounts::of(&histogram),
            count: kept.count,
            sum: kept.sum,
            sum_of_squares: kept.sum_of_squares,
            min: kept.min,
            max: kept.max,
        })
    }
}

impl Default for Distribution {
    fn default() -> Self {
        Self::new()
    }
}

impl Distribution {
    /// An empty distribution.
    pub fn new() -> Self {
        Distribution {
            counts: BucketCounts::new(),
            count: 0,
            sum: 0,
            sum_of_squares: 0,
            min: u64::MAX,
            max: 0,
        }
    }

    /// Largest memory of the counts of this number of latencies, bytes.
    pub fn most_bytes(latencies: u64) -> u64 {
        BucketCounts::most_bytes(latencies)
    }

    /// Counts one latency.
    #[inline]
    pub fn record(&mut self, latency: Nanos) {
        let ns = latency.0;
        self.counts.record(ns);
        self.count += 1;
        self.sum += u128::from(ns);
        let square = u128::from(ns) * u128::from(ns);
        self.sum_of_squares = self.sum_of_squares.saturating_add(square);
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
    }

    /// Adds the latencies of another distribution; equal to recording all of them here.
    pub fn merge(&mut self, other: &Distribution) {
        self.counts.merge(&other.counts);
        self.count += other.count;
        self.sum += other.sum;
        self.sum_of_squares = self.sum_of_squares.saturating_add(other.sum_of_squares);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Number of latencies.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of all latencies, nanoseconds; exact.
    pub fn sum_ns(&self) -> u128 {
        self.sum
    }

    /// Largest latency; zero if nothing was counted.
    pub fn max(&self) -> Nanos {
        Nanos(self.max)
    }

    /// Arithmetic mean in nanoseconds; zero where nothing was counted.
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        self.sum as f64 / self.count as f64
    }

    /// Standard deviation (of the whole, divisor n) in nanoseconds; zero where nothing was counted.
    ///
    /// From exact integer sums: variance = (n Σx² - (Σx)²) / n², so nothing cancels away.
    pub fn stddev_ns(&self) -> f64 {
        let n = u128::from(self.count);
        if n == 0 {
            return 0.0;
        }
        let exact = n
            .checked_mul(self.sum_of_squares)
            .zip(self.sum.checked_mul(self.sum))
            .map(|(a, b)| a.saturating_sub(b) as f64 / (n as f64 * n as f64));
        let variance = exact.unwrap_or_else(|| {
            let mean = self.mean_ns();
            (self.sum_of_squares as f64 / n as f64 - mean * mean).max(0.0)
        });
        variance.sqrt()
    }

    /// The latency that `percentile` percent of the operations did not exceed, to three digits,
    /// never beyond the exact maximum or below the exact minimum; zero where nothing was counted.
    pub fn percentile(&self, percentile: f64) -> Nanos {
        self.percentile_in(&self.counts.histogram(), percentile)
    }

    fn percentile_in(&self, histogram: &Histogram<u64>, percentile: f64) -> Nanos {
        if self.count == 0 {
            return Nanos::ZERO;
        }
        // 99.9 / 100 is a little more than 0.999, which would ask for the 1000th of 1000 values.
        let quantile = percentile / 100.0 * (1.0 - 4.0 * f64::EPSILON);
        let ns = histogram.value_at_quantile(quantile);
        if ns >= HIGHEST_NS {
            return Nanos(self.max);
        }
        Nanos(ns.clamp(self.min, self.max))
    }

    /// Summarises the distribution for the result document.
    pub fn summary(&self, percentiles: &[f64]) -> Latency {
        if self.count == 0 {
            return Latency::default();
        }
        let histogram = self.counts.histogram();
        Latency {
            min_ns: self.min,
            max_ns: self.max,
            mean_ns: self.mean_ns(),
            stddev_ns: self.stddev_ns(),
            percentiles: percentiles
                .iter()
                .map(|&p| (p, self.percentile_in(&histogram, p).0))
                .collect(),
            histogram: encode(&histogram),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_workload::job::DEFAULT_PERCENTILES;
    use proptest::prelude::*;

    #[test]
    fn closed_forms() {
        let mut d = Distribution::new();
        for ns in 1..=1000 {
            d.record(Nanos(ns));
        }
        let s = d.summary(&DEFAULT_PERCENTILES);
        assert_eq!((s.min_ns, s.max_ns), (1, 1000));
        assert_eq!(s.mean_ns, 500.5);
        // The variance of 1..=n is (n^2 - 1) / 12.
        assert!((s.stddev_ns - (999_999.0f64 / 12.0).sqrt()).abs() < 1e-9);
        assert_eq!(d.percentile(50.0), Nanos(500));
        assert_eq!(d.percentile(99.9), Nanos(999));
        assert_eq!(d.percentile(100.0), Nanos(1000));
    }

    #[test]
    fn nothing_recorded_is_zero() {
        assert_eq!(
            Distribution::new().summary(&DEFAULT_PERCENTILES),
            Latency::default()
        );
    }

    #[test]
    fn more_than_an_hour_keeps_its_maximum() {
        let mut d = Distribution::new();
        d.record(Nanos(5));
        d.record(Nanos::MAX);
        assert_eq!(d.max(), Nanos::MAX);
        assert_eq!(d.percentile(100.0), Nanos::MAX);
        assert_eq!(d.percentile(50.0), Nanos(5));
    }

    proptest! {
        #[test]
        fn text_form_gives_the_same_histogram(values in prop::collection::vec(0u64..HIGHEST_NS, 1..600), parts in 1usize..4) {
            let mut d = Distribution::new();
            for part in values.chunks(values.len().div_ceil(parts)) {
                let mut more = Distribution::new();
                part.iter().for_each(|v| more.record(Nanos(*v)));
                d.merge(&more);
            }
            let back = decode(&d.summary(&[50.0]).histogram).unwrap();
            prop_assert_eq!(&back, &d.counts.histogram());
            prop_assert_eq!(back.len(), values.len() as u64);
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let median = sorted[(values.len() - 1) / 2] as f64;
            let shown = d.percentile(50.0).0 as f64;
            prop_assert!((shown - median).abs() <= median * 1e-3 + 1.0, "{} {}", shown, median);
        }
    }
}
