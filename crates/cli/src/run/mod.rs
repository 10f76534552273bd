//! `nandscope run`: a job file on a target. Checking and running the jobs is the business of the
//! experiment crate; here are arguments, outputs, the journal of finished steps, and the end of the run.

mod finish;
mod fio_options;
pub mod preparation;
mod printer;
pub mod progress;
mod target;

use crate::claims::FileClaims;
use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::heading;
use crate::interrupt::Interrupt;
use crate::steps::{self, Asked, Place};
use crate::target::{ParamArguments, Precondition};
use crate::{fault, job, output};
use clap::{Args, ValueEnum};
use fio_options::FioOptions;
use nandscope_experiment::jobs::{Jobs, STANDARD_INPUT};
use nandscope_experiment::run::{
    Prepared, ReplayError, RunError, RunOptions, SimulatedTarget, check_logs, wants_files,
};
#[cfg(target_os = "linux")]
use nandscope_measure::real::Access;
use nandscope_report::fio::Format;
use nandscope_units::Nanos;
use nandscope_workload::job::Override;
use nandscope_workload::trace::Fit;
use printer::Printer;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
pub use target::RealRunTarget;
use target::{CommandObserver, CommandTarget};
use thiserror::Error;

const EXAMPLES: &str = "\
Examples:
  nandscope run rand-read sim:sm2708-250gb
  nandscope run job.fio sim:./my.toml --host rtl9211ds --precondition random:80
  nandscope run rand-read sim:sm2708-250gb --job iodepth=64
  nandscope run sim:sm2708-250gb -- --rw=randread --bs=4k --size=1g --direct=1
  nandscope run verify.fio sim:kingston-8gb --contents --fault 'fake 4g wrap'
  nandscope run fill.fio sim:sm2708-250gb --save used.dev
  nandscope run read.fio sim:saved:used.dev --result result.json
  nandscope run rand-read /dev/nvme0n1
  nandscope run job.fio ./test.img --size 8g        on a new file of 8 GiB

Ctrl-C ends the run: operations in flight are waited for, what was measured is printed and kept, and the \
exit code is 130. A second Ctrl-C ends the program at once. With --result RESULT.json every finished group of jobs \
is kept in RESULT.json.steps at once; after an interruption of any kind the same command with --resume \
goes on from there.";

/// Treatment of a trace that was recorded on a device of another size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FitChoice {
    /// A request past the end is an error
    #[default]
    Exact,
    /// Offsets modulo the size of the device
    Wrap,
    /// Areas spread over the device as recorded
    Scale,
}

impl From<FitChoice> for Fit {
    fn from(choice: FitChoice) -> Self {
        match choice {
            FitChoice::Exact => Fit::Exact,
            FitChoice::Wrap => Fit::Wrap,
            FitChoice::Scale => Fit::Scale,
        }
    }
}

