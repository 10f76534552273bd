//! One device under verification: writes a block only when the journal has it, counts what is
//! written, and looks at what has become of it.

use super::io_errors::IoErrors;
use super::medium::{Medium, MediumError};
use super::restored::Restored;
use super::tag::{Salt, Seen, judge, read_tag, write_tag};
use super::undo_journal::{Original, UndoJournal};
use nandscope_units::Nanos;
use nandscope_units::random::SplitMix64;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// Why a verification did not come to an end.
#[derive(Debug, Error)]
pub enum VerifyError {
    /// Somebody asked to stop.
    #[error("interrupted")]
    Stopped,
    /// The device is gone; its data has not been put back.
    #[error("{0}")]
    Gone(String),
    /// The journal cannot be written; nothing more was written to the device, and its data is back.
    #[error("the journal cannot be written: {0}; {hint}", hint = if .0.kind() == std::io::ErrorKind::FileTooLarge {
        "choose a smaller --cache or --budget"
    } else {
        "name a file on a disk with room with --journal"
    })]
    Journal(#[from] std::io::Error),
    /// It ended early, and not all of the data is back.
    #[error("{why}")]
    Unrestored {
        /// Why it ended early.
        why: String,
        /// Outcome of restoring the data.
        restored: Box<Restored>,
    },
    /// The device cannot be verified, and why.
    #[error("{0}")]
    Unfit(String),
}

/// Stage of the work, for progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Blocks are tagged all over the device.
    Tagging,
    /// The tags are read.
    Reading,
    /// The beginning is searched for tags that belong elsewhere.
    Searching,
    /// The end of what is real is narrowed down.
    Narrowing,
    /// The data is put back.
    Restoring,
}

/// Tells of the stage, the share of it that is done, and the device's time.
pub type Tell<'a> = &'a mut dyn FnMut(Stage, f64, Nanos);

pub(crate) struct Work<'a, M: Medium> {
    pub(crate) medium: &'a mut M,
    pub(crate) journal: &'a mut UndoJournal,
    pub(crate) written: u32,
    pub(crate) read_bytes: u64,
    /// Blocks whose contents could not be read, and which are therefore not written.
    pub(crate) unreadable: BTreeSet<u64>,
    /// Blocks that held a tag of the run before they were tagged: other names of tagged ones, unless the device
    /// answered with something stale.
    pub(crate) tagged_before: BTreeSet<u64>,
    /// Blocks whose latest tag was answered with an error.
    refused: BTreeSet<u64>,
    pub(crate) errors: IoErrors,
    /// The generation that was written last, by block.
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

    /// Brings blocks into the journal, those that are not in it yet.
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

    /// Reads those of some blocks once more that hold a tag of the run before they were tagged: a bridge may have
    /// answered with what it had been given last, which would be taken for their data.
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
        // What cannot be read is not known, and is not written.
        batch.retain(|original| !self.unreadable.contains(&original.place));
        Ok(())
    }

    /// Brings neighbouring blocks into the journal with one read.
    pub(crate) fn keep_run(&mut self, first: u64, count: u64) -> Result<(), VerifyError> {
        self.keep_runs(&[first], count)
    }

    /// Brings so many neighbours from each of these blocks on into the journal, as one batch.
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

    /// Tags a block that is in the journal with the next generation; false where the device
    /// does not take it.
    pub(crate) fn tag(&mut self, place: u64) -> Result<bool, VerifyError> {
        self.look_whether_to_stop()?;
        self.tag_run(place, 1)
    }

    /// Tags neighbouring blocks with one write, or one by one where that fails.
    pub(crate) fn tag_run(&mut self, first: u64, count: u64) -> Result<bool, VerifyError> {
        let kept = |place: u64| self.journal.original(place).is_some();
        if !(first..first + count).all(kept) {
            // What is not in the journal is not touched.
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

    /// Blocks written so far, and those below `end` that will be to put back what was there.
    pub(crate) fn in_all(&self, end: u64) -> u64 {
        let back = self.journal.originals().iter().filter(|o| o.place < end);
        u64::from(self.written) + back.count() as u64
    }

    /// Reads a tagged block.
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

    /// The tag in a block, whichever it is.
    pub(crate) fn tag_at(&mut self, place: u64) -> Result<Option<u64>, VerifyError> {
        let readable = self.read(place)?;
        let tag = read_tag(&self.block, self.salt()).filter(|_| readable);
        Ok(tag.map(|(place, _)| place))
    }

    /// The checksum of what is in a block; `None` where it cannot be read.
    pub(crate) fn sum(&mut self, place: u64) -> Result<Option<u32>, VerifyError> {
        self.look_whether_to_stop()?;
        let readable = self.read(place)?;
        Ok(readable.then(|| crc32fast::hash(&self.block)))
    }

    /// The bytes of the last look or read.
    pub(crate) fn last(&self) -> &[u8] {
        &self.block
    }

    pub(crate) fn settle(&mut self) -> Result<(), VerifyError> {
        let settled = self.medium.settle();
        passing(settled, &mut self.errors.flushes, &mut self.errors.first)?;
        Ok(())
    }

    /// Reads neighbours; false if the device does not give them.
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

/// Counts an operation that failed by itself; false then.
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
