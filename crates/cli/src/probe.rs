//! `nandscope probe`: the internals of a device from times of operations alone. The infer crate measures and concludes;
//! its blind test is in the suite.

use crate::claims::FileClaims;
use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::heading;
use crate::inspect::card_environment;
use crate::interrupt::Interrupt;
use crate::run::progress::Line;
use crate::target::ParamArguments;
use crate::target::real::{self, RealArguments};
use crate::{input, output, target};
use clap::Args;
use nandscope_infer::probe::{Options, Report, doubt, from_flashbench, probe, step};
use nandscope_infer::timed::ProbeError;
use nandscope_measure::sim::SimTarget;
use nandscope_measure::target::{Load, Target};
use nandscope_report::place_of_answer;
use nandscope_result::{ResultDocument, StopReason, TargetInfo, TargetKind, WallClock, procedure};
use nandscope_suite::blind;
use nandscope_units::{Bytes, Nanos, ParseQuantityError, SizeBase, parse_duration, parse_size};
use serde::Serialize;
use std::path::PathBuf;
use std::time::SystemTime;

const EXAMPLES: &str = "\
Examples:
  nandscope probe sim:kingston-class10-32gb
  nandscope probe /dev/sdb --read-only          writes nothing; finds out less
  nandscope probe /dev/sdb --destroy-data=sdb -o report/
  nandscope probe --from-flashbench align.txt   the output of `flashbench -a`
  nandscope probe --self-test --seed 7          200 drawn devices, truth known";

/// Arguments of `nandscope probe`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Device, file, or simulated device (sim:NAME)
    #[arg(value_name = "TARGET", required_unless_present_any = ["from_flashbench", "self_test"])]
    target: Option<String>,
    #[command(flatten)]
    pub(crate) how: How,
    /// Use flashbench's output: -a, --open-au with its command lines, --find-fat
    #[arg(long, value_name = "FILE", conflicts_with = "target")]
    from_flashbench: Option<PathBuf>,
    /// Probe random devices of known parameters and count right and wrong answers
    #[arg(long, conflicts_with_all = ["target", "from_flashbench"], hide_short_help = true)]
    self_test: bool,
    /// With --self-test: number of devices
    #[arg(long, value_name = "N", default_value_t = 200, hide_short_help = true)]
    devices: u64,
    /// Folder for the report and its data, created if missing
    #[arg(short, long, value_name = "DIR", help_heading = heading::OUTPUT)]
    output: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long, help_heading = heading::OUTPUT)]
    json: bool,
}

/// Limits of a probe in time and bytes, and its target options.
#[derive(Debug, Args)]
pub(crate) struct How {
    /// Limit of device time
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "20m", help_heading = heading::LIMITS)]
    time: Nanos,
    /// Limit of data written [default: 4 GB; above 36 GB 3 % of the capacity, without SLC cache]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = heading::LIMITS)]
    write_budget: Option<Bytes>,
    /// Write nothing
    #[arg(long, help_heading = heading::LIMITS)]
    read_only: bool,
    /// Read this long without a pause, to find the throttling temperature
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = heading::LIMITS, hide_short_help = true)]
    heat: Option<Nanos>,
    /// Seed of the random number generator
    #[arg(long, default_value_t = 1, help_heading = heading::SIMULATED)]
    seed: u64,
    /// Host of the device [default: direct, or that of a saved device]
    #[arg(long, value_name = "NAME|FILE", help_heading = heading::SIMULATED)]
    host: Option<String>,
    #[command(flatten)]
    params: ParamArguments,
    #[command(flatten)]
    real: RealArguments,
}

fn size(text: &str) -> Result<Bytes, ParseQuantityError> {
    parse_size(text, SizeBase::Binary)
}

fn time(text: &str) -> Result<Nanos, ParseQuantityError> {
    parse_duration(text, 1_000_000_000)
}

/// The reason why a probe ended early, in words.
fn cut_short(reason: &StopReason) -> &str {
    match reason {
        StopReason::Interrupted => "interrupted",
        other => other.as_str(),
    }
}

/// The JSON output.
#[derive(Serialize)]
struct Output<'a> {
    findings: &'a [nandscope_infer::probe::Finding],
    doubts: &'a [String],
    written_bytes: u64,
    elapsed_s: f64,
    cut_short: Option<&'a str>,
}

