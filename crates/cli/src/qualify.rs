//! `nandscope qualify`: whether a device meets the requirements of an application.

mod library_table;
mod page;
#[cfg(target_os = "linux")]
mod real;
#[cfg(not(target_os = "linux"))]
#[path = "qualify/real_absent.rs"]
mod real;
mod simulated;
mod text;

use crate::claims::FileClaims;
use crate::console::{Console, lines_of};
use crate::failure::{Exit, Failure};
use crate::target::ParamArguments;
use crate::target::real::RealArguments;
use crate::threads::ThreadArguments;
use crate::{fault, heading, output};
use clap::{Args, ValueEnum};
use nandscope_experiment::input;
use nandscope_fitness::qualify::{Measured, QualifyError, STATES, State};
use nandscope_fitness::requirement::{Requirement, library, parse};
use nandscope_fitness::verdict::{Answer, Verdict};
use nandscope_units::{Nanos, parse_duration};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Names of the result and its page in the folder of `-o`.
const RESULT: &str = "qualify.json";
/// See `RESULT`.
const PAGE: &str = "qualify.html";

const EXAMPLES: &str = "\
Examples:
  nandscope qualify --list              requirements of the library
  nandscope qualify --show dashcam      one of them, to begin your own
  nandscope qualify sim:kingston-8gb --for camera-4k-40mbit --host sabrelite
  nandscope qualify sim:./my.toml --for mine.toml --state full --length 2h
  nandscope qualify --library --for dashcam       which devices are fit
  nandscope qualify /dev/sdb --for dashcam --destroy-data=sdb -o sdb

Exit codes: 0 fit, 14 not fit, 15 not known.";

/// State of the device before the streams begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StateChoice {
    /// Never written
    New,
    /// Half of it written in order
    HalfFull,
    /// Written in order
    Full,
    /// Written in order, then overwritten once at random
    InUse,
}

impl StateChoice {
    fn state(self) -> State {
        STATES[self as usize]
    }
}

/// Arguments of `nandscope qualify`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// sim:NAME, sim:./FILE.toml, sim:saved:FILE, or a file or block device
    #[arg(required_unless_present_any = ["list", "show", "library"], requires = "requirement")]
    target: Option<String>,
    /// Requirement file, or a name in the library
    #[arg(long = "for", id = "requirement", value_name = "FILE|NAME")]
    requirement: Option<String>,
    /// List the requirement files of the library
    #[arg(long, conflicts_with_all = ["target", "show", "requirement"])]
    list: bool,
    /// Print a requirement file of the library
    #[arg(long, value_name = "NAME", conflicts_with_all = ["target", "requirement"])]
    show: Option<String>,
    /// Examine all simulated devices, the smallest first
    #[arg(long, conflicts_with_all = ["target", "list", "show", "output"], requires = "requirement")]
    library: bool,
    /// State before the streams begin; repeatable [default: all]
    #[arg(long, value_enum, value_name = "STATE", help_heading = heading::SIMULATED)]
    state: Vec<StateChoice>,
    /// Length of each recording [default: by areas and operations]
    ///
    /// By default each sequential stream passes its area once, within 1 minute,
    /// 24 hours, and 100,000 operations.
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = heading::LIMITS)]
    length: Option<Nanos>,
    /// Host of the device [default: direct, or that of a saved device]
    #[arg(long, value_name = "NAME|FILE", help_heading = heading::SIMULATED)]
    host: Option<String>,
    #[command(flatten)]
    params: ParamArguments,
    /// Seed of the random number generator
    #[arg(long, default_value_t = 1, help_heading = heading::SIMULATED)]
    seed: u64,
    #[command(flatten)]
    threads: ThreadArguments,
    /// Folder for qualify.json and qualify.html, created if missing
    #[arg(short, long, value_name = "DIR", help_heading = heading::OUTPUT)]
    output: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long, help_heading = heading::OUTPUT)]
    json: bool,
    #[command(flatten)]
    real: RealArguments,
}

/// A length of a recording, from 1 s to a year.
pub fn duration(text: &str) -> Result<Nanos, &'static str> {
    const SECOND: u64 = 1_000_000_000;
    match parse_duration(text, SECOND) {
        Ok(time) if (Nanos::from_secs(1)..=Nanos::from_secs(31_622_400)).contains(&time) => {
            Ok(time)
        }
        Ok(_) => Err("give 1 s to 366 d"),
        Err(_) => Err("give a time such as 10m or 24h"),
    }
}

/// Judges the device.
///
/// # Errors
/// `Exit::Usage` if the requirement file has faults or does not fit the device, or a real device must not be written; as
/// `open_with`; `Exit::File` if the result cannot be written; `Exit::Interrupted`.
pub fn run(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    if arguments.list {
        list(arguments.json, console)?;
        return Ok(Exit::Done);
    }
    if let Some(name) = &arguments.show {
        console.print_data(known(name)?.text)?;
        return Ok(Exit::Done);
    }
    let wanted = arguments.requirement.as_deref().unwrap_or_default();
    let requirement = read(wanted, console)?;
    if arguments.library {
        arguments.real.refuse("the library")?;
        return library_table::run(&arguments, &requirement, console);
    }
    let target = arguments.target.as_deref().unwrap_or_default();
    let _made = claim(&arguments, target, wanted)?;
    let examined = match crate::target::real::is_real(target) {
        true => real::examine(&arguments, target, &requirement, console)?,
        false => {
            arguments.real.refuse(target)?;
            simulated::examine(&arguments, target, &requirement, console)?
        }
    };
    let document = document(target, &requirement, &examined);
    if let Some(folder) = &arguments.output {
        let text = serde_json::to_string_pretty(&document).map_err(Failure::internal)?;
        output::write_or_keep_in(folder, RESULT, format!("{text}\n").as_bytes())?;
        let page = page::page(&arguments, target, &requirement, &examined);
        let page = nandscope_report::qualification::html(&page);
        let page = page.map_err(|e| output::report_failure(&e))?;
        output::write_in(folder, PAGE, page.as_bytes())?;
    }
    match arguments.json {
        true => output::print_json(&document, console)?,
        false => console.print(&text::verdict(&requirement, &examined, console))?,
    }
    Ok(exit(examined.verdict.answer))
}

