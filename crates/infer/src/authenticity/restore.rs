//! Restores the data of a device from the journal: batches in reverse order, the blocks of a batch in ascending order, which
//! suits allocation units. Every block is read back.
//!
//! The first batch is last: while its blocks are tagged, the next run recognizes the device.

use super::evidence::Evidence;
use super::held::{RUN, contents_of, is_ours, is_tag};
use super::io_errors::IoErrors;
use super::medium::{Medium, MediumError};
use super::recognize::{tagged, tagged_places};
use super::restored::Restored;
use super::undo_journal::{Contents, Original, Progress, UndoJournal};
use std::collections::{BTreeSet, HashSet};

/// Whether others may have written to the device since the journal was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// The device was open all the time: restores every block of the journal.
    Held,
    /// The journal was found: the device may be another one, and blocks with neither a tag nor their old contents stay unchanged.
    LeftBehind,
    /// Like `LeftBehind`, but the user decided to restore such blocks as well. A device without any tag is accepted if nearly all
    /// of its contents agree with the journal.
    LeftBehindOverwrite,
}

/// Attempts to restore a block, as a contact may fail for a moment.
const ROUNDS: u32 = 3;
/// Most attempts, as long as each restores more blocks.
const ROUNDS_MAX: u32 = 10;
/// If fewer than one in this many blocks cannot be restored, these count as bad blocks, not as a bad contact.
const BAD: usize = 10;

/// Restores every block of the journal, and reads it back.
///
/// # Errors
/// `MediumError::Gone` if the device is gone. It can be called again as often as necessary.
pub fn restore<M: Medium>(
    medium: &mut M,
    journal: &mut UndoJournal,
    since: Since,
) -> Result<Restored, MediumError> {
    restore_below(medium, journal, since, u64::MAX)
}

/// Like [`restore`]; from block `end` on, the device is known to have no memory.
pub(super) fn restore_below<M: Medium>(
    medium: &mut M,
    journal: &mut UndoJournal,
    since: Since,
    end: u64,
) -> Result<Restored, MediumError> {
    let mut back = Back {
        medium,
        since,
        end,
        tags_left: false,
        restored: Restored {
            blocks: journal.originals().len() as u32,
            ..Restored::default()
        },
    };
    if journal.progress() == Progress::Restored {
        back.restored.finished = true;
        return Ok(back.restored);
    }
    let mut saw_tags = false;
    if since != Since::Held {
        let evidence = Evidence::gather(back.medium, journal)?;
        let overwrites = since == Since::LeftBehindOverwrite && evidence.nearly_all_agrees();
        let fits = journal.journaled().has_size_of(back.medium);
        if !fits || !overwrites && !evidence.proves(journal) {
            back.restored.unrecognized = Some(evidence);
            return Ok(back.restored);
        }
        saw_tags = evidence.tags > 0;
        if !saw_tags && evidence.blocks > 0 && !journal.tags_put_back() {
            back.restored.unseen = Some(evidence);
        }
    }
    let batches = journal.batches().len();
    back.all_of(journal, 1..batches)?;
    back.damaged(journal)?;
    back.beyond(journal, 1..batches)?;
    if since != Since::Held {
        // A tag in a block without a record: part of the journal is missing.
        let places = tagged_places(journal, back.medium.blocks());
        let unrecorded = &places - &journal.places();
        back.restored.unrecorded = tagged(back.medium, unrecorded, journal.salt())?;
    }
    let is_known = back.restored.unseen.is_none();
    if back.restored.is_back_so_far() && is_known && batches > 1 {
        // If the disk is full, this note fails, and only a proof is missing later.
        let _ = journal.note(Progress::FirstBatchLeft);
    }
    if back.first_batch_waits() {
        let first = journal.batches().next().unwrap_or_default();
        let first = first.iter().map(|original| original.place);
        back.restored.lost.extend(first);
    } else {
        back.all_of(journal, 0..batches.min(1))?;
        back.beyond(journal, 0..batches.min(1))?;
    }
    back.tags_put_back(journal)?;
    let mut restored = back.restored;
    if saw_tags && restored.lacks_foreign_only() {
        // If the disk is full, this note fails, and only a proof is missing later.
        let _ = journal.note_tags_put_back();
    }
    for list in [&mut restored.lost, &mut restored.foreign] {
        list.sort_unstable();
        list.dedup();
    }
    restored.finished = true;
    Ok(restored)
}

/// State of a restore.
struct Back<'a, M: Medium> {
    medium: &'a mut M,
    since: Since,
    end: u64,
    /// Whether an unrestored block was seen to hold a tag.
    tags_left: bool,
    restored: Restored,
}

