//! Contents of journaled blocks on the device: their tag, their old contents, or parts of both.

use super::io_errors::IoErrors;
use super::medium::{Medium, MediumError};
use super::tag::{Salt, Seen, judge, read_tag, write_tag};
use super::undo_journal::Original;

/// Whether the contents are a complete tag of the run.
pub(super) fn is_tag(contents: &[u8], salt: Salt) -> bool {
    read_tag(contents, salt).is_some()
}

/// Largest number of tags per block that is tested.
const GENERATIONS: u32 = 16;

/// Number of equal bytes in a partial tag that is no coincidence.
const TRACE: usize = 16;

/// Whether a block holds a tag of the run, with wrong bits or in part: an interrupted write leaves the old contents in the rest.
/// A few changed bytes in the old contents are not a tag.
pub(super) fn is_ours(there: &[u8], original: &Original, salt: Salt) -> bool {
    if there.starts_with(&salt.0) {
        return true;
    }
    let mut tag = vec![0; there.len()];
    (1..=GENERATIONS).any(|generation| {
        write_tag(&mut tag, salt, original.place, generation);
        let bytes = || there.iter().zip(&tag).zip(&original.contents);
        let partly = bytes().all(|((there, tag), old)| there == tag || there == old)
            && bytes().filter(|((there, _), old)| there != old).count() >= TRACE;
        partly
            || matches!(
                judge(there, salt, original.place, generation),
                Seen::Damaged { .. }
            )
    })
}

/// Contents of consecutive blocks, read at once, or one by one if that fails; `None` for unreadable ones.
pub(super) fn contents_of<M: Medium>(
    medium: &mut M,
    run: &[&Original],
    errors: &mut IoErrors,
) -> Result<Vec<Option<Vec<u8>>>, MediumError> {
    let size = medium.block_bytes();
    let Some(first) = run.first() else {
        return Ok(Vec::new());
    };
    let mut read = |medium: &mut M, place: u64, into: &mut [u8]| {
        errors.passing(medium.read(place, into), |e| &mut e.reads)
    };
    let mut contents = Vec::with_capacity(run.len());
    for (part, place) in run.chunks(RUN).zip((first.place..).step_by(RUN)) {
        let mut data = vec![0; part.len() * size];
        if read(medium, place, &mut data)? {
            contents.extend(data.chunks(size).map(|block| Some(block.to_vec())));
            continue;
        }
        for original in part {
            let mut block = vec![0; size];
            let there = read(medium, original.place, &mut block)?;
            contents.push(there.then_some(block));
        }
    }
    Ok(contents)
}

/// Largest number of consecutive blocks per operation.
pub(super) const RUN: usize = 512;
