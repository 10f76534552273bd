//! Contents of a journal, from the records of its file.

use super::head::{self, Head};
use super::record::{self, Found, Kind, Label};
use super::{
    DamagedRecord, JournaledDevice, LENGTH_MAX, Original, Progress, TAGS_PUT_BACK, UndoJournalError,
};
use crate::authenticity::tag::Salt;
use crate::authenticity::witness::Witness;
use std::collections::{BTreeSet, HashMap};
use std::io::Read;
use std::ops::Range;

/// All records of a journal.
#[derive(Clone, Debug)]
pub struct Contents {
    pub(super) head: Head,
    originals: Vec<Original>,
    /// Range of `originals` of each batch, in ascending order.
    batches: Vec<Range<usize>>,
    /// Number of the first batch in the file, even if all of its records are damaged.
    first_batch: Option<u32>,
    /// Number of the last batch.
    last_batch: u32,
    index: HashMap<u64, usize>,
    damaged: Vec<DamagedRecord>,
    pub(super) witnesses: Vec<Witness>,
    pub(super) progress: Progress,
    /// Whether an earlier restore saw tags on the device and restored all blocks with tags.
    pub(super) tags_put_back: bool,
    /// Number of the next record.
    pub(super) next: u32,
}

impl Contents {
    pub(super) fn new(head: Head) -> Self {
        Contents {
            head,
            originals: Vec::new(),
            batches: Vec::new(),
            first_batch: None,
            last_batch: 0,
            index: HashMap::new(),
            damaged: Vec::new(),
            witnesses: Vec::new(),
            progress: Progress::Begun,
            tags_put_back: false,
            next: 0,
        }
    }

    /// Reads a journal. Damaged records are skipped and listed; later ones are read.
    ///
    /// # Errors
    /// `UndoJournalError::Foreign` if the bytes are not a journal, `Version` if it has another format version, `Damaged`
    /// if its head is damaged, `TooLong` if it is longer than any journal; `Io` if reading fails.
    pub fn read(mut from: impl Read) -> Result<Self, UndoJournalError> {
        let mut bytes = Vec::new();
        from.by_ref().take(head::LENGTH).read_to_end(&mut bytes)?;
        let mut contents = Contents::new(Head::read(&bytes)?);
        let block_bytes = contents.head.journaled.block_bytes;
        let length = record::length(block_bytes) as u64;
        let records = (LENGTH_MAX - head::LENGTH) / length;
        // A gap between records is damage. At the end of the file, it may be a record that did not reach the disk, whose block
        // was then not written.
        let mut nothing = Vec::new();
        for number in 0.. {
            bytes.clear();
            if from.by_ref().take(length).read_to_end(&mut bytes)? == 0 {
                break;
            }
            if u64::from(number) >= records {
                return Err(UndoJournalError::TooLong);
            }
            let found = record::read(&bytes, number, contents.head.salt, block_bytes);
            if found == Found::Nothing {
                nothing.push(number);
                continue;
            }
            for number in nothing.drain(..) {
                contents.unnamed(number);
            }
            match found {
                Found::Whole(label, block) => contents.add(label, block),
                Found::Damaged(label) => contents.add_damaged(label),
                Found::Unnamed | Found::Nothing => contents.unnamed(number),
            }
            contents.next = number.saturating_add(1);
        }
        Ok(contents)
    }

    /// Adds a record that was read or written.
    pub(super) fn add(&mut self, label: Label, block: Vec<u8>) {
        if self.is_beyond_the_end(label) {
            return self.unnamed(label.number);
        }
        match label.kind {
            Kind::Witnesses => {
                let count = usize::try_from(label.place).unwrap_or(usize::MAX);
                self.witnesses.extend(Witness::read_all(&block, count));
            }
            Kind::Progress => {
                self.tags_put_back |= label.place == TAGS_PUT_BACK;
                self.progress = self.progress.max(Progress::from_number(label.place));
            }
            Kind::Block => {
                self.begin_batch(label.batch);
                // `begin_batch` has added a batch.
                if let Some(batch) = self.batches.last_mut() {
                    batch.end += 1;
                }
                self.index.insert(label.place, self.originals.len());
                self.originals.push(Original {
                    place: label.place,
                    contents: block,
                });
            }
        }
    }

    fn begin_batch(&mut self, batch: u32) {
        let first = self.first_batch.is_none();
        if first || batch != self.last_batch {
            let at = self.originals.len();
            self.batches.push(at..at);
        }
        self.first_batch.get_or_insert(batch);
        self.last_batch = batch;
    }

    /// Whether a record belongs to a block beyond the end of the device.
    fn is_beyond_the_end(&self, label: Label) -> bool {
        label.kind == Kind::Block && label.place >= self.head.journaled.blocks
    }

    fn add_damaged(&mut self, label: Label) {
        if self.is_beyond_the_end(label) {
            return self.unnamed(label.number);
        }
        // A lost witness hardly affects recognition, and a lost progress record only costs time.
        if label.kind == Kind::Block {
            self.begin_batch(label.batch);
            self.damaged.push(DamagedRecord {
                number: label.number,
                block: Some((label.place, label.sum)),
            });
        }
    }

    fn unnamed(&mut self, number: u32) {
        self.damaged.push(DamagedRecord {
            number,
            block: None,
        });
    }

    /// Number of the next batch.
    pub(super) fn next_batch(&self) -> u32 {
        self.first_batch
            .map_or(0, |_| self.last_batch.saturating_add(1))
    }

    /// Contents of a block before its first write; `None` if it is not in the journal.
    pub fn original(&self, place: u64) -> Option<&[u8]> {
        let at = self.index.get(&place)?;
        self.originals.get(*at).map(|o| o.contents.as_slice())
    }

    /// All blocks, in the order of journaling.
    pub fn originals(&self) -> &[Original] {
        &self.originals
    }

    /// All batches, in the order of journaling. All blocks of a batch were read before one of them was written.
    pub fn batches(&self) -> impl DoubleEndedIterator<Item = &[Original]> + ExactSizeIterator {
        self.batches
            .iter()
            .map(|batch| &self.originals[batch.clone()])
    }

    /// Unreadable records, in ascending order.
    pub fn damaged(&self) -> &[DamagedRecord] {
        &self.damaged
    }

    /// Every block with a record, including damaged ones.
    pub fn places(&self) -> BTreeSet<u64> {
        let damaged = self.damaged.iter().filter_map(|d| d.block);
        let whole = self.originals.iter().map(|o| o.place);
        whole.chain(damaged.map(|(place, _)| place)).collect()
    }

    /// Checksums of blocks that were not written.
    pub fn witnesses(&self) -> &[Witness] {
        &self.witnesses
    }

    /// Whether an earlier restore saw tags on the device and restored all blocks with tags: then only blocks written by
    /// others are missing.
    pub fn tags_put_back(&self) -> bool {
        self.tags_put_back
    }

    /// Progress of restoring the data.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// Device to which the journal belongs.
    pub fn journaled(&self) -> &JournaledDevice {
        &self.head.journaled
    }

    /// Salt of the run's tags.
    pub fn salt(&self) -> Salt {
        self.head.salt
    }
}
