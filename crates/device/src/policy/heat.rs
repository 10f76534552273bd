//! [`Heat`], which data of a page-mapped device is written often. Writes of the host are counted per chunk; a chunk that is written at
//! more than twice the mean rate is hot. Counts are halved once per overwrite of the whole capacity, as Hsieh, Kuo and
//! Chang do ("Efficient Identification of Hot Data for Flash Memory Storage Systems", ACM Transactions on Storage 2,
//! 2006), but kept per chunk instead of hashed.
//! Hot units that are scattered among cold ones within chunks are not found.
//!
//! Where hot and cold data goes is decided by the translation layer ([`crate::mapping::page`]).

use crate::convert::Widen;
use crate::invariant::{Checked, ensure};
use serde::{Deserialize, Serialize};

/// Mapping units of a chunk.
const CHUNK_UNITS: u32 = 16;
/// Multiple of the mean write rate above which a chunk is hot.
const HOT_RATE: u64 = 2;

/// Write counts of chunks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Heat {
    counts: Vec<u8>,
    /// Sum of all counts.
    total: u64,
    units: u32,
    /// Units written since the last halving of the counts.
    since_halving: u32,
}

/// Number of the chunk of a unit.
fn chunk_of(unit: u32) -> usize {
    (unit / CHUNK_UNITS) as usize
}

impl Heat {
    pub(crate) fn new(user_units: u32) -> Self {
        Heat {
            counts: vec![0; user_units.div_ceil(CHUNK_UNITS) as usize],
            total: 0,
            units: user_units,
            since_halving: 0,
        }
    }

    /// Whether the chunk of a logical unit is hot; metadata never is.
    pub(crate) fn is_hot(&self, unit: u32) -> bool {
        let count = self.counts.get(chunk_of(unit));
        let written = u64::from(count.copied().unwrap_or(0));
        written * self.counts.len().widen() > HOT_RATE * self.total
    }

    /// How many of `count` units from `first` on lie in its chunk.
    pub(crate) fn units_in_chunk(first: u32, count: u32) -> u32 {
        count.min(CHUNK_UNITS - first % CHUNK_UNITS)
    }

    /// Counts written units of one chunk.
    pub(crate) fn count(&mut self, first: u32, units: u32) {
        if let Some(count) = self.counts.get_mut(chunk_of(first)) {
            let before = *count;
            *count = before.saturating_add(u8::try_from(units).unwrap_or(u8::MAX));
            self.total += u64::from(*count - before);
        }
        self.since_halving += units;
        if self.since_halving >= self.units {
            self.since_halving = 0;
            self.counts.iter_mut().for_each(|count| *count /= 2);
            self.total = self.counts.iter().map(|count| u64::from(*count)).sum();
        }
    }

    pub(crate) fn audit(&self, user_units: u32) -> Checked {
        let sum: u64 = self.counts.iter().map(|count| u64::from(*count)).sum();
        ensure!(
            self.units == user_units
                && self.counts.len() == user_units.div_ceil(CHUNK_UNITS) as usize
                && self.since_halving < user_units.max(1)
                && sum == self.total,
            "writes of {} chunks are counted, {} in all and {} since the last halving",
            self.counts.len(),
            self.total,
            self.since_halving
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_written_at_twice_the_mean_rate_are_hot() {
        let mut heat = Heat::new(160);
        for chunk in 0..10 {
            heat.count(chunk * 16, 16);
        }
        assert!((0..160).all(|unit| !heat.is_hot(unit)), "all are alike");
        for _ in 0..60 {
            heat.count(32, 1);
        }
        let hot: Vec<u32> = (0..200).filter(|unit| heat.is_hot(*unit)).collect();
        assert_eq!(hot, (32..48).collect::<Vec<_>>());
        heat.audit(160).expect("sound");
    }

    #[test]
    fn what_is_not_written_any_more_becomes_cold() {
        let mut heat = Heat::new(160);
        for _ in 0..255 {
            heat.count(0, 1);
        }
        assert!(heat.is_hot(0));
        for round in 0..480 {
            heat.count(16 + round % 144, 1);
        }
        assert!(!heat.is_hot(0));
        heat.audit(160).expect("sound");
    }
}
