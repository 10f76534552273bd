//! `nandscope fit`: a profile that behaves like a measured device, with the sets of values that fit equally well.

mod check;
mod data;
mod measure;
mod shown;

use crate::claims::FileClaims;
use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::heading;
use crate::interrupt::Interrupt;
use crate::output;
use crate::run::progress::Line;
use crate::target::real::RealArguments;
use crate::target::{self, ParamArguments};
use crate::threads::ThreadArguments;
use clap::{Args, ValueEnum};
use data::{Files, Measured};
use measure::Measurement;
use nandscope_experiment::{DeviceSource, HostSource};
use nandscope_result::ResultDocument;
use nandscope_twin::ensemble::Ensemble;
use nandscope_twin::loss::as_error;
use nandscope_twin::search::{BAD_FIT, Caller, SearchError, SearchProgress, Task};
use nandscope_twin::structure::BASES;
use nandscope_twin::twin::{self, About};
use nandscope_twin::{Clues, Fitted, SearchOptions, State};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  nandscope fit /dev/sdb --destroy-data=sdb -o my-card.toml
  nandscope fit --csv card.csv -o my-card.toml
  nandscope fit --flashbench card.txt --from probe/result.json -o my-card.toml
  nandscope fit --fio reads.json --fio writes.json \\
    --base samsung-860-pro-512gb --host lsi-sas2008 -o my-drive.toml
  nandscope fit --csv card.csv --check      errors on what it did not see

Columns of a table: op, pattern, block, and iops or mb_per_s; optional: depth, jobs, read_percent, region, state, order, \
aus, au, p50_us, p90_us, p99_us. docs/twins.md explains them. Beside my-card.toml the file my-card.ensemble.json is \
written, which `nandscope predict` reads.

Exit code 1: the measurements say too little, or no profile comes near to them (a bad fit); 2: they contradict \
themselves or are of no flash device. In both cases, and after Ctrl-C, nothing is written.";

/// State of the device before a measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum StateChoice {
    /// Nothing was written since a discard of the whole device
    Fresh,
    /// Written once, in order, with free blocks left
    #[default]
    Filled,
    /// Full, and overwritten at random until write amplification was level
    Steady,
}

impl From<StateChoice> for State {
    fn from(choice: StateChoice) -> Self {
        match choice {
            StateChoice::Fresh => State::Fresh,
            StateChoice::Filled => State::Filled,
            StateChoice::Steady => State::Steady,
        }
    }
}

/// Arguments of `nandscope fit`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Device to measure first: a file, block device, or simulated device
    #[arg(value_name = "TARGET", required_unless_present_any = ["from", "csv", "fio", "flashbench"])]
    target: Option<String>,
    /// Result of `run`, `review` or `probe`; repeatable
    #[arg(long, value_name = "RESULT.json")]
    from: Vec<PathBuf>,
    /// Table of measurements; repeatable
    #[arg(long, value_name = "FILE.csv")]
    csv: Vec<PathBuf>,
    /// Output of fio --output-format=json, or of `nandscope run`; repeatable
    #[arg(long, value_name = "FILE.json")]
    fio: Vec<PathBuf>,
    /// Output of flashbench with its command lines; repeatable
    #[arg(long, value_name = "FILE")]
    flashbench: Vec<PathBuf>,
    /// Bandwidth log (fio's write_bw_log) of a write of the whole device
    #[arg(long, value_name = "FILE.log", hide_short_help = true)]
    fill: Vec<PathBuf>,
    /// State of the device before measurements that do not state it
    #[arg(
        long,
        value_enum,
        value_name = "STATE",
        default_value_t,
        hide_short_help = true
    )]
    default_state: StateChoice,
    /// Profiles to begin with (comma-separated) [default: ten of the library]
    #[arg(long, value_name = "NAME|FILE", value_delimiter = ',')]
    base: Vec<String>,
    /// Host of the measurements [default: direct]
    #[arg(long, value_name = "NAME|FILE", help_heading = heading::SIMULATED)]
    host: Option<String>,
    /// Seed of the random number generator
    #[arg(long, default_value_t = 1, help_heading = heading::SIMULATED)]
    seed: u64,
    /// Sets of values to simulate
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(50..=1_000_000), help_heading = heading::LIMITS)]
    evaluations: u32,
    /// Seconds after which the search ends with what it found; results then depend on the machine
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..), help_heading = heading::LIMITS, hide_short_help = true)]
    search_time: Option<u32>,
    #[command(flatten)]
    threads: ThreadArguments,
    #[command(flatten)]
    real: RealArguments,
    /// Leave out whole kinds of measurements, predict them, and print the errors
    #[arg(long, required_unless_present = "output")]
    check: bool,
    /// File for the fitted profile
    #[arg(short, long, value_name = "FILE.toml", conflicts_with = "check", help_heading = heading::OUTPUT)]
    output: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long, help_heading = heading::OUTPUT)]
    json: bool,
}

