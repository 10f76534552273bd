//! A target measured with disturbances: proportional and heavy-tailed noise, stalls, other users of the host, and a
//! clock of limited resolution.

use super::dice::Dice;
use nandscope_measure::target::{Reading, Reply, Request, Target, TargetError};
use nandscope_units::{Bytes, Nanos};

/// Amount of each disturbance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Disturbance {
    /// Mean of the added time as a share of the time of the operation (exponentially distributed).
    pub share: f64,
    /// Share of operations with an additional heavy-tailed delay.
    pub tail: f64,
    /// Scale of the heavy-tailed delay (Pareto distribution, exponent 1.5), µs.
    pub tail_us: f64,
    /// Mean number of operations between two stalls; 0 for no stalls.
    pub between_stalls: u64,
    /// Length of a stall.
    pub stall: Nanos,
    /// Resolution of the clock.
    pub resolution: Nanos,
}

/// Longest time added to one operation.
const LONGEST: Nanos = Nanos::from_secs(60);
/// Exponent of the heavy tail: its mean is finite, its variance is not.
const EXPONENT: f64 = 1.5;

impl Disturbance {
    /// Whether the disturbance includes pauses: single operations that take far longer than others.
    pub(super) fn stops(&self) -> bool {
        self.tail > 0.0 || self.between_stalls > 0
    }

    pub(super) fn draw(dice: &mut Dice, heavy: bool) -> Self {
        let share = [0.0, 0.002, 0.01, 0.05][dice.below(4) as usize];
        let resolution = Nanos([1, 1, 1_000, 30_518][dice.below(4) as usize]);
        if !heavy {
            return Disturbance {
                share,
                resolution,
                ..Disturbance::default()
            };
        }
        Disturbance {
            share,
            tail: dice.between(0.0005, 0.05),
            tail_us: dice.between(20.0, 2000.0),
            between_stalls: [0, 2_000, 10_000, 50_000][dice.below(4) as usize],
            stall: Nanos::from_millis(dice.between(20.0, 60_000.0) as u64),
            resolution,
        }
    }
}

/// A target with random disturbances.
pub struct Disturbed<T> {
    target: T,
    disturbance: Disturbance,
    dice: Dice,
    late: Nanos,
    busy_since: Nanos,
}

impl<T: Target> Disturbed<T> {
    /// Adds the disturbance to a target.
    pub fn new(target: T, disturbance: Disturbance, seed: u64) -> Self {
        Disturbed {
            busy_since: target.now(),
            target,
            disturbance,
            dice: Dice::new(seed, 0),
            late: Nanos::ZERO,
        }
    }

    fn added(&mut self, took: Nanos) -> Nanos {
        let d = self.disturbance;
        let mut added = -libm::log(1.0 - self.dice.unit()) * d.share * took.0 as f64;
        if d.tail > 0.0 && self.dice.unit() < d.tail {
            let pareto = libm::pow(1.0 - self.dice.unit(), -1.0 / EXPONENT);
            added += 1e3 * d.tail_us * pareto;
        }
        if d.between_stalls > 0 && self.dice.below(d.between_stalls) == 0 {
            added += d.stall.0 as f64;
        }
        Nanos((added as u64).min(LONGEST.0))
    }
}

impl<T: Target> Target for Disturbed<T> {
    fn now(&self) -> Nanos {
        let now = self.target.now() + self.late;
        Nanos(now.0 / self.disturbance.resolution.0.max(1) * self.disturbance.resolution.0.max(1))
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
        let until = match until {
            Nanos::MAX => until,
            until => until.saturating_sub(self.late),
        };
        // The disturbed clock may lag behind the target's clock.
        let until = until.max(self.target.now() + Nanos(self.disturbance.resolution.0));
        self.target.wait(until, replies)?;
        if replies.len() > before {
            let took = self.target.now().saturating_sub(self.busy_since);
            self.busy_since = self.target.now();
            let added = self.added(took);
            self.late += added;
        }
        let now = self.now();
        for reply in &mut replies[before..] {
            reply.completed = now;
        }
        Ok(())
    }

    fn reading(&mut self) -> Reading {
        self.target.reading()
    }
}
