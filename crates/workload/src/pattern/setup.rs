//! Prepares a generator: checks sizes and creates the random map.

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
                format!("the block sizes of job `{}` are no whole sectors", job.name),
                "use multiples of 512",
            ));
        }
    }
    Ok(())
}

/// The random map of a part of the target, if the job keeps one. As in fio all directions share it, each
/// counts in its own smallest blocks, and an alignment other than those switches it off.
pub(super) fn map(job: &Job, region: &Region) -> Result<Option<RandomMap>, JobError> {
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
    let smallest = kinds.iter().map(unit).min().unwrap_or(1).max(1);
    let blocks = region.length / smallest;
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
