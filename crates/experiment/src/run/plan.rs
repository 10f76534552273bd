//! From a group of jobs (those that run at once) to threads for the runner, and to the groups in
//! which they are reported.

use super::fault::fault_at;
use super::fio_facts;
use super::logs::Watch;
use super::overlap;
use super::target::TargetAbilities;
use super::{RunError, replay};
use crate::jobs;
use nandscope_measure::build::JobMeta;
use nandscope_measure::runner::{OnError, Thread, Ties};
use nandscope_result::Notice;
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::job::{Job, JobError, JobFile, VerifyMethod, data_options};
use nandscope_workload::pattern::{Random, of_job};
use nandscope_workload::trace::Fit;
use nandscope_workload::{OpKind, OpSource, Pacing};

/// Context that all groups of a run share.
#[derive(Clone, Copy, Debug)]
pub struct PlanContext {
    /// Bytes of the target.
    pub capacity: Bytes,
    /// Seed of the run.
    pub seed: u64,
    /// Traces on a device of another size.
    pub fit: Fit,
}

/// One group, ready for the runner.
pub struct Plan {
    /// In the order of their numbers in the file.
    pub threads: Vec<Thread>,
    /// Descriptions of the jobs for the result.
    pub jobs: Vec<JobMeta>,
    /// Notices on the group.
    pub notices: Vec<String>,
}

/// Whether the jobs change the target. What a trace does is known only when it is replayed; it is taken
/// to write.
pub fn writes(jobs: &[Job]) -> bool {
    jobs.iter().any(|job| {
        let kinds = job.rw.kinds();
        job.trace.is_some() || (!job.verify.only && kinds.iter().any(|kind| *kind != OpKind::Read))
    })
}

/// Whether files for the folder of the logs may come from the job.
pub fn wants_files(job: &Job) -> bool {
    job.logs.any() || (job.verify.is_wanted() && job.verify.dump)
}

/// Refuses what the target cannot do, before anything is run.
///
/// # Errors
/// [`JobError`] with the places of all such options.
pub fn check(jobs: &[Job], abilities: TargetAbilities) -> Result<(), JobError> {
    let mut faults = Vec::new();
    for job in jobs {
        let method = job.verify.method.map(VerifyMethod::name);
        if let Some(method) = method.filter(|_| !abilities.stores_contents) {
            faults.push(fault_at(
                job,
                "verify",
                format!("`verify={method}`: without `--contents` a simulated device keeps no contents, so there is nothing to verify"),
                "add --contents to the command, or remove verify",
            ));
        }
        if job.direct == Some(false) && !abilities.has_page_cache {
            let key = if job.origin.options.contains_key("direct") {
                "direct"
            } else {
                "buffered"
            };
            faults.push(fault_at(
                job,
                key,
                "the job goes through the page cache of the host, and a simulated device has none before it".to_string(),
                "use direct=1, for example by `--job direct=1`",
            ));
        }
        if job.fullness_percent.is_some_and(|p| p > 0) && !abilities.can_be_filled {
            faults.push(fault_at(
                job,
                "nandscope_fullness",
                "`nandscope_fullness`: a real target is not filled beforehand".to_string(),
                "put a job that writes before this one, with stonewall between them",
            ));
        }
    }
    faults.dedup();
    if faults.is_empty() {
        return Ok(());
    }
    Err(JobError { faults })
}

/// Notices on jobs before they run: how the job file was understood, and options without effect on a target with
/// these abilities.
pub fn notices(jobs: &JobFile, abilities: TargetAbilities) -> Vec<Notice> {
    let mut all: Vec<Notice> = jobs::notices(jobs).cloned().map(Notice::info).collect();
    for job in &jobs.jobs {
        if job.direct == Some(false) && abilities.has_page_cache {
            all.push(Notice::warning(format!(
                "job `{}` has `direct=0`: fio would go through the page cache, here it is bypassed",
                job.name
            )));
        }
        let wishes: Vec<&str> = data_options()
            .filter(|name| job.origin.options.contains_key(*name))
            .collect();
        if !wishes.is_empty() && !abilities.stores_contents && writes(std::slice::from_ref(job)) {
            all.push(Notice::info(format!(
                "job `{}`: `{}` has no effect, because without `--contents` a simulated device stores no contents; its speed does not depend on them",
                job.name,
                wishes.join("`, `")
            )));
        }
    }
    all
}

