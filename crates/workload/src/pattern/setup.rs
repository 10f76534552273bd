//! Prepares a generator: checks sizes and creates random maps.

use super::region::fault;
use super::{MAX_BLOCKS, RandomMap, Region};
use crate::job::{BlockSizes, Distribution, Job, JobError, PerKind};

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

/// The maps of a job and which direction uses which: directions with the same smallest block share
/// one, so that a block is either read or written in a pass; others have their own.
pub(super) fn maps(
    job: &Job,
    region: &Region,
) -> Result<(Vec<RandomMap>, PerKind<Option<usize>>), JobError> {
    let mut maps = Vec::new();
    let mut of = PerKind::all(None);
    let wanted = job.rw.random && job.random_map && job.distribution == Distribution::Uniform;
    if !wanted {
        return Ok((maps, of));
    }
    let mut units: Vec<u64> = Vec::new();
    for kind in job.rw.kinds() {
        let unit = u64::from(job.bs.get(*kind).min());
        if job
            .block_align
            .get(*kind)
            .is_some_and(|a| u64::from(a) != unit)
        {
            // Blocks that overlap, or have gaps between them, cannot be covered exactly once.
            continue;
        }
        let index = match units.iter().position(|u| *u == unit) {
            Some(index) => index,
            None => {
                let blocks = region.length / unit;
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
                units.push(unit);
                maps.push(RandomMap::new(blocks));
                maps.len() - 1
            }
        };
        *of.get_mut(*kind) = Some(index);
    }
    Ok((maps, of))
}
