//! Histograms of latencies and their text form.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use nandscope_units::Nanos;
use thiserror::Error;

/// Smallest latency that the histogram distinguishes, nanoseconds.
pub const LOWEST_NS: u64 = 1;
/// Largest latency that the histogram distinguishes: one hour. Longer ones count as one hour in the
/// percentiles, and in full in maximum and mean.
pub const HIGHEST_NS: u64 = 3_600_000_000_000;
/// Significant decimal digits of a percentile.
pub const SIGNIFICANT_DIGITS: u8 = 3;

/// Why a histogram's text could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HistogramError {
    /// The text is not base64.
    #[error("the histogram is not base64: {0}; the document was damaged or edited")]
    Base64(String),
    /// Base64, but no HdrHistogram V2.
    #[error("the histogram is not in HdrHistogram's V2 encoding: {0}")]
    Encoding(String),
}

/// An empty histogram with these bounds. It allocates its 270 KB once, here.
pub fn empty() -> Histogram<u64> {
    let mut histogram = Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, SIGNIFICANT_DIGITS)
        .unwrap_or_else(|_| {
            // The bounds are constants that satisfy the library's rules (1 <= low, 2 * low <= high,
            // digits <= 5); the tests below construct one.
            unreachable!("the histogram's bounds are valid")
        });
    histogram.auto(false);
    histogram
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

/// Largest text form of a histogram of this number of latencies, bytes.
pub fn most_bytes(latencies: u64) -> u64 {
    /// Number of buckets between the bounds.
    const BUCKETS: u64 = 33_792;
    // A count below 64 and a run of up to 64 empty buckets before it take a byte each; counts and runs of 128 times more each take
    // another one. With more than half of the buckets in use, runs are fewer than counts.
    let used = latencies.min(BUCKETS);
    let bytes = used
        + used.min(BUCKETS - used).saturating_add(1)
        + BUCKETS / 64
        + (latencies / 64).min(9 * BUCKETS);
    (HEADER_BYTES as u64 + bytes).div_ceil(3) * 4
}

/// Counts `count` operations of a latency that somebody else measured; counts that the text form cannot
/// hold stop at its limit.
pub fn count_saturating(histogram: &mut Histogram<u64>, latency: Nanos, count: u64) {
    let ns = latency.0.min(HIGHEST_NS);
    let room = MOST_OF_ONE.saturating_sub(histogram.count_at(ns));
    histogram.saturating_record_n(ns, count.min(room));
}

/// Reads what [`encode`] writes, so that percentiles beyond the stored list can be computed.
///
/// # Errors
/// `HistogramError::Base64` if the text is not base64; `HistogramError::Encoding` if it is not an HdrHistogram.
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

    #[test]
    fn the_text_begins_with_the_cookie_of_the_v2_encoding() {
        // V2 without deflate: 0x1c849303 with 0x10 in the low byte for the word size, big-endian;
        // then the length of the payload.
        let mut histogram = empty();
        histogram.saturating_record(1);
        let bytes = STANDARD.decode(encode(&histogram)).unwrap();
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
    fn a_header_does_not_decide_how_much_memory_is_reserved() {
        let mut histogram = empty();
        histogram.saturating_record(5);
        let whole = STANDARD.decode(encode(&histogram)).unwrap();
        for (at, byte) in [(4, 0xff), (5, 1), (15, 6), (24, 0x7f)] {
            let mut bytes = whole.clone();
            bytes[at] = byte;
            let error = decode(&STANDARD.encode(&bytes)).unwrap_err();
            assert!(matches!(error, HistogramError::Encoding(_)), "{at}");
        }
    }

    #[test]
    fn counts_stop_where_the_text_form_ends() {
        let mut histogram = empty();
        for latency in [0, 7, 1 << 62, 1 << 63, u64::MAX] {
            for count in [1, u64::MAX, u64::MAX] {
                count_saturating(&mut histogram, Nanos(latency), count);
            }
        }
        let back = decode(&encode(&histogram)).unwrap();
        assert_eq!(back.count_at(7), i64::MAX as u64);
    }
}
