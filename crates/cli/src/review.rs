//! `nandscope review`: a whole review of a device, from the check of everything that can be wrong
//! to the report. The procedure itself is the suite crate's.

use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::run::progress::Line;
use crate::{output, target};
use clap::Args;
#[cfg(target_os = "linux")]
use nandscope_measure::result::Notice;
use nandscope_measure::result::ResultDocument;
use nandscope_suite::spec::attachments;
use nandscope_suite::{Procedure, ReviewObserver, ReviewOptions, SimSpec, SuiteError};
#[cfg(target_os = "linux")]
use nandscope_suite::{review_folder, review_target};
use nandscope_units::Nanos;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

const EXAMPLES: &str = "\
Examples:
  nandscope review sim:sm2708-250gb                     every mode, report in review-sm2708-250gb/
  nandscope review sim:sm2708-250gb --mode uhs-i -o uhs/
  nandscope review sim:./my-card.toml --host rtl9211ds --quick
  nandscope review ./test.img --size 8g --quick         on a new file of this machine
  nandscope review /mnt/card/                           folders of files, copied, read back, deleted
  nandscope review sim:plextor-m6e-256gb --suite iometer --host asus-z87-satae
  nandscope review sim:sm2708-250gb --suite speed-class

The report is DIR/report.html, one file that needs no network. Beside it stand result.json (everything
that was measured), csv/ (every series) and plots/ (every plot as SVG).

Ctrl-C ends the review: what was measured until then is kept and reported, marked as incomplete, and the
exit code is 130. A second Ctrl-C ends the program at once.";

/// Arguments of `nandscope review`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// sim:NAME, sim:./FILE.toml, or the path of a file or block device
    target: String,
    /// Folder for the report; made where it is missing [default: review-NAME]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// The procedure: card, a whole review; fill, two fills of the whole device; iometer, 128 KiB sequential at
    /// QD32 on every port; ssd, bursts, sustained access and traces; ssd-peers, beside the drives of its time;
    /// flashbench (or flashbench-whole), allocation units; speed-class, verdicts on the classes of SD cards
    #[arg(long, value_name = "SUITE", default_value = "card")]
    suite: String,
    /// Only this way of attaching the device, such as `UHS-I`; may be given several times [default: all]
    #[arg(long, value_name = "MODE")]
    mode: Vec<String>,
    /// Attach the device to this host, at each of its ports that fits, instead of those that its profile names
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "mode")]
    host: Option<String>,
    /// Every random choice follows from it
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A tenth of the data, one pass, short runs
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    real: target::real::RealArguments,
}

/// Reviews the device and writes the report.
///
/// # Errors
/// Where something is wrong before the review, or the report cannot be written.
pub fn run(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let procedure = Procedure::find(&arguments.suite).map_err(|e| suite_failure(&e))?;
    if target::real::is_real(&arguments.target) {
        return review_real(&arguments, procedure, console);
    }
    arguments.real.refuse(&arguments.target)?;
    let spec = specify(&arguments, console)?;
    let folder = arguments
        .output
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("review-{}", spec.profile.device.name)));
    let _made = output::check_folder(&folder)?;
    let options = ReviewOptions {
        modes: arguments.mode.clone(),
        seed: arguments.seed,
        quick: arguments.quick,
    };
    let interrupt = Interrupt::listen()?;
    let measure = |line: &mut Line| procedure.run(&spec, &options, line, &|| interrupt.asked());
    conduct(Line::new("review"), measure, &folder, &interrupt, console)
}

/// Measures, writes the report, and says how it ended.
fn conduct(
    mut line: Line,
    measure: impl FnOnce(&mut Line) -> Result<ResultDocument, SuiteError>,
    folder: &Path,
    interrupt: &Interrupt,
    console: &Console,
) -> Result<Exit, Failure> {
    let began = Instant::now();
    let started = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let result = measure(&mut line);
    line.clear();
    let mut document = result.map_err(|e| suite_failure(&e))?;
    document.wall.started = Some(started);
    document.wall.elapsed_s = Some(began.elapsed().as_secs_f64());
    output::present(&document, folder, console)?;
    if interrupt.asked() {
        let text = format!(
            "interrupted; what was measured until then is in {}",
            folder.display()
        );
        return Err(Failure::new(Exit::Interrupted, text));
    }
    Ok(if document.complete {
        Exit::Done
    } else {
        Exit::Partial
    })
}

