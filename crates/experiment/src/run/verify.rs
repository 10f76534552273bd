//! Jobs with `verify`: which verifier a group gets, and the reading back of what the group wrote. Making and checking contents is the business of the measure crate.

use nandscope_measure::build::JobMeta;
use nandscope_measure::runner::{OnError, Thread};
use nandscope_measure::verify::Verifier;
use nandscope_workload::files::{Extent, ExtentSource};
use nandscope_workload::job::{Access, Job};
use nandscope_workload::{OpKind, Pacing};
use std::sync::Arc;

/// Whether the job asks for verification.
pub fn asks(job: &Job) -> bool {
    job.verify.is_wanted()
}

/// The verifier of a group: one for all its jobs, so that each knows what the others wrote.
pub fn of_group(group: &[Job], seed: u64) -> Option<Arc<Verifier>> {
    let asking = group.iter().filter(|job| asks(job));
    let block = asking.clone().map(Job::min_block).min()?;
    // A group that only reads finds what earlier runs wrote.
    let reads_only = group
        .iter()
        .all(|job| job.rw.access == Access::Read || job.verify.only);
    let verifier = Verifier::new(seed, block, reads_only);
    let zeros = group.iter().any(|job| asks(job) && job.verify.trim_zero);
    Some(Arc::new(match zeros {
        true => verifier.with_zeros_after_discards(),
        false => verifier,
    }))
}

/// A thread that reads back all that the group wrote, where a job of it wants that.
pub fn read_back(group: &[Job], verifier: &Verifier) -> Option<(Thread, JobMeta)> {
    let wanting = group
        .iter()
        .filter(|job| job.verify.reads_back_at_end() && job.rw.access != Access::Read);
    let job = wanting.clone().next()?;
    let extents: Vec<Extent> = verifier
        .written()
        .into_iter()
        .map(|(offset, length)| Extent {
            kind: OpKind::Read,
            offset,
            length,
            chunk: job.bs.get(OpKind::Write).max(),
        })
        .collect();
    if extents.is_empty() {
        return None;
    }
    let pacing = Pacing {
        iodepth: wanting.map(|job| job.pacing.iodepth).max().unwrap_or(1),
        ..Pacing::default()
    };
    let mut thread = Thread::new(Box::new(ExtentSource::new(extents)), pacing, 0);
    thread.on_error = OnError::Continue;
    let mut meta = JobMeta::new(format!("{}: read back", job.name));
    meta.percentiles.clone_from(&job.percentiles);
    Some((thread, meta))
}
