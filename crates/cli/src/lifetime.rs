//! `nandscope lifetime`: years to the rated cycles of a simulated device under a workload.

mod iostat;

use crate::claims::FileClaims;
use crate::console::{Console, lines_of};
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::qualify::refuse_real;
use crate::run::FitChoice;
use crate::run::preparation::{self, PreparationLine};
use crate::run::progress::Line;
use crate::target::{ParamArguments, Precondition, Simulated, open_with};
use crate::{fault, heading, job, output};
use clap::Args;
use nandscope_device::{Device, break_if};
use nandscope_experiment::ErrorClass;
use nandscope_experiment::jobs::Jobs;
use nandscope_experiment::run::{RunError, SimulatedTarget};
use nandscope_fitness::lifetime::{
    Estimate, LifetimeError, LifetimeOptions, LifetimeProgress, Rating, measure,
};
use nandscope_fitness::verdict::years_text;
use nandscope_units::{Bytes, SizeBase, number, parse_size};
use nandscope_workload::job::{Job, Override};
use nandscope_workload::{OpKind, RateLimit};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// Name of the result in the folder of `-o`.
const RESULT: &str = "lifetime.json";

const EXAMPLES: &str = "\
Examples:
  nandscope lifetime log.fio sim:kingston-8gb
  nandscope lifetime rand-write sim:sm2708-250gb --per-day 20GB
  nandscope lifetime jesd219-enterprise sim:sm2708-250gb --per-day 250GB
  nandscope lifetime --trace disk.blktrace sim:sandisk-ultra-16gb
  iostat -x -k 60 > pi.txt
  nandscope lifetime --iostat pi.txt sim:kingston-8gb --disk mmcblk0";

/// Arguments of `nandscope lifetime`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Job file, name of a job in the library, or another record of a workload
    #[arg(value_name = "JOB.fio|FILE")]
    workload: PathBuf,
    /// sim:NAME, sim:./FILE.toml or sim:saved:FILE
    target: String,
    /// The workload is a recorded trace
    #[arg(long)]
    trace: bool,
    /// Adaptation of a trace to the size of the device
    #[arg(long, value_enum, default_value_t, hide_short_help = true)]
    fit: FitChoice,
    /// The workload is the output of `iostat -x`
    ///
    /// Text or JSON. Places are not recorded, so writes in order and at random
    /// are both run.
    #[arg(long, conflicts_with_all = ["trace", "per_day"])]
    iostat: bool,
    /// Disk in the output of iostat, if it has several
    #[arg(long, value_name = "NAME", requires = "iostat")]
    disk: Option<String>,
    /// Bytes that the application writes per day [default: by the rates of the workload]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    per_day: Option<Bytes>,
    /// Hours of a day in which the workload runs
    #[arg(long, value_name = "HOURS", default_value_t = 24.0, value_parser = hours, conflicts_with = "per_day")]
    hours_per_day: f64,
    /// Change a key of every job; repeatable
    #[arg(long = "job", value_name = "KEY=VALUE")]
    keys: Vec<String>,
    /// Initial state: none, sequential, random, overwritten or steady
    ///
    /// The amount follows a colon: sequential:PERCENT and random:PERCENT of the
    /// capacity, overwritten:TIMES the capacity.
    #[arg(long, value_name = "STATE", default_value = "sequential", help_heading = heading::SIMULATED)]
    precondition: Precondition,
    /// Most rounds of the workload
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000), help_heading = heading::LIMITS)]
    rounds: u32,
    /// Most data that the host writes, in capacities of the device
    #[arg(long, value_name = "TIMES", default_value_t = 5.0, value_parser = capacities, help_heading = heading::LIMITS)]
    capacities: f64,
    /// Host of the device [default: direct, or that of a saved device]
    #[arg(long, value_name = "NAME|FILE", help_heading = heading::SIMULATED)]
    host: Option<String>,
    #[command(flatten)]
    params: ParamArguments,
    /// Seed of the random number generator
    #[arg(long, default_value_t = 1, help_heading = heading::SIMULATED)]
    seed: u64,
    /// Folder for lifetime.json, created if missing
    #[arg(short, long, value_name = "DIR", help_heading = heading::OUTPUT)]
    output: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long, help_heading = heading::OUTPUT)]
    json: bool,
}

