//! A step journal as a file: created without replacing another file, appended to, synced after every step, removed when
//! the whole result is on the disk.

use super::{
    ATTACHMENT, Attachment, Contents, ENTRY, Entry, HEAD, Head, ReadError, Record, WRITTEN, frame,
    read, sealed,
};
use nandscope_files::sync_folder_of;
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a journal cannot be used.
#[derive(Debug, Error)]
pub enum StepJournalError {
    /// A system call failed.
    #[error("cannot {action} the step journal {path}: {source}", path = .path.display())]
    Io {
        /// Failed action.
        action: &'static str,
        /// Path of the journal.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The file is not a step journal.
    #[error("{path} {source}", path = .path.display())]
    Foreign {
        /// Path of the journal.
        path: PathBuf,
        /// Cause.
        source: ReadError,
    },
    /// A link, a device, a folder.
    #[error("{path} is not a regular file", path = .path.display())]
    NotRegular {
        /// Path of the journal.
        path: PathBuf,
    },
    /// Another process has it open.
    #[error("another nandscope process is writing {path}; wait until it has ended, or name another place for the result", path = .path.display())]
    InUse {
        /// Path of the journal.
        path: PathBuf,
    },
}

/// A journal open for appending, locked against other processes.
#[derive(Debug)]
pub struct StepJournal {
    path: PathBuf,
    file: File,
    /// Number of the next frame.
    next: u64,
    /// Offset after the last valid frame.
    end: u64,
    /// Entries already in the file that are expected to be appended again, the next one first.
    expected: VecDeque<(u64, u32)>,
}

impl StepJournal {
    /// Creates the journal; an existing file, link or anything else of that name is kept.
    ///
    /// # Errors
    /// [`StepJournalError::Io`] if the name is taken or the file system refuses.
    pub fn create(path: &Path, head: &Head) -> Result<StepJournal, StepJournalError> {
        let failed = |action| move |source| io_error(action, path, source);
        let file = options().create_new(true).open(path);
        let mut journal = StepJournal {
            path: path.to_path_buf(),
            file: file.map_err(failed("create"))?,
            next: 0,
            end: 0,
            expected: VecDeque::new(),
        };
        lock(&journal.file, path)?;
        let begun = journal.begin(head);
        if begun.is_err() {
            // A journal without a head would block the next run. No one else can have locked it. The first error is
            // reported.
            let _ = std::fs::remove_file(path);
        }
        begun.map(|()| journal)
    }

    /// Writes the head.
    fn begin(&mut self, head: &Head) -> Result<(), StepJournalError> {
        let text = serde_json::to_vec(head).map_err(io::Error::from);
        let written = text.and_then(|text| {
            self.next = 2;
            self.put(&sealed([(HEAD, &text[..]); 2]))
        });
        written.map_err(|source| io_error("write", &self.path, source))?;
        let synced = sync_folder_of(&self.path);
        synced.map_err(|source| io_error("sync the folder of", &self.path, source))
    }

    /// Opens and reads an existing journal.
    ///
    /// # Errors
    /// [`StepJournalError`] if it is not a journal, is in use, or the file system refuses.
    pub fn open(path: &Path) -> Result<(StepJournal, Contents), StepJournalError> {
        let failed = |action| move |source| io_error(action, path, source);
        let about = std::fs::symlink_metadata(path).map_err(failed("open"))?;
        if !about.is_file() {
            return Err(StepJournalError::NotRegular {
                path: path.to_path_buf(),
            });
        }
        let mut file = options().open(path).map_err(failed("open"))?;
        lock(&file, path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed("read"))?;
        let contents = read(&bytes).map_err(|source| StepJournalError::Foreign {
            path: path.to_path_buf(),
            source,
        })?;
        let journal = StepJournal {
            path: path.to_path_buf(),
            file,
            next: contents.next,
            end: contents.end,
            expected: VecDeque::new(),
        };
        Ok((journal, contents))
    }

    /// Returns to the end of the first `records` records of `contents`. Later records stay in the file while the
    /// records appended next equal them.
    pub fn rewind(&mut self, contents: &Contents, records: usize) {
        let expected = contents.records.iter().skip(records);
        self.expected = expected.map(|r: &Record| (r.start, r.crc)).collect();
    }

    /// Appends an entry and its attachments, and syncs them to the disk.
    ///
    /// # Errors
    /// [`StepJournalError::Io`] if the file system refuses.
    pub fn append(
        &mut self,
        attachments: &[Attachment],
        entry: &Entry,
    ) -> Result<(), StepJournalError> {
        let path = self.path.clone();
        let failed = |action| move |source| io_error(action, &path, source);
        let text = serde_json::to_vec(entry).map_err(io::Error::from);
        let text = text.map_err(failed("append to"))?;
        if let Some((start, crc)) = self.expected.pop_front() {
            if crc32fast::hash(&text) == crc {
                return Ok(());
            }
            // The record differs: it and everything after it is measured again.
            self.expected.clear();
            self.end = start;
        }
        let mut bytes = Vec::new();
        for Attachment { name, bytes: more } in attachments {
            let mut payload = (name.len() as u32).to_le_bytes().to_vec();
            payload.extend_from_slice(name.as_bytes());
            payload.extend_from_slice(more);
            frame::put(&mut bytes, ATTACHMENT, self.take(), &payload);
        }
        frame::put(&mut bytes, ENTRY, self.take(), &text);
        let path = self.path.clone();
        self.put(&bytes)
            .map_err(|source| io_error("append to", &path, source))
    }

    /// Records that everything is in a written result, so that removing the journal loses nothing.
    ///
    /// # Errors
    /// [`StepJournalError::Io`] if the file system refuses.
    pub fn mark_written(&mut self) -> Result<(), StepJournalError> {
        let mut bytes = Vec::new();
        frame::put(&mut bytes, WRITTEN, self.take(), &[]);
        let path = self.path.clone();
        self.put(&bytes)
            .map_err(|source| io_error("append to", &path, source))
    }

    /// Removes the file.
    ///
    /// # Errors
    /// [`StepJournalError::Io`] if the file system refuses.
    pub fn remove(self) -> Result<(), StepJournalError> {
        std::fs::remove_file(&self.path)
            .and_then(|()| sync_folder_of(&self.path))
            .map_err(|source| io_error("remove", &self.path, source))
    }

    /// Time of the last write to the journal, if the system has it.
    pub fn modified(&self) -> Option<std::time::SystemTime> {
        self.file.metadata().and_then(|about| about.modified()).ok()
    }

    fn take(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Writes at the end of the valid records and removes the bytes after them (a torn record).
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.file.metadata()?.len() > self.end {
            self.file.set_len(self.end)?;
        }
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(bytes)?;
        self.file.sync_data()?;
        self.end += bytes.len() as u64;
        Ok(())
    }
}

fn io_error(action: &'static str, path: &Path, source: io::Error) -> StepJournalError {
    StepJournalError::Io {
        action,
        path: path.to_path_buf(),
        source,
    }
}

/// Read and write access for the owner only, without following a link.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600).custom_flags(libc::O_NOFOLLOW);
    }
    options
}

/// Locks the file against other processes as long as it is open.
#[cfg(target_os = "linux")]
fn lock(file: &File, path: &Path) -> Result<(), StepJournalError> {
    use rustix::fs::{FlockOperation, flock};
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => Err(StepJournalError::InUse {
            path: path.to_path_buf(),
        }),
        // Some file systems know no locks.
        _ => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
fn lock(_: &File, _: &Path) -> Result<(), StepJournalError> {
    Ok(())
}
