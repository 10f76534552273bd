//! `nandscope sweep fullness`: latency and bandwidth over the fullness of a drive.

use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::review::suite_failure;
use crate::run::progress::Line;
use crate::threads::ThreadArguments;
use crate::{output, target};
use clap::Args;
use nandscope_suite::{ReviewOptions, SimSpec, sweep};
use std::path::PathBuf;
use std::time::{Instant, SystemTime};

/// Arguments of `nandscope sweep fullness`.
#[derive(Debug, Args)]
pub struct FullnessArguments {
    /// sim:NAME or sim:./FILE.toml
    target: String,
    /// Folder for the report, created if missing [default: fullness-NAME]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Seed of the random number generator
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    threads: ThreadArguments,
}

/// Sweeps and writes the report.
///
/// # Errors
/// Where something is wrong before the sweep, or the report cannot be written.
pub fn run(arguments: FullnessArguments, console: &Console) -> Result<Exit, Failure> {
    let Some(place) = arguments.target.strip_prefix("sim:") else {
        return Err(Failure::usage(format!(
            "a sweep cannot run on `{}`; name a simulated device: sim:NAME (see `nandscope devices`) or sim:./FILE.toml",
            arguments.target
        )));
    };
    let source = target::device_source(place, console)?;
    let spec = SimSpec::new(&arguments.target, &source.text, source.profile)
        .map_err(|e| suite_failure(&e))?;
    let folder = arguments
        .output
        .unwrap_or_else(|| PathBuf::from(format!("fullness-{}", spec.profile.device.name)));
    let _made = output::check_folder(&folder)?;
    let options = ReviewOptions {
        seed: arguments.seed,
        ..ReviewOptions::default()
    };
    let device = sweep::device_memory(&spec);
    let threads = arguments.threads.within_memory(device, console);
    let interrupt = Interrupt::listen()?;
    let began = Instant::now();
    let started = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let mut line = Line::new("sweep");
    let result = sweep::fullness(&spec, &options, threads, &mut line, &|| interrupt.asked());
    line.clear();
    let mut result = result.map_err(|e| suite_failure(&e))?;
    result.wall.started = Some(started);
    result.wall.elapsed_s = Some(began.elapsed().as_secs_f64());
    output::present(&result, &folder, console)?;
    if interrupt.asked() {
        let text = "interrupted; the points that were measured are kept";
        return Err(Failure::new(Exit::Interrupted, text));
    }
    Ok(Exit::Done)
}
