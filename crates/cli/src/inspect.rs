//! `nandscope inspect`: identity, registers and conditions of a target, and whether a measurement may write to it. Nothing
//! is opened for writing.

use crate::confine::Confine;
use crate::console::{Console, lines_of};
use crate::failure::{Exit, Failure};
use crate::target::ParamArguments;
use crate::verify::this_year;
use crate::{input, target};
use clap::Args;
use nandscope_device::health::PowerState;
use nandscope_infer::registers::{Sign, Weight, signs};
use nandscope_inspect::conditions::Conditions;
use nandscope_inspect::guard::{Guard, Reason};
use nandscope_inspect::identity::Identity;
use nandscope_inspect::place::{Kind, Place};
use nandscope_inspect::registers::{Registers, read_recorded};
use nandscope_inspect::signature::Signature;
use nandscope_inspect::{Roots, decimal_size};
use nandscope_units::Bytes;
use serde::Serialize;
use std::cmp::Reverse;
use std::path::{Path, PathBuf};

/// Arguments of `nandscope inspect`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  nandscope inspect /dev/sdb\n  nandscope inspect ./file.img\n  nandscope inspect sim:sm2708-250gb --json\n  grep . /sys/block/mmcblk0/size /sys/block/mmcblk0/device/* > card.txt\n  nandscope inspect --registers card.txt"
)]
pub struct Arguments {
    /// Block device, file, folder, or simulated device (sim:NAME)
    #[arg(value_name = "TARGET", required_unless_present = "registers")]
    target: Option<String>,
    /// Judge the recorded registers of a card: `cid DIGITS`, … per line
    #[arg(long, value_name = "FILE", conflicts_with = "target")]
    registers: Option<PathBuf>,
    #[command(flatten)]
    params: ParamArguments,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// Output of the command.
#[derive(Debug, Default, Serialize)]
struct Report {
    target: String,
    kind: &'static str,
    path: Option<String>,
    identity: Option<Identity>,
    simulated: Option<Simulated>,
    registers: Option<Registers>,
    /// Unusual values of the registers.
    signs: Vec<Sign>,
    signatures: Vec<Signature>,
    conditions: Option<Conditions>,
    /// Reasons for which writing would be refused; absent for targets to which the rules do not apply.
    refused: Option<Vec<Reason>>,
}

/// Identity of a simulated device.
#[derive(Debug, Serialize)]
struct Simulated {
    model: String,
    serial: String,
    firmware: String,
    capacity_bytes: u64,
    discard: bool,
    path: Vec<String>,
    temperature_k: u16,
    used_percent: u8,
    spare_percent: u8,
    read_only: bool,
    power_states: Vec<PowerState>,
}

/// Inspects the target and prints the report.
///
/// # Errors
/// `Exit::File` if there is no such target, or it cannot be read.
pub fn run(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    // The contents of a disk are untrusted, so the process may only read from here on.
    Confine::default().reading_everything().enforce();
    let report = match (&arguments.registers, arguments.target.as_deref()) {
        (Some(file), _) => recorded(file)?,
        (None, Some(name)) if name.starts_with("sim:") => {
            simulated(name, &arguments.params, console)?
        }
        (None, name) => {
            let name = name.unwrap_or_default();
            arguments.params.refuse(name)?;
            real(name)?
        }
    };
    if arguments.json {
        let json = serde_json::to_string_pretty(&report).map_err(Failure::internal)?;
        console.print_json(&json)?;
    } else {
        console.print(&shown(&report, console))?;
    }
    Ok(Exit::Done)
}

/// Report on recorded registers of a card that is not in this machine.
fn recorded(file: &Path) -> Result<Report, Failure> {
    let text = input::text(file, "the registers")?;
    let name = file.display().to_string();
    let found = read_recorded(&name, &text).map_err(Failure::usage)?;
    let signs = signs(&found.registers, found.size, this_year());
    Ok(Report {
        target: name,
        kind: "recorded registers",
        registers: Some(found.registers),
        signs,
        ..Report::default()
    })
}

fn simulated(name: &str, params: &ParamArguments, console: &Console) -> Result<Report, Failure> {
    let (source, device) = target::open_with(name, &params.options(None, 1), console)?;
    let (identity, health) = (device.identity(), device.health());
    let registers = target::registers(&device, &source.device_source.profile);
    let size = Some(identity.capacity);
    Ok(Report {
        signs: signs_of(registers.as_ref(), size),
        target: name.to_string(),
        kind: "simulated device",
        simulated: Some(Simulated {
            model: identity.model,
            serial: identity.serial,
            firmware: identity.firmware,
            capacity_bytes: identity.capacity.0,
            discard: identity.discard,
            path: device.path().to_vec(),
            temperature_k: health.composite_temperature_k,
            used_percent: health.percentage_used,
            spare_percent: health.available_spare_percent,
            read_only: health.is_read_only(),
            power_states: identity.power_states,
        }),
        registers,
        ..Report::default()
    })
}

fn real(name: &str) -> Result<Report, Failure> {
    let roots = Roots::default();
    let path = Path::new(name);
    let place = Place::find(&roots, path).map_err(|e| {
        Failure::file(format!(
            "cannot inspect {name}: {e}; check the name and the permissions"
        ))
    })?;
    let conditions = Conditions::gather(&roots, &place);
    let registers = place.device.and_then(|n| Registers::read(&roots, n));
    let size = conditions.device.as_ref().map(|identity| identity.size);
    // A partition is smaller than its card.
    let whole = conditions
        .device
        .as_ref()
        .is_some_and(|i| i.partition_of.is_none());
    let mut report = Report {
        target: name.to_string(),
        kind: match place.kind {
            Kind::BlockDevice => "block device",
            Kind::File => "file",
            Kind::Directory => "folder",
        },
        path: Some(place.path.to_string_lossy().into_owned()),
        signs: signs_of(registers.as_ref(), size.filter(|_| whole)),
        registers,
        identity: conditions.device.clone(),
        conditions: Some(conditions),
        ..Report::default()
    };
    match place.kind {
        Kind::BlockDevice => {
            let judged = Guard::new(roots).judge(path).map_err(Failure::file)?;
            report.signatures = judged.signatures;
            report.refused = Some(judged.reasons);
        }
        Kind::File => report.refused = Some(Guard::new(roots).judge_file(path)),
        Kind::Directory => {}
    }
    Ok(report)
}

fn signs_of(registers: Option<&Registers>, size: Option<Bytes>) -> Vec<Sign> {
    let signs = registers.map(|r| signs(r, size, this_year()));
    signs.unwrap_or_default()
}

/// Lists the unusual values of the registers, suspicious ones first; if none is suspicious, says so.
fn unusual(signs: &[Sign], console: &Console) -> String {
    let mut signs: Vec<&Sign> = signs.iter().collect();
    signs.sort_by_key(|s| Reverse(s.weight));
    if signs.iter().all(|s| s.weight == Weight::Note) {
        let text = "They contradict neither each other nor the capacity. A fake can copy them: `nandscope verify` tests what the card keeps.";
        return format!(
            "\nNothing in the registers is suspicious\n{}",
            console.paragraph(text, "  ")
        ) + &paragraphs(&signs, console);
    }
    format!(
        "\nThe registers are suspicious\n{}",
        paragraphs(&signs, console)
    )
}

fn paragraphs(signs: &[&Sign], console: &Console) -> String {
    let lines = signs.iter().map(|s| match s.weight {
        Weight::Suspicious => console.paragraph(&s.text, "  "),
        Weight::Note => console.paragraph(&format!("worth knowing: {}", s.text), "  "),
    });
    lines.collect()
}

fn shown(report: &Report, console: &Console) -> String {
    let mut out = format!("{}: {}\n", report.target, report.kind);
    // Comes first, since users need it most: whether a measurement may write to the target.
    if let Some(reasons) = &report.refused {
        out.push_str(&verdict(reasons, report.kind, console));
    }
    if let Some(device) = &report.simulated {
        out.push_str(&rows("Identity", simulated_rows(device), console));
    }
    if let Some(identity) = &report.identity {
        out.push_str(&rows("Identity", identity_rows(identity), console));
    }
    if let Some(registers) = &report.registers {
        out.push_str(&rows("Registers", register_rows(registers), console));
        out.push_str(&unusual(&report.signs, console));
    }
    if let Some(conditions) = &report.conditions {
        let pairs = conditions.environment().into_iter();
        let mut pairs: Vec<_> = pairs.map(|(name, value)| (name, Some(value))).collect();
        if let Some(why) = &conditions.temperature_absent {
            pairs.push(("temperature".to_string(), Some(format!("none: {why}"))));
        }
        out.push_str(&rows("Conditions", pairs, console));
        if !conditions.warnings.is_empty() {
            out.push_str("\nConditions that would distort a measurement\n");
        }
        for warning in &conditions.warnings {
            out.push_str(&console.paragraph(&warning.text, "  "));
        }
    }
    out
}

fn verdict(reasons: &[Reason], kind: &str, console: &Console) -> String {
    if reasons.is_empty() {
        let text = match kind {
            "file" => "Allowed without confirmation: nandscope made this file as a target.",
            _ => "Allowed with --destroy-data after confirmation; the device is shown to be empty.",
        };
        return format!("\nWriting\n{}", console.paragraph(text, "  "));
    }
    let mut out = "\nWriting would be refused\n".to_string();
    for reason in reasons {
        let text = format!("{}: {}", reason.what(), reason.remedy());
        out.push_str(&console.paragraph(&text, "  "));
    }
    out
}

/// Name and value of a property; `None` if the value is unknown or empty.
pub type Row = (String, Option<String>);

fn row(name: &str, value: Option<impl ToString>) -> Row {
    let value = value.map(|v| v.to_string());
    (name.to_string(), value.filter(|v| !v.trim().is_empty()))
}

/// Size of a device as on labels, and to the byte.
fn device_size(size: Bytes) -> String {
    format!("{} ({} bytes)", decimal_size(size), size.0)
}

/// A heading and a table of the known properties.
fn rows(title: &str, rows: Vec<Row>, console: &Console) -> String {
    let mut table = console.table(&[]);
    for (name, value) in rows {
        if let Some(value) = value {
            table.add_row([format!("  {name}"), value]);
        }
    }
    format!("\n{title}\n{}", lines_of(&table))
}

fn yes_no(flag: bool) -> &'static str {
    if flag { "yes" } else { "no" }
}

