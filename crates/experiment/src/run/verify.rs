//! What the jobs of a group write and compare, and the reading back of what the group wrote. Making and comparing
//! contents is the business of the measure crate.

use nandscope_measure::build::JobMeta;
use nandscope_measure::data_source::{DataSource, Payload};
use nandscope_measure::runner::{OnError, Thread};
use nandscope_measure::verify::{Check, Verifier};
use nandscope_result::FioReport;
use nandscope_units::{Bytes, saturating_u32};
use nandscope_workload::files::{Extent, ExtentSource};
use nandscope_workload::job::{Access, Job, WriteData};
use nandscope_workload::pattern::{Random, Region};
use nandscope_workload::{OpKind, Pacing};
use std::sync::Arc;

/// Whether the job asks for verification.
pub fn asks(job: &Job) -> bool {
    job.verify.is_wanted()
}

/// Data that the threads of a group write, and the verifier that they share, so that each knows the writes of the
/// others. There is no verifier if no job verifies.
pub fn data_of_group(group: &[Job], seed: u64, capacity: Bytes) -> DataSource {
    let threads = || {
        group
            .iter()
            .flat_map(|job| (0..job.numjobs).map(move |clone| (job, clone)))
    };
    let payloads = threads().map(|(job, clone)| payload(job, clone, seed, capacity));
    let checks = threads().map(|(job, _)| check(job)).collect();
    let verifier = of_group(group, seed, capacity, checks).map(Arc::new);
    DataSource::new(verifier, payloads.collect())
}

/// Payload of a clone that does not verify.
fn payload(job: &Job, clone: u32, seed: u64, capacity: Bytes) -> Payload {
    // A sequence of its own, apart from those of offsets and times.
    const DATA: u64 = 66;
    let seed = job.rand_seed.unwrap_or(seed);
    let parts = match job.data.is_global {
        true => [0, 0, DATA],
        false => [u64::from(job.ordinal), u64::from(clone), DATA],
    };
    // A job that does not fit is refused elsewhere.
    let regions = Region::parts(job, clone, capacity).unwrap_or_default();
    let length: u64 = regions.iter().map(|region| region.length).sum();
    let blocks = length / u64::from(job.bs.get(OpKind::Write).min().max(1));
    Payload::new(job.data.clone(), Random::new(seed, &parts).bits(), blocks)
}

/// How the blocks of a job are compared. What a job writes beside one that verifies has headers too, so that a loss of it
/// is found, unless it asks for data of its own.
fn check(job: &Job) -> Check {
    let writes = job.rw.access != Access::Read;
    match asks(job) {
        false if !writes || job.data != WriteData::default() => Check::Nothing,
        _ => Check::of_job(job),
    }
}

fn of_group(group: &[Job], seed: u64, capacity: Bytes, checks: Vec<Check>) -> Option<Verifier> {
    if !group.iter().any(asks) {
        return None;
    }
    let units = group.iter().flat_map(|job| {
        // A job that does not fit is refused elsewhere.
        let starts =
            (0..job.numjobs).filter_map(move |clone| Region::of(job, clone, capacity).ok());
        let starts = starts.map(|region| region.start);
        starts.chain([u64::from(job.verify_unit())])
    });
    let block = units.fold(0, greatest_divisor);
    let finds_earlier = finds_only_earlier(group, capacity);
    let verifier = Verifier::new(seed, saturating_u32(block), finds_earlier, checks);
    let verifier = match group.iter().any(|job| asks(job) && job.verify.dump) {
        true => verifier.with_dumps(),
        false => verifier,
    };
    let zeros = group.iter().any(|job| asks(job) && job.verify.trim_zero);
    Some(match zeros {
        true => verifier.with_zeros_after_discards(),
        false => verifier,
    })
}

/// Whether all that the group reads was written by earlier runs: jobs only read or only write, and none reads where another
/// one writes.
fn finds_only_earlier(group: &[Job], capacity: Bytes) -> bool {
    let only_reads = |job: &&Job| job.rw.access == Access::Read || job.verify.only;
    let (readers, writers): (Vec<&Job>, Vec<&Job>) = group.iter().partition(only_reads);
    if writers.is_empty() {
        return true;
    }
    let is_known = |job: &&Job| job.trace.is_none() && job.rw.access != Access::ReadWrite;
    if readers.is_empty() || !writers.iter().all(is_known) {
        return false;
    }
    let parts = |jobs: &[&Job], reads: bool| {
        let clones = jobs
            .iter()
            .flat_map(|job| (0..job.numjobs).map(move |clone| (*job, clone)));
        let regions =
            clones.flat_map(|(job, clone)| Region::parts(job, clone, capacity).unwrap_or_default());
        let parts = regions.map(|region| (region.start, region.start + region.length, reads));
        parts.collect::<Vec<_>>()
    };
    let mut all = [parts(&readers, true), parts(&writers, false)].concat();
    all.sort_unstable();
    // Ends of the furthest part so far that is written, and of that which is read.
    let mut ends = [0, 0];
    all.into_iter().all(|(start, end, reads)| {
        let is_apart = ends[usize::from(!reads)] <= start;
        let furthest = &mut ends[usize::from(reads)];
        *furthest = (*furthest).max(end);
        is_apart
    })
}

/// Greatest common divisor of two numbers.
fn greatest_divisor(a: u64, b: u64) -> u64 {
    match b {
        0 => a,
        _ => greatest_divisor(b, a % b),
    }
}

/// A thread that reads back all that the group wrote, where a job of it wants that.
pub fn read_back(group: &[Job], verifier: &Verifier) -> Option<(Thread, JobMeta)> {
    let wanting = group
        .iter()
        .filter(|job| job.verify.reads_back_at_end() && job.rw.access != Access::Read);
    let job = wanting.clone().next()?;
    let largest = wanting
        .clone()
        .map(|job| job.bs.get(OpKind::Write).max())
        .max()?;
    verifier.begin_to_read_back();
    let extents: Vec<Extent> = verifier
        .written()
        .into_iter()
        .map(|(offset, length)| Extent {
            kind: OpKind::Read,
            offset,
            length,
            chunk: largest,
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
    meta.fio = Some(FioReport {
        name: meta.name.clone(),
        ..FioReport::default()
    });
    Some((thread, meta))
}
