//! Measures the [`Speed`] of a target within seconds.

use super::target::SHORT;
use super::{Rates, Speed};
use crate::jobs;
use crate::step_runner::SuiteError;
use nandscope_measure::runner::{Ending, run_group};
use nandscope_measure::target::Target;
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
    let (sequential, random) = match kind {
        OpKind::Write => ("write", "randwrite"),
        _ => ("read", "randread"),
    };
    let mut rate = |pattern, length, depth| {
        let time_s = time.as_secs_f64();
        let job = format!(
            "[speed]\nrw={pattern}\nbs={length}\niodepth={depth}\nruntime={time_s}\ntime_based=1\nnorandommap=1\n"
        );
        operations_per_s(target, &job, stop)
    };
    let large = rate(sequential, LARGE, DEPTH)?;
    let short = rate(sequential, SHORT, 1)?;
    let scattered = rate(random, SHORT, 1)?;
    let deep = rate(random, SHORT, DEPTH)?;
    let gain = deep / scattered;
    Ok(Rates {
        bytes_per_s: large * f64::from(LARGE),
        sequential: Nanos::from_secs_f64(1.0 / short),
        random: Nanos::from_secs_f64(1.0 / scattered),
        parallel: gain.round().clamp(1.0, f64::from(DEPTH)) as u32,
    })
}

/// Runs a job over the whole target.
fn operations_per_s(
    target: &mut dyn Target,
    job: &str,
    stop: &dyn Fn() -> bool,
) -> Result<f64, SuiteError> {
    let phase = jobs::phase("measuring the speed", job, target.capacity(), 1)?;
    let outcome = run_group(target, phase.threads, None, &mut (), stop)
        .map_err(|e| SuiteError::Target(e.to_string()))?;
    match outcome.ending {
        Ending::Complete => {}
        Ending::Interrupted => {
            let text = "interrupted while the speed was measured";
            return Err(SuiteError::Target(text.to_string()));
        }
        Ending::Failed(why) => {
            let text = format!("an operation failed while the speed was measured: {why}");
            return Err(SuiteError::Target(text));
        }
    }
    let records = outcome.groups.iter().flat_map(|g| g.record.present());
    let operations: u64 = records.map(|(_, record)| record.operations).sum();
    let seconds = outcome.end.saturating_sub(outcome.start).as_secs_f64();
    match operations {
        0 => {
            let text = "no operation was completed while the speed was measured";
            Err(SuiteError::Target(text.to_string()))
        }
        _ => Ok(operations as f64 / seconds.max(1e-6)),
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