/// 0 °C in whole kelvins, as NVMe counts its composite temperature.
const KELVIN: i32 = 273;

fn simulated_rows(device: &Simulated) -> Vec<Row> {
    let mut rows = vec![
        row("model", Some(&device.model)),
        row("serial", Some(&device.serial)),
        row("firmware", Some(&device.firmware)),
        row("size", Some(device_size(Bytes(device.capacity_bytes)))),
        row("attached", Some(device.path.join(", "))),
        row("discards pass", Some(yes_no(device.discard))),
        row(
            "temperature",
            Some(format!("{} °C", i32::from(device.temperature_k) - KELVIN)),
        ),
        row("used endurance", Some(format!("{} %", device.used_percent))),
        row("spare blocks", Some(format!("{} %", device.spare_percent))),
        row("read-only", Some(yes_no(device.read_only))),
    ];
    for (number, state) in device.power_states.iter().enumerate() {
        let power = format!("{} mW", f64::from(state.max_power) / 10.0);
        let text = if state.operational {
            format!("at most {power}")
        } else {
            let (entry, exit) = (state.entry_us, state.exit_us);
            format!("{power} idle, entered in {entry} µs, left in {exit} µs")
        };
        rows.push(row(&format!("power state {number}"), Some(text)));
    }
    rows
}