fn size(text: &str) -> Result<Bytes, String> {
    match parse_size(text, SizeBase::Decimal) {
        Ok(Bytes(0)) => Err("give a size above 0".to_string()),
        Ok(size) => Ok(size),
        Err(error) => Err(error.to_string()),
    }
}

fn hours(text: &str) -> Result<f64, &'static str> {
    let hours = text.parse::<f64>().ok();
    let hours = hours.filter(|h| *h > 0.0 && *h <= 24.0);
    hours.ok_or("give a number above 0 and up to 24")
}

fn capacities(text: &str) -> Result<f64, &'static str> {
    let times = text.parse::<f64>().ok();
    let times = times.filter(|t| *t > 0.0 && *t <= 1e6);
    times.ok_or("give a number above 0 and up to 1000000")
}

/// Estimates the lifetime.
///
/// # Errors
/// `Exit::Usage` if the workload has faults, does not fit the device, writes nothing, or has no pace and `--per-day` is
/// missing; as [`open_with`]; `Exit::Partial` if the workload fails; `Exit::File` if the result cannot be written;
/// `Exit::Interrupted`.
pub fn run(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let workload = arguments.workload.display();
    if workload.to_string().starts_with("sim:") {
        return Err(Failure::usage(format!(
            "{workload} is a simulated device, and the workload comes first: check the order of the arguments"
        )));
    }
    refuse_real(&arguments.target, "lifetime")?;
    if arguments.iostat {
        return iostat::run(&arguments, console);
    }
    let jobs = jobs(&arguments, console)?;
    if arguments.per_day.is_none()
        && let Some(job) = jobs.file.jobs.iter().find(|job| !has_pace(job))
    {
        return Err(Failure::usage(format!(
            "job `{}` writes as fast as the device allows, which says nothing of a day; give --per-day, such as --per-day 20GB, or a rate in the job (rate, rate_iops, thinktime)",
            job.name
        )));
    }
    let _made = claim(&arguments, Some(&jobs))?;
    let (setting, device) = open(&arguments, console)?;
    let per_day = arguments.per_day;
    let estimate = estimate(&arguments, &setting, device, &jobs, per_day, console)?;
    let document = document(&arguments, &setting.about, json!({ "estimate": estimate }));
    put_out(&arguments, &document, console, || {
        words(&arguments, &setting.about, &estimate, console)
    })?;
    Ok(Exit::Done)
}

/// Device and signals, which two estimates share.
struct Setting {
    about: Simulated,
    interrupt: Interrupt,
}

/// Opens the device, and brings it into its initial state.
fn open(arguments: &Arguments, console: &Console) -> Result<(Setting, Device), Failure> {
    let options = arguments
        .params
        .options(arguments.host.as_deref(), arguments.seed);
    let (about, mut device) = open_with(&arguments.target, &options, console)?;
    let interrupt = Interrupt::listen()?;
    prepare(arguments, &mut device, &interrupt, console)?;
    Ok((Setting { about, interrupt }, device))
}

