//! The undo journal: before a block is written, its contents are in a file that has reached the disk. Putting the
//! batches back in the reverse order restores the device even where
//! blocks are names of the same memory: a block that already held a tag of another one gets that
//! tag back, and the other one gets its own contents after it. Two such blocks of one batch hold the
//! same, since all blocks of a batch are read before any of them is written.
//!
//! The file has two copies of its head ([`head`]), and then records of one length ([`record`]), which are only ever
//! appended. A batch is synced before any of its blocks is written on the device, so that a record that is missing at
//! the end of the file belongs to a block that was not touched. A record that is there and is damaged is not taken
//! for a missing one.

mod contents;
mod file;
mod head;
mod record;

pub use contents::Contents;

use super::medium::Medium;
use super::restored::Restored;
use super::tag::Salt;
use super::witness::Witness;
use head::Head;
use nandscope_files::{Access, WriteError};
use record::{Kind, Label};
use std::fs::File;
use std::io::{self, BufReader};
use std::ops::Deref;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Bytes of the longest journal that is written and read, since all of it is kept in memory.
const LENGTH_MAX: u64 = 2 << 30;

/// Device that a journal belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournaledDevice {
    /// Model and serial number, or something else that distinguishes devices.
    pub identity: String,
    /// Blocks that the device claims to have.
    pub blocks: u64,
    /// Size of a block, bytes.
    pub block_bytes: usize,
}

impl JournaledDevice {
    /// Whether a device has the size of this one.
    pub(super) fn has_size_of<M: Medium>(&self, medium: &M) -> bool {
        (self.blocks, self.block_bytes) == (medium.blocks(), medium.block_bytes())
    }
}

/// One block as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Original {
    /// Block number on the device.
    pub place: u64,
    /// Contents before the first write.
    pub contents: Vec<u8>,
}

/// A record that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DamagedRecord {
    /// Its position in the file, in records.
    pub number: u32,
    /// Its block and the checksum of the block's contents, unless both labels are damaged.
    pub block: Option<(u64, u32)>,
}

/// Progress of restoring the data of a journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Progress {
    /// Any block may hold a tag.
    #[default]
    Begun,
    /// All blocks but those of the first batch were read back and are as they were.
    FirstBatchLeft,
    /// All blocks were.
    Restored,
}

/// Number of a progress record that says that all tags were seen and put back.
const TAGS_PUT_BACK: u64 = 3;

impl Progress {
    fn from_number(number: u64) -> Self {
        match number {
            1 => Progress::FirstBatchLeft,
            2 => Progress::Restored,
            _ => Progress::Begun,
        }
    }
}

/// Why a file cannot be used as a journal.
#[derive(Debug, Error)]
pub enum UndoJournalError {
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is something else, and why.
    #[error("not a journal of `nandscope verify`: {0}")]
    Foreign(&'static str),
    /// It was written by another version of nandscope.
    #[error(
        "a journal of format {0}, and this version of nandscope reads format 2; restore the data with the version that wrote it{hint}",
        hint = if *.0 == '1' { " (a build of 0.1.0 from before format 2)" } else { "" }
    )]
    Version(char),
    /// It is longer than any journal.
    #[error("longer than any journal of `nandscope verify` ({LENGTH_MAX} bytes)")]
    TooLong,
    /// Both copies of its head are damaged.
    #[error("both copies of the journal's head are damaged")]
    Damaged,
}

/// The contents of blocks before they were written, in memory and on the disk.
#[derive(Debug)]
pub struct UndoJournal {
    path: PathBuf,
    file: File,
    contents: Contents,
    /// Whether an earlier record could not be written.
    broken: bool,
    /// Outcome of restoring the data, if it was restored.
    restored: Option<Restored>,
}

impl Deref for UndoJournal {
    type Target = Contents;

    fn deref(&self) -> &Contents {
        &self.contents
    }
}

