//! Rates over time as fio samples them: the mean over each half second, per thread and kind of operation.

use super::Direction;
use nandscope_result::{Operation, RateSamples, Spread};
use nandscope_units::Nanos;

/// Length of an interval: fio's default of `bwavgtime` and `iopsavgtime`.
const INTERVAL: Nanos = Nanos::from_millis(500);
const PER_SECOND: u64 = 1_000_000_000 / INTERVAL.0;
/// Kinds of operation with rates: reads, writes and trims.
const KINDS: usize = 3;

/// Count, mean and sum of squared deviations of values added one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Running {
    min: f64,
    max: f64,
    mean: f64,
    squares: f64,
}

impl Running {
    /// Adds the `number`th value, from 1.
    fn add(&mut self, value: f64, number: u64) {
        self.min = if number == 1 {
            value
        } else {
            self.min.min(value)
        };
        self.max = self.max.max(value);
        let delta = value - self.mean;
        self.mean += delta / number as f64;
        self.squares += delta * (value - self.mean);
    }

    /// Adds the rates of another thread: as in fio, rates of threads are summed.
    fn merge(&mut self, other: &Running) {
        self.min += other.min;
        self.max += other.max;
        self.mean += other.mean;
        self.squares += other.squares;
    }

    fn spread(&self, samples: u64) -> Spread {
        let deviation = match samples {
            0 | 1 => 0.0,
            n => (self.squares / (n - 1) as f64).sqrt(),
        };
        Spread {
            min: self.min,
            max: self.max,
            mean: self.mean,
            deviation,
        }
    }
}

/// Samples of one kind of operation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct KindSamples {
    samples: u64,
    kib_per_s: Running,
    iops: Running,
}

impl KindSamples {
    fn merge(&mut self, other: &KindSamples) {
        self.samples += other.samples;
        self.kib_per_s.merge(&other.kib_per_s);
        self.iops.merge(&other.iops);
    }
}

/// Samples of a thread, or of all threads of a group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rates([KindSamples; KINDS]);

impl Rates {
    /// Adds the samples of another thread of the group.
    pub fn merge(&mut self, other: &Rates) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            mine.merge(theirs);
        }
    }

    /// The samples of an operation; `None` without a sample.
    pub fn of(&self, kind: &Operation) -> Option<RateSamples> {
        let found = match kind {
            Operation::Mixed => {
                let mut all = KindSamples::default();
                self.0.iter().for_each(|kind| all.merge(kind));
                all
            }
            kind => {
                let known = Direction::ALL[..KINDS].iter();
                let place = known.clone().position(|d| d.operation() == *kind)?;
                self.0[place]
            }
        };
        (found.samples > 0).then(|| RateSamples {
            kind: kind.clone(),
            samples: found.samples,
            kib_per_s: found.kib_per_s.spread(found.samples),
            iops: found.iops.spread(found.samples),
        })
    }
}

/// Samples the rates of one thread.
#[derive(Clone, Debug, Default)]
pub struct RateSampler {
    /// End of the current interval; `None` before the first operation.
    until: Option<Nanos>,
    bytes: [u64; KINDS],
    operations: [u64; KINDS],
    rates: Rates,
}

impl RateSampler {
    /// Counts an operation of a thread that measures from `from` on. Flushes have no rate.
    #[inline]
    pub fn count(&mut self, direction: Direction, bytes: u32, completed: Nanos, from: Nanos) {
        let place = direction.index();
        if place >= KINDS {
            return;
        }
        let until = *self.until.get_or_insert(from + INTERVAL);
        if completed > until {
            self.roll(until, completed);
        }
        self.bytes[place] += u64::from(bytes);
        self.operations[place] += 1;
    }

    /// Ends the interval that ends at `until`; the next one contains `at`, which is later.
    #[cold]
    fn roll(&mut self, until: Nanos, at: Nanos) {
        for (kind, samples) in self.rates.0.iter_mut().enumerate() {
            let (bytes, operations) = (self.bytes[kind], self.operations[kind]);
            if operations == 0 {
                continue;
            }
            samples.samples += 1;
            let kib = bytes.saturating_mul(PER_SECOND) / 1024;
            samples.kib_per_s.add(kib as f64, samples.samples);
            let iops = operations.saturating_mul(PER_SECOND);
            samples.iops.add(iops as f64, samples.samples);
        }
        (self.bytes, self.operations) = ([0; KINDS], [0; KINDS]);
        let further = (at - until).0.div_ceil(INTERVAL.0);
        self.until = Some(until + INTERVAL * further);
    }

    /// Samples of the whole intervals up to `end`.
    pub fn rates_at(&self, end: Nanos) -> Rates {
        let mut ended = self.clone();
        if let Some(until) = ended.until.filter(|until| *until <= end) {
            ended.roll(until, until + Nanos(1));
        }
        ended.rates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_seconds_without_an_operation_have_no_sample() {
        let mut sampler = RateSampler::default();
        let from = Nanos::from_secs(1);
        for (ms, bytes) in [(1_100, 1024), (1_500, 1024), (1_501, 4096), (4_000, 512)] {
            let at = Nanos::from_millis(ms);
            sampler.count(Direction::Read, bytes, at, from);
            sampler.count(Direction::Flush, 0, at, from);
        }
        let rates = sampler.rates_at(Nanos::from_millis(4_000));
        let read = rates.of(&Operation::Read).unwrap();
        assert_eq!(read.samples, 3);
        // 2 KiB, 4 KiB and 0.5 KiB in half a second.
        assert_eq!((read.kib_per_s.min, read.kib_per_s.max), (1.0, 8.0));
        assert_eq!((read.iops.min, read.iops.max), (2.0, 4.0));
        assert!((read.kib_per_s.mean - 13.0 / 3.0).abs() < 1e-9);
        // Sample deviation of 4, 8 and 1.
        assert!((read.kib_per_s.deviation - (37.0_f64 / 3.0).sqrt()).abs() < 1e-9);
        assert_eq!(rates.of(&Operation::Write), None);
        assert_eq!(rates.of(&Operation::Flush), None);
        let before_the_end = sampler.rates_at(Nanos::from_millis(3_999));
        assert_eq!(before_the_end.of(&Operation::Read).unwrap().samples, 2);
    }

    #[test]
    fn rates_of_threads_add_up() {
        let mut all = Rates::default();
        for bytes in [1024, 3072] {
            let mut sampler = RateSampler::default();
            sampler.count(Direction::Write, bytes, Nanos(1), Nanos::ZERO);
            all.merge(&sampler.rates_at(INTERVAL));
        }
        let write = all.of(&Operation::Write).unwrap();
        assert_eq!((write.samples, write.kib_per_s.mean), (2, 8.0));
        let mixed = all.of(&Operation::Mixed).unwrap();
        assert_eq!(mixed.kib_per_s, write.kib_per_s);
    }
}