fn identity_rows(identity: &Identity) -> Vec<Row> {
    let mut rows = vec![
        row(
            "device",
            Some(format!("/dev/{} ({})", identity.name, identity.number)),
        ),
        row("model", identity.model.as_ref()),
        row("serial", identity.serial.as_ref()),
        row("firmware", identity.firmware.as_ref()),
        row("size", Some(device_size(identity.size))),
        row("attached", Some(identity.transport)),
        row("link", identity.link.as_ref()),
        row("USB device", identity.usb_device.as_ref()),
        row("rotating", identity.rotational.map(yes_no)),
        row("removable", identity.removable.map(yes_no)),
        row("read-only", Some(yes_no(identity.read_only))),
        row("logical block", identity.logical_block),
        row("physical block", identity.physical_block),
        row("partition of", identity.partition_of.as_ref()),
        row(
            "file behind it",
            identity.backing_file.as_ref().map(|f| f.display()),
        ),
    ];
    for partition in &identity.partitions {
        let text = format!(
            "{}: {} at {}",
            partition.name, partition.size, partition.start
        );
        rows.push(row("partition", Some(text)));
    }
    rows.extend(
        identity
            .holders
            .iter()
            .map(|holder| row("held by", Some(holder))),
    );
    rows
}

/// Registers of a card for the environment of a result.
pub fn card_environment(registers: Option<&Registers>) -> impl Iterator<Item = (String, String)> {
    let rows = registers.into_iter().flat_map(register_rows);
    rows.filter_map(|(name, value)| Some((format!("card: {name}"), value?)))
}