/// The threads of a group. `first` is the number of its first thread in the file, from 1; `watch`
/// is there where a job of the group wants logs; `begin` is the present of the target.
///
/// # Errors
/// [`RunError`] if a job does not fit the target, or its trace cannot be read or replayed.
pub fn of_group(
    group: &[Job],
    context: &PlanContext,
    first: usize,
    mut watch: Option<(&mut Watch, Nanos)>,
) -> Result<Plan, RunError> {
    let mut plan = Plan {
        threads: Vec::new(),
        jobs: Vec::new(),
        notices: Vec::new(),
    };
    plan.notices
        .extend(overlap::notice(group, context.capacity));
    let mut fio_group = 0;
    // Jobs that report as a group share one record until one of them begins a new one.
    let mut shared: Option<usize> = None;
    for (job, ties) in group.iter().zip(Ties::of_group(group)) {
        if job.new_group || !job.group_reporting {
            shared = None;
        }
        let is_first_of_group = plan.jobs.is_empty();
        fio_group += u32::from(job.new_group && !is_first_of_group);
        for clone in 0..job.numjobs {
            let source = source(job, clone, context, &mut plan.notices)?;
            let pacing = pacing(job, clone, context.seed);
            if let Some((watch, begin)) = &mut watch {
                let number = first + plan.threads.len();
                watch.add(job, number, *begin, pacing.start_delay + pacing.ramp_time);
            }
            let record = match shared {
                Some(record) => record,
                None => plan.new_record(job, fio_group),
            };
            if job.group_reporting {
                plan.join(record, job);
                shared = Some(record);
            }
            let mut thread = Thread::new(source, pacing, record);
            thread.on_error = OnError::of_job(job);
            thread.ties = ties.clone();
            thread.cpus = job.cpus_allowed.clone();
            plan.threads.push(thread);
        }
    }
    Ok(plan)
}

impl Plan {
    fn new_record(&mut self, job: &Job, fio_group: u32) -> usize {
        self.jobs.push(JobMeta {
            name: job.name.clone(),
            options: job.options(),
            percentiles: job.percentiles.clone(),
            unified: job.unified_rw,
            fio: Some(fio_facts::of_job(job, fio_group)),
        });
        self.jobs.len() - 1
    }

    /// Counts the reporting groups of fio from `first` on.
    pub fn number_groups(&mut self, first: u32) {
        let facts = self.jobs.iter_mut().filter_map(|job| job.fio.as_mut());
        facts.for_each(|fio| fio.group += first);
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

/// The pacing of a clone, with the random choices that are its own.
fn pacing(job: &Job, clone: u32, seed: u64) -> Pacing {
    // Sequences of their own, apart from those of the generator.
    const DELAY: u64 = 64;
    const ARRIVALS: u64 = 65;
    let seed = job.rand_seed.unwrap_or(seed);
    let random = |purpose| Random::new(seed, &[u64::from(job.ordinal), u64::from(clone), purpose]);
    let mut pacing = job.pacing.clone();
    pacing.sync |= job.write_fua;
    if let Some(latest) = job.latest_start {
        let range = latest.saturating_sub(pacing.start_delay);
        pacing.start_delay += Nanos(random(DELAY).below(range.0));
    }
    if pacing.arrivals.is_some() {
        pacing.arrivals = Some(random(ARRIVALS).bits());
    }
    pacing
}

fn source(
    job: &Job,
    clone: u32,
    context: &PlanContext,
    notices: &mut Vec<String>,
) -> Result<Box<dyn OpSource>, RunError> {
    if let Some(reference) = &job.trace {
        let (replay, found) = replay::of_job(job, reference, context.fit, context.capacity)?;
        notices.extend(found.into_iter().filter(|_| clone == 0));
        return Ok(Box::new(replay));
    }
    Ok(of_job(job, clone, context.capacity, context.seed)?)
}