/// Exit code of an answer.
fn exit(answer: Answer) -> Exit {
    match answer {
        Answer::Yes => Exit::Done,
        Answer::No => Exit::Unfit,
        Answer::NotKnown => Exit::NotKnown,
    }
}

/// Refuses files and devices of this machine for the command of this name.
///
/// # Errors
/// `Exit::Usage` if the target is one.
pub fn refuse_real(target: &str, command: &str) -> Result<(), Failure> {
    match crate::target::real::is_real(target) {
        false => Ok(()),
        true => Err(Failure::usage(format!(
            "{target} is a real target, and `{command}` works with simulated devices only; name the device of the library that is most like it (`nandscope devices`), or measure it with `nandscope run`"
        ))),
    }
}

/// A device, its recordings and the verdict.
pub struct Examined {
    /// Title or model of the device.
    pub device: String,
    /// Host of a simulated device.
    pub host: Option<String>,
    /// Ambient temperature of the recordings, degrees Celsius; `None` if it is not known.
    pub ambient_c: Option<f64>,
    /// Measurements in each state.
    pub measured: Vec<Measured>,
    /// Answers to the requirement, drawn from the measurements.
    pub verdict: Verdict,
    /// Remarks and warnings about a real target.
    pub remarks: Vec<String>,
}

fn known(name: &str) -> Result<&'static library::LibraryRequirement, Failure> {
    library::find(name).ok_or_else(|| {
        Failure::usage(format!(
            "unknown requirement `{name}`; `nandscope qualify --list` lists the library, and a file is named with its path: ./{name}.toml"
        ))
    })
}

/// The requirement of a file, or of the library.
fn read(wanted: &str, console: &Console) -> Result<Requirement, Failure> {
    let is_file = wanted.contains('/') || Path::new(wanted).exists();
    let (name, text) = match is_file {
        true => {
            let text = input::text(Path::new(wanted), "the requirement file")?;
            (wanted, text)
        }
        false => (wanted, known(wanted)?.text.to_string()),
    };
    parse(name, &text).map_err(|faults| fault::of_requirement(console, &text, &faults))
}

/// Claims the files of the command; the folder of the result is made.
fn claim(
    arguments: &Arguments,
    target: &str,
    wanted: &str,
) -> Result<Option<output::Made>, Failure> {
    let mut files = FileClaims::default();
    files.target(target)?;
    arguments.real.claim(&mut files)?;
    files.host(arguments.host.as_deref())?;
    if Path::new(wanted).exists() {
        files.input("the requirement file", Path::new(wanted))?;
    }
    if let Some(folder) = &arguments.output {
        files.file("the result", &folder.join(RESULT))?;
        files.file("the page", &folder.join(PAGE))?;
        return output::check_folder(folder).map(Some);
    }
    Ok(None)
}

fn failure(error: &QualifyError) -> Failure {
    match error {
        error if error.is_interruption() => Failure::new(Exit::Interrupted, error),
        QualifyError::Precondition(error) => crate::run::preparation::failure(error),
        error => Failure::usage(error),
    }
}

/// The result for programs.
fn document(target: &str, requirement: &Requirement, examined: &Examined) -> Value {
    let states = examined.measured.iter().map(|m| {
        json!({
            "state": m.state,
            "recorded_s": m.free.duration.as_secs_f64(),
            "cycles_per_day": m.inside.map(|i| i.cycles_per_day),
            "throttle": m.inside.map(|i| i.throttle),
        })
    });
    json!({
        "format": 1,
        "target": target,
        "device": examined.device,
        "host": examined.host,
        "ambient_c": examined.ambient_c,
        "requirement": requirement,
        "states": states.collect::<Vec<_>>(),
        "verdict": examined.verdict,
        "remarks": examined.remarks,
    })
}

/// Prints the requirement files of the library.
fn list(json: bool, console: &Console) -> Result<(), Failure> {
    if json {
        let all = library::REQUIREMENTS;
        let all = all
            .iter()
            .map(|r| json!({ "name": r.name, "about": r.about() }));
        return output::print_json(&all.collect::<Vec<_>>(), console);
    }
    let mut table = console.table(&["NAME", "APPLICATION"]);
    for requirement in library::REQUIREMENTS {
        table.add_row([requirement.name.to_string(), requirement.about()]);
    }
    let use_of_it = "`nandscope qualify TARGET --for NAME` checks one, `nandscope qualify --show NAME` prints it.";
    let use_of_it = console.paragraph(use_of_it, "");
    console.print(&format!("{}\n{use_of_it}", lines_of(&table)))
}
