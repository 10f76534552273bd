//! Putting back what was on the device, from the journal: its batches in the reverse order, and the blocks of
//! a batch upwards, as allocation units want to be written.

use super::journal::{Journal, Original};
use super::medium::{Medium, MediumError};
use super::stamp::read_stamp;
use std::collections::HashSet;

/// What became of the data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Blocks in the journal.
    pub blocks: u32,
    /// Blocks that had to be written.
    pub written: u32,
    /// Blocks that do not hold what they held before. Beyond the real end of a fake card there is nothing
    /// that could hold it.
    pub lost: Vec<u64>,
    /// Blocks that held neither a stamp nor their old contents: somebody else wrote them since, and
    /// they were left as they are.
    pub foreign: Vec<u64>,
}

/// How sure it is that nobody else has written to the device since the journal was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// The device was open all the time: every block of the journal is put back.
    Held,
    /// The journal was left behind: what holds neither a stamp nor the old contents is left alone.
    LeftBehind,
}

/// Puts every block of the journal back, and reads it to see whether it is there.
///
/// # Errors
/// Where the device is gone. It can be tried again as often as necessary.
pub fn restore<M: Medium>(
    medium: &mut M,
    journal: &Journal,
    since: Since,
) -> Result<Restored, MediumError> {
    restore_below(medium, journal, since, u64::MAX)
}

/// As [`restore`], for blocks below a place: from there on there is nothing that could hold anything.
pub(super) fn restore_below<M: Medium>(
    medium: &mut M,
    journal: &Journal,
    since: Since,
    end: u64,
) -> Result<Restored, MediumError> {
    let mut restored = Restored {
        blocks: journal.originals().len() as u32,
        ..Restored::default()
    };
    let is_stamp = |contents: &[u8]| read_stamp(contents, journal.salt()).is_some();
    for batch in journal.batches().rev() {
        let mut batch: Vec<&Original> = batch.iter().filter(|o| o.place < end).collect();
        batch.sort_by_key(|original| original.place);
        for run in batch.chunk_by(|a, b| a.place + 1 == b.place) {
            let contents = contents_of(medium, run)?;
            let back = run.iter().zip(&contents).map(|(original, there)| {
                let there = there.as_deref();
                if there == Some(&original.contents[..]) {
                    return false;
                }
                let somebodys = there.is_some_and(|there| !is_stamp(there));
                if since == Since::LeftBehind && somebodys {
                    // Another name of a block that has been put back already is no loss.
                    if !is_stamp(&original.contents) {
                        restored.foreign.push(original.place);
                    }
                    return false;
                }
                restored.written += 1;
                true
            });
            let back: Vec<bool> = back.collect();
            let mut at = 0;
            for part in back.chunk_by(|a, b| a == b) {
                if part[0] {
                    write(medium, &run[at..at + part.len()])?;
                }
                at += part.len();
            }
        }
    }
    passing(medium.settle())?;
    restored.lost = lost(medium, journal, &restored.foreign, end)?;
    Ok(restored)
}

/// Blocks that do not hold what they held before, of those that were put back.
fn lost<M: Medium>(
    medium: &mut M,
    journal: &Journal,
    foreign: &[u64],
    end: u64,
) -> Result<Vec<u64>, MediumError> {
    let foreign: HashSet<u64> = foreign.iter().copied().collect();
    // A block that held a stamp before it was written down is another name of an earlier one,
    // which has its own contents again by now.
    let expected = journal.originals().iter().filter(|original| {
        read_stamp(&original.contents, journal.salt()).is_none()
            && !foreign.contains(&original.place)
            && original.place < end
    });
    let mut expected: Vec<&Original> = expected.collect();
    expected.sort_by_key(|original| original.place);
    let mut lost = Vec::new();
    for run in expected.chunk_by(|a, b| a.place + 1 == b.place) {
        let contents = contents_of(medium, run)?;
        let wrong = run.iter().zip(contents);
        let wrong = wrong.filter(|(original, there)| there.as_ref() != Some(&original.contents));
        lost.extend(wrong.map(|(original, _)| original.place));
    }
    Ok(lost)
}

/// What neighbours hold, read at once, and one by one where that fails.
fn contents_of<M: Medium>(
    medium: &mut M,
    run: &[&Original],
) -> Result<Vec<Option<Vec<u8>>>, MediumError> {
    let size = medium.block_bytes();
    let Some(first) = run.first() else {
        return Ok(Vec::new());
    };
    let mut contents = Vec::with_capacity(run.len());
    for (part, place) in run.chunks(RUN).zip((first.place..).step_by(RUN)) {
        let mut data = vec![0; part.len() * size];
        if passing(medium.read(place, &mut data))? {
            contents.extend(data.chunks(size).map(|block| Some(block.to_vec())));
            continue;
        }
        for original in part {
            let mut block = vec![0; size];
            let there = passing(medium.read(original.place, &mut block))?;
            contents.push(there.then_some(block));
        }
    }
    Ok(contents)
}

/// The most neighbours that are read or go back with one operation.
const RUN: usize = 512;

/// Writes neighbours at once, and one by one where that fails.
fn write<M: Medium>(medium: &mut M, run: &[&Original]) -> Result<(), MediumError> {
    for part in run.chunks(RUN) {
        let contents: Vec<u8> = part
            .iter()
            .flat_map(|o| o.contents.iter().copied())
            .collect();
        // A part has a first block, since chunks are never empty.
        if !passing(medium.write(part[0].place, &contents))? {
            for original in part {
                passing(medium.write(original.place, &original.contents))?;
            }
        }
    }
    Ok(())
}

/// An operation that fails by itself is no reason to leave the others out.
fn passing(done: Result<(), MediumError>) -> Result<bool, MediumError> {
    match done {
        Ok(()) => Ok(true),
        Err(MediumError::Failed(_)) => Ok(false),
        Err(gone @ MediumError::Gone(_)) => Err(gone),
    }
}
