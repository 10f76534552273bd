//! Prepares a generator: checks sizes and creates the random map.

use super::fio_sequences::FioSequences;
use super::lfsr::Lfsr;
use super::place::Once;
use super::region::fault;
use super::{MAX_BLOCKS, RandomMap, Region};
use crate::OpKind;
use crate::job::{BlockSizes, Distribution, Job, JobError};

/// Sizes of a job built by a program are checked here; those of a file were checked as it was read.
pub(super) fn check_sizes(job: &Job) -> Result<(), JobError> {
    for kind in job.rw.kinds() {
        let right = |n: &u32| *n > 0 && n.is_multiple_of(512);
        let fine = match job.bs.get(*kind) {
            BlockSizes::Fixed(size) => right(size),
            BlockSizes::Range { min, max } => right(min) && right(max) && min <= max,
            BlockSizes::Split(parts) => {
                !parts.is_empty() && parts.iter().all(|(size, _)| right(size))
            }
        };
        let aligned = job.block_align.get(*kind).as_ref().is_none_or(right);
        if !fine || !aligned {
            return Err(fault(
                job,
                "bs",
                format!(
                    "the block sizes of job `{}` are not whole sectors",
                    job.name
                ),
                "use multiples of 512",
            ));
        }
    }
    Ok(())
}

/// The map that prevents repeated random blocks in a part of the target; `None` if the job allows repetitions.
pub(super) fn once(
    job: &Job,
    region: &Region,
    fio: Option<&FioSequences>,
) -> Result<Option<Once>, JobError> {
    if let Some(lfsr) = lfsr(job, region, fio)? {
        return Ok(Some(Once::Register(lfsr)));
    }
    Ok(map(job, region)?.map(Once::Map))
}

/// Random map of a part of the target, if the job has one. As in fio all directions share it, each counts in its own
/// smallest blocks, and an alignment other than these turns it off.
fn map(job: &Job, region: &Region) -> Result<Option<RandomMap>, JobError> {
    let unit = |kind: &OpKind| u64::from(job.bs.get(*kind).min());
    let is_aligned = |kind: &OpKind| {
        let align = job.block_align.get(*kind);
        align.is_none_or(|align| u64::from(align) == unit(kind))
    };
    let kinds = job.rw.kinds();
    let wanted = job.rw.random && job.random_map && job.distribution == Distribution::Uniform;
    if !wanted || !kinds.iter().all(is_aligned) {
        return Ok(None);
    }
    let blocks = region.length / smallest_block(job);
    if blocks > MAX_BLOCKS {
        return Err(fault(
            job,
            "norandommap",
            format!(
                "a random map of {blocks} blocks would take {} MiB",
                blocks >> 23
            ),
            "set norandommap, or use larger blocks",
        ));
    }
    Ok(Some(RandomMap::new(blocks)))
}

/// Smallest block of a job. fio includes directions that the job does not have, so that a job with fio's sequences may
/// end as early as in fio.
fn smallest_block(job: &Job) -> u64 {
    let all = [OpKind::Read, OpKind::Write, OpKind::Trim];
    let kinds = if job.generator.is_some() {
        &all
    } else {
        job.rw.kinds()
    };
    let sizes = kinds.iter().map(|kind| job.bs.get(*kind).min());
    sizes.min().map_or(1, u64::from).max(1)
}

/// The shift register of a part of the target, if the job draws its offsets from one.
fn lfsr(job: &Job, region: &Region, fio: Option<&FioSequences>) -> Result<Option<Lfsr>, JobError> {
    let is_uniform = job.rw.random && job.distribution == Distribution::Uniform;
    let Some(fio) = fio.filter(|fio| fio.is_lfsr() && is_uniform) else {
        return Ok(None);
    };
    let blocks = region.length / smallest_block(job);
    let Some(lfsr) = Lfsr::new(blocks, fio.offsets_seed()) else {
        return Err(fault(
            job,
            "random_generator",
            format!(
                "with the seed of job `{}`, the shift register (lfsr) for {blocks} blocks never changes its state",
                job.name
            ),
            "use another randseed with randrepeat=0, or another random_generator",
        ));
    };
    Ok(Some(lfsr))
}
