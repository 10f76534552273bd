//! The undo journal: the contents of a block reach a file on disk before the block is written. Restoring the batches in reverse
//! order restores the device even if blocks alias: a block that held the tag of another one when it was journaled gets that tag
//! back, and the other one then gets its own contents. Two aliases in one batch have the same contents, since all blocks of a
//! batch are read before one of them is written.
//!
//! The file has two copies of its head ([`head`]), followed by records of equal length ([`record`]), which are only appended. A
//! batch is synced before any of its blocks is written to the device, so a record missing at the end of the file belongs to an
//! unwritten block. A damaged record does not count as missing.

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

/// Longest journal, bytes: all of it is kept in memory.
const LENGTH_MAX: u64 = 2 << 30;

/// Device to which a journal belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournaledDevice {
    /// Model and serial number, or another description that distinguishes devices.
    pub identity: String,
    /// Number of blocks that the device claims.
    pub blocks: u64,
    /// Size of a block, bytes.
    pub block_bytes: usize,
}

impl JournaledDevice {
    /// Whether a device has the size of the journaled one.
    pub(super) fn has_size_of<M: Medium>(&self, medium: &M) -> bool {
        (self.blocks, self.block_bytes) == (medium.blocks(), medium.block_bytes())
    }
}

/// A block and its former contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Original {
    /// Block number on the device.
    pub place: u64,
    /// Contents before the first write.
    pub contents: Vec<u8>,
}

/// An unreadable record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DamagedRecord {
    /// Position in the file, in records.
    pub number: u32,
    /// Block number and checksum of its contents; `None` if both labels are damaged.
    pub block: Option<(u64, u32)>,
}

/// Progress of restoring the data of a journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Progress {
    /// Every block may hold a tag.
    #[default]
    Begun,
    /// All blocks except those of the first batch were read back with their former contents.
    FirstBatchLeft,
    /// All blocks were read back with their former contents.
    Restored,
}

/// Value of a progress record: tags were seen on the device, and all blocks with tags are restored.
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
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file is not a journal; with the reason.
    #[error("not a journal of `nandscope verify`: {0}")]
    Foreign(&'static str),
    /// The file has another format version.
    #[error(
        "a journal of format {0}, and this version of nandscope reads format 2; restore the data with the version that wrote it{hint}",
        hint = if *.0 == '1' { " (a build of 0.1.0 from before format 2)" } else { "" }
    )]
    Version(char),
    /// The file is longer than `LENGTH_MAX`.
    #[error("longer than any journal of `nandscope verify` ({LENGTH_MAX} bytes)")]
    TooLong,
    /// Both copies of the head are damaged.
    #[error("both copies of the journal's head are damaged")]
    Damaged,
}

/// Former contents of written blocks, in memory and on disk.
#[derive(Debug)]
pub struct UndoJournal {
    path: PathBuf,
    file: File,
    contents: Contents,
    /// Whether writing a record has failed.
    broken: bool,
    /// Result of restoring the data; `None` if it was not restored.
    restored: Option<Restored>,
}

impl Deref for UndoJournal {
    type Target = Contents;

    fn deref(&self) -> &Contents {
        &self.contents
    }
}

impl UndoJournal {
    /// Creates a journal in a new file.
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

    /// Opens an existing journal without changing it.
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

    /// Appends blocks as a batch; returns when they are on disk.
    ///
    /// # Errors
    /// `io::Error` if the file cannot be written; none of the blocks may be touched then.
    pub fn append(&mut self, blocks: Vec<Original>) -> io::Result<()> {
        let batch = self.contents.next_batch();
        let blocks = blocks.into_iter();
        self.write(Kind::Block, batch, blocks.map(|b| (b.place, b.contents)))
    }

    /// Appends witnesses: checksums of blocks that will not be written.
    ///
    /// # Errors
    /// `io::Error` if the file cannot be written.
    pub(super) fn bind(&mut self, witnesses: &[Witness]) -> io::Result<()> {
        let per_record = Witness::per_block(self.journaled().block_bytes);
        let records = witnesses.chunks(per_record);
        let records = records.map(|part| (part.len() as u64, Witness::to_bytes(part)));
        self.write(Kind::Witnesses, 0, records)
    }

    /// Records the progress of the restore.
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

    /// Records that tags were seen on the device, and that none is left.
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

    /// Ends the journal after a restore: removes the file if every block was read back with its former contents, and returns the
    /// journal otherwise.
    ///
    /// # Errors
    /// `io::Error` if the file cannot be removed; the data is restored then.
    pub fn close(mut self, restored: &Restored) -> io::Result<Option<Self>> {
        let all = restored.blocks as usize == self.originals().len();
        if !restored.is_complete() || !all {
            return Ok(Some(self));
        }
        // If the file cannot be removed, this record tells the next run that the data is restored. On a full disk, it cannot be
        // written.
        let _ = self.note(Progress::Restored);
        file::remove(&self.path, &self.file)?;
        Ok(None)
    }

    /// Stores the result of the restore for [`UndoJournal::end`].
    pub(super) fn remember(&mut self, restored: &Restored) {
        self.restored = Some(restored.clone());
    }

    /// Ends the journal of an interrupted run: removes it if the data was restored or nothing was written, and returns it
    /// otherwise.
    ///
    /// # Errors
    /// `io::Error` if the file cannot be removed.
    pub fn end(mut self) -> io::Result<Option<Self>> {
        match self.restored.take() {
            Some(restored) => self.close(&restored),
            None => self.discard_empty(),
        }
    }

    /// Removes a journal without blocks, whose run wrote nothing to the device, and returns it otherwise.
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
