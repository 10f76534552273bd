//! A device under verification: writes only journaled blocks, counts operations, and judges the contents of tagged blocks.

use super::io_errors::IoErrors;
use super::medium::{Medium, MediumError};
use super::restored::Restored;
use super::tag::{Salt, Seen, judge, read_tag, write_tag};
use super::undo_journal::{Original, UndoJournal};
use nandscope_units::Nanos;
use nandscope_units::random::SplitMix64;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// Why a verification ended early.
#[derive(Debug, Error)]
pub enum VerifyError {
    /// The caller requested a stop.
    #[error("interrupted")]
    Stopped,
    /// The device is gone; its data is not restored.
    #[error("{0}")]
    Gone(String),
    /// The journal cannot be written; nothing more was written to the device, and its data is restored.
    #[error("the journal cannot be written: {0}; {hint}", hint = if .0.kind() == std::io::ErrorKind::FileTooLarge {
        "choose a smaller --cache or --budget"
    } else {
        "name a file on a disk with room with --journal"
    })]
    Journal(#[from] std::io::Error),
    /// The verification ended early, and the data is not completely restored.
    #[error("{why}")]
    Unrestored {
        /// Why the verification ended early.
        why: String,
        /// Outcome of restoring the data.
        restored: Box<Restored>,
    },
    /// The device cannot be verified; with the reason.
    #[error("{0}")]
    Unfit(String),
}

/// Stage of a verification, for progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Tags are written.
    Tagging,
    /// Tags are read.
    Reading,
    /// Windows are searched for tags of other blocks.
    Searching,
    /// The real end is narrowed down.
    Narrowing,
    /// The data is restored.
    Restoring,
}

/// Receives the stage, its completed share, 0 to 1, and the device's time.
pub type Tell<'a> = &'a mut dyn FnMut(Stage, f64, Nanos);

pub(crate) struct Work<'a, M: Medium> {
    pub(crate) medium: &'a mut M,
    pub(crate) journal: &'a mut UndoJournal,
    pub(crate) written: u32,
    pub(crate) read_bytes: u64,
    /// Blocks whose contents could not be read, so that they are not written.
    pub(crate) unreadable: BTreeSet<u64>,
    /// Blocks that held a tag of the run when they were journaled: aliases of tagged blocks, unless the device returned stale
    /// data.
    pub(crate) tagged_before: BTreeSet<u64>,
    /// Blocks whose last tag was answered with an error.
    refused: BTreeSet<u64>,
    pub(crate) errors: IoErrors,
    /// Generation of the last tag, by block.
    pub(crate) generations: BTreeMap<u64, u32>,
    pub(crate) random: SplitMix64,
    stop: &'a dyn Fn() -> bool,
    tell: Tell<'a>,
    block: Vec<u8>,
}

impl<'a, M: Medium> Work<'a, M> {
    pub(crate) fn new(
        medium: &'a mut M,
        journal: &'a mut UndoJournal,
        stop: &'a dyn Fn() -> bool,
        tell: Tell<'a>,
    ) -> Self {
        Work {
            block: vec![0; medium.block_bytes()],
            random: SplitMix64::new(journal.salt().seed()),
            medium,
            journal,
            written: 0,
            read_bytes: 0,
            unreadable: BTreeSet::new(),
            tagged_before: BTreeSet::new(),
            refused: BTreeSet::new(),
            errors: IoErrors::default(),
            generations: BTreeMap::new(),
            stop,
            tell,
        }
    }

    pub(crate) fn salt(&self) -> Salt {
        self.journal.salt()
    }

    pub(crate) fn tell(&mut self, stage: Stage, share: f64) {
        let now = self.medium.now();
        (self.tell)(stage, share, now);
    }

