//! `nandscope qualify`: whether a simulated device meets the requirements of an application.

mod text;

use crate::claims::FileClaims;
use crate::console::{Console, lines_of};
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::run::progress::Line;
use crate::target::{ParamArguments, device_source, open_with};
use crate::{fault, heading, output};
use clap::{Args, ValueEnum};
use nandscope_experiment::{ProfileOverride, Simulated, input};
use nandscope_fitness::lifetime::Rating;
use nandscope_fitness::qualify::{
    AS_IT_IS, Measured, QualifyError, QualifyOptions, STATES, State, measure,
};
use nandscope_fitness::requirement::{Requirement, library, parse};
use nandscope_fitness::verdict::{Answer, Facts, Verdict, judge};
use nandscope_units::{Nanos, parse_duration};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Name of the result in the folder of `-o`.
const RESULT: &str = "qualify.json";
/// Key of the ambient temperature in a profile.
const AMBIENT: &str = "thermal.ambient_c";

const EXAMPLES: &str = "\
Examples:
  nandscope qualify --list              requirements of the library
  nandscope qualify --show dashcam      one of them, to begin your own
  nandscope qualify sim:kingston-8gb --for camera-4k-40mbit --host sabrelite
  nandscope qualify sim:./my.toml --for mine.toml --state full --length 2h

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
    /// sim:NAME, sim:./FILE.toml or sim:saved:FILE
    #[arg(required_unless_present_any = ["list", "show"], requires = "requirement")]
    target: Option<String>,
    /// Requirement file, or a name in the library
    #[arg(
        long = "for",
        id = "requirement",
        value_name = "FILE|NAME",
        requires = "target"
    )]
    requirement: Option<String>,
    /// List the requirement files of the library
    #[arg(long, conflicts_with_all = ["target", "show"])]
    list: bool,
    /// Print a requirement file of the library
    #[arg(long, value_name = "NAME", conflicts_with = "target")]
    show: Option<String>,
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
    /// Folder for qualify.json, created if missing
    #[arg(short, long, value_name = "DIR", help_heading = heading::OUTPUT)]
    output: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long, help_heading = heading::OUTPUT)]
    json: bool,
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
/// `Exit::Usage` if the requirement file has faults or does not fit the device, or the target is real; as
/// [`open_with`]; `Exit::File` if the result cannot be written; `Exit::Interrupted`.
pub fn run(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    if arguments.list {
        list(arguments.json, console)?;
        return Ok(Exit::Done);
    }
    if let Some(name) = &arguments.show {
        console.print_data(known(name)?.text)?;
        return Ok(Exit::Done);
    }
    let target = arguments.target.as_deref().unwrap_or_default();
    let wanted = arguments.requirement.as_deref().unwrap_or_default();
    refuse_real(target, "qualify")?;
    let requirement = read(wanted, console)?;
    let _made = claim(&arguments, target, wanted)?;
    let examined = examine(&arguments, target, &requirement, console)?;
    let document = document(target, &requirement, &examined);
    if let Some(folder) = &arguments.output {
        let text = serde_json::to_string_pretty(&document).map_err(Failure::internal)?;
        output::write_or_keep_in(folder, RESULT, format!("{text}\n").as_bytes())?;
    }
    match arguments.json {
        true => output::print_json(&document, console)?,
        false => console.print(&text::verdict(&requirement, &examined, console))?,
    }
    Ok(match examined.verdict.answer {
        Answer::Yes => Exit::Done,
        Answer::No => Exit::Unfit,
        Answer::NotKnown => Exit::NotKnown,
    })
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
    /// The device.
    pub about: Simulated,
    /// Ambient temperature of the recordings, degrees Celsius.
    pub ambient_c: f64,
    /// Measurements in each state.
    pub measured: Vec<Measured>,
    /// Answers to the requirement, drawn from the measurements.
    pub verdict: Verdict,
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
    files.host(arguments.host.as_deref())?;
    if Path::new(wanted).exists() {
        files.input("the requirement file", Path::new(wanted))?;
    }
    if let Some(folder) = &arguments.output {
        files.file("the result", &folder.join(RESULT))?;
        return output::check_folder(folder).map(Some);
    }
    Ok(None)
}

/// Measures the device in its states, at the highest temperature that is required.
fn examine(
    arguments: &Arguments,
    target: &str,
    requirement: &Requirement,
    console: &Console,
) -> Result<Examined, Failure> {
    let is_saved = target.starts_with("sim:saved:");
    if is_saved && !arguments.state.is_empty() {
        return Err(Failure::usage(
            "--state prepares a new device, and a saved one keeps its state; omit it",
        ));
    }
    let states: Vec<State> = match (is_saved, &arguments.state[..]) {
        (true, _) => vec![AS_IT_IS],
        (false, []) => STATES.to_vec(),
        (false, some) => some.iter().map(|s| s.state()).collect(),
    };
    let mut options = arguments
        .params
        .options(arguments.host.as_deref(), arguments.seed);
    let is_heated = !is_saved && options.overrides.iter().all(|o| o.key != AMBIENT);
    let hottest = requirement.temperature_c.map(|(_, high)| high.max(0.0));
    // Above the device's warning temperature the verdict is "not known": the model is not asked.
    let limit = match target.strip_prefix("sim:") {
        Some(place) if is_heated => device_source(place, console)?.profile.thermal.warning_c,
        _ => f64::NEG_INFINITY,
    };
    if let Some(hottest) = hottest.filter(|high| *high <= limit) {
        options
            .overrides
            .push(ProfileOverride::new(AMBIENT, format!("{hottest:.2}")));
    }
    let (about, mut device) = open_with(target, &options, console)?;
    device.share();
    let interrupt = Interrupt::listen()?;
    let line = Line::new("qualify");
    let options = QualifyOptions {
        duration: arguments.length,
        seed: arguments.seed,
    };
    let mut measured = Vec::new();
    for state in states {
        let mut progress = |share: f64| {
            line.show(Some(share), state.name.to_string());
            !interrupt.asked()
        };
        let result = measure(&device, requirement, state, &options, &mut progress);
        measured.push(result.map_err(|error| failure(&error))?);
    }
    line.clear();
    let profile = &about.device_source.profile;
    let rating = Rating::of(profile, &about.device_source.text);
    let ambient_c = profile.thermal.ambient_c;
    let facts = Facts {
        profile,
        rating: &rating,
        ambient_c,
    };
    let verdict = judge(requirement, &facts, &measured);
    Ok(Examined {
        about,
        ambient_c,
        measured,
        verdict,
    })
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
            "cycles_per_day": m.cycles_per_day,
            "throttle": m.throttle,
        })
    });
    json!({
        "format": 1,
        "target": target,
        "device": examined.about.device_source.profile.device.title,
        "host": examined.about.host_source.profile.host.name,
        "ambient_c": examined.ambient_c,
        "requirement": requirement,
        "states": states.collect::<Vec<_>>(),
        "verdict": examined.verdict,
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