/// Fits a profile, or checks how well it predicts.
///
/// # Errors
/// `Exit::Usage` if a file or an option is invalid, or the measurements are of no flash device; `Exit::Partial` if they say
/// too little or the fit is bad; `Exit::File` if a file cannot be read or written; `Exit::Interrupted`.
pub fn run(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let mut files = FileClaims::default();
    files.inputs("--from", &arguments.from)?;
    files.inputs("--csv", &arguments.csv)?;
    files.inputs("--fio", &arguments.fio)?;
    files.inputs("--flashbench", &arguments.flashbench)?;
    files.inputs("--fill", &arguments.fill)?;
    match &arguments.target {
        Some(target) => files.target(target)?,
        None => arguments.real.refuse("a file of measurements")?,
    }
    arguments.real.claim(&mut files)?;
    for base in &arguments.base {
        files.target(&format!("sim:{base}"))?;
    }
    files.host(arguments.host.as_deref())?;
    if let Some(output) = &arguments.output {
        name_of(output)?;
        files.output("-o", output)?;
        files.beside("the ensemble", &ensemble_of(output))?;
    }
    let bases = bases(&arguments, console)?;
    let host = arguments
        .host
        .as_deref()
        .unwrap_or(nandscope_experiment::DEFAULT_HOST);
    let host = target::host_source(host, console)?;
    files.check()?;
    let interrupt = Interrupt::listen()?;
    let document = arguments.measure(&interrupt, console)?;
    let measured = data::read(
        arguments.files(),
        document.as_ref(),
        arguments.default_state.into(),
        console,
    )?;
    let bases = known_sizes(bases, &measured.clues, &arguments, console);
    let bases = attachable(bases, &host, &arguments)?;
    let task = Task {
        observations: &measured.screened.kept,
        noise: measured.screened.noise,
        bases: &bases,
        host: &host.profile,
    };
    let search = Search::new(&arguments, &interrupt, console);
    match &arguments.output {
        None => check::run(&task, search, arguments.json, console),
        Some(output) => fit(&task, &measured, search, (&arguments, output), console),
    }
}

impl Arguments {
    fn files(&self) -> Files<'_> {
        Files {
            tables: &self.csv,
            outputs: &self.fio,
            results: &self.from,
            flashbench: &self.flashbench,
            fills: &self.fill,
        }
    }

    /// Measures the target, if there is one.
    fn measure(
        &self,
        interrupt: &Interrupt,
        console: &Console,
    ) -> Result<Option<ResultDocument>, Failure> {
        let Some(name) = &self.target else {
            return Ok(None);
        };
        let measurement = Measurement {
            name,
            options: ParamArguments::default().options(self.host.as_deref(), self.seed),
            real: &self.real,
            seed: self.seed,
        };
        measurement.run(interrupt, console).map(Some)
    }
}

/// Bases with the sizes that the measurements show. Allocation units are those of a card: without `--base`, other bases
/// are left out.
fn known_sizes(
    bases: Vec<DeviceSource>,
    clues: &Clues,
    arguments: &Arguments,
    console: &Console,
) -> Vec<DeviceSource> {
    let is_possible = |base: &DeviceSource| {
        clues.au.is_none() || !arguments.base.is_empty() || base.profile.card.is_some()
    };
    let mut adapted = Vec::new();
    for base in bases.into_iter().filter(is_possible) {
        let (base, refused) = clues.apply(base);
        for why in refused {
            console.note(&why);
        }
        adapted.push(base);
    }
    adapted
}

/// Options and limits of a search.
struct Search<'a> {
    options: SearchOptions,
    interrupt: &'a Interrupt,
    deadline: Option<Instant>,
    line: Line,
    console: &'a Console,
}

impl<'a> Search<'a> {
    fn new(arguments: &Arguments, interrupt: &'a Interrupt, console: &'a Console) -> Self {
        let limit = arguments.search_time.map(|s| Duration::from_secs(s.into()));
        Search {
            options: SearchOptions {
                evaluations: arguments.evaluations as usize,
                seed: arguments.seed,
                threads: arguments.threads.wanted(),
            },
            interrupt,
            deadline: limit.and_then(|limit| Instant::now().checked_add(limit)),
            line: Line::new("fit").in_real_time(),
            console,
        }
    }

