//! Distributions of latencies, and their text form.
//!
//! A [`Distribution`] keeps an HdrHistogram with fixed bounds beside exact sums, so that minimum,
//! maximum, mean and standard deviation do not carry the histogram's rounding. It knows nothing
//! of jobs or devices.

use crate::result::Latency;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Smallest latency that is told apart, nanoseconds.
pub const LOWEST_NS: u64 = 1;
/// Largest latency that the histogram tells apart: one hour. Longer ones count as one hour in the
/// percentiles, and in full in maximum and mean.
pub const HIGHEST_NS: u64 = 3_600_000_000_000;
/// Significant decimal digits of a percentile.
pub const SIGNIFICANT_DIGITS: u8 = 3;

/// The percentiles that fio prints by default.
pub const DEFAULT_PERCENTILES: [f64; 17] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95,
    99.99,
];

/// Why a histogram's text could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HistogramError {
    /// Not base64.
    #[error("the histogram is not base64: {0}; the document was damaged or edited")]
    Base64(String),
    /// Base64, but no HdrHistogram V2.
    #[error("the histogram is not in HdrHistogram's V2 encoding: {0}")]
    Encoding(String),
}

/// Latencies as they come in, in nanoseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "Kept", try_from = "Kept")]
pub struct Distribution {
    histogram: Histogram<u64>,
    count: u64,
    sum: u128,
    sum_of_squares: u128,
    min: u64,
    max: u64,
}

/// A [`Distribution`] as it is kept: the histogram as in the result document, and the exact sums.
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
            histogram: encode(&d.histogram),
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
        let mut distribution = Distribution::new();
        // Its own bounds, whatever those of the text are.
        let histogram = decode(&kept.histogram)?;
        let added = distribution.histogram.add(&histogram);
        added.map_err(|e| HistogramError::Encoding(e.to_string()))?;
        Ok(Distribution {
            count: kept.count,
            sum: kept.sum,
            sum_of_squares: kept.sum_of_squares,
            min: kept.min,
            max: kept.max,
            ..distribution
        })
    }
}

impl Default for Distribution {
    fn default() -> Self {
        Self::new()
    }
}

impl Distribution {
    /// An empty distribution. It allocates its 270 KB once, here.
    pub fn new() -> Self {
        let mut histogram = Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, SIGNIFICANT_DIGITS)
            .unwrap_or_else(|_| {
                // The bounds are constants that satisfy the library's rules (1 <= low, 2 * low <= high,
                // digits <= 5); the tests below construct one.
                unreachable!("the histogram's bounds are valid")
            });
        histogram.auto(false);
        Distribution {
            histogram,
            count: 0,
            sum: 0,
            sum_of_squares: 0,
            min: u64::MAX,
            max: 0,
        }
    }

    /// Counts one latency.
    #[inline]
    pub fn record(&mut self, latency: Nanos) {
        let ns = latency.0;
        self.histogram.saturating_record(ns);
        self.count += 1;
        self.sum += u128::from(ns);
        let square = u128::from(ns) * u128::from(ns);
        self.sum_of_squares = self.sum_of_squares.saturating_add(square);
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
    }

    /// Adds what another counted; the result is the same as if this one had counted all of it.
    pub fn merge(&mut self, other: &Distribution) {
        // Both have the same bounds, which is the only thing that could make this fail.
        if let Err(error) = self.histogram.add(&other.histogram) {
            unreachable!("histograms of the same bounds add up: {error}");
        }
        self.count += other.count;
        self.sum += other.sum;
        self.sum_of_squares = self.sum_of_squares.saturating_add(other.sum_of_squares);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// How many latencies were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of all latencies, nanoseconds; exact.
    pub fn sum_ns(&self) -> u128 {
        self.sum
    }

    /// Largest latency; zero where there is none.
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
        if self.count == 0 {
            return Nanos::ZERO;
        }
        // 99.9 / 100 is a little more than 0.999, which would ask for the 1000th of 1000 values.
        let quantile = percentile / 100.0 * (1.0 - 4.0 * f64::EPSILON);
        let ns = self.histogram.value_at_quantile(quantile);
        if ns >= HIGHEST_NS {
            return Nanos(self.max);
        }
        Nanos(ns.clamp(self.min, self.max))
    }

    /// The histogram alone, for latencies that somebody else has counted already.
    pub(crate) fn into_histogram(self) -> Histogram<u64> {
        self.histogram
    }

    /// The form that stands in the result document.
    pub fn summary(&self, percentiles: &[f64]) -> Latency {
        if self.count == 0 {
            return Latency::default();
        }
        Latency {
            min_ns: self.min,
            max_ns: self.max,
            mean_ns: self.mean_ns(),
            stddev_ns: self.stddev_ns(),
            percentiles: percentiles
                .iter()
                .map(|&p| (p, self.percentile(p).0))
                .collect(),
            histogram: encode(&self.histogram),
        }
    }
}

/// Largest count that the text form holds for a latency: it codes counts as signed numbers.
const MOST_OF_ONE: u64 = i64::MAX as u64;

