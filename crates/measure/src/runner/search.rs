//! The search for the largest queue depth that keeps a latency: fio's `latency_target`.

use nandscope_units::Nanos;
use nandscope_workload::LatencyTarget;

/// Number of successes in succession, below a depth that failed, after which that depth is tried again.
const STABLE: u32 = 3;

/// Consequence of a finished operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// Continue, possibly with another queue depth.
    Continue,
    /// The depth is found: earlier records do not belong to the result.
    Found,
    /// The measurement after [`Finding::Found`] is complete, and the job ends.
    Over,
    /// Not even a queue depth of 1 keeps the latency.
    Missed,
}

/// Search of one thread.
#[derive(Clone, Debug)]
pub(super) struct Search {
    target: LatencyTarget,
    largest: u32,
    depth: u32,
    low: u32,
    high: u32,
    stable: u32,
    since: Nanos,
    operations: u64,
    missed: u64,
    /// True if outstanding operations must finish before the next depth is tried.
    drains: bool,
    is_found: bool,
}

impl Search {
    /// A search up to depth `largest`, starting at `start`; `None` without a target.
    pub(super) fn new(target: LatencyTarget, largest: u32, start: Nanos) -> Option<Search> {
        (!target.latency.is_zero()).then_some(Search {
            target,
            largest,
            depth: 1,
            low: 1,
            high: largest,
            stable: 0,
            since: start,
            operations: 0,
            missed: 0,
            drains: false,
            is_found: false,
        })
    }

    /// Queue depth being tried, or found.
    pub(super) fn depth(&self) -> u32 {
        self.depth
    }

    /// Whether a thread with `outstanding` operations must wait before it issues the next one.
    pub(super) fn holds_back(&mut self, outstanding: u32, now: Nanos) -> bool {
        if self.drains && outstanding == 0 {
            self.drains = false;
            self.begin(now);
        }
        self.drains || outstanding >= self.depth
    }

    fn begin(&mut self, now: Nanos) {
        (self.since, self.operations, self.missed) = (now, 0, 0);
    }

    /// Counts a finished operation with this latency.
    pub(super) fn finished(&mut self, latency: Nanos, now: Nanos) -> Finding {
        self.operations += 1;
        if latency > self.target.latency {
            self.missed += 1;
            if self.target.percentile >= 100.0 && !self.drains && !self.lower(now) {
                return Finding::Missed;
            }
        }
        if self.drains || now.saturating_sub(self.since) < self.target.window {
            return Finding::Continue;
        }
        let kept = (self.operations - self.missed) as f64 / self.operations as f64;
        if kept * 100.0 >= self.target.percentile {
            return self.raise(now);
        }
        self.lower(now);
        Finding::Continue
    }

    /// Lowers the depth; false if it cannot be lowered.
    fn lower(&mut self, now: Nanos) -> bool {
        if self.depth == self.low {
            return false;
        }
        self.high = self.depth;
        self.depth = match self.depth == self.low + 1 {
            true => self.low,
            false => (self.depth + self.low) / 2,
        };
        self.drains = true;
        self.begin(now);
        true
    }

    /// Raises the depth: to the double while no depth has failed.
    fn raise(&mut self, now: Nanos) -> Finding {
        let before = self.depth;
        self.low = before;
        if before + 1 == self.high {
            self.stable += 1;
            if self.stable >= STABLE {
                self.high += 1;
                self.stable = 0;
            }
        }
        let next = match self.high == self.largest {
            true => before.saturating_mul(2),
            false => before.saturating_add(self.high) / 2,
        };
        self.depth = next.min(self.largest);
        self.begin(now);
        if self.target.keeps_searching || self.depth != before {
            return Finding::Continue;
        }
        if self.is_found {
            return Finding::Over;
        }
        self.is_found = true;
        Finding::Found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The depth found for a device whose latency is 10 µs per outstanding operation.
    fn found(target_us: u64, largest: u32) -> Option<u32> {
        let target = LatencyTarget {
            latency: Nanos::from_micros(target_us),
            window: Nanos::from_millis(10),
            percentile: 90.0,
            keeps_searching: false,
        };
        let mut search = Search::new(target, largest, Nanos::ZERO)?;
        let mut now = Nanos::ZERO;
        for _ in 0..1_000_000 {
            if search.holds_back(0, now) {
                return None;
            }
            let latency = Nanos::from_micros(10 * u64::from(search.depth()));
            now += Nanos::from_micros(10);
            if search.finished(latency, now) == Finding::Over {
                return Some(search.depth());
            }
        }
        None
    }

    #[test]
    fn the_largest_depth_that_keeps_the_latency_is_found() {
        assert_eq!(found(100, 64), Some(10));
        assert_eq!(found(1_000, 32), Some(32), "bounded by the job");
        assert_eq!(found(0, 32), None, "no target");
    }

    #[test]
    fn a_latency_that_is_never_kept_is_missed() {
        let target = LatencyTarget {
            latency: Nanos(10),
            ..LatencyTarget::default()
        };
        let mut search = Search::new(target, 8, Nanos::ZERO).unwrap();
        assert_eq!(search.finished(Nanos(11), Nanos(5)), Finding::Missed);
    }
}
