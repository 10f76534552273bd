//! Traces that a job replays: where they are found, and how the job's options and those of the
//! command line become options of the replay.

use crate::error::ErrorClass;
use crate::input::{self, InputError};
use nandscope_units::Bytes;
use nandscope_workload::job::{Job, TraceRef};
use nandscope_workload::trace::{
    self, Fit, Format, NamedTrace, Order, ParseOptions, Record, Replay, ReplayOptions, Timing,
    Trace, TraceError,
};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The trace of a job cannot be replayed.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// No file and no trace of the library has that name.
    #[error(
        "{at}: there is no trace {path}, neither beside the job file nor here nor in the library (`nandscope trace list`)"
    )]
    NotFound {
        /// File and line of the job's trace.
        at: String,
        /// The trace as it was named.
        path: String,
    },
    /// The trace's file cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The job names a format that does not exist.
    #[error(
        "{at}: unknown trace format `{format}`; use iolog, blkparse, blktrace, msr, alibaba, spc, systor or nstrace"
    )]
    Format {
        /// File and line of the job's trace.
        at: String,
        /// The format as it was named.
        format: String,
    },
    /// The trace has faults.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A trace of the library is damaged.
    #[error("{0}")]
    Library(TraceError),
    /// The trace does not fit the device.
    #[error("{at}: {path}: {error}")]
    Fit {
        /// File and line of the job's trace.
        at: String,
        /// Name of the trace, as the job gives it.
        path: String,
        /// Cause.
        error: trace::ReplayError,
    },
}

impl ReplayError {
    /// Class of the error: who can fix it.
    pub fn class(&self) -> ErrorClass {
        match self {
            ReplayError::NotFound { .. } => ErrorClass::System,
            ReplayError::Input(error) => error.class(),
            ReplayError::Library(_) => ErrorClass::Internal,
            ReplayError::Format { .. } | ReplayError::Trace(_) | ReplayError::Fit { .. } => {
                ErrorClass::Usage
            }
        }
    }
}

/// The replay of a job that names a trace, and what must be said about it.
///
/// # Errors
/// Returns [`ReplayError`] if the trace is not found, cannot be read, or does not fit the device.
pub fn of_job(
    job: &Job,
    reference: &TraceRef,
    fit: Fit,
    capacity: Bytes,
) -> Result<(Replay, Vec<String>), ReplayError> {
    let (trace, mut notices) = load(job, reference)?;
    let trace = moved(trace, reference);
    let options = ReplayOptions {
        timing: timing(&trace, reference),
        fit,
    };
    notices.extend((!trace.is_timed() && !reference.no_stall).then(|| {
        format!(
            "the trace {} has no times: job `{}` replays it as fast as its queue depth allows",
            reference.path, job.name
        )
    }));
    let replay = Replay::new(&trace, &options, capacity);
    let replay = replay.map_err(|error| ReplayError::Fit {
        at: at(job),
        path: reference.path.clone(),
        error,
    })?;
    Ok((replay, notices))
}

fn timing(trace: &Trace, reference: &TraceRef) -> Timing {
    if reference.no_stall || !trace.is_timed() {
        return Timing::ClosedLoop;
    }
    Timing::OpenLoop {
        speed: f64::from(reference.time_scale_percent) / 100.0,
        // The runner cuts the pauses by the pacing of the job.
        idle_cap: None,
    }
}

/// `replay_scale`, `replay_align` and `replay_skip` as fio has them: divide, then round down.
fn moved(trace: Trace, reference: &TraceRef) -> Trace {
    let divisor = reference.offset_divisor.max(1);
    let align = u64::from(reference.align.unwrap_or(1).max(1));
    if divisor == 1 && align == 1 && reference.skip.is_empty() {
        return trace;
    }
    let place = |record: &Record| Record {
        offset: Bytes(record.offset.0 / divisor / align * align),
        ..*record
    };
    let kept = trace.records().iter();
    let kept = kept.filter(|record| !reference.skip.contains(&record.kind));
    let records = kept.map(place).collect();
    let capacity = trace.capacity().map(|c| Bytes(c.0 / divisor));
    Trace::new(records, trace.is_timed(), capacity)
}

/// The trace of the library, where there is no file of that name.
pub fn library_trace(name: &str) -> Option<&'static NamedTrace> {
    (!Path::new(name).exists())
        .then(|| trace::find(name))
        .flatten()
}

/// The file of a job's trace, beside the job file or in the present folder; `None` if neither exists, as for a
/// trace of the library.
pub fn trace_file(job: &Job, reference: &TraceRef) -> Option<PathBuf> {
    let path = Path::new(&reference.path);
    let beside = Path::new(&job.origin.file)
        .parent()
        .map_or_else(|| PathBuf::from(path), |folder| folder.join(path));
    [beside, PathBuf::from(path)]
        .into_iter()
        .find(|p| p.is_file())
}

/// A file with doubts about its meaning, or else a trace of the library.
fn load(job: &Job, reference: &TraceRef) -> Result<(Trace, Vec<String>), ReplayError> {
    let Some(file) = trace_file(job, reference) else {
        let Some(named) = library_trace(&reference.path) else {
            return Err(ReplayError::NotFound {
                at: at(job),
                path: reference.path.clone(),
            });
        };
        let loaded = named.load().map_err(ReplayError::Library)?;
        return Ok((loaded.1, Vec::new()));
    };
    let bytes = input::trace(&file)?;
    let name = file.display().to_string();
    let format = match &reference.format {
        Some(text) => Format::named(text).ok_or_else(|| ReplayError::Format {
            at: at(job),
            format: text.clone(),
        })?,
        None => Format::detect_or_error(&name, &bytes)?,
    };
    let options = ParseOptions {
        event: reference.event,
        device: reference.device.clone(),
        order: if reference.sort {
            Order::Sort
        } else {
            Order::Strict
        },
    };
    let (trace, report) = Trace::parse_with(format, &name, &bytes, &options)?;
    let noted = report.notes.iter();
    let noted = noted.map(|(what, count)| format!("{name}: {count} × {what}"));
    let mut notices = report.warnings;
    notices.extend(noted);
    notices.extend(other_processors(&file));
    Ok((trace, notices))
}

/// A notice if blktrace has written a file for each processor, and this is one of them.
fn other_processors(file: &Path) -> Option<String> {
    let name = file.to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let (stem, processor) = name.rsplit_once(".blktrace.")?;
    let processor: u32 = processor.parse().ok()?;
    let other = if processor == 0 { 1 } else { 0 };
    let is_one_of_several = Path::new(&format!("{stem}.blktrace.{other}")).exists();
    is_one_of_several.then(|| {
        format!(
            "{name}: has the requests of processor {processor} only; merge all with `blkparse -i {stem} -d {stem}.bin` and replay that file"
        )
    })
}

/// File and line of the job's trace, for messages.
fn at(job: &Job) -> String {
    let line = job.origin.options.get("read_iolog").copied();
    format!("{}:{}", job.origin.file, line.unwrap_or(job.origin.line))
}