/// Probes the target.
///
/// # Errors
/// `Exit::File` or `Exit::Usage` if the target cannot be opened; `Exit::File` or `Exit::Interrupted` if the device
/// goes away or the user stops before the first answer.
pub fn run(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let folder = arguments.output.as_deref();
    claim(&arguments)?;
    let _made = folder.map(output::check_folder).transpose()?;
    if arguments.self_test {
        return self_test(&arguments, console);
    }
    let (report, document) = match &arguments.from_flashbench {
        Some(file) => {
            let text = input::text(file, "the output of flashbench")?;
            let name = file.display().to_string();
            let report = from_flashbench(&name, &text).map_err(Failure::usage)?;
            let info = TargetInfo {
                name: name.clone(),
                kind: TargetKind::Recorded,
                model: name,
                ..TargetInfo::default()
            };
            let title = info.model.clone();
            let document = document(title, info, &arguments.how, &report, SystemTime::now());
            (report, document)
        }
        None => {
            let name = arguments.target.as_deref().unwrap_or_default();
            measured(name, &arguments.how, arguments.output.as_ref(), console)?
        }
    };
    finish(&arguments, &report, &document, console)
}

/// Claims all files of the command.
fn claim(arguments: &Arguments) -> Result<(), Failure> {
    let mut files = FileClaims::default();
    files.inputs("--from-flashbench", &arguments.from_flashbench)?;
    if let Some(target) = &arguments.target {
        files.target(target)?;
    }
    files.host(arguments.how.host.as_deref())?;
    arguments.how.real.claim(&mut files)?;
    match &arguments.output {
        Some(folder) => files.result(folder),
        None => Ok(()),
    }
}

/// Probes a simulated or a real target; returns the report.
///
/// # Errors
/// `Exit::File` or `Exit::Usage` if the target cannot be opened; `Exit::File` or `Exit::Interrupted` if the probe
/// ended before the first answer.
pub(crate) fn measured(
    name: &str,
    arguments: &How,
    output: Option<&PathBuf>,
    console: &Console,
) -> Result<(Report, ResultDocument), Failure> {
    let interrupt = Interrupt::listen()?;
    let started = SystemTime::now();
    if real::is_real(name) {
        arguments.params.refuse(name)?;
        return on_real((name, output), arguments, &interrupt, started);
    }
    arguments.real.refuse(name)?;
    let options = arguments
        .params
        .options(arguments.host.as_deref(), arguments.seed);
    let (simulated, device) = target::open_with(name, &options, console)?;
    let info = simulated.info(&device);
    let title = simulated.device_source.profile.device.title.clone();
    let registers = target::registers(&device, &simulated.device_source.profile);
    let report = probed(
        SimTarget::new(device),
        arguments,
        &interrupt,
        Line::new("probe"),
    )?;
    let mut document = document(title, info, arguments, &report, started);
    let card = card_environment(registers.as_ref());
    document.environment.extend(card);
    Ok((report, document))
}

#[cfg(target_os = "linux")]
fn on_real(
    (name, output): (&str, Option<&PathBuf>),
    arguments: &How,
    interrupt: &Interrupt,
    started: SystemTime,
) -> Result<(Report, ResultDocument), Failure> {
    use nandscope_measure::real::Access;
    let access = if arguments.read_only {
        Access::Read
    } else {
        Access::Write
    };
    let outputs: Vec<PathBuf> = output.into_iter().cloned().collect();
    let mut opened = real::open_real(name, access, &arguments.real, &outputs, false, interrupt)?;
    let load = Load {
        batch: 1,
        depth: 64,
        largest: 512 << 10,
    };
    opened
        .target
        .prepare(&load)
        .map_err(|e| Failure::file(format!("{name}: {e}")))?;
    let (info, environment) = (opened.info(), opened.environment());
    let layers = opened.layers().to_vec();
    let line = Line::new("probe").in_real_time();
    let mut report = probed(opened.target, arguments, interrupt, line)?;
    doubt(&mut report, &layers);
    let mut document = document(info.model.clone(), info, arguments, &report, started);
    document.environment = environment;
    Ok((report, document))
}

#[cfg(not(target_os = "linux"))]
fn on_real(
    (name, _): (&str, Option<&PathBuf>),
    _: &How,
    _: &Interrupt,
    _: SystemTime,
) -> Result<(Report, ResultDocument), Failure> {
    Err(real::absent(name))
}

