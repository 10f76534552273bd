//! Traces that a job replays: where they are found, and how the job's options and those of the
//! command line become options of the replay.

use crate::failure::Failure;
use crate::{input, trace};
use clap::ValueEnum;
use nandscope_units::Bytes;
use nandscope_workload::job::{Job, TraceRef};
use nandscope_workload::trace::{
    Fit, Format, Order, ParseOptions, Record, Replay, ReplayOptions, Timing, Trace,
};
use std::path::{Path, PathBuf};

/// What to do with a trace that was recorded on a device of another size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FitChoice {
    /// Every request stays where it was; one beyond the device is an error
    #[default]
    Exact,
    /// Offsets modulo the size of the device
    Wrap,
    /// Areas are spread over the device as they were over the recorded one
    Scale,
}

impl From<FitChoice> for Fit {
    fn from(choice: FitChoice) -> Self {
        match choice {
            FitChoice::Exact => Fit::Exact,
            FitChoice::Wrap => Fit::Wrap,
            FitChoice::Scale => Fit::Scale,
        }
    }
}

/// The replay of a job that names a trace, and what must be said about it.
///
/// # Errors
/// Where the trace is not found, cannot be read, or does not fit the device.
pub fn of_job(
    job: &Job,
    reference: &TraceRef,
    fit: FitChoice,
    capacity: Bytes,
) -> Result<(Replay, Option<String>), Failure> {
    let trace = moved(load(job, reference)?, reference);
    let options = ReplayOptions {
        timing: timing(&trace, reference),
        fit: fit.into(),
    };
    let notice = (!trace.is_timed() && !reference.no_stall).then(|| {
        format!(
            "the trace {} carries no times: job `{}` replays it as fast as its queue depth allows",
            reference.path, job.name
        )
    });
    let replay = Replay::new(&trace, &options, capacity).map_err(|e| {
        // The message speaks of the option as `fit=`; on the command line it is `--fit`.
        let text = e.to_string().replace("fit=", "--fit ");
        Failure::usage(format!("{}: {}: {text}", at(job), reference.path))
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

/// A file beside the job file, one where we stand, or a trace of the library, in this order.
fn load(job: &Job, reference: &TraceRef) -> Result<Trace, Failure> {
    let path = Path::new(&reference.path);
    let beside = Path::new(&job.origin.file)
        .parent()
        .map_or_else(|| PathBuf::from(path), |folder| folder.join(path));
    let found = [beside.as_path(), path].into_iter().find(|p| p.is_file());
    let Some(file) = found else {
        let Some(named) = trace::named(&reference.path) else {
            return Err(Failure::file(format!(
                "{}: there is no trace {}, neither beside the job file nor here nor in the library (`nandscope trace list`)",
                at(job),
                reference.path
            )));
        };
        return named
            .load()
            .map(|(_, trace)| trace)
            .map_err(Failure::internal);
    };
    let bytes = input::bytes(file, "the trace")?;
    let name = file.display().to_string();
    let format = match &reference.format {
        Some(text) => format_of(text).ok_or_else(|| {
            Failure::usage(format!(
                "{}: `{text}` is no trace format; use iolog, blkparse, msr, alibaba or nstrace",
                at(job)
            ))
        })?,
        None => Format::detect_or_error(&name, &bytes).map_err(Failure::usage)?,
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
    let (trace, _) = Trace::parse_with(format, &name, &bytes, &options).map_err(Failure::usage)?;
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
