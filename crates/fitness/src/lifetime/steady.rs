//! Rounds of a workload on a simulated device until the wear per written byte is level.

use super::{Causes, Rating, Years};
use nandscope_device::{Counters, Wear};
use nandscope_experiment::jobs::Jobs;
use nandscope_experiment::run::{
    Ending, Observer, Progress, Run, RunError, RunObserver, RunOptions, SimulatedTarget, run_jobs,
};
use nandscope_measure::target::Target;
use nandscope_units::{Bytes, Nanos};
use serde::Serialize;
use std::collections::VecDeque;
use thiserror::Error;

/// Cycles of superblocks (cards: allocation units) that a sample has at least, so that one more or less changes the wear
/// by 1 %.
const LEAST_CYCLES: f64 = 100.0;
/// Samples that must agree.
const SAMPLES: usize = 4;
/// Range of the samples, as a share of their mean, at which the wear is level.
const LEVEL: f64 = 0.05;

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

/// Wear and bytes of several rounds.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    cycles: f64,
    counters: Counters,
    host: u64,
    time: Nanos,
    rounds: u32,
}

impl Sample {
    fn per_byte(&self) -> f64 {
        self.cycles / self.host.max(1) as f64
    }
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

/// Repeats the workload on the device, as it is, until its wear is level.
///
/// `progress` is called with the number of the round and the share of it that is done; returning false ends the measurement.
///
/// # Errors
/// [`LifetimeError`] if the workload cannot be run, fails, or writes nothing.
pub fn measure(
    target: &mut SimulatedTarget,
    jobs: &Jobs,
    rating: &Rating,
    options: &LifetimeOptions,
    progress: &dyn Fn(u32, f64) -> bool,
) -> Result<Estimate, LifetimeError> {
    let capacity = target.device().capacity().0 as f64;
    let begin = Mark::of(target);
    let mut samples: VecDeque<Sample> = VecDeque::new();
    let (mut mark, mut open, mut round) = (begin, Sample::default(), 0);
    loop {
        round += 1;
        one_round(target, jobs, options, round, progress)?;
        let now = Mark::of(target);
        let added = now.counters.since(&mark.counters);
        if added.host_written == Bytes::ZERO {
            return Err(LifetimeError::NoWrites);
        }
        open = Sample {
            cycles: open.cycles + (now.wear.mean - mark.wear.mean) * now.wear.blocks as f64,
            counters: sum(&open.counters, &added),
            host: open.host + added.host_written.0,
            time: open.time + now.now.saturating_sub(mark.now),
            rounds: open.rounds + 1,
        };
        mark = now;
        let whole = now.counters.since(&begin.counters).host_written.0 as f64;
        let is_last = round >= options.most_rounds || whole >= options.most_capacities * capacity;
        if open.cycles >= LEAST_CYCLES || (is_last && samples.is_empty()) {
            samples.push_back(std::mem::take(&mut open));
        }
        if samples.len() > SAMPLES {
            samples.pop_front();
        }
        let is_level = samples.len() == SAMPLES && range(&samples) <= LEVEL;
        if is_level || is_last {
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
    progress: &dyn Fn(u32, f64) -> bool,
) -> Result<(), LifetimeError> {
    let run_options = RunOptions {
        seed: options.seed.wrapping_add(u64::from(round) - 1),
        ..RunOptions::new("lifetime")
    };
    let mut observer = RoundObserver { round, progress };
    let stop = || !progress(round, 0.0);
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

/// Passes the progress of a round on.
struct RoundObserver<'a> {
    round: u32,
    progress: &'a dyn Fn(u32, f64) -> bool,
}

impl Observer for RoundObserver<'_> {
    fn progress(&mut self, progress: &Progress) {
        (self.progress)(self.round, progress.fraction.unwrap_or(0.0));
    }
}

impl RunObserver for RoundObserver<'_> {}

/// Range of the wear per byte, as a share of its mean.
fn range(samples: &VecDeque<Sample>) -> f64 {
    let all = || samples.iter().map(Sample::per_byte);
    let mean = all().sum::<f64>() / samples.len().max(1) as f64;
    let (least, most) = all().fold((f64::INFINITY, 0.0_f64), |(a, b), v| (a.min(v), b.max(v)));
    match mean > 0.0 {
        true => (most - least) / mean,
        false => 0.0,
    }
}

fn estimate(
    samples: &VecDeque<Sample>,
    (run, is_level): (u32, bool),
    wear: Wear,
    rating: &Rating,
    options: &LifetimeOptions,
) -> Estimate {
    let all = samples.iter().fold(Sample::default(), |a, b| Sample {
        cycles: a.cycles + b.cycles,
        counters: sum(&a.counters, &b.counters),
        host: a.host + b.host,
        time: a.time + b.time,
        rounds: a.rounds + b.rounds,
    });
    let host_per_day = match options.per_day {
        Some(bytes) => bytes.0 as f64,
        None => {
            let seconds = options.hours_per_day * 3600.0;
            all.host as f64 / all.time.as_secs_f64().max(1e-9) * seconds
        }
    };
    // One superblock more or less, and the spread of the samples. Without wear nothing is known but its upper bound.
    let cycles = all.cycles.max(0.0);
    let error = (range(samples) / 2.0).max(1.0 / cycles.max(1.0));
    let per_byte = cycles.max(if cycles < 1.0 { 1.0 } else { 0.0 })
        / wear.blocks.max(1) as f64
        / all.host.max(1) as f64;
    let cycles_per_day = per_byte * host_per_day;
    Estimate {
        rounds: Rounds {
            run,
            counted: all.rounds,
            is_level,
        },
        host_written: Bytes(all.host),
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

/// The counters that the causes need, added.
fn sum(a: &Counters, b: &Counters) -> Counters {
    let add = |a: Bytes, b: Bytes| Bytes(a.0.saturating_add(b.0));
    Counters {
        host_written: add(a.host_written, b.host_written),
        flash_programmed: add(a.flash_programmed, b.flash_programmed),
        gc_writes: add(a.gc_writes, b.gc_writes),
        folded: add(a.folded, b.folded),
        refreshed: add(a.refreshed, b.refreshed),
        metadata: add(a.metadata, b.metadata),
        padding: add(a.padding, b.padding),
        parity: add(a.parity, b.parity),
        erases: a.erases.saturating_add(b.erases),
        ..*b
    }
}
