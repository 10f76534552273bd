//! Whether the rate of a job has become steady: fio's `steadystate`, from the operations of each
//! second.

use nandscope_units::Nanos;
use nandscope_workload::SteadyState;
use std::collections::VecDeque;

const SECOND: Nanos = Nanos::from_secs(1);

/// Judges the rates of one or several threads.
#[derive(Clone, Debug)]
pub(super) struct Judge {
    criterion: SteadyState,
    operations: u64,
    bytes: u64,
    /// Bytes and operations at the last check.
    before: (u64, u64),
    looked: Option<Nanos>,
    /// Operations and bytes per second, the newest last.
    rates: VecDeque<(f64, f64)>,
    /// Slope or deviation at the last look, per second.
    value: Option<f64>,
    attained: bool,
}

/// Finding of a judge.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Criterion of the judge.
    pub criterion: SteadyState,
    /// The state was steady.
    pub attained: bool,
    /// Operations and bytes per second in each second that was judged last.
    pub rates: Vec<(f64, f64)>,
    /// Judged slope or largest deviation of the rate, per second; `None` if it was not judged yet.
    pub value: Option<f64>,
}

impl Verdict {
    /// Mean operations per second of the time that was judged last.
    pub fn iops(&self) -> f64 {
        mean(self.rates.iter().map(|rates| rates.0))
    }

    /// The value in bytes per second.
    pub fn bandwidth(&self) -> f64 {
        mean(self.rates.iter().map(|rates| rates.1))
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len().max(1) as f64;
    values.sum::<f64>() / n
}

impl Judge {
    pub(super) fn new(criterion: SteadyState) -> Self {
        Judge {
            criterion,
            operations: 0,
            bytes: 0,
            before: (0, 0),
            looked: None,
            rates: VecDeque::new(),
            value: None,
            attained: false,
        }
    }

    pub(super) fn count(&mut self, bytes: u64) {
        self.operations += 1;
        self.bytes += bytes;
    }

    pub(super) fn is_attained(&self) -> bool {
        self.attained
    }

    /// Adds the rates since the last check, if a second has passed; true once the state is steady.
    pub(super) fn look(&mut self, start: Nanos, now: Nanos) -> bool {
        let last = *self.looked.get_or_insert(start);
        let passed = now.saturating_sub(last);
        if self.attained || passed < SECOND {
            return self.attained;
        }
        let seconds = passed.as_secs_f64();
        let rates = (
            (self.operations - self.before.0) as f64 / seconds,
            (self.bytes - self.before.1) as f64 / seconds,
        );
        self.before = (self.operations, self.bytes);
        self.looked = Some(now);
        let ramp = self.criterion.ramp;
        // As in fio, the first second after the ramp is left out.
        if !ramp.is_zero() && now.saturating_sub(start) < ramp + SECOND {
            return false;
        }
        self.rates.push_back(rates);
        if self.rates.len() > self.criterion.seconds as usize {
            self.rates.pop_front();
        }
        if self.rates.len() == self.criterion.seconds as usize {
            let value = self.measure();
            self.value = Some(value);
            self.attained = self.in_unit_of_limit(value).abs() < self.criterion.limit;
        }
        self.attained
    }

    /// Slope of the line through the rates, or the largest deviation from their mean.
    fn measure(&self) -> f64 {
        let rate = |rates: &(f64, f64)| match self.criterion.bandwidth {
            true => rates.1,
            false => rates.0,
        };
        let n = self.rates.len() as f64;
        let mean = mean(self.rates.iter().map(rate));
        if self.criterion.slope {
            let middle = (n - 1.0) / 2.0;
            let (mut product, mut square) = (0.0, 0.0);
            for (i, rates) in self.rates.iter().enumerate() {
                let x = i as f64 - middle;
                product += x * rate(rates);
                square += x * x;
            }
            if square > 0.0 { product / square } else { 0.0 }
        } else {
            let deviations = self.rates.iter().map(|rates| (rate(rates) - mean).abs());
            deviations.fold(0.0, f64::max)
        }
    }

    fn in_unit_of_limit(&self, value: f64) -> f64 {
        let mean = match self.criterion.bandwidth {
            true => mean(self.rates.iter().map(|rates| rates.1)),
            false => mean(self.rates.iter().map(|rates| rates.0)),
        };
        match self.criterion.percent {
            true if mean > 0.0 => 100.0 * value / mean,
            // No operation was done: as in fio, that never counts as steady.
            true => f64::INFINITY,
            false => value,
        }
    }

    pub(super) fn verdict(&self) -> Verdict {
        Verdict {
            criterion: self.criterion,
            attained: self.attained,
            rates: self.rates.iter().copied().collect(),
            value: self.value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Second at which rates, one per second, become steady.
    fn attained_after(criterion: SteadyState, rates: &[u64]) -> Option<u64> {
        let mut judge = Judge::new(criterion);
        for (second, rate) in (1..).zip(rates) {
            for _ in 0..*rate {
                judge.count(4096);
            }
            if judge.look(Nanos::ZERO, Nanos::from_secs(second)) {
                return Some(second);
            }
        }
        None
    }

    #[test]
    fn the_largest_deviation_from_the_mean_decides() {
        let criterion = SteadyState {
            slope: false,
            limit: 10.0,
            seconds: 3,
            ..SteadyState::default()
        };
        let rates = [10, 200, 100, 95, 104, 100];
        assert_eq!(attained_after(criterion, &rates), Some(5));
        let ramp = SteadyState {
            ramp: Nanos::from_secs(3),
            ..criterion
        };
        // The ramp and a second more are left out.
        assert_eq!(attained_after(ramp, &[100; 9]), Some(6));
    }

    #[test]
    fn a_slope_in_absolute_terms_decides() {
        let criterion = SteadyState {
            limit: 5.0,
            percent: false,
            seconds: 4,
            ..SteadyState::default()
        };
        assert_eq!(attained_after(criterion, &[10, 20, 30, 40, 50]), None);
        assert_eq!(attained_after(criterion, &[90, 110, 90, 110]), Some(4));
        assert_eq!(attained_after(criterion, &[0; 9]), Some(4));
    }
}
