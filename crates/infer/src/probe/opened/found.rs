//! Distance of slow sequential writes, and the possible range of the first.

use super::written::Written;
use crate::probe::slow_writes::Fit;

/// Equidistant slow writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::probe) struct Opened {
    /// Distance of the slow writes, bytes.
    pub(in crate::probe) unit: u64,
    /// Lowest possible start of the first AU, modulo the distance, bytes from the start of the target.
    pub(in crate::probe) from: u64,
    /// Length of the range after `from`, bytes.
    pub(in crate::probe) within: u64,
    /// Number of slow writes.
    pub(in crate::probe) seen: usize,
    /// Extra time of the slow writes, s.
    pub(in crate::probe) extra_s: f64,
    /// Distance of writes that were slower by less than AU boundaries, bytes: that of pages.
    pub(in crate::probe) page: Option<u64>,
}

impl Opened {
    /// Start of the first AU if exactly one multiple of the alignment of partitions is possible; `None` otherwise. A card may
    /// open an AU only when its first page is complete.
    pub(in crate::probe) fn first(&self, page: u64) -> Option<u64> {
        // The largest power of two that divides the AU and [`GRAIN`].
        let grain = GRAIN.min(1 << self.unit.trailing_zeros());
        // Shifted up by one AU, so that no address is negative.
        let (from, to) = (self.unit + self.from, self.unit + self.from + self.within);
        let least = (from + 1).saturating_sub(self.page.unwrap_or(page).min(from));
        let first = least.next_multiple_of(grain);
        (first < to && first + grain >= to).then_some(first % self.unit)
    }
}

/// Alignment of partitions, bytes; other partitions begin at no multiple of a page.
const GRAIN: u64 = 1 << 20;

impl Fit {
    pub(super) fn opened(self, written: &Written, page: Option<u64>) -> Opened {
        let from = (written.begin as f64 + self.from).max(0.0).ceil() as u64;
        Opened {
            unit: self.unit,
            from: from % self.unit,
            within: ((self.to - self.from) as u64).min(written.length),
            seen: self.seen,
            extra_s: self.extra_s,
            page,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::layout::PAGE_MAX;

    #[test]
    fn a_unit_begins_at_the_one_place_where_a_partition_may() {
        let found = Opened {
            unit: 4 << 20,
            from: 3 << 20,
            within: 512 << 10,
            seen: 9,
            extra_s: 0.01,
            page: None,
        };
        assert_eq!(found.first(PAGE_MAX), Some(3 << 20));
        // In a partition aligned to 1 MiB, AUs of 768 KiB may begin at any multiple of 256 KiB.
        let small = Opened {
            unit: 768 << 10,
            from: 200 << 10,
            within: 64 << 10,
            ..found
        };
        assert_eq!(small.first(32 << 10), Some(256 << 10));
        assert_eq!(small.first(PAGE_MAX), None);
    }
}
