//! `nandscope trace convert`: writes a trace of any readable format as `.nstrace`.

use super::{Reading, contents, passed_over, read_file};
use crate::claims::FileClaims;
use crate::confine::Confine;
use crate::failure::Failure;
use crate::output;
use clap::Args;
use nandscope_units::{Bytes, SizeBase, parse_size};
use nandscope_workload::trace::{ParseReport, Trace, write_nstrace};
use std::path::PathBuf;

/// Arguments of `nandscope trace convert`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Trace file
    #[arg(value_name = "IN")]
    input: String,
    /// File to write
    #[arg(value_name = "OUT.nstrace")]
    output: PathBuf,
    /// Name in the file [default: that of IN without its ending]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Description in the file, one line [default: the name]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Size of the recorded device, such as 8GiB; `--fit scale` needs it
    /// [default: as in IN]
    #[arg(long, value_name = "SIZE")]
    capacity: Option<String>,
    #[command(flatten)]
    reading: Reading,
}

/// A trace that was written to a file.
#[derive(Debug)]
pub struct Converted {
    /// The file.
    pub path: PathBuf,
    /// Its size, bytes.
    pub size: usize,
    /// Name in the file.
    pub name: String,
    /// Title in the file.
    pub title: String,
    /// The trace.
    pub trace: Trace,
    /// Records of the input that were skipped, and remarks on the others.
    pub report: ParseReport,
}

impl Converted {
    /// The answer as text.
    pub fn text(&self) -> String {
        format!(
            "{}: {} in {}\n{}{}",
            self.path.display(),
            self.name,
            Bytes(self.size as u64),
            contents(&self.trace),
            passed_over(&self.report)
        )
    }
}

/// Reads the trace and writes the file.
///
/// # Errors
/// `Exit::Usage` if the input has faults, is the output too, or reaches beyond `--capacity`; `Exit::File` if a file
/// cannot be read or written.
pub fn run(arguments: &Arguments) -> Result<Converted, Failure> {
    let capacity = arguments.capacity.as_deref().map(capacity).transpose()?;
    let input = PathBuf::from(&arguments.input);
    let mut files = FileClaims::default();
    files.input("the trace", &input)?;
    files.output("the converted trace", &arguments.output)?;
    Confine::default()
        .reading([&input])
        .writing([&arguments.output])
        .enforce();
    let (trace, _, report) = read_file(&arguments.input, &arguments.reading)?;
    if let Some(capacity) = capacity.filter(|capacity| *capacity < trace.extent()) {
        return Err(Failure::usage(format!(
            "--capacity {capacity}: {} has requests up to {}; give the size of the recorded device",
            arguments.input,
            trace.extent()
        )));
    }
    files.check()?;
    let stem = || input.file_stem().unwrap_or_default().to_string_lossy();
    let name = arguments
        .name
        .clone()
        .unwrap_or_else(|| stem().into_owned());
    let title = arguments.title.clone().unwrap_or_else(|| name.clone());
    let trace = trace.with_capacity(capacity);
    let bytes = write_nstrace(&name, &title, &trace);
    output::write(&arguments.output, &bytes)?;
    Ok(Converted {
        path: arguments.output.clone(),
        size: bytes.len(),
        name,
        title,
        trace,
        report,
    })
}

fn capacity(text: &str) -> Result<Bytes, Failure> {
    parse_size(text, SizeBase::Binary)
        .map_err(|e| Failure::usage(format!("--capacity {text}: {e}")))
}
