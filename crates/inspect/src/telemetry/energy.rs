//! Energy: from counters that wrap around, and from samples of power.

use nandscope_units::Nanos;
use serde::Serialize;

/// Adds up a counter that wraps to zero after its highest value. Two readings must be less than one wrap
/// apart; a RAPL counter takes at least a minute to wrap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrappingCounter {
    /// Values of the counter: it goes from 0 to `range`, and then on from 0.
    range: u64,
    last: Option<u64>,
    total: u128,
}

impl WrappingCounter {
    /// A counter with this highest value.
    pub fn new(range: u64) -> Self {
        WrappingCounter {
            range,
            last: None,
            total: 0,
        }
    }

    /// Takes a reading; gives what was counted since the first one.
    pub fn read(&mut self, value: u64) -> u128 {
        if let Some(last) = self.last {
            self.total += match value.checked_sub(last) {
                Some(step) => u128::from(step),
                // The rest up to the end, one step to zero, and the new value.
                None => u128::from(self.range.saturating_sub(last)) + 1 + u128::from(value),
            };
        }
        self.last = Some(value);
        self.total
    }
}

/// Energy from samples of power, each pair joined by a straight line (trapezoidal rule).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PowerIntegral {
    /// Samples further apart than this are not joined.
    longest: Nanos,
    last: Option<(Nanos, f64)>,
    joules: f64,
    covered: Nanos,
    missing: Nanos,
}

impl PowerIntegral {
    /// Starts at zero. Gaps between samples longer than `longest` add no energy.
    pub fn new(longest: Nanos) -> Self {
        PowerIntegral {
            longest,
            last: None,
            joules: 0.0,
            covered: Nanos::ZERO,
            missing: Nanos::ZERO,
        }
    }

    /// Takes a sample in watts. One that is not a number, or not later than the last, is passed over.
    pub fn add(&mut self, at: Nanos, watts: f64) {
        if !watts.is_finite() {
            return;
        }
        if let Some((then, before)) = self.last {
            if at <= then {
                return;
            }
            let step = at.saturating_sub(then);
            if step <= self.longest {
                self.joules += (before + watts) / 2.0 * step.as_secs_f64();
                self.covered += step;
            } else {
                self.missing += step;
            }
        }
        self.last = Some((at, watts));
    }

    /// Joules in the time that is covered.
    pub fn joules(&self) -> f64 {
        self.joules
    }

    /// Time for which there was power.
    pub fn covered(&self) -> Nanos {
        self.covered
    }

    /// Time between the first and the last sample that no samples cover.
    pub fn missing(&self) -> Nanos {
        self.missing
    }

    /// Joules per 10^9 bytes; `None` if no data was transferred or no time is covered.
    pub fn joules_per_gb(&self, bytes: nandscope_units::Bytes) -> Option<f64> {
        let known = bytes.0 > 0 && self.covered > Nanos::ZERO;
        known.then(|| self.joules / bytes.as_gb())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_units::Bytes;

    #[test]
    fn a_counter_wraps_around_as_often_as_it_likes() {
        let mut counter = WrappingCounter::new(99);
        let steps = [(90, 0), (99, 9), (0, 10), (0, 10), (50, 60), (49, 159)];
        for (value, total) in steps {
            assert_eq!(counter.read(value), total);
        }
    }

    #[test]
    fn a_ramp_has_the_area_of_its_triangle() {
        let mut power = PowerIntegral::new(Nanos::from_secs(2));
        for second in 0..=10 {
            power.add(Nanos::from_secs(second), second as f64);
        }
        assert!((power.joules() - 50.0).abs() < 1e-9);
        assert_eq!(power.joules_per_gb(Bytes(25_000_000_000)), Some(2.0));
        assert_eq!(power.joules_per_gb(Bytes::ZERO), None);
    }

    #[test]
    fn nothing_is_made_up_for_a_gap() {
        let mut power = PowerIntegral::new(Nanos::from_secs(2));
        for (second, watts) in [
            (0, 1.0),
            (1, 1.0),
            (9, 1.0),
            (8, 5.0),
            (10, f64::NAN),
            (11, 1.0),
        ] {
            power.add(Nanos::from_secs(second), watts);
        }
        assert!((power.joules() - 3.0).abs() < 1e-9);
        assert_eq!(power.covered(), Nanos::from_secs(3));
        assert_eq!(power.missing(), Nanos::from_secs(8));
    }
}
