//! Places of streams on a device: each has an area of its own, in the order of the file.

use crate::requirement::{Area, Requirement, Stream};
use nandscope_units::Bytes;
use thiserror::Error;

/// Alignment of areas, as partitioning programs align: 1 MiB.
const ALIGNMENT: u64 = 1 << 20;

/// The streams do not fit the device.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LayoutError {
    /// The areas are larger than the device.
    #[error(
        "the areas of the streams need {needed}, and the device has {capacity}; reduce `area`, or choose a larger device"
    )]
    TooLarge {
        /// Bytes of all areas with their alignment.
        needed: Bytes,
        /// Capacity of the device.
        capacity: Bytes,
    },
    /// An area has no room for a block.
    #[error(
        "the area of stream `{stream}` is {area} on this device, less than a block of {block}; enlarge `area`, or reduce `block`"
    )]
    NoBlock {
        /// Name of the stream.
        stream: String,
        /// Size of the area.
        area: Bytes,
        /// Size of a block.
        block: Bytes,
    },
}

/// The area of one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Offset of the area, bytes.
    pub start: u64,
    /// Whole blocks in it, at least one.
    pub blocks: u64,
}

/// The areas of the streams on a device of this capacity.
///
/// # Errors
/// [`LayoutError`] if they do not fit.
pub(crate) fn places(
    requirement: &Requirement,
    capacity: Bytes,
) -> Result<Vec<Place>, LayoutError> {
    let sizes = sizes(requirement, capacity);
    let needed: u64 = sizes.iter().fold(0, |sum, size| sum.saturating_add(*size));
    if needed > capacity.0 {
        return Err(LayoutError::TooLarge {
            needed: Bytes(needed),
            capacity,
        });
    }
    let mut start = 0;
    let mut all = Vec::new();
    for (stream, size) in requirement.streams.iter().zip(sizes) {
        let blocks = size / stream.block.0;
        if blocks == 0 {
            return Err(no_block(stream, size));
        }
        all.push(Place { start, blocks });
        start += size;
    }
    Ok(all)
}

fn no_block(stream: &Stream, area: u64) -> LayoutError {
    LayoutError::NoBlock {
        stream: stream.name.clone(),
        area: Bytes(area),
        block: stream.block,
    }
}

/// Bytes of each area: given sizes are rounded up, shares and the rest down to the alignment.
fn sizes(requirement: &Requirement, capacity: Bytes) -> Vec<u64> {
    let down = |size: u64| size / ALIGNMENT * ALIGNMENT;
    let given = requirement.streams.iter().map(|stream| match stream.area {
        Area::Share(share) => Some(down((capacity.0 as f64 * share) as u64)),
        Area::Size(size) => Some(size.0.div_ceil(ALIGNMENT).saturating_mul(ALIGNMENT)),
        Area::Rest => None,
    });
    let given: Vec<Option<u64>> = given.collect();
    let used = given
        .iter()
        .flatten()
        .fold(0, |sum: u64, s| sum.saturating_add(*s));
    let rests = given.iter().filter(|size| size.is_none()).count() as u64;
    let rest = down(capacity.0.saturating_sub(used) / rests.max(1));
    given.into_iter().map(|size| size.unwrap_or(rest)).collect()
}
