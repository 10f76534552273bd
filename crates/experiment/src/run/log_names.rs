//! The files of the logs that jobs ask for. Their names come from the job file, which may be another
//! person's: none leaves the folder of the logs, and that is found out before anything is run.

use super::fault::fault_at;
use crate::error::ErrorClass;
use nandscope_files::{WriteError, check_in};
use nandscope_workload::job::{Job, JobError, JobFile, Logs};
use std::collections::BTreeSet;
use std::path::Path;
use thiserror::Error;

/// Logs cannot be written where they should go.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{faults}")]
pub struct LogError {
    /// The options at fault.
    pub faults: JobError,
    class: ErrorClass,
}

impl LogError {
    /// Class of the error: who can fix it.
    pub fn class(&self) -> ErrorClass {
        self.class
    }
}

/// Quantity in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// KiB per second.
    Bandwidth,
    /// Operations per second; 1 for a single operation.
    Iops,
    /// Time from the hand-over of an operation to its submission, ns: fio's `slat`.
    Submission,
    /// Time from the submission of an operation to its completion, ns: fio's `clat`.
    Completion,
    /// Time from the hand-over of an operation to its completion, ns: fio's `lat`.
    Latency,
    /// Histograms of the completion latency.
    Histogram,
    /// The operations themselves.
    Operations,
}

/// A log of single operations, in the form of fio's `write_…_log`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFile {
    /// Name of the job's option that asks for the log.
    pub key: &'static str,
    /// The name, relative to the folder of the logs.
    pub name: String,
    /// Quantity in the log.
    pub value: Value,
}

/// The files of one thread: `number` among all of the job file, from 1, of the job `name`.
pub fn of_thread(logs: &Logs, name: &str, number: usize) -> Vec<LogFile> {
    let kinds = [
        (
            "write_bw_log",
            &logs.bandwidth,
            &[("bw", Value::Bandwidth)][..],
        ),
        ("write_iops_log", &logs.iops, &[("iops", Value::Iops)]),
        (
            "write_lat_log",
            &logs.latency,
            // Virtual submission takes no time: there, all latency is completion latency.
            &[
                ("slat", Value::Submission),
                ("clat", Value::Completion),
                ("lat", Value::Latency),
            ],
        ),
        (
            "write_hist_log",
            &logs.histogram,
            &[("clat_hist", Value::Histogram)],
        ),
    ];
    let mut files = Vec::new();
    for (key, prefix, values) in kinds {
        let Some(prefix) = prefix else { continue };
        let prefix = if prefix.is_empty() { name } else { prefix };
        files.extend(values.iter().map(|(suffix, value)| LogFile {
            key,
            name: match logs.shared {
                true => format!("{prefix}_{suffix}.log"),
                false => format!("{prefix}_{suffix}.{number}.log"),
            },
            value: *value,
        }));
    }
    // This one is named wholly by the job, and may be that of several threads.
    files.extend(logs.operations.iter().map(|name| LogFile {
        key: "write_iolog",
        name: name.clone(),
        value: Value::Operations,
    }));
    files
}

/// The logs of all jobs: the option that asks for each, and its name in the folder of the logs. A log that several
/// threads share is there once.
pub fn names(jobs: &JobFile) -> BTreeSet<(&'static str, String)> {
    let mut names = BTreeSet::new();
    let mut number = 1;
    for job in &jobs.jobs {
        for clone in 0..job.numjobs as usize {
            let files = of_thread(&job.logs, &job.name, number + clone);
            names.extend(files.into_iter().map(|file| (file.key, file.name)));
        }
        number += job.numjobs as usize;
    }
    names
}

/// Checks that every log can be written into `folder`, and only there.
///
/// # Errors
/// Returns [`LogError`] with the first of each option, at its place in the job file.
pub fn check(jobs: &JobFile, folder: &Path) -> Result<(), LogError> {
    let mut faults = Vec::new();
    let mut class = ErrorClass::Usage;
    let mut number = 1;
    for job in &jobs.jobs {
        let mut keys = Vec::new();
        for clone in 0..job.numjobs as usize {
            for file in of_thread(&job.logs, &job.name, number + clone) {
                let Err(error) = check_in(folder, Path::new(&file.name)) else {
                    continue;
                };
                if matches!(error, WriteError::Io { .. }) {
                    class = ErrorClass::System;
                }
                if !keys.contains(&file.key) {
                    keys.push(file.key);
                    faults.push(fault_of(job, &file, &error));
                }
            }
        }
        number += job.numjobs as usize;
    }
    if faults.is_empty() {
        return Ok(());
    }
    Err(LogError {
        faults: JobError { faults },
        class,
    })
}

fn fault_of(job: &Job, file: &LogFile, error: &WriteError) -> nandscope_workload::job::Fault {
    fault_at(
        job,
        file.key,
        format!("`{}`: the log `{}`: {error}", file.key, file.name),
        "logs are written into the folder of --log-dir only: give a plain name",
    )
}
