//! `nandscope devices`: the library of simulated devices and hosts, every number of one, and the disks of this machine.

#[cfg(target_os = "linux")]
mod block;
#[cfg(not(target_os = "linux"))]
#[path = "devices/block_absent.rs"]
mod block;

use crate::confine::Confine;
use crate::console::{Console, lines_of};
use crate::failure::{Exit, Failure};
use crate::{picture, target};
use clap::{Args, Subcommand};
use nandscope_device::profile::{Explained, HostProfile, Profile, explain, library};
use nandscope_units::Bytes;
use serde::Serialize;

/// Arguments of `nandscope devices`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  nandscope devices\n  nandscope devices show sm2708-250gb\n  nandscope devices show ./my-card.toml\n  nandscope devices show --toml kingston-8gb > my-card.toml"
)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    /// Print JSON instead of text
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show every key of a device or host with its value and reason
    Show {
        /// Name in the library, or a profile
        #[arg(value_name = "NAME|FILE")]
        profile: String,
        /// Print the profile as TOML, to begin a profile of your own with
        #[arg(long, conflicts_with = "json")]
        toml: bool,
    },
    /// List the hosts of the library
    Hosts,
}

impl Action {
    /// A device may be named as a target is: `sim:NAME`.
    fn without_prefix(self) -> Action {
        match self {
            Action::Show { profile, toml } => Action::Show {
                profile: profile.strip_prefix("sim:").unwrap_or(&profile).to_string(),
                toml,
            },
            Action::Hosts => Action::Hosts,
        }
    }
}

/// Runs one of the actions; without one, lists the devices.
///
/// # Errors
/// `Exit::File` if a profile cannot be read; `Exit::Usage` if it has faults.
pub fn run(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let action = arguments.action.map(Action::without_prefix);
    if action.is_none() {
        // The contents of a disk are untrusted, so the process may only read from here on.
        Confine::default().reading_everything().enforce();
    }
    if arguments.json {
        return as_json(action.as_ref(), console);
    }
    let text = match action {
        None => list(console)?,
        Some(Action::Hosts) => hosts(console)?,
        Some(Action::Show {
            profile,
            toml: true,
        }) => {
            console.print_data(&text_of(&profile, console)?)?;
            return Ok(Exit::Done);
        }
        Some(Action::Show { profile, .. }) => show(&profile, console)?,
    };
    console.print(&text)?;
    Ok(Exit::Done)
}

/// A device of the library.
#[derive(Debug, Serialize)]
struct DeviceEntry {
    name: &'static str,
    title: String,
    capacity_bytes: u64,
    interfaces: Vec<String>,
}

/// A host of the library.
#[derive(Debug, Serialize)]
struct HostEntry {
    name: &'static str,
    title: String,
    links: Vec<String>,
}

/// A key of a profile with its value and the reason.
#[derive(Debug, Serialize)]
struct Key {
    table: String,
    key: String,
    value: String,
    reason: String,
}

/// Output of `devices --json`.
#[derive(Debug, Serialize)]
struct Everything {
    simulated: Vec<DeviceEntry>,
    block_devices: Vec<block::Disk>,
}

fn simulated_devices(console: &Console) -> Result<Vec<DeviceEntry>, Failure> {
    let entries = library::DEVICES.iter().map(|entry| {
        let profile = target::device_source(entry.name, console)?.profile;
        let interfaces = profile.interface.into_iter();
        Ok(DeviceEntry {
            name: entry.name,
            title: profile.device.title,
            capacity_bytes: profile.device.capacity_bytes,
            interfaces: interfaces.map(|i| i.link.to_string()).collect(),
        })
    });
    entries.collect()
}

fn as_json(action: Option<&Action>, console: &Console) -> Result<Exit, Failure> {
    let json = match action {
        None => serde_json::to_string_pretty(&Everything {
            simulated: simulated_devices(console)?,
            block_devices: block::disks(),
        }),
        Some(Action::Hosts) => {
            let entries = library::HOSTS.iter().map(|entry| {
                let host = target::host_source(entry.name, console)?.profile;
                Ok(HostEntry {
                    name: entry.name,
                    links: host.links().iter().map(ToString::to_string).collect(),
                    title: host.host.title,
                })
            });
            serde_json::to_string_pretty(&entries.collect::<Result<Vec<_>, Failure>>()?)
        }
        Some(Action::Show { profile, .. }) => {
            let keys = explain(&text_of(profile, console)?)
                .into_iter()
                .map(|row| Key {
                    table: row.table,
                    key: row.key,
                    value: row.value,
                    reason: row.remark,
                });
            serde_json::to_string_pretty(&keys.collect::<Vec<_>>())
        }
    };
    console.print_json(&json.map_err(Failure::internal)?)?;
    Ok(Exit::Done)
}

/// Names are whole, so that they can be copied: the first column is as wide as the longest.
fn with_whole_names(table: &mut comfy_table::Table) {
    if let Some(names) = table.column_mut(0) {
        names.set_constraint(comfy_table::ColumnConstraint::ContentWidth);
    }
}

