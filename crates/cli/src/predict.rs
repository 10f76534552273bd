//! `nandscope predict`: a job on a fitted device, with 90 % intervals from all sets of values that fit equally well.

use crate::claims::FileClaims;
use crate::console::{Console, lines_of};
use crate::failure::{Exit, Failure};
use crate::fault;
use crate::fit::ensemble_of;
use crate::heading;
use crate::input;
use crate::interrupt::Interrupt;
use crate::job::jobs_failure;
use crate::run::progress::Line;
use crate::target::{self, Precondition};
use crate::threads::ThreadArguments;
use clap::Args;
use nandscope_device::profile::Profile;
use nandscope_device::{break_if, memory_estimate};
use nandscope_experiment::jobs::Jobs;
use nandscope_experiment::run::{Ending, RunError, RunOptions, SimulatedTarget, run_jobs};
use nandscope_experiment::{DeviceSource, HostSource, OpenError, PreconditionError, Simulated};
use nandscope_suite::at_once;
use nandscope_sweep::Metric;
use nandscope_twin::ensemble::{Ensemble, Interval};
use nandscope_twin::{State, question};
use nandscope_units::number::short;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Figures that are predicted where a job has them.
const METRICS: [&str; 13] = [
    "read.iops",
    "read.bw",
    "read.mean",
    "read.p50",
    "read.p90",
    "read.p99",
    "write.iops",
    "write.bw",
    "write.mean",
    "write.p50",
    "write.p90",
    "write.p99",
    "waf",
];

const EXAMPLES: &str = "\
Examples:
  nandscope predict my-card.toml rand-read
  nandscope predict my-drive.toml job.fio --precondition steady --members 8

Intervals hold the differences between the sets of values and the errors of the fit. A note says where the job \
is outside of what was measured: its interval is then too narrow. docs/twins.md explains both.";

/// Arguments of `nandscope predict`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Profile written by `nandscope fit`
    #[arg(value_name = "PROFILE.toml")]
    profile: PathBuf,
    /// Job file in fio's grammar, or a job of the library
    #[arg(value_name = "JOB.fio")]
    job: PathBuf,
    /// Ensemble of the fit [default: beside the profile]
    #[arg(long, value_name = "FILE.json")]
    ensemble: Option<PathBuf>,
    /// Sets of values to run, the best first [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(2..))]
    members: Option<u16>,
    /// Host of the device [default: that of the fit]
    #[arg(long, value_name = "NAME|FILE", help_heading = heading::SIMULATED)]
    host: Option<String>,
    /// Initial state: none, sequential, random, overwritten or steady
    #[arg(long, value_name = "STATE", default_value = "sequential:80", help_heading = heading::SIMULATED)]
    precondition: Precondition,
    /// Seed of the random number generator
    #[arg(long, default_value_t = 1, help_heading = heading::SIMULATED)]
    seed: u64,
    #[command(flatten)]
    threads: ThreadArguments,
    /// Print JSON instead of text
    #[arg(long, help_heading = heading::OUTPUT)]
    json: bool,
}

#[derive(Serialize)]
struct Row {
    figure: String,
    unit: String,
    value: f64,
    low: f64,
    high: f64,
}

#[derive(Serialize)]
struct Answer {
    members: usize,
    outside: Vec<String>,
    figures: Vec<Row>,
}

/// Runs the job on all members and prints figures with intervals.
///
/// # Errors
/// `Exit::Usage` if a file is invalid or the job does not fit the device; `Exit::File` if one cannot be read or memory is
/// short; `Exit::Interrupted`.
pub fn run(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let beside = ensemble_of(&arguments.profile);
    let ensemble_file = arguments.ensemble.as_ref().unwrap_or(&beside);
    let mut files = FileClaims::default();
    files.input("the device profile", &arguments.profile)?;
    files.input("the ensemble", ensemble_file)?;
    files.host(arguments.host.as_deref())?;
    let place = place(&arguments.profile);
    let source = target::device_source(&place, console)?;
    let text = input::text(ensemble_file, "the ensemble of the fit")?;
    let ensemble = Ensemble::read(&ensemble_file.display().to_string(), &text);
    let ensemble = ensemble.map_err(Failure::usage)?;
    let host = arguments.host.as_deref().unwrap_or(&ensemble.host);
    let host = target::host_source(host, console)?;
    let jobs = Jobs::read(&arguments.job, &[]).map_err(|e| jobs_failure(&e, console))?;
    let outside = outside(&ensemble, &jobs, arguments.precondition);
    let mut profiles = ensemble.profiles(&source.profile);
    profiles.truncate(arguments.members.map_or(usize::MAX, usize::from));
    let question = Question {
        source: &source,
        host: &host,
        jobs: &jobs,
        arguments: &arguments,
    };
    let members = question.ask(&profiles, console)?;
    let answer = Answer {
        members: profiles.len(),
        figures: rows(&ensemble, &members),
        outside,
    };
    if arguments.json {
        let json = serde_json::to_string_pretty(&answer).map_err(Failure::internal)?;
        console.print_json(&json)?;
    } else {
        console.print(&shown(&answer, console))?;
    }
    for why in &answer.outside {
        console.note(&format!(
            "outside of the measurements: {why}; the interval may be too narrow"
        ));
    }
    Ok(Exit::Done)
}

/// A path that is not taken for a name of the library.
fn place(profile: &Path) -> String {
    let text = profile.display().to_string();
    match text.contains('/') {
        true => text,
        false => format!("./{text}"),
    }
}