/// Arguments of `nandscope run`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Job file in fio's grammar (optional if options follow `--`; `-` is standard input), and the
    /// target: sim:NAME, sim:./FILE.toml, sim:saved:FILE, or a file or block device
    #[arg(value_name = "JOB.fio> <TARGET", num_args = 1..=2, required = true)]
    places: Vec<String>,
    /// Change a key of every job; repeatable
    #[arg(long = "job", value_name = "KEY=VALUE")]
    keys: Vec<String>,
    /// Options of fio's command line: a job without a file, or settings for every job
    #[arg(last = true, value_name = "--OPTION=VALUE")]
    options: Vec<String>,
    /// Host of the device [default: direct, or that of a saved device]
    #[arg(long, value_name = "NAME|FILE", help_heading = heading::SIMULATED)]
    host: Option<String>,
    #[command(flatten)]
    params: ParamArguments,
    /// Seed of the random number generator
    #[arg(long, default_value_t = 1, help_heading = heading::SIMULATED)]
    seed: u64,
    /// File for the result
    #[arg(long, value_name = "RESULT.json", help_heading = heading::OUTPUT)]
    result: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long, conflicts_with_all = ["output_format", "minimal", "status_interval"], help_heading = heading::OUTPUT)]
    json: bool,
    /// Print like fio: normal, terse, json, json+
    ///
    /// Several formats are separated by commas.
    #[arg(long, value_name = "FORMATS", value_delimiter = ',', value_parser = fio_format, help_heading = heading::OUTPUT)]
    output_format: Vec<Format>,
    /// Print like fio's terse format
    #[arg(long, help_heading = heading::OUTPUT, hide_short_help = true)]
    minimal: bool,
    /// Run the jobs of this section only; repeatable
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    section: Vec<String>,
    /// Print interim results at this interval [default: at the end only]
    #[arg(long, value_name = "TIME", value_parser = fio_options::interval, help_heading = heading::OUTPUT, hide_short_help = true)]
    status_interval: Option<Nanos>,
    /// Outputs in fio's formats, from the command line and the job file together
    #[arg(skip)]
    fio: FioOptions,
    /// Continue an interrupted measurement
    ///
    /// Finished steps are kept in a journal beside the result.
    #[arg(long, help_heading = heading::OUTPUT)]
    resume: bool,
    /// Initial state: none, sequential, random, overwritten or steady
    ///
    /// The amount follows a colon: sequential:PERCENT and random:PERCENT of the
    /// capacity, overwritten:TIMES the capacity.
    #[arg(long, value_name = "STATE", default_value = "none", help_heading = heading::SIMULATED)]
    precondition: Precondition,
    /// Store data in a simulated device, so that jobs can verify it
    #[arg(long, help_heading = heading::SIMULATED, hide_short_help = true)]
    contents: bool,
    /// Inject a fault, such as 'fake 2GiB wrap' (`nandscope help faults`); repeatable
    #[arg(long, value_name = "COMMAND", requires = "contents", help_heading = heading::SIMULATED, hide_short_help = true)]
    fault: Vec<String>,
    /// Save the device after the run; sim:saved:FILE continues
    #[arg(long, value_name = "FILE", help_heading = heading::SIMULATED, hide_short_help = true)]
    save: Option<PathBuf>,
    /// Adaptation of a trace to the size of the device
    #[arg(long, value_enum, default_value_t, hide_short_help = true)]
    fit: FitChoice,
    /// Folder for logs and other files of jobs
    #[arg(long, value_name = "DIR", default_value = ".", help_heading = heading::OUTPUT, hide_short_help = true)]
    log_dir: PathBuf,
    #[command(flatten)]
    real: crate::target::real::RealArguments,
}

/// Runs the job file.
///
/// # Errors
/// `Exit::Usage` if the jobs have faults or do not fit the target; `Exit::File` if a file or the target cannot be
/// opened, or an output cannot be written.
pub fn run(mut arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    arguments.take_fio_options()?;
    let jobs = arguments.read(console)?;
    let _made = check_outputs(&arguments, &jobs, console)?;
    let journal = arguments.result.as_deref().and_then(steps::beside);
    let place = Place::look(journal, arguments.resume, console)?;
    place.check(&arguments.asked(&jobs))?;
    let interrupt = Interrupt::listen()?;
    if crate::target::real::is_real(arguments.target()) {
        return run_real(&arguments, &jobs, place, interrupt, console);
    }
    let options = arguments
        .params
        .options(arguments.host.as_deref(), arguments.seed);
    let (simulated, device) = crate::target::open_with(arguments.target(), &options, console)?;
    arguments.real.refuse(arguments.target())?;
    let target = match arguments.contents {
        false => SimulatedTarget::new(simulated, device),
        true => {
            let faults = &arguments.fault;
            SimulatedTarget::with_contents(simulated, device, faults, arguments.seed)
                .map_err(Failure::usage)?
        }
    };
    execute(&arguments, &jobs, target, place, interrupt, console)
}

#[derive(Debug, Error)]
#[error("use normal, terse, json or json+")]
struct UnknownFormat;