fn list(console: &Console) -> Result<String, Failure> {
    let mut table = console.table(&["NAME", "CAPACITY", "FASTEST LINK", "TITLE"]);
    for entry in library::DEVICES {
        let profile = target::device_source(entry.name, console)?.profile;
        table.add_row([
            entry.name.to_string(),
            format!("{:.0} GB", Bytes(profile.device.capacity_bytes).as_gb()),
            // A profile has the best link first.
            profile
                .interface
                .first()
                .map_or("", |i| i.link.as_str())
                .to_string(),
            profile.device.title.clone(),
        ]);
    }
    with_whole_names(&mut table);
    Ok(format!(
        "{}\n`nandscope devices show NAME` explains a simulated device.\n`nandscope run JOB sim:NAME` measures it.\n\n{}",
        lines_of(&table),
        block::list(console)
    ))
}

fn hosts(console: &Console) -> Result<String, Failure> {
    let mut table = console.table(&["NAME", "TITLE", "LINKS"]);
    for entry in library::HOSTS {
        let host = target::host_source(entry.name, console)?.profile;
        let links = host.links().join(", ");
        table.add_row([entry.name.to_string(), host.host.title, links]);
    }
    with_whole_names(&mut table);
    Ok(format!(
        "{}\n`nandscope run JOB TARGET --host NAME` attaches a device to a host.\n",
        lines_of(&table)
    ))
}

fn is_host(name: &str) -> bool {
    library::device(name).is_none() && library::host(name).is_some()
}

/// The profile of a host where the name is one of a host's, of a device otherwise.
fn text_of(name: &str, console: &Console) -> Result<String, Failure> {
    match is_host(name) {
        true => Ok(target::host_source(name, console)?.text.to_string()),
        false => Ok(target::device_source(name, console)?.text.to_string()),
    }
}

/// Shows a host if the name is a host's, otherwise a device.
fn show(name: &str, console: &Console) -> Result<String, Failure> {
    if is_host(name) {
        let source = target::host_source(name, console)?;
        return Ok(show_host(&source.profile, &source.text, console));
    }
    let source = target::device_source(name, console)?;
    Ok(show_device(&source.profile, &source.text, console))
}

fn show_device(profile: &Profile, text: &str, console: &Console) -> String {
    let about = &profile.device;
    let mut out = format!("{}\n\n", about.title);
    out.push_str(&console.paragraph(&about.description, "  "));
    out.push_str(&format!("\n{}", picture::of(profile)));
    out.push_str(&sources(&about.sources, console));
    out.push_str(&keys(text, "device", console));
    out
}

fn show_host(profile: &HostProfile, text: &str, console: &Console) -> String {
    let about = &profile.host;
    let mut out = format!("{}\n\n", about.title);
    out.push_str(&console.paragraph(&about.description, "  "));
    out.push('\n');
    for port in profile.ports() {
        let stages: Vec<_> = port.stage.iter().map(|s| s.name.as_str()).collect();
        let name = if profile.port.is_empty() {
            String::new()
        } else {
            format!("{}: ", port.host.title)
        };
        let chain = format!("{name}program → {} → device", stages.join(" → "));
        out.push_str(&console.paragraph(&chain, "  "));
    }
    out.push_str(&sources(&about.sources, console));
    out.push_str(&keys(text, "host", console));
    out
}

fn sources(sources: &[String], console: &Console) -> String {
    let mut out = String::from("\nSources\n");
    for source in sources {
        out.push_str(&console.paragraph(source, "  "));
    }
    out
}

/// Keys grouped by table, except the table `said_above`, which earlier text describes.
fn keys(text: &str, said_above: &str, console: &Console) -> String {
    let rows = explain(text);
    let mut out = String::new();
    for group in rows.chunk_by(|a, b| a.table == b.table && !repeats(a, b)) {
        let Some(first) = group.first() else { continue };
        let mut table = console.table(&[]);
        for row in group.iter().filter(|r| !is_said(r, said_above)) {
            let (provenance, remark) = match row.provenance() {
                Some((provenance, rest)) => (provenance.to_string(), rest),
                None => (String::new(), row.remark.as_str()),
            };
            table.add_row([
                format!("  {}", row.key),
                row.value.clone(),
                provenance,
                remark.to_string(),
            ]);
        }
        if table.row_count() > 0 {
            let title = if first.table.is_empty() {
                "file"
            } else {
                &first.table
            };
            out.push_str(&format!("\n[{title}]\n{}", lines_of(&table)));
        }
    }
    out
}

fn is_said(row: &Explained, table: &str) -> bool {
    row.table == table && matches!(row.key.as_str(), "title" | "description" | "sources")
}

/// Whether a new table of an array of tables begins: its first key is that of the table before.
fn repeats(before: &Explained, next: &Explained) -> bool {
    matches!(
        (next.table.as_str(), next.key.as_str()),
        ("interface", "link")
            | ("power_state", "max_mw")
            | ("apst", "tolerance_us")
            | ("review", "mode")
            | ("stage" | "stack" | "port" | "port.stage", "name")
    ) && before.key != next.key
}
