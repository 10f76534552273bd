//! The pacing error: how late completions were sent, against the model's time. It says whether a
//! measurement through a served device can be trusted.

use hdrhistogram::Histogram;
use nandscope_units::Nanos;

/// An error above a minute counts as a minute.
const MOST: u64 = 60_000_000_000;
/// Ratio of a completion's lateness to its latency above which it distorts a measurement.
const TOLERATED: f64 = 0.1;
/// Share of distorting completions above which the machine is too slow.
const SPOILT: f64 = 0.1;

/// Pacing errors of all completions.
#[derive(Debug)]
pub struct PacingError {
    histogram: Histogram<u64>,
    spoilt: u64,
}

/// Statistics of the pacing error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacingReport {
    /// Number of completions.
    pub completions: u64,
    /// Half of them were at most so late, on the wall.
    pub p50: Nanos,
    /// 99 of 100 were at most so late.
    pub p99: Nanos,
    /// The latest one.
    pub max: Nanos,
    /// Share of completions, 0 to 1, that were late by more than a tenth of their latency.
    pub spoilt: f64,
}

impl PacingReport {
    /// True if at most a tenth of the completions was late by more than a tenth of its latency.
    pub fn kept_up(&self) -> bool {
        self.spoilt <= SPOILT
    }
}

impl Default for PacingError {
    fn default() -> Self {
        // Three digits between 1 ns and a minute are valid bounds of the library.
        #[allow(clippy::unwrap_used, reason = "the bounds are constants that hold")]
        let histogram = Histogram::new_with_bounds(1, MOST, 3).unwrap();
        PacingError {
            histogram,
            spoilt: 0,
        }
    }
}

impl PacingError {
    /// Records the pacing error and the model's latency of one completion, in wall-clock time.
    pub fn note(&mut self, late: Nanos, latency: Nanos) {
        self.histogram.saturating_record(late.0);
        if late.0 as f64 > TOLERATED * latency.0 as f64 {
            self.spoilt += 1;
        }
    }

    /// Returns the current figures.
    pub fn report(&self) -> PacingReport {
        let completions = self.histogram.len();
        let at = |quantile| Nanos(self.histogram.value_at_quantile(quantile));
        PacingReport {
            completions,
            p50: at(0.5),
            p99: at(0.99),
            max: Nanos(self.histogram.max()),
            spoilt: self.spoilt as f64 / completions.max(1) as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_judged_by_the_latency_it_spoils() {
        let mut pacing = PacingError::default();
        for _ in 0..89 {
            pacing.note(Nanos(5_000), Nanos(100_000));
        }
        for _ in 0..11 {
            pacing.note(Nanos(20_000), Nanos(100_000));
        }
        let report = pacing.report();
        assert_eq!((report.completions, report.spoilt), (100, 0.11));
        assert!(!report.kept_up());
        assert!((4_990..5_010).contains(&report.p50.0), "{report:?}");
        assert!((19_900..20_100).contains(&report.p99.0), "{report:?}");
        // The same error is negligible for a read of 2 ms.
        let mut pacing = PacingError::default();
        pacing.note(Nanos(20_000), Nanos(2_000_000));
        assert!(pacing.report().kept_up());
        assert!(PacingError::default().report().kept_up());
    }
}
