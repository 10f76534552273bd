//! fio's bins of latencies: 64 to an octave, named by the value in their middle.

use nandscope_result::Latency;
use nandscope_result::histogram::decode;
use std::collections::BTreeMap;

/// Number of significant bits per value.
const BITS: u32 = 6;
const PER_GROUP: u64 = 1 << BITS;
/// fio has 29 groups; longer latencies are in the last bin.
const LAST: u64 = 29 * PER_GROUP - 1;

/// Number of the bin of a latency in ns.
fn index(ns: u64) -> u64 {
    let significant = u64::BITS - ns.leading_zeros();
    if significant <= BITS + 1 {
        return ns;
    }
    // Bits that are dropped.
    let error = significant - BITS - 1;
    let base = u64::from(error + 1) << BITS;
    (base + ((ns >> error) & (PER_GROUP - 1))).min(LAST)
}

/// Value in the middle of a bin, ns.
fn value(index: u64) -> u64 {
    if index < 2 * PER_GROUP {
        return index;
    }
    let error = (index >> BITS) - 1;
    let base = 1 << (error + u64::from(BITS));
    base + (2 * (index % PER_GROUP) + 1) * (1 << error) / 2
}

/// Name of a bin and operations in it, ascending. Empty if the histogram cannot be read.
pub fn of(latency: &Latency) -> BTreeMap<u64, u64> {
    let mut bins = BTreeMap::new();
    each(latency, |ns, count| {
        *bins.entry(value(index(ns))).or_default() += count;
    });
    bins
}

/// Latencies in ns with their numbers, ascending, as finely as they were recorded.
pub fn each(latency: &Latency, mut take: impl FnMut(u64, u64)) {
    let Ok(histogram) = decode(&latency.histogram) else {
        return;
    };
    for step in histogram.iter_recorded() {
        // The histogram names a bucket by its upper end.
        let ns = step.value_iterated_to();
        let middle = ns - (ns - histogram.lowest_equivalent(ns)) / 2;
        let ns = middle.clamp(latency.min_ns, latency.max_ns.max(latency.min_ns));
        take(ns, step.count_at_value());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written by fio 3.33 for latencies of 60,733 ns, 2,905 ns and the longest of all.
    #[test]
    fn bins_are_named_as_in_fio() {
        assert_eq!(value(index(60_733)), 60_672);
        assert_eq!(value(index(2_905)), 2_896);
        assert_eq!(value(index(u64::MAX)), 17_112_760_320);
        for ns in [0, 1, 63, 64, 127] {
            assert_eq!(value(index(ns)), ns);
        }
    }

    #[test]
    fn a_bin_holds_its_own_name_and_is_a_64th_of_an_octave_wide() {
        for index_of in 0..=LAST {
            assert_eq!(index(value(index_of)), index_of);
        }
        for ns in (0..40).map(|bit| 0x1_2345_6789_abcd_u64 >> (48 - bit)) {
            let named = value(index(ns)).min(17_112_760_320);
            if ns < 17_000_000_000 {
                assert!(named.abs_diff(ns) * 64 <= ns, "{ns} {named}");
            }
        }
    }
}