/// Rows of the registers of a card, by name.
fn register_rows(registers: &Registers) -> Vec<Row> {
    let mut rows = Vec::new();
    if let Some(cid) = &registers.cid {
        let maker = cid.maker.unwrap_or("not known");
        let ids = format!(
            "{maker} (manufacturer {:#04x}, OEM {:#06x})",
            cid.manufacturer, cid.oem
        );
        rows.push(row("maker", Some(ids)));
        let (major, minor) = cid.revision;
        rows.push(row(
            "product",
            Some(format!("{}, revision {major}.{minor}", cid.product)),
        ));
        rows.push(row("serial", Some(format!("{:#010x}", cid.serial))));
        rows.push(row("made", Some(format!("{:02}/{}", cid.month, cid.year))));
    }
    if let Some(csd) = &registers.csd {
        rows.push(row("capacity in CSD", csd.capacity.map(decimal_size)));
    }
    rows.push(row(
        "specification",
        registers.scr.as_ref().and_then(|s| s.version),
    ));
    if let Some(ssr) = &registers.ssr {
        rows.push(row("classes", Some(ssr.classes())));
        rows.push(row("allocation unit", ssr.allocation_unit));
        rows.push(row("allocation unit in UHS", ssr.uhs_allocation_unit));
        rows.push(row("discard", Some(yes_no(ssr.discard))));
    }
    if let Some(ext) = &registers.ext_csd {
        rows.push(row("eMMC version", ext.version));
        rows.push(row("mode", Some(format!("{}, {}", ext.timing, ext.bus))));
        rows.push(row(
            "cache",
            Some(format!("{}, on: {}", ext.cache, yes_no(ext.cache_on))),
        ));
        rows.push(row("command queue", ext.queue_depth));
        let packed = (ext.packed_writes > 0).then(|| format!("up to {}", ext.packed_writes));
        rows.push(row("packed writes", packed));
        rows.push(row("wear (steps of 10 %)", ext.life_a));
        rows.push(row("reserved blocks", ext.spare));
        let (supported, by_itself) = ext.background_operations;
        let operations = match (supported, by_itself) {
            (false, _) => "none",
            (true, false) => "started by the host",
            (true, true) => "started by the device",
        };
        rows.push(row("background operations", Some(operations)));
    }
    rows.extend(
        registers
            .faults
            .iter()
            .map(|fault| row("fault", Some(fault))),
    );
    rows
}