/// The review of a file or block device.
#[cfg(target_os = "linux")]
fn review_real(
    arguments: &Arguments,
    procedure: Procedure,
    console: &Console,
) -> Result<Exit, Failure> {
    if procedure != Procedure::Card {
        return Err(Failure::usage(format!(
            "--suite {} is for simulated devices only; leave it out",
            procedure.name()
        )));
    }
    if !arguments.mode.is_empty() || arguments.host.is_some() {
        return Err(Failure::usage(
            "--mode and --host are for simulated devices; a real one is attached as it is",
        ));
    }
    let path = Path::new(&arguments.target);
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let folder = arguments
        .output
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("review-{name}")));
    let _made = output::check_folder(&folder)?;
    let interrupt = Interrupt::listen()?;
    let access = nandscope_measure::real::Access::Write;
    if path.is_dir() {
        return review_in(arguments, &folder, &interrupt, console);
    }
    let outputs = [folder.clone()];
    let mut real = target::real::open_real(
        &arguments.target,
        access,
        &arguments.real,
        &outputs,
        &interrupt,
    )?;
    let mut environment = real.environment();
    let cost = target::real::generator_cost(32);
    environment.extend(cost.map(|cost| ("generator cost".to_string(), cost)));
    let info = real.info();
    let said = std::mem::take(&mut real.warnings)
        .into_iter()
        .map(|text| ("warning", text))
        .chain(real.remarks.drain(..).map(|text| ("info", text)))
        .collect::<Vec<_>>();
    let options = ReviewOptions {
        modes: Vec::new(),
        seed: arguments.seed,
        quick: arguments.quick,
    };
    let measure = |line: &mut Line| {
        let stop = || interrupt.asked();
        let mut document = review_target(real.target, info, environment, &options, line, &stop)?;
        document.environment.extend(real.panel.since_then());
        document.notices.extend(
            said.into_iter()
                .map(|(level, text)| Notice::new(level, text)),
        );
        Ok(document)
    };
    let line = Line::new("review").in_real_time();
    conduct(line, measure, &folder, &interrupt, console)
}

/// The review of a folder: files are copied into it.
#[cfg(target_os = "linux")]
fn review_in(
    arguments: &Arguments,
    folder: &Path,
    interrupt: &Interrupt,
    console: &Console,
) -> Result<Exit, Failure> {
    let place = target::real::folder::open(&arguments.target, &arguments.real)?;
    let options = ReviewOptions {
        modes: Vec::new(),
        seed: arguments.seed,
        quick: arguments.quick,
    };
    let made = place.made;
    let measure = |line: &mut Line| {
        let stop = || interrupt.asked();
        let (info, around) = (place.info, place.environment);
        let mut document = review_folder(place.target, info, around, &options, line, &stop)?;
        document.environment.extend(place.panel.since_then());
        let warnings = place.warnings.into_iter();
        document
            .notices
            .extend(warnings.map(|text| Notice::new("warning", text)));
        Ok(document)
    };
    let line = Line::new("review").in_real_time();
    let exit = conduct(line, measure, folder, interrupt, console);
    drop(made);
    exit
}

#[cfg(not(target_os = "linux"))]
fn review_real(arguments: &Arguments, _: Procedure, _: &Console) -> Result<Exit, Failure> {
    Err(target::real::absent(&arguments.target))
}

/// The device with the hosts it is to be attached to.
fn specify(arguments: &Arguments, console: &Console) -> Result<SimSpec, Failure> {
    let Some(place) = arguments.target.strip_prefix("sim:") else {
        return Err(Failure::usage(format!(
            "`{}` is no target; simulated devices are named sim:NAME (see `nandscope devices`) or sim:./FILE.toml; a file or device of this machine is named by its path, such as ./FILE or /dev/sdX",
            arguments.target
        )));
    };
    let source = target::device_source(place, console)?;
    let mut spec = SimSpec::new(&arguments.target, &source.text, source.profile)
        .map_err(|e| suite_failure(&e))?;
    if let Some(host) = &arguments.host {
        let host = target::host_source(host, console)?.profile;
        spec.modes = attachments(&host.host.title, &host, &spec.profile);
    }
    Ok(spec)
}

/// A procedure that could not be carried out.
pub fn suite_failure(error: &SuiteError) -> Failure {
    match error {
        SuiteError::Target(_) | SuiteError::Step { .. } => Failure::usage(error),
        SuiteError::Facts(_) => Failure::internal(error),
    }
}

impl ReviewObserver for Line {
    fn progress(&mut self, fraction: f64, mode: &str, step: &str, at: Nanos) {
        let mode = if mode.is_empty() {
            String::new()
        } else {
            format!("{mode}: ")
        };
        self.show(Some(fraction), format!("{mode}{step}, {}", self.time(at)));
    }
}
