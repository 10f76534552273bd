//! `nandscope sweep fullness`: latency and bandwidth over the fullness of a drive, as curves. Its points are those of a
//! sweep like any other.

use super::run_points;
use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::heading;
use crate::output::{self, Form};
use crate::target::ParamArguments;
use crate::threads::ThreadArguments;
use clap::Args;
use nandscope_sweep::Plan;
use nandscope_sweep::fullness::FullnessSweep;
use nandscope_sweep::plan::PlanError;
use std::path::PathBuf;
use std::time::{Instant, SystemTime};

/// Arguments of `nandscope sweep fullness`.
#[derive(Debug, Args)]
pub struct FullnessArguments {
    /// sim:NAME or sim:./FILE.toml
    target: String,
    /// Folder for the report and its data, created if missing [default: fullness-NAME]
    #[arg(short, long, value_name = "DIR", help_heading = heading::OUTPUT)]
    output: Option<PathBuf>,
    /// Seed of the random number generator
    #[arg(long, default_value_t = 1, help_heading = heading::SIMULATED)]
    seed: u64,
    #[command(flatten)]
    params: ParamArguments,
    #[command(flatten)]
    threads: ThreadArguments,
    /// Print JSON instead of text
    #[arg(long, help_heading = heading::OUTPUT)]
    json: bool,
}

/// Runs the points that are not in the folder yet and writes tables and report.
///
/// # Errors
/// `Exit::Usage` if the device or an option is invalid; `Exit::File` if a point or the report cannot be written; as
/// [`run_points::ending`] if points failed.
pub fn run(arguments: FullnessArguments, console: &Console) -> Result<Exit, Failure> {
    let failure = |error| run_points::plan_failure(&error, console);
    let sweep = FullnessSweep::new(&arguments.target, arguments.seed, &arguments.params.params);
    let sweep = sweep.map_err(PlanError::Base).map_err(failure)?;
    let plan = Plan::new(&sweep.spec).map_err(failure)?;
    let folder = arguments
        .output
        .unwrap_or_else(|| PathBuf::from(format!("fullness-{}", sweep.name())));
    run_points::claim(None, &arguments.target, &[], &folder)?;
    let began = Instant::now();
    let started = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let ran = run_points::run(&plan, &folder, arguments.threads, console)?;
    let place = run_points::table_folder(&ran, &folder);
    let tables = run_points::write_tables(&plan, &ran, &folder, &place);
    let mut result = sweep.document(&plan, &ran.outcomes);
    result.wall.started = Some(started);
    result.wall.elapsed_s = Some(began.elapsed().as_secs_f64());
    // The result cannot be reproduced if the folder is gone: it is saved elsewhere then.
    let form = Form::of(arguments.json);
    output::all([
        tables.map(drop),
        output::present(&result, &folder, form, console),
    ])?;
    run_points::note_done(&plan, &ran, console);
    run_points::ending(&plan, &ran, &folder)
}
