//! A run over time: counts per interval, and readings of the instruments.
//!
//! Interval i covers (origin + i·w, origin + (i+1)·w] for the interval length w: an operation belongs to the interval
//! in which it was completed, one that completes on the boundary to the interval that ends there, and one that
//! completes at the origin to the first. The sums over all intervals are exactly the totals of the run.

use super::Direction;
use super::bins::{Bin, IntervalPlan, merge_factor};
use super::buckets::Counting;
use crate::target::Reading;
use nandscope_units::Nanos;

/// A reading of the instruments and its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// When, on the target's clock.
    pub at: Nanos,
    /// Reading of the instruments.
    pub reading: Reading,
}

/// See the module's text.
#[derive(Clone, Debug)]
pub struct Timeline {
    origin: Nanos,
    interval: Nanos,
    max_points: usize,
    closed: Vec<Bin>,
    current: Bin,
    /// Latencies not yet added to `current`.
    counting: Counting,
    /// End of the interval of `current`.
    current_end: Nanos,
    samples: Vec<Sample>,
    end: Nanos,
}

impl Timeline {
    /// An empty time line that begins at `origin`.
    pub fn new(origin: Nanos, plan: IntervalPlan) -> Self {
        let interval = plan.interval.max(Nanos(1));
        Timeline {
            origin,
            interval,
            max_points: plan.max_points.max(2),
            closed: Vec::new(),
            current: Bin::default(),
            counting: Counting::default(),
            current_end: origin + interval,
            samples: Vec::new(),
            end: origin,
        }
    }

    /// Counts an operation that was completed at `at`; times do not go backwards.
    #[inline]
    pub fn add(&mut self, direction: Direction, bytes: u32, latency: Nanos, at: Nanos) {
        if at > self.current_end {
            self.advance(at);
        }
        self.current.add(direction, bytes, latency);
        self.counting.add(direction, latency);
    }

    /// Removes and returns the current interval with its counts, and begins a new one.
    fn take_current(&mut self) -> Bin {
        let mut bin = std::mem::take(&mut self.current);
        bin.keep(&mut self.counting);
        bin
    }

    /// Begin of the first interval.
    pub fn origin(&self) -> Nanos {
        self.origin
    }

    /// End of the last interval; known after [`Timeline::finish`].
    pub fn end(&self) -> Nanos {
        self.end
    }

    /// Length of an interval; only the last may be shorter.
    pub fn interval(&self) -> Nanos {
        self.interval
    }

    /// The intervals, in order; complete after [`Timeline::finish`].
    pub fn bins(&self) -> &[Bin] {
        &self.closed
    }

    /// Samples of the instruments, in order. The first one is at or before the origin, if the
    /// runner could take one, and only serves to form differences.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// The end of interval `i`.
    pub fn end_of(&self, i: usize) -> Nanos {
        (self.origin + self.interval * (i as u64 + 1)).min(self.end.max(self.origin))
    }

    /// Time of the next reading of the instruments.
    pub fn next_sample(&self) -> Nanos {
        match self.samples.last() {
            None => self.origin,
            Some(last) if last.at < self.origin => self.origin,
            Some(last) => {
                let passed = last.at.saturating_sub(self.origin).0 / self.interval.0;
                self.origin + self.interval * (passed + 1)
            }
        }
    }

    /// Adds a reading; one at the same instant as the last replaces it.
    pub fn sample(&mut self, at: Nanos, reading: Reading) {
        match self.samples.last_mut() {
            Some(last) if last.at >= at => last.reading = reading,
            _ => self.samples.push(Sample { at, reading }),
        }
        // A run without I/O still has a time line that must not grow without bound.
        if self.samples.len() > self.max_points + 2 {
            self.merge();
        }
    }

    /// Closes the last interval at `end`.
    pub fn finish(&mut self, end: Nanos) {
        if end > self.current_end {
            self.advance(end);
        }
        self.end = end.max(self.origin);
        if end > self.origin || self.current != Bin::default() {
            let last = self.take_current();
            self.closed.push(last);
        }
    }