/// Runs a workload on the device until its wear is level.
fn estimate(
    arguments: &Arguments,
    setting: &Setting,
    device: Device,
    jobs: &Jobs,
    per_day: Option<Bytes>,
    console: &Console,
) -> Result<Estimate, Failure> {
    let source = &setting.about.device_source;
    let rating = Rating::of(&source.profile, &source.text);
    let mut target = SimulatedTarget::new(setting.about.clone(), device);
    let options = LifetimeOptions {
        per_day,
        hours_per_day: arguments.hours_per_day,
        most_rounds: arguments.rounds,
        most_capacities: arguments.capacities,
        seed: arguments.seed,
        fit: arguments.fit.into(),
    };
    let line = RefCell::new(Line::new("lifetime"));
    let progress = |now: &LifetimeProgress| {
        let mut line = line.borrow_mut();
        let mut text = format!("round {}, {:.0} cycles of blocks", now.round, now.cycles);
        // The measurement ends when the wear is level, at the latest at the limits.
        if let Some(left) = line.seconds_left(now.of_limit, 0.005) {
            text.push_str(&format!(", at most {left:.0} s left"));
        }
        line.draw(now.of_limit, text, false, console);
        !setting.interrupt.asked()
    };
    let estimate = measure(&mut target, jobs, &rating, &options, &progress);
    line.borrow().clear();
    estimate.map_err(|error| failure(&error, &jobs.text, console))
}

/// Writes and prints the result; `words` is its text for people.
fn put_out(
    arguments: &Arguments,
    document: &Value,
    console: &Console,
    words: impl Fn() -> String,
) -> Result<(), Failure> {
    if let Some(folder) = &arguments.output {
        let text = serde_json::to_string_pretty(document).map_err(Failure::internal)?;
        output::write_or_keep_in(folder, RESULT, format!("{text}\n").as_bytes())?;
    }
    match arguments.json {
        true => output::print_json(document, console),
        false => console.print(&words()),
    }
}

/// The jobs of the file, or a job that replays the trace.
fn jobs(arguments: &Arguments, console: &Console) -> Result<Jobs, Failure> {
    let overrides: Vec<Override> = arguments.keys.iter().map(|k| Override::parse(k)).collect();
    if !arguments.trace {
        return job::read_with(&arguments.workload, &overrides, &[], console);
    }
    let path = arguments.workload.display().to_string();
    if path.contains(['\n', '\r']) {
        return Err(Failure::usage(
            "the name of the trace has a line break; rename it",
        ));
    }
    let text = format!("[trace]\nread_iolog={path}\n");
    Jobs::parse("the trace", text, &overrides).map_err(|e| job::jobs_failure(&e, console))
}

/// Whether the job itself says how much it writes per time.
fn has_pace(job: &Job) -> bool {
    let pacing = &job.pacing;
    let writes = job.rw.kinds().contains(&OpKind::Write) || job.trace.is_some();
    let timed_trace = job.trace.as_ref().is_some_and(|trace| !trace.no_stall);
    !writes
        || timed_trace
        || pacing.write_limit != RateLimit::Unlimited
        || !pacing.thinktime.is_zero()
        || pacing.duty_cycle.is_some()
}

fn claim(arguments: &Arguments, jobs: Option<&Jobs>) -> Result<Option<output::Made>, Failure> {
    let mut files = FileClaims::default();
    files.input("the workload", &arguments.workload)?;
    files.target(&arguments.target)?;
    files.host(arguments.host.as_deref())?;
    if let Some(jobs) = jobs.filter(|_| !arguments.trace) {
        files.traces(&jobs.file)?;
    }
    if let Some(folder) = &arguments.output {
        files.file("the result", &folder.join(RESULT))?;
        return output::check_folder(folder).map(Some);
    }
    Ok(None)
}

/// Brings the device into its initial state; a saved device stays as it is.
fn prepare(
    arguments: &Arguments,
    device: &mut Device,
    interrupt: &Interrupt,
    console: &Console,
) -> Result<(), Failure> {
    if arguments.target.starts_with("sim:saved:") {
        return Ok(());
    }
    let mut line = PreparationLine::new(console);
    let prepared = arguments
        .precondition
        .apply_in_steps(device, arguments.seed, &mut |now| {
            line.show(now);
            break_if(interrupt.asked())
        });
    line.clear();
    prepared.map_err(|error| preparation::failure(&error))
}