/// HdrHistogram's V2 encoding (not deflated), in base64: what `hdrhistogram` libraries of every
/// language read after decoding the base64. Every count is below 2^63, as
/// [`count_saturating`] keeps it.
pub fn encode(histogram: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    // Writing into memory fails only for a histogram of more than 2^32 bytes; ours is bounded at 270 KB.
    match V2Serializer::new().serialize(histogram, &mut bytes) {
        Ok(_) => STANDARD.encode(&bytes),
        Err(error) => unreachable!("a bounded histogram always fits in memory: {error}"),
    }
}

/// Counts `count` operations of a latency that somebody else measured; counts that the text form cannot
/// hold stop at its limit.
pub(crate) fn count_saturating(histogram: &mut Histogram<u64>, latency: Nanos, count: u64) {
    let ns = latency.0.min(HIGHEST_NS);
    let room = MOST_OF_ONE.saturating_sub(histogram.count_at(ns));
    histogram.saturating_record_n(ns, count.min(room));
}

/// Reads what [`encode`] writes, so that percentiles beyond the stored list can be computed.
///
/// # Errors
/// Where the text is not base64, or not an HdrHistogram.
pub fn decode(text: &str) -> Result<Histogram<u64>, HistogramError> {
    let bytes = STANDARD
        .decode(text)
        .map_err(|e| HistogramError::Base64(e.to_string()))?;
    check_header(&bytes)?;
    Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .map_err(|e| HistogramError::Encoding(e.to_string()))
}

/// Bytes of the header of the V2 encoding, the cookie included.
const HEADER_BYTES: usize = 40;

/// The library reserves memory for what the header says, before it looks at the counts: the length of the
/// rest must be what there is, and the bounds no wider than ours.
fn check_header(bytes: &[u8]) -> Result<(), HistogramError> {
    let fault = |what: &str| HistogramError::Encoding(what.to_string());
    let Some((header, rest)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
        return Err(fault("it is cut off"));
    };
    let number = |at: usize, width: usize| {
        let field = &header[at..at + width];
        field.iter().fold(0, |n, byte| n << 8 | u64::from(*byte))
    };
    let (length, digits, highest) = (number(4, 4), number(12, 4), number(24, 8));
    if length != rest.len() as u64 {
        return Err(fault("its length is not what its header says"));
    }
    // Others may keep up to five digits, or a day; both together would be hundreds of MB.
    if digits > 5 || highest > 24 * HIGHEST_NS {
        return Err(fault("it is finer than 5 digits or reaches beyond a day"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
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

    #[test]
    fn the_text_begins_with_the_cookie_of_the_v2_encoding() {
        // V2 without deflate: 0x1c849303 with 0x10 in the low byte for the word size, big-endian;
        // then the length of the payload.
        let mut d = Distribution::new();
        d.record(Nanos(1));
        let bytes = STANDARD.decode(encode(&d.histogram)).unwrap();
        assert_eq!(bytes[..4], [0x1c, 0x84, 0x93, 0x13]);
        assert_eq!(bytes[4..8], (bytes.len() as u32 - 40).to_be_bytes());
    }

    #[test]
    fn refuses_damaged_text() {
        assert!(matches!(decode("!!"), Err(HistogramError::Base64(_))));
        assert!(matches!(
            decode("aGVsbG8="),
            Err(HistogramError::Encoding(_))
        ));
    }

    #[test]
    fn a_header_cannot_order_memory() {
        let mut d = Distribution::new();
        d.record(Nanos(5));
        let whole = STANDARD.decode(encode(&d.histogram)).unwrap();
        for (at, byte) in [(4, 0xff), (5, 1), (15, 6), (24, 0x7f)] {
            let mut bytes = whole.clone();
            bytes[at] = byte;
            let error = decode(&STANDARD.encode(&bytes)).unwrap_err();
            assert!(matches!(error, HistogramError::Encoding(_)), "{at}");
        }
    }

    #[test]
    fn counts_stop_where_the_text_form_ends() {
        let mut histogram = Distribution::new().into_histogram();
        for latency in [0, 7, 1 << 62, 1 << 63, u64::MAX] {
            for count in [1, u64::MAX, u64::MAX] {
                count_saturating(&mut histogram, Nanos(latency), count);
            }
        }
        let back = decode(&encode(&histogram)).unwrap();
        assert_eq!(back.count_at(7), i64::MAX as u64);
    }

    proptest! {
        #[test]
        fn text_form_gives_the_same_histogram(values in prop::collection::vec(0u64..HIGHEST_NS, 1..200)) {
            let mut d = Distribution::new();
            for &v in &values {
                d.record(Nanos(v));
            }
            let back = decode(&d.summary(&[50.0]).histogram).unwrap();
            prop_assert_eq!(&back, &d.histogram);
            prop_assert_eq!(back.len(), values.len() as u64);
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let median = sorted[(values.len() - 1) / 2] as f64;
            let shown = d.percentile(50.0).0 as f64;
            prop_assert!((shown - median).abs() <= median * 1e-3 + 1.0, "{} {}", shown, median);
        }
    }
}
