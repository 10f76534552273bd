//! `nandscope run`: a job file on a target, from the check of everything that can be wrong to the
//! result. How a group of jobs becomes threads is in [`plan`]; running them is the business of
//! the measure crate.

pub mod figures;
mod logs;
mod plan;
pub mod progress;
mod replay;
mod session;

use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::target::{self, Precondition};
use crate::{job, output};
use clap::Args;
use nandscope_workload::job::{Job, JobFile};
use plan::Setting;
use session::Session;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  nandscope run jobs/rand-read.fio sim:sm2708-250gb
  nandscope run job.fio sim:./my-card.toml --host rtl9211ds --precondition random:80
  nandscope run fill.fio sim:sm2708-250gb --save used.dev
  nandscope run read.fio sim:saved:used.dev -o result.json

Ctrl-C ends the run: operations in flight are waited for, what was measured is printed and kept,
and the exit code is 130. A second Ctrl-C ends the program at once.";

/// Arguments of `nandscope run`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Job file in fio's grammar
    #[arg(value_name = "JOB.fio")]
    job: PathBuf,
    /// sim:NAME, sim:./FILE.toml or sim:saved:FILE
    target: String,
    /// Host to which the device is attached [default: direct, or that of a kept device]
    #[arg(long, value_name = "NAME|FILE")]
    host: Option<String>,
    /// Every random choice follows from it
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Keep the result in this file
    #[arg(short, long, value_name = "RESULT.json")]
    output: Option<PathBuf>,
    /// State of the device before the run: none, sequential[:PERCENT] or random[:PERCENT]
    #[arg(long, value_name = "STATE", default_value = "none")]
    precondition: Precondition,
    /// Keep the device in this file after the run, to continue with sim:saved:FILE
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// What to do with a trace that was recorded on a device of another size
    #[arg(long, value_enum, default_value_t)]
    fit: replay::FitChoice,
    /// Folder for the logs that jobs ask for (write_bw_log and the like)
    #[arg(long, value_name = "DIR", default_value = ".")]
    log_dir: PathBuf,
}

/// Runs the job file.
///
/// # Errors
/// Where something is wrong before the run, or what was measured cannot be written.
pub fn run(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let (jobs, text) = job::read(&arguments.job, console)?;
    check_outputs(&arguments, &jobs)?;
    let (simulated, device) = target::open(
        &arguments.target,
        arguments.host.as_deref(),
        arguments.seed,
        console,
    )?;
    let setting = Setting {
        text: &text,
        capacity: device.capacity(),
        seed: arguments.seed,
        fit: arguments.fit,
        console,
    };
    plan::check(&jobs.jobs, &setting)?;
    // Every group is planned once before the first one runs: a job that does not fit the target
    // must not be found out after hours.
    for group in jobs.groups() {
        plan::of_group(group, &setting, 1, None)?;
    }
    let interrupt = Interrupt::listen()?;
    let mut session = Session::new(&arguments, simulated, device, interrupt)?;
    session.run(&jobs, &setting)?;
    session.finish(&arguments, console)
}

fn check_outputs(arguments: &Arguments, jobs: &JobFile) -> Result<(), Failure> {
    for path in [&arguments.output, &arguments.save].into_iter().flatten() {
        output::check_file(path)?;
    }
    if jobs.jobs.iter().any(wants_logs) {
        output::check_folder(&arguments.log_dir)?;
    }
    Ok(())
}

fn wants_logs(job: &Job) -> bool {
    let logs = &job.logs;
    logs.bandwidth.is_some() || logs.iops.is_some() || logs.latency.is_some()
}