fn fio_format(name: &str) -> Result<Format, UnknownFormat> {
    Format::find(name).ok_or(UnknownFormat)
}

impl Arguments {
    /// The target: the last of the places.
    fn target(&self) -> &str {
        self.places.last().map_or("", String::as_str)
    }

    /// The job file; `None` if the job is on the command line.
    fn job(&self) -> Option<&Path> {
        match &self.places[..] {
            [job, _] => Some(Path::new(job)),
            _ => None,
        }
    }

    /// Takes fio's options of the command, as opposed to its jobs, from the options after `--`.
    fn take_fio_options(&mut self) -> Result<(), Failure> {
        let (given, rest) = FioOptions::take(&self.options)?;
        let mut own = FioOptions {
            formats: self.output_format.clone(),
            sections: self.section.clone(),
            status_interval: self.status_interval,
            ..FioOptions::default()
        };
        if self.minimal {
            own.formats = vec![Format::Terse];
        }
        self.options = rest;
        self.fio = own.or(given);
        if self.json && !self.fio.formats.is_empty() {
            return Err(Failure::usage(
                "--json prints nandscope's own JSON and --output-format fio's formats; omit one of them",
            ));
        }
        Ok(())
    }

    /// Name of the jobs in messages and titles.
    fn job_name(&self) -> String {
        if self.job() == Some(Path::new(STANDARD_INPUT)) {
            return "standard input".to_string();
        }
        let name = self.job().and_then(Path::file_name);
        name.map_or_else(
            || "command-line job".to_string(),
            |name| name.to_string_lossy().into_owned(),
        )
    }

    /// Reads the job file, trace or command line.
    fn read(&self, console: &Console) -> Result<Jobs, Failure> {
        let keys = self.keys.iter().map(|text| Override::parse(text));
        match self.job() {
            Some(path) => {
                if path == Path::new(STANDARD_INPUT) && std::io::stdin().is_terminal() {
                    console.note("reading the job file from standard input; end it with Ctrl-D");
                }
                let options = Override::of_words(&self.options);
                let overrides: Vec<Override> = keys.chain(options).collect();
                job::read_with(path, &overrides, &self.fio.sections, console)
            }
            None if !self.fio.sections.is_empty() => Err(Failure::usage(
                "`--section` selects sections of a job file, and there is none; name the file before the target",
            )),
            None if self.options.is_empty() => Err(Failure::usage(
                "`run` needs a job file and a target (`nandscope run JOB.fio TARGET`), or a target and options (`nandscope run TARGET -- --rw=randread --bs=4k`)",
            )),
            None => {
                let overrides: Vec<Override> = keys.collect();
                job::of_command_line(&self.options, &overrides, console)
            }
        }
    }

    /// Options on which the result depends, besides the target.
    fn asked(&self, jobs: &Jobs) -> Asked {
        Asked::new("run")
            .and("job file", jobs.file.to_fio())
            .and("name of the job file", self.job_name())
            .and("seed", self.seed)
            .and("host", self.host.as_deref().unwrap_or_default())
            .and("precondition", format!("{:?}", self.precondition))
            .and("fit", format!("{:?}", self.fit))
    }
}

#[cfg(target_os = "linux")]
fn run_real(
    arguments: &Arguments,
    jobs: &Jobs,
    place: Place,
    interrupt: Interrupt,
    console: &Console,
) -> Result<Exit, Failure> {
    let known = arguments.asked(jobs);
    place.check(&arguments.real.asked(arguments.target(), known))?;
    let all = &jobs.file.jobs;
    let access = match nandscope_experiment::run::plan::writes(all) {
        true => Access::Write,
        false => Access::Read,
    };
    let mut outputs: Vec<PathBuf> = Vec::new();
    outputs.extend(
        arguments
            .result
            .iter()
            .chain(&arguments.fio.output)
            .filter_map(|o| Some(o.parent()?.to_path_buf())),
    );
    if all.iter().any(wants_files) {
        outputs.push(arguments.log_dir.clone());
    }
    let real = crate::target::real::open_real(
        arguments.target(),
        access,
        &arguments.real,
        &outputs,
        place.resumes(),
        &interrupt,
    )?;
    let depth = all.iter().map(|j| j.pacing.iodepth).max();
    let target = target::RealRunTarget::new(real, arguments, depth.unwrap_or(1), &interrupt)?;
    execute(arguments, jobs, target, place, interrupt, console)
}