fn failure(error: &LifetimeError, text: &str, console: &Console) -> Failure {
    match error {
        LifetimeError::Run(RunError::Jobs(error)) => fault::of_job(console, text, error),
        LifetimeError::Run(error) => match error.class() {
            ErrorClass::Usage => Failure::usage(error),
            class => Failure::of(class, error),
        },
        LifetimeError::Stopped => Failure::new(Exit::Interrupted, error),
        LifetimeError::Failed { .. } | LifetimeError::EndOfLife(_) => {
            Failure::new(Exit::Partial, error)
        }
        LifetimeError::NoWrites => Failure::usage(error),
    }
}

/// The result for programs: what was examined, then `found`.
fn document(arguments: &Arguments, about: &Simulated, found: Value) -> Value {
    let mut document = json!({
        "format": 1,
        "workload": workload_name(&arguments.workload),
        "target": arguments.target,
        "device": about.device_source.profile.device.title,
        "host": about.host_source.profile.host.name,
        "precondition": arguments.precondition.describe(),
    });
    if let (Value::Object(all), Value::Object(found)) = (&mut document, found) {
        all.extend(found);
    }
    document
}

fn workload_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

/// The result for people.
fn words(
    arguments: &Arguments,
    about: &Simulated,
    estimate: &Estimate,
    console: &Console,
) -> String {
    let e = estimate;
    let mut text = console.paragraph(
        &format!(
            "{} under {}: {} to {} until the rated cycles",
            about.device_source.profile.device.title,
            workload_name(&arguments.workload),
            years_text(e.years.low),
            years_text(e.years.high)
        ),
        "",
    );
    text.push('\n');
    let mut table = console.table(&[]);
    for (name, value) in rows(e) {
        table.add_row([name.to_string(), value]);
    }
    text.push_str(&lines_of(&table));
    text.push('\n');
    text.push_str(&console.paragraph(&how(e), ""));
    text
}

fn rows(e: &Estimate) -> Vec<(&'static str, String)> {
    let mut rows = vec![
        ("host writes per day", number::bytes(e.host_per_day as u64)),
        ("write amplification", number::short(e.write_amplification)),
        (
            "P/E cycles per block and day",
            number::short(e.cycles_per_day),
        ),
        (
            "P/E cycles per TB of the host",
            number::short(e.cycles_per_tb),
        ),
        (
            "relative error of these",
            format!("{} %", number::short(e.error * 100.0)),
        ),
        (
            "wear of blocks: least, mean, most",
            format!(
                "{}, {}, {} cycles",
                number::short(e.wear.least),
                number::short(e.wear.mean),
                number::short(e.wear.most)
            ),
        ),
        (
            "rated cycles",
            format!(
                "{}, {} to {}",
                number::short(e.rating.cycles),
                number::short(e.rating.low),
                number::short(e.rating.high)
            ),
        ),
        ("years at the rated cycles", years_text(e.years.rated)),
    ];
    let causes = e.causes.ranked();
    let causes = causes.iter().filter(|(_, share)| *share >= 0.01);
    rows.extend(causes.map(|(name, share)| {
        (
            *name,
            format!("{} bytes per byte of the host", number::short(*share)),
        )
    }));
    rows
}

/// How the estimate was made.
fn how(e: &Estimate) -> String {
    let level = match e.rounds.is_level {
        true => "in which the wear per byte was level",
        false => {
            "in which the wear per byte was NOT level: the years are a rough guide; allow more with --rounds or --capacities"
        }
    };
    format!(
        "From the last {} of {} rounds of the workload, {}: {} of the host, {} erases of blocks. Range of the cycles: {}. Not included: the file system, retention, blocks that fail early, wear that is not level at the end of life.",
        e.rounds.counted,
        e.rounds.run,
        level,
        number::bytes(e.host_written.0),
        number::count(e.erases),
        e.rating.source
    )
}
