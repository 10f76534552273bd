//! Counts of latencies in the buckets of the result's histogram, in as much memory as they need.
//!
//! A histogram takes 270 KB, which is too much for each of thousands of jobs. The first latencies are a list of bucket
//! numbers, two bytes each. From [`LISTED`] on, counts are in pages, of which those exist that have a count; a page has counts of
//! 16 bits until one of them overflows.

use hdrhistogram::Histogram;
use nandscope_result::histogram::{self, HIGHEST_NS};

/// Number of latencies up to which they are a list.
pub const LISTED: usize = 16_384;
/// Counts of a page.
const PER_PAGE: usize = 128;
const PAGES: usize = BUCKETS.div_ceil(PER_PAGE);
/// Buckets of the histogram: 1024 for each doubling of the latency, twice as many for the shortest ones, up to 2^42 ns, the first
/// power of two above its bound.
const BUCKETS: usize = 33 << HALF_BITS;
/// Half of the buckets of the shortest latencies, as bits: three digits need 2048 buckets of 1 ns.
const HALF_BITS: u32 = 10;
/// Bytes that the allocator adds to a page.
const OVERHEAD: u64 = 16;

/// The bucket of a latency.
#[inline]
fn bucket_of(ns: u64) -> u16 {
    // Longer latencies than the histogram has buckets for are in that of its bound.
    let ns = if ns >> 42 == 0 { ns } else { HIGHEST_NS };
    let shift = (u64::BITS - HALF_BITS - 1).saturating_sub(ns.leading_zeros());
    // Below 33 << 10.
    ((shift << HALF_BITS) as u64 + (ns >> shift)) as u16
}

/// The shortest latency of a bucket.
fn shortest_in(bucket: usize) -> u64 {
    let shift = (bucket >> HALF_BITS).saturating_sub(1);
    ((bucket - (shift << HALF_BITS)) as u64) << shift
}

/// Counts of neighbouring buckets.
#[derive(Clone, Debug)]
enum Page {
    Small(Box<[u16; PER_PAGE]>),
    Large(Box<[u64; PER_PAGE]>),
}

impl Page {
    fn new() -> Self {
        Page::Small(Box::new([0; PER_PAGE]))
    }

    #[inline]
    fn add(&mut self, place: usize, count: u64) {
        match self {
            Page::Large(counts) => counts[place] = counts[place].saturating_add(count),
            Page::Small(counts) => {
                let sum = u64::from(counts[place]).saturating_add(count);
                match u16::try_from(sum) {
                    Ok(sum) => counts[place] = sum,
                    Err(_) => self.widen()[place] = sum,
                }
            }
        }
    }

    #[cold]
    fn widen(&mut self) -> &mut [u64; PER_PAGE] {
        if let Page::Small(counts) = self {
            *self = Page::Large(Box::new(counts.map(u64::from)));
        }
        match self {
            Page::Large(counts) => counts,
            Page::Small(_) => unreachable!("replaced above"),
        }
    }

    fn get(&self, place: usize) -> u64 {
        match self {
            Page::Small(counts) => u64::from(counts[place]),
            Page::Large(counts) => counts[place],
        }
    }
}

/// All pages; `None` for one without a count.
#[derive(Clone, Debug)]
pub struct Pages(Box<[Option<Page>; PAGES]>);

impl Pages {
    fn of(list: &[u16]) -> Self {
        let mut pages = Pages(Box::new([const { None }; PAGES]));
        list.iter().for_each(|bucket| pages.add(*bucket, 1));
        pages
    }

    #[inline]
    fn add(&mut self, bucket: u16, count: u64) {
        let bucket = usize::from(bucket);
        let page = self.0[bucket / PER_PAGE].get_or_insert_with(Page::new);
        page.add(bucket % PER_PAGE, count);
    }

    /// Buckets with their counts, in ascending order.
    fn counts(&self) -> impl Iterator<Item = (u16, u64)> {
        let pages = self.0.iter().enumerate();
        let pages = pages.filter_map(|(number, page)| Some((number, page.as_ref()?)));
        let all = pages.flat_map(|(number, page)| {
            // Below `BUCKETS`, which fits.
            (0..PER_PAGE).map(move |place| ((number * PER_PAGE + place) as u16, page.get(place)))
        });
        all.filter(|(_, count)| *count > 0)
    }
}

/// Counts of latencies by bucket.
#[derive(Clone, Debug)]
pub enum BucketCounts {
    /// The bucket of each latency, in the order of recording.
    Listed(Vec<u16>),
    /// Counts of the buckets that occurred.
    Paged(Pages),
}

impl BucketCounts {
    /// No latency.
    pub const fn new() -> Self {
        BucketCounts::Listed(Vec::new())
    }

