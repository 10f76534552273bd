//! Latencies of one interval, for its percentiles: counts in buckets a 32nd of an octave wide, so that a percentile is
//! accurate to 3 %. Dense while recording, sparse when stored.

use super::Direction;
use nandscope_units::Nanos;

/// Buckets of an octave, as bits.
const BITS: u32 = 5;
const PER_OCTAVE: u64 = 1 << BITS;
/// Longer latencies, from 2^40 ns (18 minutes) on, are in the last bucket.
const BUCKETS: usize = ((40 - BITS as usize) << BITS) + PER_OCTAVE as usize;

/// The number of the bucket of a latency.
#[inline]
fn index(ns: u64) -> usize {
    let shift = (u64::BITS - ns.leading_zeros()).saturating_sub(BITS + 1);
    let index = (u64::from(shift) << BITS) + (ns >> shift);
    (index as usize).min(BUCKETS - 1)
}

/// The latency in the middle of a bucket, ns.
fn middle(index: u16) -> u64 {
    let index = u64::from(index);
    let shift = (index >> BITS).saturating_sub(1);
    let low = (index - (shift << BITS)) << shift;
    low + (1 << shift) / 2
}

/// Non-empty buckets in ascending order, each with its count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buckets(Vec<(u16, u32)>);

impl Buckets {
    /// Adds the counts of another interval.
    pub(super) fn merge(&mut self, other: &Buckets) {
        if self.0.is_empty() {
            self.0.clone_from(&other.0);
            return;
        }
        if other.0.is_empty() {
            return;
        }
        let mut all = Vec::with_capacity(self.0.len() + other.0.len());
        let (mut mine, mut theirs) = (self.0.iter().peekable(), other.0.iter().peekable());
        while let (Some(a), Some(b)) = (mine.peek(), theirs.peek()) {
            match a.0.cmp(&b.0) {
                std::cmp::Ordering::Less => all.extend(mine.next()),
                std::cmp::Ordering::Greater => all.extend(theirs.next()),
                std::cmp::Ordering::Equal => {
                    all.push((a.0, a.1.saturating_add(b.1)));
                    mine.next();
                    theirs.next();
                }
            }
        }
        all.extend(mine.chain(theirs));
        self.0 = all;
    }

    /// The latency that this percentage of the operations did not exceed, to 3 %; `None` if there were no
    /// operations.
    pub fn percentile(&self, percent: f64) -> Option<Nanos> {
        let all: u64 = self.0.iter().map(|(_, count)| u64::from(*count)).sum();
        let rank = (all as f64 * percent / 100.0 * (1.0 - 4.0 * f64::EPSILON)).ceil();
        let rank = (rank as u64).max(1);
        let mut passed = 0;
        let found = self.0.iter().find(|(_, count)| {
            passed += u64::from(*count);
            passed >= rank
        });
        found.map(|(index, _)| Nanos(middle(*index)))
    }
}

/// Counts of the current interval.
#[derive(Clone, Debug, Default)]
pub(super) struct Counting {
    /// Counts by kind of operation; empty before its first operation.
    counts: [Vec<u32>; Direction::COUNT],
    /// The lowest and highest bucket that occurred.
    ranges: [Option<(usize, usize)>; Direction::COUNT],
}

impl Counting {
    #[inline]
    pub(super) fn add(&mut self, direction: Direction, latency: Nanos) {
        let bucket = index(latency.0);
        let at = direction.index();
        let counts = &mut self.counts[at];
        if counts.is_empty() {
            counts.resize(BUCKETS, 0);
        }
        counts[bucket] = counts[bucket].saturating_add(1);
        self.ranges[at] = Some(match self.ranges[at] {
            Some((low, high)) => (low.min(bucket), high.max(bucket)),
            None => (bucket, bucket),
        });
    }

    /// Takes the counts of a kind of operation and resets them.
    pub(super) fn take(&mut self, direction: Direction) -> Option<Buckets> {
        let at = direction.index();
        let (low, high) = self.ranges[at].take()?;
        let counts = self.counts[at].get_mut(low..=high)?;
        let occurred = (low..)
            .zip(counts.iter_mut())
            .filter(|(_, count)| **count > 0);
        // There are fewer than 2^16 buckets.
        let all = occurred.map(|(index, count)| (index as u16, std::mem::take(count)));
        Some(Buckets(all.collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_bucket_holds_its_middle_and_is_a_32nd_of_an_octave_wide() {
        for bucket in 0..BUCKETS {
            assert_eq!(index(middle(bucket as u16)), bucket);
        }
        for ns in (0..40).map(|bit| 0x12_3456_789a_u64 >> (39 - bit)) {
            let named = middle(index(ns) as u16);
            assert!(named.abs_diff(ns) * 32 <= ns, "{ns} {named}");
        }
        assert_eq!(index(u64::MAX), BUCKETS - 1);
    }

    proptest! {
        #[test]
        fn parts_add_up_and_percentiles_are_near(
            values in prop::collection::vec(1u64..10_000_000_000, 1..300),
            cut in 0usize..300,
            percent in 0.1f64..100.0,
        ) {
            let counted = |values: &[u64]| {
                let mut counting = Counting::default();
                values.iter().for_each(|ns| counting.add(Direction::Read, Nanos(*ns)));
                counting.take(Direction::Read).unwrap_or_default()
            };
            let whole = counted(&values);
            let (a, b) = values.split_at(cut.min(values.len()));
            let mut sum = counted(a);
            sum.merge(&counted(b));
            prop_assert_eq!(&sum, &whole);
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let rank = (sorted.len() as f64 * percent / 100.0).ceil().max(1.0) as usize;
            let right = sorted[rank - 1];
            let found = whole.percentile(percent).unwrap().0;
            prop_assert!(found.abs_diff(right) * 32 <= right.max(32), "{} {}", found, right);
        }
    }
}
