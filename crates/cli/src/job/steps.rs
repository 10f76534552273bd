//! Steps of a stored result as job files, so that fio can repeat the jobs of a suite.
//!
//! A step is written from the options of its jobs, as the runner understood them. Work that is not a job (a recorded trace,
//! copied files, probes that depend on earlier answers) cannot be written; a comment names it.

use crate::failure::Failure;
use nandscope_result::{JobResult, ResultDocument, StepResult, procedure};
use nandscope_workload::job::JobFile;

/// The jobs of the step with that identifier, or of all steps, as one job file.
///
/// # Errors
/// `Exit::Usage` if there is no such step, or none of its parts is a job.
pub fn emit(document: &ResultDocument, id: Option<&str>) -> Result<String, Failure> {
    let wanted = |s: &&StepResult| id.is_none_or(|id| s.id == id);
    let steps: Vec<&StepResult> = document.steps.iter().filter(wanted).collect();
    if steps.is_empty() {
        let known: Vec<&str> = document.steps.iter().map(|s| s.id.as_str()).collect();
        return Err(Failure::usage(format!(
            "the result has no step `{}`; it has {}",
            id.unwrap_or_default(),
            known.join(", ")
        )));
    }
    let mut text = format!("; {}\n", document.title);
    if document.procedure != procedure::RUN {
        text.push_str("; all jobs work on one target: `fio --filename=DEVICE JOB.fio`, or `nandscope run JOB.fio TARGET --job filename=all`\n");
    }
    let mut jobs = 0;
    for step in steps {
        text.push_str(&format!("\n; step {}: {}\n", step.id, step.title));
        for line in step.description.lines() {
            text.push_str(&format!("; {line}\n"));
        }
        let (some, count) = sections(step)?;
        text.push_str(&some);
        jobs += count;
    }
    if jobs == 0 {
        return Err(Failure::usage(
            "no step is a job that fio can run: traces, folder copies and probes are not",
        ));
    }
    Ok(text)
}

/// Sections of a step, and their number. Jobs that began after the end of the previous one wait for it.
fn sections(step: &StepResult) -> Result<(String, u32), Failure> {
    let mut text = String::new();
    let mut count = 0;
    let mut over = 0.0;
    for job in &step.jobs {
        if job.options.is_empty() {
            text.push_str(&format!("; {}: not a job of fio's grammar\n", job.name));
            continue;
        }
        let waits = count == 0 || job.start_s >= over;
        over = if waits {
            job.start_s + job.runtime_s
        } else {
            over.max(job.start_s + job.runtime_s)
        };
        text.push_str(&section(step, job, waits)?);
        count += 1;
    }
    Ok((text, count))
}

/// One section. It is parsed and written again, which validates it and sorts its keys.
fn section(step: &StepResult, job: &JobResult, waits: bool) -> Result<String, Failure> {
    let mut text = format!("[{}]\n", job.name);
    for (key, value) in &job.options {
        text.push_str(&format!("{key}={value}\n"));
    }
    // Suites bypass the page cache and issue I/O at their queue depth; fio's defaults do neither.
    for (key, value) in [("ioengine", "libaio"), ("direct", "1")] {
        if !job.options.contains_key(key) {
            text.push_str(&format!("{key}={value}\n"));
        }
    }
    if waits && !job.options.contains_key("stonewall") {
        text.push_str("stonewall\n");
    }
    let file = JobFile::parse(&step.id, &text).map_err(|e| {
        Failure::usage(format!(
            "cannot parse job `{}` of step `{}`: {e}",
            job.name, step.id
        ))
    })?;
    Ok(file.to_fio())
}
