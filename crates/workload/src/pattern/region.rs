//! Where on the target a clone of a job works: sizes and percentages become bytes here.

use crate::job::{Extent, Fault, Job, JobError};
use nandscope_units::Bytes;

/// A clone's part of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// First byte.
    pub start: u64,
    /// Bytes.
    pub length: u64,
    /// Bytes to move in one run.
    pub budget: u64,
}

impl Region {
    /// The region of clone number `clone` on a target of `capacity` bytes.
    ///
    /// # Errors
    /// Returns [`JobError`] if the job reaches beyond the target, or not one block fits.
    pub fn of(job: &Job, clone: u32, capacity: Bytes) -> Result<Region, JobError> {
        let capacity = capacity.0;
        let block = u64::from(job.min_block().max(1));
        let start = start(job, clone, capacity, block);
        if start >= u128::from(capacity) {
            return Err(fault(
                job,
                "offset",
                format!(
                    "job `{}` begins at byte {start} (clone {clone}), but the target has {} ({capacity} bytes)",
                    job.name,
                    Bytes(capacity)
                ),
                "reduce offset, offset_increment or numjobs",
            ));
        }
        let start = start as u64;
        let rest = capacity - start;
        let length = match job.size {
            None => job.file_size.map_or(rest, |size| size.0.min(rest)),
            // fio takes a percentage of the whole target, and cuts it at the end.
            Some(size @ Extent::Percent(_)) => {
                let part = size.of(capacity).min(rest);
                part - part % block
            }
            Some(Extent::Bytes(bytes)) => bytes.0,
        };
        if length > rest {
            return Err(fault(
                job,
                "size",
                format!(
                    "job `{}` wants {length} bytes ({}) from byte {start} on, but the target has only {rest} bytes ({}) there",
                    job.name,
                    Bytes(length),
                    Bytes(rest)
                ),
                "reduce size, or give it as a percentage such as `size=100%`",
            ));
        }
        if length < block {
            return Err(fault(
                job,
                "size",
                format!(
                    "job `{}` has {length} bytes to work on, but its smallest block has {block}",
                    job.name
                ),
                "enlarge size, or use smaller blocks",
            ));
        }
        Ok(Region {
            start,
            length,
            budget: job.io_size.map_or(length, |size| size.of(length)),
        })
    }
}

/// fio rounds a percentage up to whole blocks, and leaves a number of bytes as it is.
fn start(job: &Job, clone: u32, capacity: u64, block: u64) -> u128 {
    let increment = u128::from(clone) * u128::from(job.offset_increment.of(capacity));
    let offset = u128::from(job.offset.of(capacity)) + increment;
    let percent = |e| matches!(e, Extent::Percent(_));
    if !percent(job.offset) && !percent(job.offset_increment) {
        return offset;
    }
    let align = u128::from(job.offset_align.map_or(block, u64::from).max(1));
    offset.div_ceil(align) * align
}

/// A fault of a job that shows only once the target is known.
pub(crate) fn fault(job: &Job, key: &str, message: String, remedy: &str) -> JobError {
    let line = job
        .origin
        .options
        .get(key)
        .copied()
        .unwrap_or(job.origin.line);
    let file = match job.origin.file.as_str() {
        "" => format!("job `{}`", job.name),
        file => file.to_string(),
    };
    Fault {
        file,
        line,
        span: 0..0,
        key: key.to_string(),
        message,
        remedy: remedy.to_string(),
    }
    .into()
}
