//! Zones of fio's `zonemode=strided`: a given amount of I/O in one zone, then in the next.

use super::Region;
use super::region::fault;
use crate::job::{Job, JobError};
use nandscope_units::Bytes;

/// Position in the zones, and the condition to go to the next.
#[derive(Clone, Debug)]
pub(super) struct Strides {
    /// Bytes of I/O in a zone before the work moves on.
    size: u64,
    /// Bytes of a zone.
    pub(super) range: u64,
    /// Distance between the starts of two zones, bytes.
    stride: u64,
    /// Start of the last zone that fits.
    last: u64,
    /// Start of the zone of the present, from the start of the region.
    pub(super) base: u64,
    /// Bytes transferred in the present zone.
    pub(super) done: u64,
}

impl Strides {
    /// Zones of a job on a target of `capacity` bytes; `None` if it has none. As in fio they continue to the end of the
    /// target, wherever the region ends.
    pub(super) fn of(
        job: &Job,
        region: &Region,
        capacity: Bytes,
    ) -> Result<Option<Strides>, JobError> {
        let Some(zones) = job.strides else {
            return Ok(None);
        };
        let range = zones.range.unwrap_or(zones.size);
        let block = u64::from(job.min_block());
        let reach = capacity.0.saturating_sub(region.start);
        if range < block || range > reach {
            return Err(fault(
                job,
                "zonesize",
                format!(
                    "a zone of job `{}` has {range} bytes, its smallest block {block}, the target {reach} from there on",
                    job.name
                ),
                "make the zones larger than a block and smaller than the target",
            ));
        }
        let stride = range.saturating_add(zones.skip);
        Ok(Some(Strides {
            size: zones.size,
            range,
            stride,
            last: (reach - range) / stride * stride,
            base: 0,
            done: 0,
        }))
    }

    /// Moves to the next zone if the present one has had its I/O, from the last to the first. Returns whether it did.
    pub(super) fn moves(&mut self) -> bool {
        if self.done < self.size {
            return false;
        }
        self.done = 0;
        self.base = if self.base >= self.last {
            0
        } else {
            self.base + self.stride
        };
        true
    }
}
