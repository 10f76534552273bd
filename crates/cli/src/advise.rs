//! `nandscope advise`: partition, file system and mount options for a device and a purpose, from what a probe found and what was
//! measured of file systems.

use crate::console::{Console, lines_of};
use crate::failure::{Exit, Failure};
use crate::heading;
use crate::input;
use crate::probe::{How, measured};
use clap::{Args, ValueEnum};
use comfy_table::Table;
use nandscope_infer::probe::advice::{Advice, Measured, Measurements, Purpose, Request, advice};
use nandscope_infer::probe::from_document;
use std::path::{Path, PathBuf};

/// Purpose of the file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum For {
    /// Recording video at 40 Mbit/s
    Camera,
    /// Lines appended to a log, each synced
    Log,
    /// A root file system: many small files
    Rootfs,
    /// Transactions of a database, each synced
    Database,
}

impl From<For> for Purpose {
    fn from(what: For) -> Self {
        match what {
            For::Camera => Purpose::Camera,
            For::Log => Purpose::Log,
            For::Rootfs => Purpose::Rootfs,
            For::Database => Purpose::Database,
        }
    }
}

/// Arguments of `nandscope advise`.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  nandscope probe /dev/sdb --destroy-data=sdb -o probed/\n  nandscope advise probed/result.json --for camera --on /dev/sdb\n  nandscope advise sim:kingston-8gb --for log     probes it first\n  nandscope fs sim:./my-card.toml --workload camera -o fs\n  nandscope advise sim:./my-card.toml --for camera --measured fs/result.json"
)]
pub struct Arguments {
    /// result.json of `nandscope probe -o DIR`, or a target to probe first
    #[arg(value_name = "RESULT.json|TARGET")]
    result: String,
    /// Purpose of the file system
    #[arg(long = "for", value_name = "PURPOSE", value_enum)]
    purpose: For,
    /// Result of `nandscope fs` on this card, to rank file systems by [default: the nearest card of the library]
    #[arg(long, value_name = "RESULT.json")]
    measured: Option<PathBuf>,
    /// Device in the commands [default: the probed device or /dev/sdX]
    #[arg(long, value_name = "DEVICE")]
    on: Option<String>,
    #[command(flatten)]
    how: How,
    /// Print JSON instead of text
    #[arg(long, help_heading = heading::OUTPUT)]
    json: bool,
}

/// Prints the advice that follows from the results.
///
/// # Errors
/// `Exit::Usage` if a file is not the result of a probe, or of `nandscope fs` with the workloads of the purpose; as [`input::result`] if it cannot be read, or as `nandscope
/// probe` if the target cannot be probed.
pub fn run(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let name = arguments.result.as_str();
    let stored = Path::new(name);
    let is_document = stored.extension().is_some_and(|e| e == "json");
    let purpose = Purpose::from(arguments.purpose);
    // Read before the probe, which may take minutes.
    let measurements = match &arguments.measured {
        Some(path) => Some(measurements(path, purpose)?),
        None => None,
    };
    let (report, document) = if is_document {
        let document = input::result(stored)?;
        let report = from_document(&document).ok_or_else(|| {
            Failure::usage(format!(
                "{name} is not the result of a probe; `nandscope probe TARGET -o DIR` writes one"
            ))
        })?;
        (report, document)
    } else {
        measured(name, &arguments.how, None, console)?
    };
    let probed = Some(name).filter(|n| n.starts_with("/dev/"));
    let device = arguments.on.as_deref().or(probed).unwrap_or("/dev/sdX");
    let request = Request {
        device,
        purpose,
        target: &document.target.name,
        measured: measurements.as_ref(),
    };
    let all = advice(&report, &request);
    if arguments.json {
        let text = serde_json::to_string_pretty(&all).map_err(Failure::internal)?;
        console.print_json(&text)?;
        return Ok(Exit::Done);
    }
    console.print(&script(&all, console))?;
    Ok(Exit::Done)
}

/// The measurements of a stored result of `nandscope fs`.
fn measurements(path: &Path, purpose: Purpose) -> Result<Measurements, Failure> {
    let document = input::result(path)?;
    Measurements::of(&document, purpose)
        .map_err(|why| Failure::usage(format!("{}: {why}", path.display())))
}

/// The measured times, a line for each file system.
fn table(measured: &Measured, console: &Console) -> Table {
    let columns = measured.columns.iter().map(String::as_str);
    let heads: Vec<&str> = ["FILE SYSTEM"].into_iter().chain(columns).collect();
    let mut table = console.table(&heads);
    for row in &measured.rows {
        let values = row.values.iter().map(f64::to_string);
        table.add_row([row.file_system.clone()].into_iter().chain(values));
    }
    table
}

/// The advice as a script: reasons are comments, and so are commands that are not advised.
fn script(all: &[Advice], console: &Console) -> String {
    let is_made =
        |a: &Advice| !a.alternative && a.command.as_ref().is_some_and(|c| c.starts_with("mkfs"));
    let comment = match all.iter().any(is_made) {
        true => "# instead: ",
        false => "# not advised: ",
    };
    let mut text = String::new();
    for advice in all {
        for line in console
            .paragraph(&format!("{}: {}", advice.about, advice.reason), "")
            .lines()
        {
            text.push_str(&format!("# {line}\n"));
        }
        if let Some(measured) = &advice.measured {
            for line in lines_of(&table(measured, console)).lines() {
                text.push_str(&format!("#   {line}\n"));
            }
        }
        if let Some(command) = &advice.command {
            let comment = if advice.alternative { comment } else { "" };
            text.push_str(&format!("{comment}{command}\n"));
        }
        text.push('\n');
    }
    text
}
