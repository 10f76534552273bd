//! What sequential writes show of an SLC cache.

use crate::quantile::median;

/// Result of the sequential writes.
#[derive(Clone, Debug, Default)]
pub(super) struct Filled {
    /// Rate of each [`BATCH`](super::writes::BATCH), bytes per second.
    pub(super) rates: Vec<f64>,
    /// Times between completions of consecutive [`PIECE`](super::writes::PIECE)s from the start of the target, s.
    pub(super) gaps: Vec<f64>,
    /// Number of batches in the first plateau; `None` if it did not end.
    pub(super) end: Option<usize>,
    /// Size of the SLC cache, bytes; 0 if none was seen.
    pub(super) cache: u64,
}

impl Filled {
    /// The same writes, with the conclusion that there is no SLC cache.
    pub(super) fn without_cache(self) -> Self {
        Filled {
            end: None,
            cache: 0,
            ..self
        }
    }

    /// Median rates of the first plateau and after it, bytes per second; `None` without an SLC cache.
    pub(super) fn levels(&self) -> Option<(f64, f64)> {
        let end = self.end?;
        let fast = median(&self.rates[..end.saturating_sub(1).max(1)]);
        Some((fast, median(&self.rates[end..])))
    }

    /// Rate that separates writes into the cache from slower ones, bytes per second.
    pub(super) fn bar(&self) -> Option<f64> {
        self.levels().map(|(fast, slow)| (fast * slow).sqrt())
    }
}