    /// Calls `work` with the reactions to progress, Ctrl-C and the time limit.
    fn run<T>(
        mut self,
        work: impl FnOnce(SearchOptions, &mut Caller<'_>) -> Result<T, SearchError>,
    ) -> Result<T, Failure> {
        let (interrupt, deadline) = (self.interrupt, self.deadline);
        let stop = || interrupt.asked();
        let enough = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let (line, console) = (&mut self.line, self.console);
        let mut tell = |now: SearchProgress| {
            let error = 100.0 * as_error(now.loss);
            let text = format!("{}, mean error {error:.1} %", now.phase);
            line.tell(Some(now.share), text, console);
        };
        let mut caller = Caller {
            stop: &stop,
            enough: &enough,
            tell: &mut tell,
        };
        let done = work(self.options, &mut caller);
        self.line.clear();
        done.map_err(|error| match error {
            SearchError::Interrupted => Failure::new(Exit::Interrupted, error),
            SearchError::NoBase => Failure::usage(error),
        })
    }
}

/// Name of the device: that of the file.
fn name_of(output: &Path) -> Result<String, Failure> {
    let is_toml = output.extension().is_some_and(|e| e == "toml");
    let name = output.file_stem().and_then(|name| name.to_str());
    match name.filter(|name| is_toml && !name.trim().is_empty()) {
        Some(name) => Ok(name.to_string()),
        None => Err(Failure::usage(format!(
            "-o {}: the profile is named after the file; use a name such as my-card.toml",
            output.display()
        ))),
    }
}

/// The ensemble beside a profile.
pub fn ensemble_of(profile: &Path) -> PathBuf {
    profile.with_extension("ensemble.json")
}

fn bases(arguments: &Arguments, console: &Console) -> Result<Vec<DeviceSource>, Failure> {
    let named: Vec<&str> = arguments.base.iter().map(String::as_str).collect();
    let names = if named.is_empty() {
        BASES.to_vec()
    } else {
        named
    };
    names
        .into_iter()
        .map(|name| target::device_source(name, console))
        .collect()
}

/// Bases that have a link in common with the host. One that the user named must have one.
fn attachable(
    bases: Vec<DeviceSource>,
    host: &HostSource,
    arguments: &Arguments,
) -> Result<Vec<DeviceSource>, Failure> {
    let (mut found, mut reason) = (Vec::new(), None);
    for base in bases {
        let small = nandscope_twin::miniature::of(&base.profile);
        match nandscope_device::Device::new(&small.profile, &host.profile, 1) {
            Ok(_) => found.push(base),
            Err(error) if arguments.base.is_empty() => reason = Some(error),
            Err(error) => return Err(Failure::usage(format!("{}: {error}", base.file))),
        }
    }
    match (found.is_empty(), reason) {
        (true, Some(error)) => Err(Failure::usage(format!("no base fits to the host: {error}"))),
        _ => Ok(found),
    }
}

fn fit(
    task: &Task<'_>,
    measured: &Measured,
    search: Search<'_>,
    (arguments, output): (&Arguments, &Path),
    console: &Console,
) -> Result<Exit, Failure> {
    let fitted = search.run(|options, caller| nandscope_twin::fit(task, options, caller))?;
    refuse_bad(&fitted)?;
    let name = name_of(output)?;
    let about = About {
        name: &name,
        sources: measured.files.clone(),
        cells: task.observations.len(),
    };
    let source = twin::source(&fitted, &about).map_err(Failure::internal)?;
    let host = arguments
        .host
        .as_deref()
        .unwrap_or(nandscope_experiment::DEFAULT_HOST);
    let ensemble = Ensemble::of(&fitted, &name, host, task.observations);
    let text = ensemble.text().map_err(Failure::internal)?;
    output::write_beside(&ensemble_of(output), text.as_bytes())?;
    output::write(output, source.text.as_bytes())?;
    match arguments.json {
        true => console.print_json(&shown::json(&fitted, task.observations)?)?,
        false => console.print(&shown::text(&fitted, task.observations, console))?,
    }
    console.note(&format!("profile: {}", output.display()));
    console.note(&format!("ensemble: {}", ensemble_of(output).display()));
    Ok(Exit::Done)
}

fn refuse_bad(fitted: &Fitted) -> Result<(), Failure> {
    if fitted.loss <= BAD_FIT {
        return Ok(());
    }
    let tried: Vec<&str> = fitted.tried.iter().map(|(name, _)| name.as_str()).collect();
    Err(Failure::new(
        Exit::Partial,
        format!(
            "bad fit: the best profile is off by {:.0} % on average (limit {:.0} %), so that the model cannot stand for this device; nothing was written. Tried: {}. Check the states of the measurements, or try another --base, --host or more --evaluations",
            100.0 * as_error(fitted.loss),
            100.0 * as_error(BAD_FIT),
            tried.join(", ")
        ),
    ))
}