    /// Counts one latency.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        let bucket = bucket_of(ns);
        match self {
            BucketCounts::Paged(pages) => pages.add(bucket, 1),
            BucketCounts::Listed(list) if list.len() < LISTED => list.push(bucket),
            BucketCounts::Listed(_) => self.pages().add(bucket, 1),
        }
    }

    #[cold]
    fn pages(&mut self) -> &mut Pages {
        if let BucketCounts::Listed(list) = self {
            *self = BucketCounts::Paged(Pages::of(list));
        }
        match self {
            BucketCounts::Paged(pages) => pages,
            BucketCounts::Listed(_) => unreachable!("replaced above"),
        }
    }

    /// Adds other counts; equal to recording all of their latencies here.
    pub fn merge(&mut self, other: &BucketCounts) {
        match other {
            BucketCounts::Paged(pages) => {
                let mine = self.pages();
                pages.counts().for_each(|(bucket, n)| mine.add(bucket, n));
            }
            BucketCounts::Listed(list) => match self {
                BucketCounts::Listed(mine) if mine.len() + list.len() <= LISTED => {
                    mine.extend(list);
                }
                _ => {
                    let mine = self.pages();
                    list.iter().for_each(|bucket| mine.add(*bucket, 1));
                }
            },
        }
    }

    /// The counts of a histogram with the bounds of [`histogram::empty`].
    pub fn of(histogram: &Histogram<u64>) -> Self {
        let mut pages = Pages::of(&[]);
        for recorded in histogram.iter_recorded() {
            let bucket = bucket_of(recorded.value_iterated_to());
            pages.add(bucket, recorded.count_since_last_iteration());
        }
        BucketCounts::Paged(pages)
    }

    /// The counts as a histogram.
    pub fn histogram(&self) -> Histogram<u64> {
        let mut histogram = histogram::empty();
        let mut add = |bucket: u16, count| {
            histogram.saturating_record_n(shortest_in(bucket.into()), count);
        };
        match self {
            BucketCounts::Listed(list) => list.iter().for_each(|bucket| add(*bucket, 1)),
            BucketCounts::Paged(pages) => pages.counts().for_each(|(bucket, n)| add(bucket, n)),
        }
        histogram
    }

    /// Largest memory for a number of latencies, bytes.
    pub fn most_bytes(latencies: u64) -> u64 {
        if latencies <= LISTED as u64 {
            return 2 * latencies.next_power_of_two().max(4) + OVERHEAD;
        }
        let page = |count: usize| (PER_PAGE * count) as u64 + OVERHEAD;
        // A page is large once a count of it is.
        let large = (latencies >> u16::BITS).min(PAGES as u64);
        let small = (PAGES as u64 - large).min(latencies);
        size_of::<[Option<Page>; PAGES]>() as u64 + small * page(2) + large * page(8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plain(values: &[u64]) -> Histogram<u64> {
        let mut histogram = histogram::empty();
        values
            .iter()
            .for_each(|ns| histogram.saturating_record(*ns));
        histogram
    }

    fn counted(values: &[u64]) -> BucketCounts {
        let mut counts = BucketCounts::new();
        values.iter().for_each(|ns| counts.record(*ns));
        counts
    }

    /// Bytes in use.
    fn bytes(counts: &BucketCounts) -> u64 {
        match counts {
            BucketCounts::Listed(list) => 2 * list.capacity() as u64,
            BucketCounts::Paged(pages) => {
                let pages = pages.0.iter().map(|page| match page {
                    None => 0,
                    Some(Page::Small(counts)) => size_of_val(&**counts),
                    Some(Page::Large(counts)) => size_of_val(&**counts),
                });
                (size_of::<[Option<Page>; PAGES]>() + pages.sum::<usize>()) as u64
            }
        }
    }

    #[test]
    fn buckets_are_those_of_the_histogram() {
        assert_eq!(histogram::empty().distinct_values(), BUCKETS);
        for bucket in 0..BUCKETS {
            assert_eq!(usize::from(bucket_of(shortest_in(bucket))), bucket);
        }
        let ends = (0..64).flat_map(|bit| [(1 << bit) - 1, 1u64 << bit, (1 << bit) + 1]);
        for ns in ends.chain([u64::MAX, HIGHEST_NS - 1, HIGHEST_NS, HIGHEST_NS + 1]) {
            assert_eq!(counted(&[ns]).histogram(), plain(&[ns]), "{ns}");
        }
    }

    #[test]
    fn a_count_outgrows_16_bits() {
        let mut counts = counted(&[7; LISTED + 1]);
        for _ in 0..5 {
            let same = counts.clone();
            counts.merge(&same);
        }
        counts.record(8);
        let histogram = counts.histogram();
        let expected = (LISTED as u64 + 1) << 5;
        assert_eq!(
            (histogram.count_at(7), histogram.count_at(8)),
            (expected, 1)
        );
        assert!(bytes(&counts) <= BucketCounts::most_bytes(expected + 1));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn lists_and_pages_give_the_histogram(
            values in prop::collection::vec(0u64..1 << 44, 1..200),
            times in prop::sample::select(vec![1usize, 90, 400]),
            parts in 1usize..4,
        ) {
            let mut values = values.repeat(times);
            // All bits have the same chance to be the highest.
            values.iter_mut().enumerate().for_each(|(i, ns)| *ns >>= i % 44);
            let mut counts = BucketCounts::new();
            for part in values.chunks(values.len().div_ceil(parts)) {
                counts.merge(&counted(part));
            }
            let histogram = plain(&values);
            prop_assert_eq!(histogram::encode(&counts.histogram()), histogram::encode(&histogram));
            prop_assert_eq!(&BucketCounts::of(&histogram).histogram(), &histogram);
            let most = BucketCounts::most_bytes(values.len() as u64);
            prop_assert!(bytes(&counted(&values)) <= most, "{} {}", bytes(&counted(&values)), most);
        }
    }
}