fn probed<T: Target>(
    target: T,
    arguments: &How,
    interrupt: &Interrupt,
    line: Line,
) -> Result<Report, Failure> {
    let mut options = Options::for_capacity(target.capacity());
    options.time = arguments.time;
    options.writes = arguments.write_budget.unwrap_or(options.writes);
    options.read_only = arguments.read_only;
    if let Some(heat) = arguments.heat {
        options.heat = heat;
        // The time of `--heat` is added to the time limit of the other measurements.
        options.time += heat;
    }
    options.seed = arguments.seed;
    let report = probe(target, &options, &|| interrupt.asked(), &mut |share, at| {
        line.show(Some(share), format!("of the time, {}", line.time(at)))
    });
    line.clear();
    report.map_err(|e| match e {
        ProbeError::Stopped => {
            Failure::new(Exit::Interrupted, "interrupted before the first answer")
        }
        ProbeError::Failed(why) => Failure::file(why),
    })
}

fn document(
    title: String,
    target: TargetInfo,
    arguments: &How,
    report: &Report,
    started: SystemTime,
) -> ResultDocument {
    ResultDocument {
        wall: WallClock {
            started: Some(humantime::format_rfc3339_seconds(started).to_string()),
            elapsed_s: started.elapsed().ok().map(|e| e.as_secs_f64()),
        },
        complete: report.cut_short.is_none(),
        steps: vec![step(report)],
        ..ResultDocument::begin(procedure::PROBE, title, arguments.seed, target)
    }
}

fn finish(
    arguments: &Arguments,
    report: &Report,
    document: &ResultDocument,
    console: &Console,
) -> Result<Exit, Failure> {
    let written = match &arguments.output {
        Some(folder) => output::note_report(document, folder, console),
        None => Ok(()),
    };
    let printed = if arguments.json {
        let json = Output {
            findings: &report.findings,
            doubts: &report.doubts,
            written_bytes: report.written,
            elapsed_s: report.elapsed_s,
            cut_short: report.cut_short.as_ref().map(cut_short),
        };
        let text = serde_json::to_string_pretty(&json).map_err(Failure::internal)?;
        console.print_json(&text)
    } else {
        console.print(&screen(report, document, console))
    };
    output::all([written, printed])?;
    Ok(match report.cut_short {
        None => Exit::Done,
        Some(StopReason::Interrupted) => Exit::Interrupted,
        Some(_) => Exit::Partial,
    })
}

/// The answers on one screen of 24 lines: important ones separately, in order of importance, unanswered questions
/// together.
fn screen(report: &Report, document: &ResultDocument, console: &Console) -> String {
    let target = &document.target;
    let mut text = format!("{}\n", document.title);
    let about = match target.capacity_bytes {
        0 => format!("{} ({})", target.name, target.kind),
        capacity => format!(
            "{:.1} GB ({}, {}); {:.2} GB written, {:.0} s",
            capacity as f64 / 1e9,
            target.name,
            target.kind,
            report.written as f64 / 1e9,
            report.elapsed_s
        ),
    };
    text.push_str(&console.paragraph(&about, ""));
    if !report.doubts.is_empty() {
        let doubts = report.doubts.join("; ");
        text.push_str(&console.paragraph(&format!("Note: {doubts}"), ""));
    }
    let (mut told, not): (Vec<_>, Vec<_>) = report.findings.iter().partition(|f| f.value.is_some());
    told.sort_by_key(|f| place_of_answer(&format!("probe.{}", f.question.id())));
    for f in told {
        let line = format!(
            "{}: {} ({:.0} %)",
            f.question.wording(),
            f.answer,
            100.0 * f.confidence
        );
        text.push_str(&console.paragraph(&line, "  "));
    }
    if !not.is_empty() {
        let names: Vec<&str> = not.iter().map(|f| f.question.wording()).collect();
        let line = format!("Cannot tell (--json says why): {}", names.join("; "));
        text.push_str(&console.paragraph(&line, "  "));
    }
    if let Some(why) = report.cut_short.as_ref().map(cut_short) {
        text.push_str(&console.paragraph(&format!("Ended early: {why}"), ""));
    }
    text
}

fn self_test(arguments: &Arguments, console: &Console) -> Result<Exit, Failure> {
    let interrupt = Interrupt::listen()?;
    let line = Line::new("self-test");
    let count = arguments.devices;
    let table = blind::run(
        count,
        arguments.how.seed,
        &|| interrupt.asked(),
        &mut |number, tried| {
            let share = (number + 1) as f64 / count as f64;
            line.show(Some(share), tried.drawn.profile.device.title.clone());
        },
    );
    line.clear();
    match table.map_err(Failure::internal)? {
        None => Err(Failure::new(Exit::Interrupted, "interrupted")),
        Some(table) if arguments.json => {
            let text = serde_json::to_string_pretty(&table).map_err(Failure::internal)?;
            console.print_json(&text)?;
            Ok(Exit::Done)
        }
        Some(table) => {
            console.print(&table.markdown())?;
            Ok(Exit::Done)
        }
    }
}