    pub(crate) fn look_whether_to_stop(&self) -> Result<(), VerifyError> {
        if (self.stop)() {
            return Err(VerifyError::Stopped);
        }
        Ok(())
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.random.below(last as u64 + 1);
            items.swap(last, other as usize);
        }
    }

    /// Adds blocks to the journal, unless they are in it already.
    pub(crate) fn keep(&mut self, places: &[u64]) -> Result<(), VerifyError> {
        let mut batch = Vec::new();
        let mut seen = BTreeSet::new();
        for place in places {
            if self.journal.original(*place).is_some()
                || self.unreadable.contains(place)
                || !seen.insert(*place)
            {
                continue;
            }
            self.look_whether_to_stop()?;
            match self.read(*place)? {
                true => batch.push(Original {
                    place: *place,
                    contents: self.block.clone(),
                }),
                false => {
                    self.unreadable.insert(*place);
                }
            }
        }
        self.look_again_at_tags(&mut batch)?;
        Ok(self.journal.append(batch)?)
    }

    /// Reads the blocks of a batch that hold a tag of the run again: a bridge may have returned the last data written, which
    /// would be taken for their data.
    fn look_again_at_tags(&mut self, batch: &mut Vec<Original>) -> Result<(), VerifyError> {
        let salt = self.salt();
        let tagged = |o: &&mut Original| read_tag(&o.contents, salt).is_some();
        if !batch.iter_mut().any(|o| tagged(&o)) {
            return Ok(());
        }
        self.settle()?;
        for original in batch.iter_mut().filter(tagged) {
            self.tagged_before.insert(original.place);
            match self.read(original.place)? {
                true => original.contents.clone_from(&self.block),
                false => {
                    self.unreadable.insert(original.place);
                }
            }
        }
        // The contents of unreadable blocks are unknown, so these are not written.
        batch.retain(|original| !self.unreadable.contains(&original.place));
        Ok(())
    }

    /// Adds consecutive blocks to the journal, with one read.
    pub(crate) fn keep_run(&mut self, first: u64, count: u64) -> Result<(), VerifyError> {
        self.keep_runs(&[first], count)
    }

    /// Adds `count` consecutive blocks from each of `firsts` on to the journal, as one batch.
    pub(crate) fn keep_runs(&mut self, firsts: &[u64], count: u64) -> Result<(), VerifyError> {
        let size = self.block.len();
        let mut contents = vec![0; count as usize * size];
        let mut batch = Vec::new();
        let mut singly = Vec::new();
        for first in firsts {
            self.look_whether_to_stop()?;
            self.read_bytes += contents.len() as u64;
            let read = self.medium.read(*first, &mut contents);
            if !passing(read, &mut self.errors.reads, &mut self.errors.first)? {
                singly.extend(*first..first + count);
                continue;
            }
            let blocks = (*first..).zip(contents.chunks(size));
            let new = blocks.filter(|(place, _)| self.journal.original(*place).is_none());
            batch.extend(new.map(|(place, contents)| Original {
                place,
                contents: contents.to_vec(),
            }));
        }
        self.look_again_at_tags(&mut batch)?;
        self.journal.append(batch)?;
        self.keep(&singly)
    }

    /// Writes the next tag to a journaled block; false if the block is not journaled or the device refuses the write.
    pub(crate) fn tag(&mut self, place: u64) -> Result<bool, VerifyError> {
        self.look_whether_to_stop()?;
        self.tag_run(place, 1)
    }

    /// Tags consecutive blocks with one write, or one by one if that fails.
    pub(crate) fn tag_run(&mut self, first: u64, count: u64) -> Result<bool, VerifyError> {
        let kept = |place: u64| self.journal.original(place).is_some();
        if !(first..first + count).all(kept) {
            // Blocks that are not in the journal are never written.
            return if count > 1 {
                self.tag_singly(first, count)
            } else {
                Ok(false)
            };
        }
        let salt = self.salt();
        let mut data = vec![0; count as usize * self.block.len()];
        for (place, block) in (first..).zip(data.chunks_mut(self.block.len())) {
            let generation = self.generations.entry(place).or_insert(0);
            *generation += 1;
            write_tag(block, salt, place, *generation);
        }
        self.written += count as u32;
        let written = self.medium.write(first, &data);
        let taken = passing(written, &mut self.errors.writes, &mut self.errors.first)?;
        for place in first..first + count {
            match taken {
                true => self.refused.remove(&place),
                false => self.refused.insert(place),
            };
        }
        match taken {
            false if count > 1 => self.tag_singly(first, count),
            taken => Ok(taken),
        }
    }

    fn tag_singly(&mut self, first: u64, count: u64) -> Result<bool, VerifyError> {
        let mut taken = true;
        for place in first..first + count {
            taken &= self.tag(place)?;
        }
        Ok(taken)
    }

    /// Number of blocks written so far, plus those below `end` that the restore will write.
    pub(crate) fn in_all(&self, end: u64) -> u64 {
        let back = self.journal.originals().iter().filter(|o| o.place < end);
        u64::from(self.written) + back.count() as u64
    }

    /// Reads a tagged block and compares it with its last tag.
    pub(crate) fn look(&mut self, place: u64) -> Result<Seen, VerifyError> {
        self.look_whether_to_stop()?;
        let generation = self.generations.get(&place).copied().unwrap_or(0);
        if !self.read(place)? || self.unreadable.contains(&place) {
            return Ok(Seen::Unreadable);
        }
        let seen = judge(&self.block, self.salt(), place, generation);
        if self.refused.contains(&place) && !seen.right() {
            return Ok(Seen::Refused);
        }
        Ok(seen)
    }

    /// Block number of the tag that a block holds; `None` if it holds none or is unreadable.
    pub(crate) fn tag_at(&mut self, place: u64) -> Result<Option<u64>, VerifyError> {
        let readable = self.read(place)?;
        let tag = read_tag(&self.block, self.salt()).filter(|_| readable);
        Ok(tag.map(|(place, _)| place))
    }

    /// Checksum of the contents of a block; `None` if it is unreadable.
    pub(crate) fn sum(&mut self, place: u64) -> Result<Option<u32>, VerifyError> {
        self.look_whether_to_stop()?;
        let readable = self.read(place)?;
        Ok(readable.then(|| crc32fast::hash(&self.block)))
    }

    /// Contents of the last block read.
    pub(crate) fn last(&self) -> &[u8] {
        &self.block
    }

    pub(crate) fn settle(&mut self) -> Result<(), VerifyError> {
        let settled = self.medium.settle();
        passing(settled, &mut self.errors.flushes, &mut self.errors.first)?;
        Ok(())
    }

    /// Reads consecutive blocks; false if the read fails.
    pub(crate) fn read_run(&mut self, first: u64, into: &mut [u8]) -> Result<bool, VerifyError> {
        self.read_bytes += into.len() as u64;
        let read = self.medium.read(first, into);
        passing(read, &mut self.errors.reads, &mut self.errors.first)
    }

    fn read(&mut self, place: u64) -> Result<bool, VerifyError> {
        self.read_bytes += self.block.len() as u64;
        let read = self.medium.read(place, &mut self.block);
        passing(read, &mut self.errors.reads, &mut self.errors.first)
    }
}

/// Counts a failed operation and returns false for it; a device that is gone is an error.
fn passing(
    done: Result<(), MediumError>,
    failed: &mut u32,
    first: &mut Option<String>,
) -> Result<bool, VerifyError> {
    match done {
        Ok(()) => Ok(true),
        Err(MediumError::Failed(why)) => {
            *failed += 1;
            first.get_or_insert(why);
            Ok(false)
        }
        Err(MediumError::Gone(why)) => Err(VerifyError::Gone(why)),
    }
}