    /// Adds the counts of another time line with the same origin and plan; neither is finished. The longer of the
    /// two intervals is used: intervals of the same plan are whole multiples of each other.
    pub fn absorb(&mut self, mut other: Timeline) {
        while self.interval < other.interval {
            self.merge();
        }
        while other.interval < self.interval {
            other.merge();
        }
        // Both are brought to the same interval, the later one's.
        if self.current_end < other.current_end {
            self.advance(other.current_end);
        }
        while other.interval < self.interval {
            other.merge();
        }
        let last = other.take_current();
        other.closed.push(last);
        for (i, bin) in other.closed.iter().enumerate() {
            match self.closed.get_mut(i) {
                Some(mine) => mine.merge(bin),
                None => self.current.merge(bin),
            }
        }
    }

    /// Closes intervals until `current` contains `at`.
    fn advance(&mut self, at: Nanos) {
        while at > self.current_end {
            if self.closed.len() + 1 >= self.max_points {
                self.merge();
                continue;
            }
            let bin = self.take_current();
            self.closed.push(bin);
            let next = self.current_end + self.interval;
            if next == self.current_end {
                return;
            }
            self.current_end = next;
        }
    }

    /// Merges neighbouring intervals into longer ones; remaining ones at the end become the beginning of the current
    /// interval.
    fn merge(&mut self) {
        let factor = merge_factor(self.interval);
        let current = self.take_current();
        let mut all = std::mem::take(&mut self.closed);
        all.push(current);
        let old_interval = self.interval;
        self.interval = old_interval * factor as u64;
        for chunk in all.chunks(factor) {
            let mut sum = Bin::default();
            chunk.iter().for_each(|bin| sum.merge(bin));
            self.closed.push(sum);
        }
        self.current = self.closed.pop().unwrap_or_default();
        self.current_end = self.origin + self.interval * (self.closed.len() as u64 + 1);
        self.thin_samples(old_interval, factor);
    }

