//! Faults of jobs that fit their grammar but not the run.

use nandscope_workload::job::{Fault, Job};

/// A fault of an option of a job, at its line.
pub(super) fn fault_at(job: &Job, key: &str, message: String, remedy: &str) -> Fault {
    let line = job.origin.options.get(key).copied();
    Fault {
        file: job.origin.file.clone(),
        line: line.unwrap_or(job.origin.line),
        span: 0..0,
        key: key.to_string(),
        message,
        remedy: remedy.to_string(),
    }
}
