//! Rounds of a workload on a simulated device until the wear per written byte is level.

use super::level::{LEAST_CYCLES, Sample, Samples, sum};
use super::{Causes, Rating, Years};
use nandscope_device::{Counters, Wear};
use nandscope_experiment::jobs::Jobs;
use nandscope_experiment::run::{
    Ending, Observer, Progress, Run, RunError, RunObserver, RunOptions, SimulatedTarget, run_jobs,
};
use nandscope_measure::target::Target;
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::trace::Fit;
use serde::Serialize;
use std::cell::Cell;
use thiserror::Error;

/// How to measure a lifetime.
#[derive(Clone, Debug)]
pub struct LifetimeOptions {
    /// Bytes that the application writes per day; `None` if the workload has its own pace.
    pub per_day: Option<Bytes>,
    /// Hours of a day in which a workload with its own pace runs.
    pub hours_per_day: f64,
    /// Most rounds of the workload.
    pub most_rounds: u32,
    /// Most bytes written by the host, in capacities of the device.
    pub most_capacities: f64,
    /// Seed; each round has another one.
    pub seed: u64,
    /// Treatment of traces recorded on a device of another size.
    pub fit: Fit,
}

/// Why no lifetime can be stated.
#[derive(Debug, Error)]
pub enum LifetimeError {
    /// The jobs cannot be run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The caller ended it.
    #[error("interrupted; nothing was concluded")]
    Stopped,
    /// A job failed.
    #[error(
        "the workload failed in round {round}: {why}; run it with `nandscope run` for the details"
    )]
    Failed {
        /// Number of the round, from 1.
        round: u32,
        /// Reason.
        why: String,
    },
    /// Nothing was written.
    #[error("the workload writes nothing, so it wears nothing; choose one that writes")]
    NoWrites,
    /// The device failed.
    #[error("the device reached its end of life in round {0}; begin with a newer one")]
    EndOfLife(u32),
}

/// Rounds of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rounds {
    /// Rounds of the workload.
    pub run: u32,
    /// Rounds at the end that count.
    pub counted: u32,
    /// Whether the wear per byte was level in them.
    pub is_level: bool,
}

/// The life of a device under a workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Rounds that were run.
    pub rounds: Rounds,
    /// Bytes written by the host in the counted rounds.
    pub host_written: Bytes,
    /// Time of the counted rounds.
    pub time: Nanos,
    /// Bytes that the host writes per day.
    pub host_per_day: f64,
    /// Bytes programmed per byte of the host in the counted rounds.
    pub write_amplification: f64,
    /// Causes of programmed data.
    pub causes: Causes,
    /// Erase blocks erased in the counted rounds.
    pub erases: u64,
    /// Wear of the mean block per terabyte (10^12 bytes) of the host, cycles.
    pub cycles_per_tb: f64,
    /// Wear of the mean block per day, cycles.
    pub cycles_per_day: f64,
    /// Relative error of the wear: half the range of the samples, and one superblock more or less.
    pub error: f64,
    /// Wear at the end of all rounds.
    pub wear: Wear,
    /// Rated cycles.
    pub rating: Rating,
    /// Years to the rated cycles.
    pub years: Years,
}

/// State of the device at the end of a round.
#[derive(Clone, Copy)]
struct Mark {
    counters: Counters,
    wear: Wear,
    now: Nanos,
}

impl Mark {
    fn of(target: &mut SimulatedTarget) -> Mark {
        let device = target.device();
        let (counters, wear) = (device.counters(), device.wear());
        let now = nandscope_experiment::run::RunTarget::target(target).now();
        Mark {
            counters,
            wear,
            now,
        }
    }
}

/// How far a measurement is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LifetimeProgress {
    /// Number of the round, from 1.
    pub round: u32,
    /// Finished share of the limit on rounds or bytes at which the measurement ends in any case, 0 to 1.
    pub of_limit: f64,
    /// Cycles of superblocks so far.
    pub cycles: f64,
}

