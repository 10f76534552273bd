//! What writing in order shows of an SLC cache.

use crate::quantile::median;

/// Result of the sequential writes.
#[derive(Clone, Debug, Default)]
pub(super) struct Filled {
    /// Bytes per second of each [`BATCH`](super::writes::BATCH).
    pub(super) rates: Vec<f64>,
    /// Time between the ends of one [`PIECE`](super::writes::PIECE) and the next, from the beginning of the target on, s.
    pub(super) gaps: Vec<f64>,
    /// The number of batches after which the first plateau is over, where it is.
    pub(super) end: Option<usize>,
    /// Size of the cache, bytes.
    pub(super) cache: u64,
}

impl Filled {
    /// The same writes, of which none went into a cache.
    pub(super) fn without_cache(self) -> Self {
        Filled {
            end: None,
            cache: 0,
            ..self
        }
    }

    /// Rates of the first plateau and of what follows it.
    pub(super) fn levels(&self) -> Option<(f64, f64)> {
        let end = self.end?;
        let fast = median(&self.rates[..end.saturating_sub(1).max(1)]);
        Some((fast, median(&self.rates[end..])))
    }

    /// Bytes per second; faster writes go to the cache.
    pub(super) fn bar(&self) -> Option<f64> {
        self.levels().map(|(fast, slow)| (fast * slow).sqrt())
    }
}
