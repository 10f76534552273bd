//! Phases from jobs in fio's grammar, in which procedures define their workloads.

use crate::step_runner::{Phase, SECOND, SuiteError};
use nandscope_measure::build::JobMeta;
use nandscope_measure::runner::Thread;
use nandscope_units::Bytes;
use nandscope_workload::job::{JobError, JobFile};
use nandscope_workload::pattern::Generator;

/// The phase that runs all jobs of `text` in parallel. Threads of one job are reported together.
pub(crate) fn phase(
    step: &str,
    text: &str,
    capacity: Bytes,
    seed: u64,
) -> Result<Phase, SuiteError> {
    let fault = |problem: String| SuiteError::Step {
        step: step.to_string(),
        problem,
    };
    let file = JobFile::parse(step, text).map_err(|e| fault(e.to_string()))?;
    let mut threads = Vec::new();
    let mut jobs = Vec::new();
    for (record, job) in file.jobs.iter().enumerate() {
        for clone in 0..job.numjobs {
            let source =
                Generator::new(job, clone, capacity, seed).map_err(|e| fault(too_small(&e)))?;
            threads.push(Thread::new(Box::new(source), job.pacing.clone(), record));
        }
        let options = job.options();
        jobs.push(JobMeta {
            options,
            percentiles: job.percentiles.clone(),
            ..JobMeta::new(job.name.clone())
        });
    }
    Ok(Phase {
        threads,
        jobs,
        interval: SECOND,
    })
}

/// The problem of a job that does not fit the target. Its text is not the user's, so lines and remedies are left out.
fn too_small(error: &JobError) -> String {
    let messages: Vec<&str> = error.faults.iter().map(|f| f.message.as_str()).collect();
    format!("the target is too small: {}", messages.join("; "))
}
