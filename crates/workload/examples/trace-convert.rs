//! Converts a trace of any known format into an `.nstrace` file.
//!
//! `trace-convert INPUT OUTPUT [--name NAME] [--title TITLE] [--capacity BYTES]`

use nandscope_units::Bytes;
use nandscope_workload::OpKind;
use nandscope_workload::trace::{Format, Trace, write_nstrace};
use std::process::ExitCode;

const USAGE: &str =
    "usage: trace-convert INPUT OUTPUT [--name NAME] [--title TITLE] [--capacity BYTES]";

type Fault = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match run(std::env::args().skip(1).collect()) {
        Ok(summary) => {
            println!("{summary}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("trace-convert: {message}");
            ExitCode::FAILURE
        }
    }
}

struct Arguments {
    input: String,
    output: String,
    name: String,
    title: String,
    capacity: Option<Bytes>,
}

fn arguments(all: Vec<String>) -> Result<Arguments, Fault> {
    let mut files = Vec::new();
    let (mut name, mut title, mut capacity) = (None, None, None);
    let mut all = all.into_iter();
    while let Some(argument) = all.next() {
        let mut value = || {
            all.next()
                .ok_or(format!("{argument} needs a value\n{USAGE}"))
        };
        match argument.as_str() {
            "--name" => name = Some(value()?),
            "--title" => title = Some(value()?),
            "--capacity" => {
                let text = value()?;
                let bytes = text
                    .parse()
                    .map_err(|_| format!("--capacity {text} is not a number of bytes"))?;
                capacity = Some(Bytes(bytes));
            }
            _ if argument.starts_with('-') => {
                return Err(format!("unknown option {argument}\n{USAGE}").into());
            }
            _ => files.push(argument),
        }
    }
    let Ok([input, output]) = <[String; 2]>::try_from(files) else {
        return Err(USAGE.into());
    };
    let name = name.unwrap_or_else(|| input.clone());
    Ok(Arguments {
        title: title.unwrap_or_else(|| name.clone()),
        input,
        output,
        name,
        capacity,
    })
}

fn run(all: Vec<String>) -> Result<String, Fault> {
    let wanted = arguments(all)?;
    let bytes = std::fs::read(&wanted.input).map_err(|e| format!("{}: {e}", wanted.input))?;
    let format = Format::detect_or_error(&wanted.input, &bytes)?;
    let (trace, report) = Trace::parse(format, &wanted.input, &bytes)?;
    let capacity = wanted.capacity.or(trace.capacity());
    let trace = Trace::new(trace.records().to_vec(), trace.is_timed(), capacity);
    let packed = write_nstrace(&wanted.name, &wanted.title, &trace);
    std::fs::write(&wanted.output, &packed).map_err(|e| format!("{}: {e}", wanted.output))?;
    let totals = [OpKind::Read, OpKind::Write, OpKind::Trim, OpKind::Flush].map(|kind| {
        let (count, bytes) = trace.total(kind);
        format!("{count} {kind:?} ({:.1} MB)", bytes.0 as f64 / 1e6)
    });
    Ok(format!(
        "{}: {} records, {}, {} long, {} bytes packed; passed over: {:?}",
        wanted.name,
        report.records,
        totals.join(", "),
        trace.duration(),
        packed.len(),
        report.passed_over
    ))
}
