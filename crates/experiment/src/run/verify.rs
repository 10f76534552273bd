//! What the jobs of a group write and compare, and the reading back of what the group wrote. Making and comparing
//! contents is the business of the measure crate.

use nandscope_measure::build::JobMeta;
use nandscope_measure::data_source::{DataSource, Payload};
use nandscope_measure::runner::{OnError, Thread};
use nandscope_measure::verify::{Check, Verifier};
use nandscope_units::Bytes;
use nandscope_workload::files::{Extent, ExtentSource};
use nandscope_workload::job::{Access, Job, WriteData};
use nandscope_workload::pattern::{Random, Region};
use nandscope_workload::{OpKind, Pacing};
use std::sync::Arc;

/// Whether the job asks for verification.
pub fn asks(job: &Job) -> bool {
    job.verify.is_wanted()
}

/// What the threads of a group write and compare. There is one verifier for all jobs, so that each knows what the
/// others wrote; none if no job verifies.
pub fn data_of_group(group: &[Job], seed: u64, capacity: Bytes) -> DataSource {
    let threads = || {
        group
            .iter()
            .flat_map(|job| (0..job.numjobs).map(move |clone| (job, clone)))
    };
    let payloads = threads().map(|(job, clone)| payload(job, clone, seed, capacity));
    let checks = threads().map(|(job, _)| check(job)).collect();
    let verifier = of_group(group, seed).map(|verifier| Arc::new(verifier.with_checks(checks)));
    DataSource::new(verifier, payloads.collect())
}

/// What a clone writes where nothing is verified.
fn payload(job: &Job, clone: u32, seed: u64, capacity: Bytes) -> Payload {
    // A sequence of its own, apart from those of offsets and times.
    const DATA: u64 = 66;
    let seed = job.rand_seed.unwrap_or(seed);
    let parts = match job.data.is_global {
        true => [0, 0, DATA],
        false => [u64::from(job.ordinal), u64::from(clone), DATA],
    };
    // A job that does not fit is refused elsewhere.
    let length = Region::of(job, clone, capacity).map_or(0, |region| region.length);
    let blocks = length / u64::from(job.bs.get(OpKind::Write).min().max(1));
    Payload::new(job.data.clone(), Random::new(seed, &parts).bits(), blocks)
}

/// How the blocks of a job are compared. What a job writes beside one that verifies is labelled too, so that a loss of it
/// is found, unless it asks for data of its own.
fn check(job: &Job) -> Check {
    let writes = job.rw.access != Access::Read;
    match asks(job) {
        true => Check::of_job(&job.verify),
        false if writes && job.data == WriteData::default() => Check::default(),
        false => Check::Nothing,
    }
}

fn of_group(group: &[Job], seed: u64) -> Option<Verifier> {
    let asking = group.iter().filter(|job| asks(job));
    let block = asking.clone().map(Job::min_block).min()?;
    // A group that only reads finds what earlier runs wrote.
    let reads_only = group
        .iter()
        .all(|job| job.rw.access == Access::Read || job.verify.only);
    let verifier = Verifier::new(seed, block, reads_only);
    let zeros = group.iter().any(|job| asks(job) && job.verify.trim_zero);
    Some(match zeros {
        true => verifier.with_zeros_after_discards(),
        false => verifier,
    })
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
