//! Putting back what was on the device, from the journal, in the reverse order of its writing.

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
    let mut restored = Restored {
        blocks: journal.originals().len() as u32,
        ..Restored::default()
    };
    let mut block = vec![0; medium.block_bytes()];
    let mut run: Vec<&Original> = Vec::new();
    for original in journal.originals().iter().rev() {
        // What waits is written before a block is looked at that could be another name of it.
        let neighbour = run
            .first()
            .is_none_or(|first| first.place == original.place + 1);
        if !neighbour || run.len() >= RUN {
            write(medium, &run)?;
            run.clear();
        }
        let there = passing(medium.read(original.place, &mut block))?;
        if there && block == original.contents {
            continue;
        }
        if since == Since::LeftBehind && there && read_stamp(&block, journal.salt()).is_none() {
            // Another name of a block that has been put back already is no loss.
            if read_stamp(&original.contents, journal.salt()).is_none() {
                restored.foreign.push(original.place);
            }
            continue;
        }
        restored.written += 1;
        // Neighbours go back with one write: in the journal they follow each other upwards.
        run.insert(0, original);
    }
    write(medium, &run)?;
    passing(medium.settle())?;
    let foreign: HashSet<u64> = restored.foreign.iter().copied().collect();
    for original in journal.originals() {
        // A block that held a stamp before it was written down is another name of an earlier one,
        // which has its own contents again by now.
        let is_stamp = read_stamp(&original.contents, journal.salt()).is_some();
        if is_stamp || foreign.contains(&original.place) {
            continue;
        }
        let there = passing(medium.read(original.place, &mut block))?;
        if !there || block != original.contents {
            restored.lost.push(original.place);
        }
    }
    Ok(restored)
}

/// The most neighbours that go back with one write.
const RUN: usize = 512;

/// Writes neighbours at once, and one by one where that fails.
fn write<M: Medium>(medium: &mut M, run: &[&Original]) -> Result<(), MediumError> {
    let Some(first) = run.first() else {
        return Ok(());
    };
    let contents: Vec<u8> = run
        .iter()
        .flat_map(|o| o.contents.iter().copied())
        .collect();
    if !passing(medium.write(first.place, &contents))? {
        for original in run {
            passing(medium.write(original.place, &original.contents))?;
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