#[cfg(not(target_os = "linux"))]
fn run_real(
    arguments: &Arguments,
    _: &Jobs,
    _: Place,
    _: Interrupt,
    _: &Console,
) -> Result<Exit, Failure> {
    Err(crate::target::real::absent(arguments.target()))
}

fn execute<T: CommandTarget>(
    arguments: &Arguments,
    jobs: &Jobs,
    mut target: T,
    place: Place,
    interrupt: Interrupt,
    console: &Console,
) -> Result<Exit, Failure> {
    let options = RunOptions {
        job_name: arguments.job_name(),
        seed: arguments.seed,
        precondition: arguments.precondition,
        is_conditioned: false,
        fit: arguments.fit.into(),
    };
    let failed = |error: RunError| run_failure(&error, &jobs.text, console);
    let prepared = Prepared::new(jobs, &options, &mut target).map_err(failed)?;
    let mut keeper = place.begin(target.asked(arguments.asked(jobs)))?;
    target.recognize(&mut keeper)?;
    let earlier = target.resume(&mut keeper);
    let printer = Printer::new(arguments.fio.clone(), &jobs.file);
    let mut observer = CommandObserver::new(keeper, printer, T::IN_REAL_TIME, console);
    let stop = || interrupt.asked();
    let run = prepared.execute(&mut target, earlier, &mut observer, &stop);
    let run = run.map_err(failed)?;
    let (keeper, printer) = observer.into_parts();
    finish::finish(arguments, run, &target, keeper, printer, console)
}

/// Jobs that cannot be run; `text` is that of the job file.
fn run_failure(error: &RunError, text: &str, console: &Console) -> Failure {
    match error {
        RunError::Jobs(error) => fault::of_job(console, text, error),
        // The library's message names the option `fit=`; on the command line it is `--fit`.
        RunError::Replay(ReplayError::Fit { .. }) => {
            Failure::usage(error.to_string().replace("fit=", "--fit "))
        }
        RunError::Precondition(error) => preparation::failure(error),
        error => Failure::of(error.class(), error),
    }
}

/// Claims all files of the run.
fn claim(arguments: &Arguments, jobs: &Jobs) -> Result<FileClaims, Failure> {
    let mut files = FileClaims::default();
    if let Some(job) = arguments.job() {
        files.input("the job file", job)?;
    }
    files.target(arguments.target())?;
    files.host(arguments.host.as_deref())?;
    files.traces(&jobs.file)?;
    arguments.real.claim(&mut files)?;
    if let Some(path) = &arguments.result {
        files.output("--result", path)?;
        if let Some(journal) = steps::beside(path) {
            files.file("the journal", &journal)?;
        }
    }
    if let Some(path) = &arguments.save {
        files.output("--save", path)?;
    }
    if let Some(path) = &arguments.fio.output {
        files.output("--output", path)?;
    }
    files.logs(&jobs.file, &arguments.log_dir)?;
    Ok(files)
}

/// Whether everything can be written; gives the folder that was made for logs.
fn check_outputs(
    arguments: &Arguments,
    jobs: &Jobs,
    console: &Console,
) -> Result<Option<output::Made>, Failure> {
    claim(arguments, jobs)?.check()?;
    if !jobs.file.jobs.iter().any(wants_files) {
        return Ok(None);
    }
    let made = output::check_folder(&arguments.log_dir)?;
    check_logs(&jobs.file, &arguments.log_dir).map_err(|error| Failure {
        exit: Failure::of(error.class(), "").exit,
        ..fault::of_job(console, &jobs.text, &error.faults)
    })?;
    Ok(Some(made))
}