impl<M: Medium> Back<'_, M> {
    /// Restores some batches, repeatedly as long as blocks are missing.
    fn all_of(
        &mut self,
        journal: &Contents,
        batches: std::ops::Range<usize>,
    ) -> Result<(), MediumError> {
        if batches.is_empty() {
            return Ok(());
        }
        let batches = part_of(journal, batches);
        self.in_rounds(|back| {
            for batch in batches.iter().rev() {
                back.batch(journal, batch)?;
            }
            back.settle()?;
            let lost = back.lost(journal, &batches)?;
            Ok(Round { lost, stuck: false })
        })
    }

    /// Repeats a round until everything is restored, or a round brings no progress.
    fn in_rounds(
        &mut self,
        mut round: impl FnMut(&mut Self) -> Result<Round, MediumError>,
    ) -> Result<(), MediumError> {
        let lost_before = self.restored.lost.len();
        let mut best = usize::MAX;
        for number in 1..=ROUNDS_MAX {
            let Round { lost, stuck } = round(self)?;
            let better = lost.len() < best;
            best = best.min(lost.len());
            let back = lost.is_empty() && !self.restored.unsettled;
            self.restored.lost.truncate(lost_before);
            self.restored.lost.extend(lost);
            if back || stuck || number >= ROUNDS && !better {
                break;
            }
        }
        Ok(())
    }

    fn settle(&mut self) -> Result<(), MediumError> {
        let settled = self.medium.settle();
        self.restored.unsettled = !self.passing(settled, |e| &mut e.flushes)?;
        Ok(())
    }

    /// Whether the first batch must stay tagged, because the next run could not recognize the device otherwise.
    fn first_batch_waits(&self) -> bool {
        let bad_contact = match self.since {
            Since::Held => !self.restored.lost.is_empty(),
            Since::LeftBehind | Since::LeftBehindOverwrite => {
                self.restored.lost.len() * BAD >= self.restored.blocks.max(1) as usize
            }
        };
        !self.tags_left && (bad_contact || self.restored.unsettled)
    }

    fn batch(&mut self, journal: &Contents, batch: &[Original]) -> Result<(), MediumError> {
        let mut batch: Vec<&Original> = batch.iter().filter(|o| o.place < self.end).collect();
        batch.sort_by_key(|original| original.place);
        self.write_some(&batch, |back, original, there| {
            back.goes_back(journal, original, there)
        })?;
        Ok(())
    }

    /// Writes the blocks that `chosen` selects by their contents, in ascending order; returns those that the device refused.
    fn write_some(
        &mut self,
        blocks: &[&Original],
        mut chosen: impl FnMut(&mut Self, &Original, Option<&[u8]>) -> bool,
    ) -> Result<BTreeSet<u64>, MediumError> {
        let mut refused = BTreeSet::new();
        for run in blocks.chunk_by(|a, b| a.place + 1 == b.place) {
            let contents = contents_of(self.medium, run, &mut self.restored.errors)?;
            let back = run.iter().zip(&contents);
            let back: Vec<bool> = back
                .map(|(original, there)| chosen(self, original, there.as_deref()))
                .collect();
            let mut at = 0;
            for part in back.chunk_by(|a, b| a == b) {
                if part[0] {
                    self.write(&run[at..at + part.len()], &mut refused)?;
                }
                at += part.len();
            }
        }
        Ok(refused)
    }

    /// Whether a block is restored, given its contents on the device.
    fn goes_back(&mut self, journal: &Contents, original: &Original, there: Option<&[u8]>) -> bool {
        if there == Some(&original.contents[..]) {
            return false;
        }
        let somebodys = there.is_some_and(|there| !is_ours(there, original, journal.salt()));
        if self.since != Since::Held && somebodys {
            // An alias of a block that is already restored is not a loss.
            let alias = is_tag(&original.contents, journal.salt());
            if alias || self.since == Since::LeftBehind {
                if !alias {
                    self.restored.foreign.push(original.place);
                }
                return false;
            }
        }
        self.restored.written += 1;
        true
    }

    /// Restored blocks that do not have their old contents.
    fn lost(
        &mut self,
        journal: &Contents,
        batches: &[&[Original]],
    ) -> Result<Vec<u64>, MediumError> {
        let foreign: HashSet<u64> = self.restored.foreign.iter().copied().collect();
        // A block that held a tag when it was journaled is an alias of an earlier block, which has its own contents again by now.
        let expected = batches.iter().copied().flatten().filter(|original| {
            !is_tag(&original.contents, journal.salt())
                && !foreign.contains(&original.place)
                && original.place < self.end
        });
        let mut expected: Vec<&Original> = expected.collect();
        expected.sort_by_key(|original| original.place);
        let mut lost = Vec::new();
        self.tags_left = false;
        for run in expected.chunk_by(|a, b| a.place + 1 == b.place) {
            let contents = contents_of(self.medium, run, &mut self.restored.errors)?;
            for (original, there) in run.iter().zip(contents) {
                if there.as_ref() == Some(&original.contents) {
                    continue;
                }
                lost.push(original.place);
                self.tags_left |=
                    there.is_some_and(|there| is_ours(&there, original, journal.salt()));
            }
        }
        Ok(lost)
    }

    /// Blocks from the end on: one that still holds its tag after the others were written is real, and is restored. A block that
    /// cannot be restored is lost.
    fn beyond(
        &mut self,
        journal: &Contents,
        batches: std::ops::Range<usize>,
    ) -> Result<(), MediumError> {
        let salt = journal.salt();
        let batches = part_of(journal, batches).into_iter().flatten();
        // A block that held a tag when it was journaled is an alias of a restored block.
        let beyond = batches.filter(|o| o.place >= self.end && !is_tag(&o.contents, salt));
        let mut beyond: Vec<&Original> = beyond.collect();
        beyond.sort_by_key(|original| original.place);
        if beyond.is_empty() {
            return Ok(());
        }
        let tagged = |original: &Original, there: &[u8]| {
            there != original.contents && is_ours(there, original, salt)
        };
        self.in_rounds(|back| {
            let mut written = 0;
            let refused = back.write_some(&beyond, |back, original, there| {
                let goes = there.is_none_or(|there| tagged(original, there));
                back.restored.written += u32::from(goes);
                written += usize::from(goes);
                goes
            })?;
            back.settle()?;
            let (mut lost, mut unreadable) = (Vec::new(), false);
            for run in beyond.chunk_by(|a, b| a.place + 1 == b.place) {
                for (original, there) in
                    run.iter()
                        .zip(contents_of(back.medium, run, &mut back.restored.errors)?)
                {
                    let holds_tag = there.as_ref().is_some_and(|t| tagged(original, t));
                    back.tags_left |= holds_tag;
                    unreadable |= there.is_none();
                    let back_again = there.as_ref() == Some(&original.contents);
                    let not_taken = refused.contains(&original.place) && !back_again;
                    if holds_tag || there.is_none() || not_taken {
                        lost.push(original.place);
                    }
                }
            }
            // A device that acknowledges every write without effect will do so next time, too.
            let failed = unreadable || !refused.is_empty() || back.restored.unsettled;
            let stuck = !failed && lost.len() >= written;
            Ok(Round { lost, stuck })
        })
    }

    /// Blocks that held a tag when they were journaled: aliases have the contents of another block by now, the others have lost
    /// their data.
    fn tags_put_back(&mut self, journal: &Contents) -> Result<(), MediumError> {
        let salt = journal.salt();
        let originals = journal.originals().iter();
        for original in originals.filter(|o| is_tag(&o.contents, salt)) {
            let there = contents_of(self.medium, &[original], &mut self.restored.errors)?;
            let lost = |there: &Option<Vec<u8>>| {
                there
                    .as_ref()
                    .is_none_or(|there| there.starts_with(&salt.0))
            };
            if there.iter().any(lost) {
                self.restored.lost.push(original.place);
            }
        }
        Ok(())
    }

    /// Damaged records do no harm if the block was not written, or already has its old contents.
    fn damaged(&mut self, journal: &Contents) -> Result<(), MediumError> {
        let mut block = vec![0; self.medium.block_bytes()];
        for record in journal.damaged() {
            let Some((place, sum)) = record.block else {
                self.restored.unnamed.push(record.number);
                continue;
            };
            let read = self.medium.read(place, &mut block);
            if !self.passing(read, |e| &mut e.reads)? || crc32fast::hash(&block) != sum {
                self.restored.damaged.push(place);
            }
        }
        Ok(())
    }

    /// Writes consecutive blocks at once, or one by one if that fails; adds failed ones to `refused`.
    fn write(&mut self, run: &[&Original], refused: &mut BTreeSet<u64>) -> Result<(), MediumError> {
        for part in run.chunks(RUN) {
            let contents: Vec<u8> = part
                .iter()
                .flat_map(|o| o.contents.iter().copied())
                .collect();
            // A part has a first block, since chunks are never empty.
            let written = self.medium.write(part[0].place, &contents);
            if !self.passing(written, |e| &mut e.writes)? {
                for original in part {
                    let written = self.medium.write(original.place, &original.contents);
                    if !self.passing(written, |e| &mut e.writes)? {
                        refused.insert(original.place);
                    }
                }
            }
        }
        Ok(())
    }

    /// Counts a failed operation and continues.
    fn passing(
        &mut self,
        done: Result<(), MediumError>,
        count: fn(&mut IoErrors) -> &mut u32,
    ) -> Result<bool, MediumError> {
        self.restored.errors.passing(done, count)
    }
}

/// Result of one round of restoring.
struct Round {
    lost: Vec<u64>,
    /// Whether another round would have no effect.
    stuck: bool,
}

/// A range of the batches of a journal.
fn part_of(journal: &Contents, batches: std::ops::Range<usize>) -> Vec<&[Original]> {
    let taken = batches.len();
    journal.batches().skip(batches.start).take(taken).collect()
}
