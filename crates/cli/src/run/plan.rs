//! From a group of jobs (those that run at once) to threads for the runner, and to the groups in
//! which they are reported.

use super::logs::{SharedWatch, Watched};
use super::replay::{self, FitChoice};
use crate::console::Console;
use crate::failure::Failure;
use crate::fault;
use nandscope_measure::build::JobMeta;
use nandscope_measure::runner::{OnError, Thread};
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::OpSource;
use nandscope_workload::job::{Fault, Job, JobError, UnifiedRw};
use nandscope_workload::pattern::Generator;

/// What all groups of a run have in common.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// Text of the job file, for messages.
    pub text: &'a str,
    /// Bytes of the target.
    pub capacity: Bytes,
    /// Seed of the run.
    pub seed: u64,
    /// Traces on a device of another size.
    pub fit: FitChoice,
    /// For messages.
    pub console: &'a Console,
}

/// One group, ready for the runner.
pub struct Plan {
    /// The threads.
    pub threads: Vec<Thread>,
    /// What the jobs of the result are.
    pub jobs: Vec<JobMeta>,
    /// What must be said.
    pub notices: Vec<String>,
}

/// Refuses what a simulated device cannot do, before anything is run.
///
/// # Errors
/// With the places of all such options.
pub fn check(jobs: &[Job], setting: &Setting<'_>) -> Result<(), Failure> {
    let mut faults = Vec::new();
    for job in jobs {
        if let Some(method) = job.verify.method.as_deref().filter(|m| *m != "none") {
            faults.push(fault_at(
                job,
                "verify",
                format!("`verify={method}`: a simulated device keeps no contents, so there is nothing to verify"),
                "remove verify for simulated devices",
            ));
        }
        if job.unified_rw != UnifiedRw::None {
            faults.push(fault_at(
                job,
                "unified_rw_reporting",
                "`unified_rw_reporting`: the result keeps the directions apart".to_string(),
                "remove it and add the directions up, or compare their latencies",
            ));
        }
    }
    faults.dedup();
    if faults.is_empty() {
        return Ok(());
    }
    Err(fault::of_job(
        setting.console,
        setting.text,
        &JobError { faults },
    ))
}

fn fault_at(job: &Job, key: &str, message: String, remedy: &str) -> Fault {
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

/// The threads of a group. `first` is the number of its first thread in the file, from 1; `watch`
/// is there where a job of the group wants logs; `begin` is the present of the target.
///
/// # Errors
/// Where a job does not fit the target, or its trace cannot be had.
pub fn of_group(
    group: &[Job],
    setting: &Setting<'_>,
    first: usize,
    watch: Option<(&SharedWatch, Nanos)>,
) -> Result<Plan, Failure> {
    let mut plan = Plan {
        threads: Vec::new(),
        jobs: Vec::new(),
        notices: Vec::new(),
    };
    // Jobs that report as a group share one record until one of them begins a new one.
    let mut shared: Option<usize> = None;
    for job in group {
        if job.new_group || !job.group_reporting {
            shared = None;
        }
        for clone in 0..job.numjobs {
            let mut source = source(job, clone, setting, &mut plan.notices)?;
            if let Some((watch, begin)) = watch {
                let number = first + plan.threads.len();
                let unmeasured = job.pacing.start_delay + job.pacing.ramp_time;
                let thread = watch
                    .borrow_mut()
                    .add(&job.name, number, &job.logs, begin, unmeasured);
                source = Box::new(Watched {
                    source,
                    watch: watch.clone(),
                    thread,
                });
            }
            let record = match shared {
                Some(record) => record,
                None => plan.new_record(job),
            };
            if job.group_reporting {
                plan.join(record, job);
                shared = Some(record);
            }
            let mut thread = Thread::new(source, job.pacing.clone(), record);
            thread.on_error = on_error(job);
            plan.threads.push(thread);
        }
    }
    Ok(plan)
}

impl Plan {
    fn new_record(&mut self, job: &Job) -> usize {
        self.jobs.push(JobMeta {
            name: job.name.clone(),
            options: job.options(),
            percentiles: job.percentiles.clone(),
        });
        self.jobs.len() - 1
    }

    /// A record of several jobs has all their names.
    fn join(&mut self, record: usize, job: &Job) {
        let name = &mut self.jobs[record].name;
        if !name.split(" + ").any(|n| n == job.name) {
            name.push_str(" + ");
            name.push_str(&job.name);
        }
    }
}

fn source(
    job: &Job,
    clone: u32,
    setting: &Setting<'_>,
    notices: &mut Vec<String>,
) -> Result<Box<dyn OpSource>, Failure> {
    if let Some(reference) = &job.trace {
        let (replay, notice) = replay::of_job(job, reference, setting.fit, setting.capacity)?;
        notices.extend(notice.filter(|_| clone == 0));
        return Ok(Box::new(replay));
    }
    match Generator::new(job, clone, setting.capacity, setting.seed) {
        Ok(generator) => Ok(Box::new(generator)),
        Err(error) => Err(fault::of_job(setting.console, setting.text, &error)),
    }
}

/// `continue_on_error` is kept as written; anything but `none` goes on.
fn on_error(job: &Job) -> OnError {
    match job.inert.get("continue_on_error").map(String::as_str) {
        None | Some("none" | "0") => OnError::Stop,
        Some(_) => OnError::Continue,
    }
}
