//! Measures the [`Speed`] of a target within seconds.

use super::target::SHORT;
use super::{Rates, Speed};
use crate::step_runner::SuiteError;
use nandscope_measure::target::{Load, Outcome, Reply, Request, Target, TargetError};
use nandscope_units::random::mix;
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::OpKind;

/// Length of the large sequential operations, as in the fills of the suites.
const LARGE: u32 = 128 * 1024;
/// Large and random operations at once.
const DEPTH: u32 = 32;
/// Time of each of the four measurements of reads.
const READING: Nanos = Nanos::from_secs(1);
/// Time of each of the four measurements of writes, whose rate varies more.
const WRITING: Nanos = Nanos::from_secs(4);

impl Speed {
    /// Measures reads for about 4 s and, if `overwrites`, writes for about 16 s, which destroys data. Without it the
    /// writes are taken to be as fast as the reads.
    ///
    /// # Errors
    /// [`SuiteError::Target`] if the target fails, is smaller than 1 MiB, or `stop` says so.
    pub fn measure(
        target: &mut dyn Target,
        overwrites: bool,
        stop: &dyn Fn() -> bool,
    ) -> Result<Self, SuiteError> {
        if target.capacity() < Bytes::mib(1) {
            let text = "the target is smaller than 1 MiB; choose a larger one";
            return Err(SuiteError::Target(text.to_string()));
        }
        let read = rates(target, OpKind::Read, READING, stop)?;
        let write = match overwrites {
            true => rates(target, OpKind::Write, WRITING, stop)?,
            false => read,
        };
        Ok(Speed { read, write })
    }
}

fn rates(
    target: &mut dyn Target,
    kind: OpKind,
    time: Nanos,
    stop: &dyn Fn() -> bool,
) -> Result<Rates, SuiteError> {
    let mut burst = |sequential, length, depth| {
        let load = Burst {
            kind,
            sequential,
            length,
            depth,
            time,
        };
        load.run(target, stop)
    };
    let large = burst(true, LARGE, DEPTH)?;
    let sequential = burst(true, SHORT, 1)?;
    let random = burst(false, SHORT, 1)?;
    let deep = burst(false, SHORT, DEPTH)?;
    let gain = deep / random;
    Ok(Rates {
        bytes_per_s: large * f64::from(LARGE),
        sequential: Nanos::from_secs_f64(1.0 / sequential),
        random: Nanos::from_secs_f64(1.0 / random),
        parallel: gain.round().clamp(1.0, f64::from(DEPTH)) as u32,
    })
}

/// Increment of SplitMix64 (Steele, Lea, Flood 2014): random places do not depend on anything but their number.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Operations of one kind in a closed loop.
struct Burst {
    kind: OpKind,
    sequential: bool,
    length: u32,
    depth: u32,
    time: Nanos,
}

impl Burst {
    /// Operations per second.
    fn run(&self, target: &mut dyn Target, stop: &dyn Fn() -> bool) -> Result<f64, SuiteError> {
        let failed = |e: TargetError| SuiteError::Target(e.to_string());
        let load = Load {
            depth: self.depth,
            largest: self.length,
            batch: 0,
        };
        target.prepare(&load).map_err(failed)?;
        let places = target.capacity().0 / u64::from(self.length);
        let begin = target.now();
        let (mut issued, mut done) = (0u64, 0u64);
        let mut free: Vec<u32> = (0..self.depth).collect();
        let mut replies: Vec<Reply> = Vec::new();
        let mut last = begin;
        loop {
            let goes_on = target.now().saturating_sub(begin) < self.time;
            while goes_on && let Some(tag) = free.pop() {
                let place = match self.sequential {
                    true => issued % places,
                    false => mix(issued.wrapping_mul(GOLDEN)) % places,
                };
                issued += 1;
                let request = Request {
                    tag,
                    thread: 0,
                    kind: self.kind,
                    offset: Bytes(place * u64::from(self.length)),
                    length: self.length,
                    durable: false,
                };
                target.submit(request).map_err(failed)?;
            }
            if issued == done {
                break;
            }
            let until = target.now() + Nanos::from_millis(100);
            target.wait(until, &mut replies).map_err(failed)?;
            for reply in replies.drain(..) {
                if let Outcome::Failed(why) = reply.outcome {
                    return Err(SuiteError::Target(format!(
                        "an operation failed while the speed was measured: {why}"
                    )));
                }
                done += 1;
                last = last.max(reply.completed);
                free.push(reply.tag);
            }
            if stop() {
                let text = "interrupted while the speed was measured";
                return Err(SuiteError::Target(text.to_string()));
            }
        }
        let seconds = last.saturating_sub(begin).as_secs_f64();
        Ok(done as f64 / seconds.max(1e-6))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::target::{Account, PlannedTarget};
    use nandscope_test_support::MockTarget;
    use std::rc::Rc;

    /// Four servers of 1 ms: 4,000 operations a second at any depth from four on.
    #[test]
    fn the_speed_of_a_known_target_is_found() {
        let mut target = MockTarget::new(Bytes::mib(64), 4, Nanos::from_millis(1));
        let speed = Speed::measure(&mut target, true, &|| false).unwrap();
        for rates in [speed.read, speed.write] {
            assert_eq!(rates.parallel, 4);
            let ratio = rates.bytes_per_s / (4000.0 * f64::from(LARGE));
            assert!((ratio - 1.0).abs() < 0.01, "{ratio}");
            let ratio = rates.random.as_secs_f64() / 1e-3;
            assert!((ratio - 1.0).abs() < 0.01, "{ratio}");
        }
    }

    /// Measuring a stand-in returns the speed with which the stand-in was constructed.
    #[test]
    fn a_stand_in_has_the_speed_that_it_was_made_with() {
        let rates = Rates {
            bytes_per_s: 80e6,
            sequential: Nanos(150_000),
            random: Nanos(500_000),
            parallel: 6,
        };
        let made = Speed {
            read: rates,
            write: Rates {
                bytes_per_s: 60e6,
                ..rates
            },
        };
        let mut target = PlannedTarget::new(Bytes::mib(256), &made, Rc::new(Account::default()));
        let found = Speed::measure(&mut target, true, &|| false).unwrap();
        for (found, made) in [(found.read, made.read), (found.write, made.write)] {
            assert_eq!(found.parallel, made.parallel);
            assert!(
                (found.bytes_per_s / made.bytes_per_s - 1.0).abs() < 0.05,
                "{found:?}"
            );
            let ratio = found.sequential.as_secs_f64() / made.sequential.as_secs_f64();
            assert!((ratio - 1.0).abs() < 0.05, "{found:?}");
        }
    }

    #[test]
    fn a_target_that_fails_is_reported() {
        let mut target = MockTarget::new(Bytes::mib(64), 4, Nanos::from_millis(1))
            .with_failures(10, "uncorrectable read");
        let error = Speed::measure(&mut target, false, &|| false).unwrap_err();
        assert!(error.to_string().contains("uncorrectable read"), "{error}");
    }
}
