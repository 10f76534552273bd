//! What writing in order has shown: the distance of slow writes, and where the first of them may begin.

use super::written::Written;
use crate::probe::slow_writes::Fit;

/// Writes that took longer at equal distances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::probe) struct Opened {
    /// Their distance, bytes.
    pub(in crate::probe) unit: u64,
    /// Smallest begin of the first of them from the beginning of the target, modulo the distance, bytes.
    pub(in crate::probe) from: u64,
    /// Length of the range after `from`, bytes.
    pub(in crate::probe) within: u64,
    /// Number of slow writes seen.
    pub(in crate::probe) seen: usize,
    /// Additional time of the slow writes, s.
    pub(in crate::probe) extra_s: f64,
    /// The distance of writes that took longer by less: pages, bytes.
    pub(in crate::probe) page: Option<u64>,
}

impl Opened {
    /// The one multiple of `grain` from the beginning of the target on at which the first unit can begin, where there is one.
    /// A card may open a unit no earlier than its first page is complete.
    pub(in crate::probe) fn first(&self, page: u64) -> Option<u64> {
        // A power of two: what divides both.
        let grain = GRAIN.min(1 << self.unit.trailing_zeros());
        // One unit up, so that nothing is below zero.
        let (from, to) = (self.unit + self.from, self.unit + self.from + self.within);
        let least = (from + 1).saturating_sub(self.page.unwrap_or(page).min(from));
        let first = least.next_multiple_of(grain);
        (first < to && first + grain >= to).then_some(first % self.unit)
    }
}

/// Partitions begin at multiples of this from the beginning of the device, or at no multiple of a page.
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
        // Units of 768 KiB may begin at each multiple of 256 KiB in a partition that begins at one of a MiB.
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