impl UndoJournal {
    /// Begins a journal in a file that must not exist yet.
    ///
    /// # Errors
    /// `io::Error` if anything has that name, the file cannot be written, or the blocks have a size that
    /// [`UndoJournal::open`] refuses.
    pub fn create(path: &Path, journaled: JournaledDevice, salt: Salt) -> io::Result<Self> {
        if !head::BLOCK_BYTES.contains(&journaled.block_bytes) {
            let text = format!(
                "a device with blocks of {} bytes cannot be verified; {} to {} bytes are supported",
                journaled.block_bytes,
                head::BLOCK_BYTES.start(),
                head::BLOCK_BYTES.end()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let head = Head { journaled, salt };
        Ok(UndoJournal {
            file: nandscope_files::begin_new(path, &head.to_bytes(), Access::Owner)
                .map_err(WriteError::into_io)?,
            path: path.to_path_buf(),
            contents: Contents::new(head),
            broken: false,
            restored: None,
        })
    }

    /// Opens a journal that was left behind. Nothing in it is changed.
    ///
    /// # Errors
    /// `UndoJournalError::Io` if the file cannot be read; otherwise as [`Contents::read`].
    pub fn open(path: &Path) -> Result<Self, UndoJournalError> {
        let file = file::open(path)?;
        if file.metadata()?.len() > LENGTH_MAX {
            return Err(UndoJournalError::TooLong);
        }
        let contents = Contents::read(BufReader::new(&file))?;
        Ok(UndoJournal {
            contents,
            path: path.to_path_buf(),
            file,
            broken: false,
            restored: None,
        })
    }

    /// Writes down blocks as they are; returns when the disk has them.
    ///
    /// # Errors
    /// `io::Error` if the file cannot be written; none of the blocks may be touched then.
    pub fn append(&mut self, blocks: Vec<Original>) -> io::Result<()> {
        let batch = self.contents.next_batch();
        let blocks = blocks.into_iter();
        self.write(Kind::Block, batch, blocks.map(|b| (b.place, b.contents)))
    }

    /// Writes down checksums of blocks that will not be written.
    ///
    /// # Errors
    /// `io::Error` if the file cannot be written.
    pub(super) fn bind(&mut self, witnesses: &[Witness]) -> io::Result<()> {
        let per_record = Witness::per_block(self.journaled().block_bytes);
        let records = witnesses.chunks(per_record);
        let records = records.map(|part| (part.len() as u64, Witness::to_bytes(part)));
        self.write(Kind::Witnesses, 0, records)
    }

    /// Writes down how far the data is back.
    ///
    /// # Errors
    /// `io::Error` if the file cannot be written.
    pub(super) fn note(&mut self, progress: Progress) -> io::Result<()> {
        if progress <= self.progress() {
            return Ok(());
        }
        let record = (progress as u64, Vec::new());
        self.write(Kind::Progress, 0, std::iter::once(record))
    }

    /// Writes down that tags were seen on the device, and that none is left.
    ///
    /// # Errors
    /// `io::Error` if the file cannot be written.
    pub(super) fn note_tags_put_back(&mut self) -> io::Result<()> {
        if self.tags_put_back() {
            return Ok(());
        }
        let record = (TAGS_PUT_BACK, Vec::new());
        self.write(Kind::Progress, 0, std::iter::once(record))
    }

    fn write(
        &mut self,
        kind: Kind,
        batch: u32,
        records: impl Iterator<Item = (u64, Vec<u8>)>,
    ) -> io::Result<()> {
        if self.broken {
            return Err(io::Error::other("an earlier record could not be written"));
        }
        let (salt, block_bytes) = (self.salt(), self.journaled().block_bytes);
        let length = record::length(block_bytes) as u64;
        let begin = self.contents.next;
        let records: Vec<(Label, Vec<u8>)> = (begin..)
            .zip(records)
            .map(|(number, (place, contents))| {
                let label = Label {
                    kind,
                    number,
                    batch,
                    place,
                    sum: 0,
                };
                (label, contents)
            })
            .collect();
        if records.is_empty() {
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(records.len() * length as usize);
        for (label, contents) in &records {
            record::write(&mut bytes, *label, contents, salt, block_bytes);
        }
        let at = head::LENGTH + u64::from(begin) * length;
        if at + bytes.len() as u64 > LENGTH_MAX {
            let text = format!("it would be longer than {LENGTH_MAX} bytes");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
        }
        self.broken = true;
        self.file.write_all_at(&bytes, at)?;
        self.file.sync_all()?;
        self.broken = false;
        self.contents.next += records.len() as u32;
        for (label, contents) in records {
            self.contents.add(label, contents);
        }
        Ok(())
    }

    /// Path of the journal.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Ends the journal after the data was put back: removes the file if every block was read back and is
    /// as it was, and gives the journal back otherwise.
    ///
    /// # Errors
    /// `io::Error` if the file cannot be removed; the data is restored then.
    pub fn close(mut self, restored: &Restored) -> io::Result<Option<Self>> {
        let all = restored.blocks as usize == self.originals().len();
        if !restored.is_complete() || !all {
            return Ok(Some(self));
        }
        // Where the name cannot be removed, the next run learns of it. On a full disk it cannot be noted.
        let _ = self.note(Progress::Restored);
        file::remove(&self.path, &self.file)?;
        Ok(None)
    }

    /// Keeps in mind what became of the data, for [`UndoJournal::end`].
    pub(super) fn remember(&mut self, restored: &Restored) {
        self.restored = Some(restored.clone());
    }

    /// Ends the journal of a run that ended early: removes it if the run put everything back, or had written nothing,
    /// and gives it back otherwise.
    ///
    /// # Errors
    /// `io::Error` if the file cannot be removed.
    pub fn end(mut self) -> io::Result<Option<Self>> {
        match self.restored.take() {
            Some(restored) => self.close(&restored),
            None => self.discard_empty(),
        }
    }

    /// Removes a journal that has no block: nothing was written to the device. Gives it back otherwise.
    ///
    /// # Errors
    /// `io::Error` if the file cannot be removed.
    pub fn discard_empty(self) -> io::Result<Option<Self>> {
        if !self.originals().is_empty() || !self.damaged().is_empty() {
            return Ok(Some(self));
        }
        file::remove(&self.path, &self.file)?;
        Ok(None)
    }
}