/// Repeats the workload on the device, as it is, until its wear is level.
///
/// `progress` is called during each round; returning false ends the measurement.
///
/// # Errors
/// [`LifetimeError`] if the workload cannot be run, fails, or writes nothing.
pub fn measure(
    target: &mut SimulatedTarget,
    jobs: &Jobs,
    rating: &Rating,
    options: &LifetimeOptions,
    progress: &dyn Fn(&LifetimeProgress) -> bool,
) -> Result<Estimate, LifetimeError> {
    let capacity = target.device().capacity().0 as f64;
    let is_page_mapped = target.about().device_source.profile.card.is_none();
    let begin = Mark::of(target);
    let mut samples = Samples::new(is_page_mapped.then_some(capacity));
    let (mut mark, mut open, mut round) = (begin, Sample::default(), 0);
    let (mut of_limit, mut of_round) = (0.0, 0.0);
    loop {
        round += 1;
        let shown = |share: f64| {
            progress(&LifetimeProgress {
                round,
                of_limit: (of_limit + of_round * share).min(1.0),
                cycles: (mark.wear.mean - begin.wear.mean) * mark.wear.blocks as f64,
            })
        };
        one_round(target, jobs, options, round, &shown)?;
        let now = Mark::of(target);
        let added = now.counters.since(&mark.counters);
        if added.host_written == Bytes::ZERO {
            return Err(LifetimeError::NoWrites);
        }
        open = Sample {
            cycles: open.cycles + (now.wear.mean - mark.wear.mean) * now.wear.blocks as f64,
            counters: sum(&open.counters, &added),
            time: open.time + now.now.saturating_sub(mark.now),
            rounds: open.rounds + 1,
        };
        mark = now;
        let whole = now.counters.since(&begin.counters).host_written.0 as f64;
        let by_rounds = f64::from(round) / f64::from(options.most_rounds.max(1));
        let by_bytes = whole / (options.most_capacities * capacity).max(1.0);
        of_limit = by_rounds.max(by_bytes);
        of_round = of_limit / f64::from(round);
        if open.cycles >= LEAST_CYCLES || (of_limit >= 1.0 && samples.is_empty()) {
            samples.push(std::mem::take(&mut open));
        }
        let is_level = samples.is_level();
        if is_level || of_limit >= 1.0 {
            return Ok(estimate(
                &samples,
                (round, is_level),
                now.wear,
                rating,
                options,
            ));
        }
    }
}

/// Runs the workload once.
fn one_round(
    target: &mut SimulatedTarget,
    jobs: &Jobs,
    options: &LifetimeOptions,
    round: u32,
    progress: &dyn Fn(f64) -> bool,
) -> Result<(), LifetimeError> {
    let run_options = RunOptions {
        seed: options.seed.wrapping_add(u64::from(round) - 1),
        fit: options.fit,
        ..RunOptions::new("lifetime")
    };
    let share = Cell::new(0.0);
    let mut observer = RoundObserver(&share);
    let stop = || !progress(share.get());
    let run = run_jobs(target, jobs, &run_options, &mut observer, &stop)?;
    if target.device().telemetry().read_only_since.is_some() {
        return Err(LifetimeError::EndOfLife(round));
    }
    let failed = |why: String| LifetimeError::Failed { round, why };
    let has_errors = run.has_errors();
    let Run { ending, .. } = run;
    match ending {
        Ending::Interrupted => Err(LifetimeError::Stopped),
        Ending::Failed(why) => Err(failed(why)),
        Ending::Complete if has_errors => Err(failed("operations failed".to_string())),
        Ending::Complete => Ok(()),
    }
}

/// Keeps the finished share of a round.
struct RoundObserver<'a>(&'a Cell<f64>);

impl Observer for RoundObserver<'_> {
    fn progress(&mut self, progress: &Progress) {
        self.0.set(progress.fraction.unwrap_or(0.0));
    }
}

impl RunObserver for RoundObserver<'_> {}

fn estimate(
    samples: &Samples,
    (run, is_level): (u32, bool),
    wear: Wear,
    rating: &Rating,
    options: &LifetimeOptions,
) -> Estimate {
    let all = samples.counted();
    let host = all.counters.host_written.0;
    let host_per_day = match options.per_day {
        Some(bytes) => bytes.0 as f64,
        None => {
            let seconds = options.hours_per_day * 3600.0;
            host as f64 / all.time.as_secs_f64().max(1e-9) * seconds
        }
    };
    // One superblock more or less, and the spread of the samples. Without wear nothing is known but its upper bound.
    let cycles = all.cycles.max(0.0);
    let error = (samples.range() / 2.0).max(1.0 / cycles.max(1.0));
    let per_byte = cycles.max(if cycles < 1.0 { 1.0 } else { 0.0 })
        / wear.blocks.max(1) as f64
        / host.max(1) as f64;
    let cycles_per_day = per_byte * host_per_day;
    Estimate {
        rounds: Rounds {
            run,
            counted: all.rounds,
            is_level,
        },
        host_written: Bytes(host),
        time: all.time,
        host_per_day,
        write_amplification: all.counters.write_amplification(),
        causes: Causes::of(&all.counters),
        erases: all.counters.erases,
        cycles_per_tb: per_byte * 1e12,
        cycles_per_day,
        error,
        wear,
        rating: rating.clone(),
        years: Years::of(rating, cycles_per_day, error),
    }
}
