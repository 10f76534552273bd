//! Age of data at its temperature: charge is lost faster in the heat, by the law of Arrhenius (JESD22-A117, JESD218).
//! Retention of a part is stated at 40 °C; an hour at a higher temperature counts as several.
//!
//! The temperature is that of the case. Its history is a list of times at which the ageing rate changed.

use crate::invariant::{Checked, check_near, check_number, ensure};
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};

/// Boltzmann's constant, eV/K.
const BOLTZMANN: f64 = 8.617_333e-5;
const KELVIN: f64 = 273.15;
/// Temperature for which retention is stated, °C.
const STATED_C: f64 = 40.0;
/// Relative change of the ageing rate that starts a new entry of the list.
const NOTED: f64 = 0.01;
/// Maximum number of recorded rate changes; above it, every second one is dropped.
const MOST_CHANGES: usize = 1024;
/// Upper bound of the ageing rate, and of its inverse, relative to 40 °C.
const MOST_RATE: f64 = 1e12;
/// Upper bound of an age, s.
const MOST_S: f64 = 1e22;

/// A change of the ageing rate: its time, and the age at that time of data written at the start of the device's life.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Change {
    at: Nanos,
    aged_s: f64,
}

/// Age, at 40 °C, of data written at the start of the device's life.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RetentionClock {
    activation_ev: f64,
    /// Changes of the rate in order; the first is at time zero.
    changes: Vec<Change>,
    /// Ageing rate since the last change, relative to 40 °C.
    rate: f64,
}

impl RetentionClock {
    /// A clock at time zero and 40 °C.
    pub(crate) fn new(activation_ev: f64) -> Self {
        let start = Change {
            at: Nanos::ZERO,
            aged_s: 0.0,
        };
        RetentionClock {
            activation_ev,
            changes: vec![start],
            rate: 1.0,
        }
    }

    /// Present ageing rate: seconds at 40 °C per second.
    pub(crate) fn rate(&self) -> f64 {
        self.rate
    }

    /// Sets the flash temperature from `now` on.
    pub(crate) fn set_temperature(&mut self, celsius: f64, now: Nanos) {
        let rate = acceleration(self.activation_ev, celsius);
        if (rate / self.rate - 1.0).abs() <= NOTED {
            return;
        }
        let change = Change {
            at: now,
            aged_s: self.aged_s(now),
        };
        if self.changes.last().is_some_and(|last| last.at == now) {
            self.changes.pop();
        }
        if self.changes.len() == MOST_CHANGES {
            // Drops every second change; the ages stored with the others remain valid.
            let mut keep = false;
            self.changes.retain(|_| {
                keep = !keep;
                keep
            });
        }
        self.changes.push(change);
        self.rate = rate;
    }

    /// Age at `now` of data that was written at `written`, as seconds at 40 °C.
    pub(crate) fn age_s(&self, written: Nanos, now: Nanos) -> f64 {
        (self.aged_s(now) - self.aged_s(written)).max(0.0)
    }

    fn aged_s(&self, at: Nanos) -> f64 {
        let place = self.changes.partition_point(|change| change.at <= at);
        let from = self.changes[place.max(1) - 1];
        let passed_s = at.saturating_sub(from.at).as_secs_f64();
        match self.changes.get(place) {
            None => from.aged_s + passed_s * self.rate,
            Some(to) => {
                let whole_s = to.at.saturating_sub(from.at).as_secs_f64();
                from.aged_s + (to.aged_s - from.aged_s) * passed_s / whole_s
            }
        }
    }

    /// Checks that the clock fits a part with this activation energy.
    pub(crate) fn audit(&self, activation_ev: f64, now: Nanos) -> Checked {
        let start = self.changes.first();
        ensure!(
            self.activation_ev == activation_ev
                && start.is_some_and(|first| first.at.is_zero() && first.aged_s == 0.0)
                && self.changes.len() <= MOST_CHANGES
                && self
                    .changes
                    .windows(2)
                    .all(|pair| pair[0].at < pair[1].at && pair[0].aged_s <= pair[1].aged_s),
            "the retention ages of the data are not in order"
        );
        check_number("the rate of ageing", self.rate, 1.0 / MOST_RATE, MOST_RATE)?;
        for change in &self.changes {
            check_near("a change of the rate of ageing", change.at, now)?;
            check_number("an age, s,", change.aged_s, 0.0, MOST_S)?;
        }
        Ok(())
    }
}

/// Rate of charge loss relative to 40 °C.
fn acceleration(activation_ev: f64, celsius: f64) -> f64 {
    // No device gets colder; a temperature of the thermal model is bounded above.
    let kelvin = (celsius + KELVIN).max(150.0);
    let inverse = 1.0 / (STATED_C + KELVIN) - 1.0 / kelvin;
    libm::exp(activation_ev / BOLTZMANN * inverse).clamp(1.0 / MOST_RATE, MOST_RATE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn the_acceleration_is_that_of_the_standard() {
        // 1.1 eV, from 40 °C: a year is 52 hours at 85 °C and eight weeks at 55 °C; at 25 °C it would last for
        // nearly eight years.
        for (celsius, expected) in [(40.0, 1.0), (85.0, 167.62), (55.0, 6.445), (25.0, 0.12863)] {
            let got = acceleration(1.1, celsius);
            assert!((got / expected - 1.0).abs() < 0.002, "{celsius}: {got}");
        }
    }

    #[test]
    fn ages_add_up_over_the_course_of_the_temperature() {
        let mut clock = RetentionClock::new(1.1);
        let hours = |h: u64| Nanos::from_secs(h * 3600);
        clock.set_temperature(85.0, hours(1));
        clock.set_temperature(40.0, hours(3));
        let fast = acceleration(1.1, 85.0);
        for (written, now, expected_h) in [
            (0, 1, 1.0),
            (0, 3, 1.0 + 2.0 * fast),
            (2, 3, fast),
            (2, 5, fast + 2.0),
            (4, 9, 5.0),
            (0, 9, 7.0 + 2.0 * fast),
        ] {
            let got = clock.age_s(hours(written), hours(now)) / 3600.0;
            assert!(
                (got / expected_h - 1.0).abs() < 1e-12,
                "{written} to {now}: {got}"
            );
        }
    }

    /// A history of many changes takes bounded memory, and ages over all of it stay correct.
    #[test]
    fn a_long_course_is_thinned_out() {
        let mut clock = RetentionClock::new(1.1);
        let mut random = Random::new(4);
        let (mut exact_s, mut rate, mut now) = (0.0, 1.0, Nanos::ZERO);
        for _ in 0..20_000 {
            let step = Nanos::from_secs(100 + random.below(1000));
            now += step;
            exact_s += step.as_secs_f64() * rate;
            let celsius = 20.0 + random.below(50) as f64;
            clock.set_temperature(celsius, now);
            rate = clock.rate();
            assert!(clock.changes.len() <= MOST_CHANGES);
        }
        clock.audit(1.1, now).expect("in order");
        let got = clock.age_s(Nanos::ZERO, now);
        assert!((got / exact_s - 1.0).abs() < 1e-9, "{got} {exact_s}");
    }
}
