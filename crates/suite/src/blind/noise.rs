//! A target on a busy host: every operation takes a random time longer than the device
//! needs, sometimes much longer.

use nandscope_measure::target::{Reading, Reply, Request, Target, TargetError};
use nandscope_units::random::SplitMix64;
use nandscope_units::{Bytes, Nanos};

/// Amount of noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Mean of what is added, as a share of the time of the operation (exponentially distributed).
    pub share: f64,
    /// Mean number of operations between two stalls; 0 for no stalls.
    pub between_stalls: u64,
    /// Length of a stall.
    pub stall: Nanos,
}

/// A target with random delays.
#[derive(Debug)]
pub struct Noisy<T> {
    target: T,
    noise: Noise,
    random: SplitMix64,
    late: Nanos,
    busy_since: Nanos,
}

impl<T: Target> Noisy<T> {
    /// Puts the noise around a target.
    pub fn new(target: T, noise: Noise, seed: u64) -> Self {
        Noisy {
            busy_since: target.now(),
            target,
            noise,
            random: SplitMix64::new(seed),
            late: Nanos::ZERO,
        }
    }

    fn added(&mut self, took: Nanos) -> Nanos {
        let unit = self.random.unit();
        let share = -libm::log(1.0 - unit) * self.noise.share;
        let mut added = Nanos((took.0 as f64 * share) as u64);
        let between = self.noise.between_stalls;
        if between > 0 && self.random.bits().is_multiple_of(between) {
            added += self.noise.stall;
        }
        added
    }
}

impl<T: Target> Target for Noisy<T> {
    fn now(&self) -> Nanos {
        self.target.now() + self.late
    }

    fn capacity(&self) -> Bytes {
        self.target.capacity()
    }

    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        self.busy_since = self.target.now();
        self.target.submit(request)
    }

    fn wait(&mut self, until: Nanos, replies: &mut Vec<Reply>) -> Result<(), TargetError> {
        let before = replies.len();
        let until = if until == Nanos::MAX {
            until
        } else {
            until.saturating_sub(self.late)
        };
        self.target.wait(until, replies)?;
        if replies.len() > before {
            // The delay is drawn for the time since the last submission or completion.
            let took = self.target.now().saturating_sub(self.busy_since);
            self.busy_since = self.target.now();
            let added = self.added(took);
            self.late += added;
        }
        for reply in &mut replies[before..] {
            reply.completed = self.target.now() + self.late;
        }
        Ok(())
    }

    fn reading(&mut self) -> Reading {
        self.target.reading()
    }
}