    /// Keeps the samples at and before the origin, and the last of every `factor` intervals of the old length. A late
    /// sample still belongs to the boundary before it.
    fn thin_samples(&mut self, old_interval: Nanos, factor: usize) {
        let origin = self.origin;
        let boundary_of = |s: &Sample| s.at.saturating_sub(origin).0 / old_interval.0;
        let interval_of = |s: &Sample| boundary_of(s).div_ceil(factor as u64);
        let mut kept: Vec<Sample> = Vec::with_capacity(self.samples.len());
        for &sample in &self.samples {
            match kept.last_mut() {
                Some(last) if last.at > origin && interval_of(last) == interval_of(&sample) => {
                    *last = sample;
                }
                _ => kept.push(sample),
            }
        }
        // A last sample in the middle of an interval would be taken for one at its end, which is still to come.
        if let Some(last) = kept.last()
            && last.at > origin
            && !boundary_of(last).is_multiple_of(factor as u64)
        {
            kept.pop();
        }
        self.samples = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plan(interval: u64, max_points: usize) -> IntervalPlan {
        IntervalPlan {
            interval: Nanos(interval),
            max_points,
        }
    }

    #[test]
    fn a_boundary_belongs_to_the_interval_that_ends_there() {
        let mut t = Timeline::new(Nanos(100), plan(10, 100));
        for at in [100, 110, 111, 120, 135] {
            t.add(Direction::Read, 1, Nanos(1), Nanos(at));
        }
        t.finish(Nanos(137));
        let counts: Vec<u64> = t
            .bins()
            .iter()
            .map(|b| b.direction(Direction::Read).operations)
            .collect();
        assert_eq!(counts, [2, 2, 0, 1]);
        assert_eq!(t.end_of(0), Nanos(110));
        assert_eq!(t.end_of(3), Nanos(137));
    }

    #[test]
    fn an_empty_run_has_no_interval() {
        let mut t = Timeline::new(Nanos(5), plan(10, 100));
        t.finish(Nanos(5));
        assert!(t.bins().is_empty());
    }

    #[test]
    fn a_long_idle_time_does_not_grow_the_series() {
        let mut t = Timeline::new(Nanos::ZERO, IntervalPlan::default());
        t.add(Direction::Write, 7, Nanos(1), Nanos(1));
        t.add(Direction::Write, 9, Nanos(1), Nanos::from_secs(10_000_000));
        t.finish(Nanos::from_secs(10_000_000));
        assert!(t.bins().len() <= super::super::MAX_POINTS);
        let bytes: u64 = t
            .bins()
            .iter()
            .map(|b| b.direction(Direction::Write).bytes)
            .sum();
        assert_eq!(bytes, 16);
    }

    #[test]
    fn samples_thin_out_with_the_intervals() {
        let mut t = Timeline::new(Nanos::ZERO, plan(1, 10));
        let mut at = t.next_sample();
        while at <= Nanos(1000) {
            t.sample(at, Reading::default());
            at = t.next_sample();
        }
        t.finish(Nanos(1000));
        assert!(t.samples().len() <= 12, "{}", t.samples().len());
        assert_eq!(t.samples()[0].at, Nanos::ZERO);
        assert!(t.samples().windows(2).all(|w| w[0].at < w[1].at));
    }

    proptest! {
        /// The summed counts of several threads equal those of a single thread.
        #[test]
        fn parts_add_up_to_the_whole(
            ops in prop::collection::vec((0u64..900, 0usize..3, 0u32..1_000_000, 0u64..1_000_000), 0..200),
            max_points in 2usize..40,
            interval in 1u64..300,
        ) {
            let make = || Timeline::new(Nanos(1_000), plan(interval, max_points));
            let mut whole = make();
            let mut parts = [make(), make(), make()];
            let mut now = 1_000;
            for &(gap, part, bytes, latency) in &ops {
                now += gap;
                for t in [&mut whole, &mut parts[part]] {
                    t.add(Direction::Write, bytes, Nanos(latency), Nanos(now));
                }
            }
            let mut sum = make();
            for part in parts {
                sum.absorb(part);
            }
            whole.finish(Nanos(now + 3));
            sum.finish(Nanos(now + 3));
            prop_assert_eq!(sum.interval(), whole.interval());
            prop_assert_eq!(sum.bins(), whole.bins());
        }

        #[test]
        fn intervals_add_up(
            ops in prop::collection::vec((0u64..5_000, 0usize..4, 0u32..1_000_000, 0u64..1_000_000), 0..300),
            max_points in 2usize..40,
            interval in 1u64..300,
        ) {
            let mut t = Timeline::new(Nanos(1_000), plan(interval, max_points));
            let mut now = 1_000;
            let mut totals = [(0u64, 0u64, 0u64, 0u64); 4];
            for &(gap, d, bytes, latency) in &ops {
                now += gap;
                t.add(Direction::ALL[d], bytes, Nanos(latency), Nanos(now));
                let total = &mut totals[d];
                *total = (total.0 + 1, total.1 + u64::from(bytes), total.2 + latency, total.3.max(latency));
            }
            t.finish(Nanos(now + 3));
            prop_assert!(t.bins().len() <= max_points);
            for (d, total) in Direction::ALL.into_iter().zip(totals) {
                let sum = t.bins().iter().fold((0, 0, 0, 0), |a, b| {
                    let b = b.direction(d);
                    (a.0 + b.operations, a.1 + b.bytes, a.2 + b.latency_sum_ns, a.3.max(b.latency_max_ns))
                });
                prop_assert_eq!(sum, total);
            }
            // The intervals tile the run.
            prop_assert_eq!(t.end_of(t.bins().len() - 1), Nanos(now + 3));
            let full = t.interval().0 * (t.bins().len() as u64 - 1);
            prop_assert!(full < now + 3 - 1_000);
        }
    }
}
