//! Output of `nandscope trace` as JSON.

use super::convert::Converted;
use super::{Action, Reading, convert, library_trace, name_of, read, read_file};
use crate::failure::Failure;
use nandscope_workload::OpKind;
use nandscope_workload::trace::{ParseReport, Trace, library};
use serde_json::{Value, json};

/// Output of an action as JSON.
///
/// # Errors
/// `Exit::File` if the trace cannot be read or written; `Exit::Usage` if it has faults.
pub fn of(action: &Action) -> Result<String, Failure> {
    let answer = match action {
        Action::List => library()
            .iter()
            .map(|t| json!({ "name": t.name, "title": t.title, "description": t.description }))
            .collect(),
        Action::Info { trace, reading } => info(trace, reading)?,
        Action::Requests { trace, reading } => requests(&read(trace, reading)?),
        Action::Convert(arguments) => converted(&convert::run(arguments)?),
    };
    serde_json::to_string_pretty(&answer).map_err(Failure::internal)
}

fn info(name: &str, reading: &Reading) -> Result<Value, Failure> {
    if let Some(named) = library_trace(name) {
        let (_, trace) = named.load().map_err(Failure::internal)?;
        return Ok(contents(name, named.title, &trace, None));
    }
    let (trace, format, report) = read_file(name, reading)?;
    Ok(contents(name, format.title(), &trace, Some(&report)))
}

fn contents(name: &str, title: &str, trace: &Trace, report: Option<&ParseReport>) -> Value {
    let kinds = [OpKind::Read, OpKind::Write, OpKind::Trim, OpKind::Flush];
    let totals = kinds.map(|kind| {
        let (requests, bytes) = trace.total(kind);
        json!({ "kind": name_of(kind), "requests": requests, "bytes": bytes.0 })
    });
    json!({
        "name": name,
        "title": title,
        "requests": trace.records().len(),
        "totals": totals,
        "duration_ns": trace.is_timed().then(|| trace.duration().0),
        "extent_bytes": trace.extent().0,
        "capacity_bytes": trace.capacity().map(|c| c.0),
        "skipped": report.map(|r| &r.passed_over),
        "notes": report.map(|r| &r.notes),
        "warnings": report.map(|r| &r.warnings),
    })
}

fn converted(done: &Converted) -> Value {
    let mut answer = contents(&done.name, &done.title, &done.trace, Some(&done.report));
    answer["file"] = json!({ "path": done.path, "bytes": done.size });
    answer
}

fn requests(trace: &Trace) -> Value {
    let wall = |number: usize| trace.walls().get(number).map(|wall| wall.0);
    let all = trace.records().iter().enumerate();
    all.map(|(number, record)| {
        json!({
            "time_ns": record.time.0,
            "wall_ns": wall(number),
            "kind": name_of(record.kind),
            "offset": record.offset.0,
            "length": record.length,
        })
    })
    .collect()
}
