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
    /// There is none of that name.
    #[error(
        "{at}: there is no trace {path}, neither beside the job file nor here nor in the library (`nandscope trace list`)"
    )]
    NotFound {
        /// File and line of the job's trace.
        at: String,
        /// The trace as it was named.
        path: String,
    },
    /// Its file cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The job names a format that does not exist.
    #[error("{at}: unknown trace format `{format}`; use iolog, blkparse, msr, alibaba or nstrace")]
    Format {
        /// File and line of the job's trace.
        at: String,
        /// The format as it was named.
        format: String,
    },
    /// It has faults.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A trace of the library is damaged.
    #[error("{0}")]
    Library(TraceError),
    /// It does not fit the device.
    #[error("{at}: {path}: {error}")]
    Fit {
        /// File and line of the job's trace.
        at: String,
        /// The trace as it was named.
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
) -> Result<(Replay, Option<String>), ReplayError> {
    let trace = moved(load(job, reference)?, reference);
    let options = ReplayOptions {
        timing: timing(&trace, reference),
        fit,
    };
    let notice = (!trace.is_timed() && !reference.no_stall).then(|| {
        format!(
            "the trace {} has no times: job `{}` replays it as fast as its queue depth allows",
            reference.path, job.name
        )
    });
    let replay = Replay::new(&trace, &options, capacity);
    let replay = replay.map_err(|error| ReplayError::Fit {
        at: at(job),
        path: reference.path.clone(),
        error,
    })?;
    Ok((replay, notice))
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

/// The file of a job's trace, beside the job file or in the present folder; `None` if there is none, as
/// for a trace of the library.
pub fn trace_file(job: &Job, reference: &TraceRef) -> Option<PathBuf> {
    let path = Path::new(&reference.path);
    let beside = Path::new(&job.origin.file)
        .parent()
        .map_or_else(|| PathBuf::from(path), |folder| folder.join(path));
    [beside, PathBuf::from(path)]
        .into_iter()
        .find(|p| p.is_file())
}

/// A file, or else a trace of the library.
fn load(job: &Job, reference: &TraceRef) -> Result<Trace, ReplayError> {
    let Some(file) = trace_file(job, reference) else {
        let Some(named) = library_trace(&reference.path) else {
            return Err(ReplayError::NotFound {
                at: at(job),
                path: reference.path.clone(),
            });
        };
        let loaded = named.load().map_err(ReplayError::Library)?;
        return Ok(loaded.1);
    };
    let bytes = input::bytes(&file, "the trace")?;
    let name = file.display().to_string();
    let format = match &reference.format {
        Some(text) => format_of(text).ok_or_else(|| ReplayError::Format {
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
    let (trace, _) = Trace::parse_with(format, &name, &bytes, &options)?;
    Ok(trace)
}

fn format_of(text: &str) -> Option<Format> {
    Some(match text {
        "iolog" | "fio" => Format::FioIolog,
        "blkparse" => Format::Blkparse,
        "msr" => Format::MsrCambridge,
        "alibaba" => Format::Alibaba,
        "nstrace" => Format::Nstrace,
        _ => return None,
    })
}

/// File and line of the job's trace, for messages.
fn at(job: &Job) -> String {
    let line = job.origin.options.get("read_iolog").copied();
    format!("{}:{}", job.origin.file, line.unwrap_or(job.origin.line))
}