/// A job on the members.
struct Question<'a> {
    source: &'a DeviceSource,
    host: &'a HostSource,
    jobs: &'a Jobs,
    arguments: &'a Arguments,
}

/// A member without a result.
enum Missing {
    Interrupted,
    Open(OpenError),
    State(PreconditionError),
    Run(RunError),
}

impl Question<'_> {
    /// Figures of each member, in the order of [`METRICS`].
    fn ask(
        &self,
        profiles: &[Profile],
        console: &Console,
    ) -> Result<Vec<Vec<Option<f64>>>, Failure> {
        let largest = profiles.iter().map(memory_estimate).max();
        let threads = self
            .arguments
            .threads
            .within_memory(largest.unwrap_or_default(), console);
        let metrics: Vec<Option<Metric>> = METRICS
            .iter()
            .map(|name| Metric::read(name, &self.jobs.file).ok())
            .collect();
        let interrupt = Interrupt::listen()?;
        let stop = || interrupt.asked();
        let mut line = Line::new("predict");
        let work = |n: usize| self.member(&profiles[n], &metrics, &stop);
        let found = at_once::run(profiles.len(), threads, &stop, work, |done| {
            let text = format!("{} of {} sets of values", done.count, profiles.len());
            line.tell(Some(done.share(profiles.len())), text, console);
        });
        line.clear();
        let interrupted = || Failure::new(Exit::Interrupted, "interrupted; nothing was predicted");
        let mut members = Vec::new();
        for member in found {
            members.push(match member.ok_or_else(interrupted)? {
                Ok(figures) => figures,
                Err(Missing::Interrupted) => return Err(interrupted()),
                Err(Missing::Open(error)) => return Err(target::open_failure(&error, console)),
                Err(Missing::State(error)) => return Err(Failure::new(Exit::Partial, error)),
                Err(Missing::Run(RunError::Jobs(error))) => {
                    return Err(fault::of_job(console, &self.jobs.text, &error));
                }
                Err(Missing::Run(error)) => return Err(Failure::of(error.class(), error)),
            });
        }
        Ok(members)
    }

    fn member(
        &self,
        profile: &Profile,
        metrics: &[Option<Metric>],
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<Option<f64>>, Missing> {
        let about = Simulated {
            name: format!("sim:{}", self.source.file),
            device_source: DeviceSource {
                profile: profile.clone(),
                ..self.source.clone()
            },
            host_source: self.host.clone(),
            state: None,
        };
        let seed = self.arguments.seed;
        let mut device = about.fresh(seed).map_err(Missing::Open)?;
        let state = self.arguments.precondition;
        let prepared = state.apply_in_steps(&mut device, seed, &mut |_| break_if(stop()));
        prepared.map_err(|error| match error {
            PreconditionError::Stopped => Missing::Interrupted,
            error => Missing::State(error),
        })?;
        let options = RunOptions {
            seed,
            precondition: state,
            is_conditioned: true,
            ..RunOptions::new(self.arguments.job.display().to_string())
        };
        let mut target = SimulatedTarget::new(about, device);
        let run =
            run_jobs(&mut target, self.jobs, &options, &mut (), stop).map_err(Missing::Run)?;
        if run.ending == Ending::Interrupted {
            return Err(Missing::Interrupted);
        }
        let value = |metric: &Option<Metric>| metric.as_ref()?.of(&run.document);
        Ok(metrics.iter().map(value).collect())
    }
}

/// A sentence for each job that asks for a block size, depth, pattern or state that was not measured.
fn outside(ensemble: &Ensemble, jobs: &Jobs, precondition: Precondition) -> Vec<String> {
    let state = match precondition {
        Precondition::None => State::Fresh,
        Precondition::Sequential(_) | Precondition::Random(_) => State::Filled,
        Precondition::Overwritten(_) | Precondition::Steady => State::Steady,
    };
    let mut found = Vec::new();
    for job in &jobs.file.jobs {
        let cells = question::cells(job, state);
        if cells.is_empty() {
            found.push(format!(
                "job `{}` has no reads and writes of its own, as measured jobs have",
                job.name
            ));
        }
        for cell in cells {
            if let Some(why) = ensemble.domain.outside(&cell) {
                found.push(format!("job `{}`: {why}", job.name));
            }
        }
    }
    found.dedup();
    found
}

fn rows(ensemble: &Ensemble, members: &[Vec<Option<f64>>]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (number, name) in METRICS.iter().enumerate() {
        let values: Vec<f64> = members.iter().filter_map(|m| m[number]).collect();
        let (spread, unit) = match *name {
            "waf" => (0.0, ""),
            name if name.ends_with(".iops") => (ensemble.spread.0, "IOPS"),
            name if name.ends_with(".bw") => (ensemble.spread.0, "MB/s"),
            _ => (ensemble.spread.1, "µs"),
        };
        if let Some(interval) = Interval::of(&values, spread) {
            rows.push(Row {
                figure: (*name).to_string(),
                unit: unit.to_string(),
                value: interval.value,
                low: interval.low,
                high: interval.high,
            });
        }
    }
    rows
}

fn shown(answer: &Answer, console: &Console) -> String {
    let mut table = console.table(&["figure", "predicted", "90 % interval", "unit"]);
    for row in &answer.figures {
        let interval = format!("{} to {}", short(row.low), short(row.high));
        table.add_row([&row.figure, &short(row.value), &interval, &row.unit]);
    }
    format!("{} sets of values\n\n{}", answer.members, lines_of(&table))
}
