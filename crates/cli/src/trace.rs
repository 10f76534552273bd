//! `nandscope trace`: contents of a trace, the traces included in the program, and conversion.

mod convert;
mod json;

use crate::confine::Confine;
use crate::console::{Console, lines_of};
use crate::failure::{Exit, Failure};
use crate::input;
use clap::{Args, Subcommand, ValueEnum};
use nandscope_experiment::run::library_trace;
use nandscope_workload::OpKind;
use nandscope_workload::trace::{
    BlockEvent, Format, Order, ParseOptions, ParseReport, Trace, library,
};
use std::path::Path;

/// Arguments of `nandscope trace`.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
    /// Print JSON instead of text
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the traces of the library
    List,
    /// Describe a trace
    Info {
        /// Trace file, or a trace of the library
        #[arg(value_name = "FILE|NAME")]
        trace: String,
        #[command(flatten)]
        reading: Reading,
    },
    /// Print the requests of a trace as CSV (times in ns, offsets in bytes)
    Requests {
        /// Trace file, or a trace of the library
        #[arg(value_name = "FILE|NAME")]
        trace: String,
        #[command(flatten)]
        reading: Reading,
    },
    /// Write a trace file as .nstrace, which is compact
    Convert(convert::Arguments),
}

/// Options for reading a trace file.
#[derive(Debug, Default, Args)]
struct Reading {
    /// Only this device: 8,0 in blkparse text, the disk number or id in others
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
    /// Event of blkparse or blktrace that counts as a request
    #[arg(long, value_enum, default_value_t)]
    event: Event,
    /// Sort records that are out of order by time
    #[arg(long)]
    sort: bool,
}

/// See [`Reading::event`].
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Event {
    /// Queued
    #[value(name = "Q")]
    Queue,
    /// Issued
    #[default]
    #[value(name = "D")]
    Issue,
    /// Completed
    #[value(name = "C")]
    Complete,
}

impl Reading {
    fn options(&self) -> ParseOptions {
        ParseOptions {
            event: match self.event {
                Event::Queue => BlockEvent::Queue,
                Event::Issue => BlockEvent::Issue,
                Event::Complete => BlockEvent::Complete,
            },
            device: self.device.clone(),
            order: if self.sort {
                Order::Sort
            } else {
                Order::Strict
            },
        }
    }
}

/// Runs one of the actions.
///
/// # Errors
/// `Exit::File` if a trace cannot be read or written; `Exit::Usage` if it has faults.
pub fn run(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    if let Action::Info { trace, .. } | Action::Requests { trace, .. } = &arguments.action {
        Confine::default().reading([trace]).enforce();
    }
    if arguments.json {
        console.print_json(&json::of(&arguments.action)?)?;
        return Ok(Exit::Done);
    }
    match arguments.action {
        Action::List => console.print(&list(console)),
        Action::Info { trace, reading } => console.print(&info(&trace, &reading, console)?),
        Action::Requests { trace, reading } => console.print(&requests(&read(&trace, &reading)?)),
        Action::Convert(arguments) => console.print(&convert::run(&arguments)?.text()),
    }?;
    Ok(Exit::Done)
}

fn list(console: &Console) -> String {
    let mut table = console.table(&["NAME", "TITLE"]);
    for trace in library() {
        table.add_row([trace.name, trace.title]);
    }
    format!(
        "{}\nA job replays a trace with `read_iolog=NAME`.\n",
        lines_of(&table)
    )
}

fn info(name: &str, reading: &Reading, console: &Console) -> Result<String, Failure> {
    if let Some(named) = library_trace(name) {
        let (_, trace) = named.load().map_err(Failure::internal)?;
        return Ok(format!(
            "{}\n{}{}",
            named.title,
            console.paragraph(named.description, "  "),
            contents(&trace)
        ));
    }
    let (trace, format, report) = read_file(name, reading)?;
    Ok(format!(
        "{name}: {}\n{}{}",
        format.title(),
        contents(&trace),
        passed_over(&report)
    ))
}

fn read_file(name: &str, reading: &Reading) -> Result<(Trace, Format, ParseReport), Failure> {
    let path = Path::new(name);
    if !path.exists() {
        if name == "-" {
            return Err(Failure::usage(
                "`-` names no trace; for standard input name /dev/stdin",
            ));
        }
        let names: Vec<_> = library().iter().map(|t| t.name).collect();
        return Err(Failure::file(format!(
            "unknown trace `{name}`; name a file, or one of the library ({})",
            names.join(", ")
        )));
    }
    let bytes = input::trace(path)?;
    let format = Format::detect_or_error(name, &bytes).map_err(Failure::usage)?;
    let (trace, report) =
        Trace::parse_with(format, name, &bytes, &reading.options()).map_err(Failure::usage)?;
    Ok((trace, format, report))
}

/// A trace of the library or in a file.
fn read(name: &str, reading: &Reading) -> Result<Trace, Failure> {
    match library_trace(name) {
        Some(named) => Ok(named.load().map_err(Failure::internal)?.1),
        None => Ok(read_file(name, reading)?.0),
    }
}

/// One line per request; the wall time is empty if unknown.
fn requests(trace: &Trace) -> String {
    let mut text = "time_ns,wall_ns,kind,offset,length\n".to_string();
    for (number, record) in trace.records().iter().enumerate() {
        let kind = name_of(record.kind);
        let wall = trace.walls().get(number);
        let wall = wall.map_or(String::new(), |wall| wall.0.to_string());
        let (time, offset, length) = (record.time.0, record.offset.0, record.length);
        text.push_str(&format!("{time},{wall},{kind},{offset},{length}\n"));
    }
    text
}

fn name_of(kind: OpKind) -> &'static str {
    match kind {
        OpKind::Read => "read",
        OpKind::Write => "write",
        OpKind::Trim => "trim",
        OpKind::Flush => "flush",
    }
}

fn contents(trace: &Trace) -> String {
    let mut text = format!("  requests  {}\n", trace.records().len());
    for (name, kind) in [
        ("reads", OpKind::Read),
        ("writes", OpKind::Write),
        ("trims", OpKind::Trim),
        ("flushes", OpKind::Flush),
    ] {
        let (count, bytes) = trace.total(kind);
        if count > 0 {
            let size = if kind == OpKind::Flush {
                String::new()
            } else {
                format!(", {bytes}")
            };
            text.push_str(&format!("  {name:<8}  {count}{size}\n"));
        }
    }
    if trace.is_timed() {
        text.push_str(&format!("  duration  {}\n", trace.duration()));
    } else {
        text.push_str("  duration  no times: closed-loop replay only\n");
    }
    if let (Some(first), Some(last)) = (trace.walls().first(), trace.walls().last()) {
        let span = last.saturating_sub(*first);
        text.push_str(&format!("  on the wall  {span}\n"));
    }
    text.push_str(&format!("  reaches   {}\n", trace.extent()));
    if let Some(capacity) = trace.capacity() {
        text.push_str(&format!("  recorded on a device of {capacity}\n"));
    }
    text
}

fn passed_over(report: &ParseReport) -> String {
    let mut text = String::new();
    for (what, count) in &report.passed_over {
        text.push_str(&format!("  skipped: {count} × {what}\n"));
    }
    for (what, count) in &report.notes {
        text.push_str(&format!("  note: {count} × {what}\n"));
    }
    for warning in &report.warnings {
        text.push_str(&format!("  warning: {warning}\n"));
    }
    text
}
