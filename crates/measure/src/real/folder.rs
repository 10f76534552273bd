//! Folders of real files as a target: a tree of files is written into an empty folder, read back, and deleted. The
//! runner sees one range of bytes in which the files follow each other, each in whole blocks of [`BLOCK`]; the first
//! operation of a file creates or opens it, the last one closes it, a discard at its start deletes it. These operations
//! include the time of all of that.
//!
//! Each queue executes one operation after the other with pread and pwrite, as a program that copies folders does. The
//! creator checks that the folder may be written; nothing outside of it is changed.

use super::buffer::{ALIGNMENT, Buffer};
use super::clock::Clock;
use super::errno;
use super::instruments::Instruments;
use crate::payload::tag;
use crate::target::{
    Load, Outcome, QueueRequest, Reading, Reply, Request, Target, TargetError, ThreadQueues,
};
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::OpKind;
use nandscope_workload::files::FileTree;
use rustix::fs::{Advice, AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Granularity of file starts and writes, bytes, so that direct I/O is possible; files are truncated to their length
/// afterwards.
pub const BLOCK: u64 = ALIGNMENT as u64;

/// A file and its position in the range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSlot {
    /// Path within the folder.
    path: String,
    /// Start of the file in the range, bytes.
    pub begin: u64,
    /// Length in bytes.
    pub bytes: u64,
}

impl FileSlot {
    /// Its size in whole blocks.
    pub fn room(&self) -> u64 {
        self.bytes.next_multiple_of(BLOCK)
    }
}

/// State that all queues share.
struct Shared {
    folder: OwnedFd,
    clock: Clock,
    files: Vec<FileSlot>,
    /// Folders within the folder, parents first.
    folders: Vec<String>,
    direct: bool,
    sync_each: bool,
}

/// See the module's text.
pub struct FolderTarget {
    shared: Arc<Shared>,
    instruments: Option<Arc<dyn Instruments>>,
    queue: FolderQueue,
}

impl FolderTarget {
    /// A target for an open, empty folder. `sync_each`: whether every file is synced before it is closed.
    ///
    /// # Errors
    /// [`TargetError::Other`] if no file can be made in it.
    pub fn new(folder: OwnedFd, sync_each: bool) -> Result<FolderTarget, TargetError> {
        let direct = takes_direct(&folder).map_err(|e| {
            TargetError::Other(format!(
                "no file can be made in the folder: {}",
                std::io::Error::from(e)
            ))
        })?;
        let shared = Arc::new(Shared {
            folder,
            clock: Clock::new(),
            files: Vec::new(),
            folders: Vec::new(),
            direct,
            sync_each,
        });
        Ok(FolderTarget {
            queue: FolderQueue::new(shared.clone()),
            shared,
            instruments: None,
        })
    }

    /// Sets the clock, before the first tree is used.
    ///
    /// # Errors
    /// [`TargetError::Other`] if the descriptor of the folder cannot be duplicated.
    pub fn set_clock(&mut self, now: Nanos) -> Result<(), TargetError> {
        let folder = self.shared.folder.try_clone();
        self.shared = Arc::new(Shared {
            folder: folder.map_err(|e| TargetError::Other(e.to_string()))?,
            clock: Clock::at(now),
            files: Vec::new(),
            folders: Vec::new(),
            ..*self.shared
        });
        self.queue = FolderQueue::new(self.shared.clone());
        Ok(())
    }

    /// Adds instruments to the target.
    pub fn observe_with(&mut self, instruments: Arc<dyn Instruments>) {
        self.instruments = Some(instruments);
    }

    /// Whether the page cache is bypassed.
    pub fn is_direct(&self) -> bool {
        self.shared.direct
    }

    /// Replaces the tree by one whose files do not exist yet.
    ///
    /// # Errors
    /// [`TargetError::Other`] if the descriptor of the folder cannot be duplicated.
    pub fn hold(&mut self, tree: &FileTree) -> Result<(), TargetError> {
        self.clear();
        let folder = self.shared.folder.try_clone();
        let folder = folder.map_err(|e| TargetError::Other(e.to_string()))?;
        let folders = folder_paths(tree);
        let mut begin = 0;
        let files = tree.files().iter().enumerate().map(|(i, file)| {
            let slot = FileSlot {
                path: format!(
                    "{}/{}",
                    folders[file.folder as usize],
                    name(i, file.name_units)
                ),
                begin,
                bytes: file.bytes,
            };
            begin += slot.room();
            slot
        });
        self.shared = Arc::new(Shared {
            files: files.collect(),
            folder,
            folders,
            ..*self.shared
        });
        self.queue = FolderQueue::new(self.shared.clone());
        Ok(())
    }

    /// The files of the tree in their order.
    pub fn files(&self) -> &[FileSlot] {
        &self.shared.files
    }

    /// Removes the remaining files of the tree.
    pub fn clear(&mut self) {
        self.queue.open = None;
        let shared = &self.shared;
        // Errors are ignored: a file may already be gone, and one that cannot be removed stays visible to the user.
        for file in &shared.files {
            let _ = rustix::fs::unlinkat(&shared.folder, &file.path, AtFlags::empty());
        }
        for folder in shared.folders.iter().rev() {
            let _ = rustix::fs::unlinkat(&shared.folder, folder, AtFlags::REMOVEDIR);
        }
    }
}

impl Drop for FolderTarget {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Paths of the folders of a tree; the root has no parent.
fn folder_paths(tree: &FileTree) -> Vec<String> {
    let mut paths: Vec<String> = Vec::with_capacity(tree.folders().len());
    for (i, folder) in tree.folders().iter().enumerate() {
        let own = name(i, folder.name_units);
        let above = folder.parent.and_then(|p| paths.get(p as usize));
        paths.push(above.map_or(own.clone(), |above| format!("{above}/{own}")));
    }
    paths
}

/// A unique name for each number, of `units` characters if the number fits.
fn name(number: usize, units: u32) -> String {
    format!("{number:0>width$}", width = units as usize)
}

/// Whether files of this folder can be opened for direct I/O, tested with an unnamed file.
fn takes_direct(folder: &OwnedFd) -> Result<bool, Errno> {
    const TRIAL: &str = "trial";
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
    let mode = Mode::from(0o600);
    let opened = rustix::fs::openat(folder, TRIAL, flags | OFlags::DIRECT, mode);
    let direct = match opened {
        Ok(_) => true,
        Err(Errno::INVAL) => {
            // Some file systems have created the file before they refuse the flag.
            let _ = rustix::fs::unlinkat(folder, TRIAL, AtFlags::empty());
            rustix::fs::openat(folder, TRIAL, flags, mode)?;
            false
        }
        Err(e) => return Err(e),
    };
    rustix::fs::unlinkat(folder, TRIAL, AtFlags::empty())?;
    Ok(direct)
}

impl Target for FolderTarget {
    fn now(&self) -> Nanos {
        self.shared.clock.now()
    }

    fn capacity(&self) -> Bytes {
        let last = self.shared.files.last();
        Bytes(last.map_or(0, |file| file.begin + file.room()))
    }

    fn thread_queues(&self) -> Option<Box<dyn ThreadQueues>> {
        Some(Box::new(FolderQueues(self.shared.clone())))
    }

    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        self.queue.submit(request)
    }

    fn wait(&mut self, until: Nanos, replies: &mut Vec<Reply>) -> Result<(), TargetError> {
        self.queue.wait(until, replies)
    }

    fn reading(&mut self) -> Reading {
        let instruments = self.instruments.as_ref();
        instruments.map_or_else(Reading::default, |i| i.read())
    }
}

struct FolderQueues(Arc<Shared>);

impl ThreadQueues for FolderQueues {
    fn open(&self, _: &QueueRequest) -> Result<Box<dyn Target>, TargetError> {
        Ok(Box::new(FolderQueue::new(self.0.clone())))
    }
}

/// Queue of one thread to the files.
struct FolderQueue {
    shared: Arc<Shared>,
    buffer: Buffer,
    /// The open file: number, whether it is being written, and the file.
    open: Option<(usize, bool, File)>,
    done: Vec<Reply>,
    operations: u64,
}

impl FolderQueue {
    fn new(shared: Arc<Shared>) -> Self {
        FolderQueue {
            shared,
            buffer: Buffer::random(0, 0),
            open: None,
            done: Vec::new(),
            operations: 0,
        }
    }

    fn perform(&mut self, request: &Request) -> Result<(), Errno> {
        let offset = request.offset.0;
        let shared = self.shared.clone();
        if request.kind == OpKind::Flush {
            return rustix::fs::syncfs(&shared.folder);
        }
        let number = shared.files.partition_point(|f| f.begin <= offset);
        let number = number.checked_sub(1).ok_or(Errno::INVAL)?;
        let slot = &shared.files[number];
        let within = offset - slot.begin;
        if within + u64::from(request.length) > slot.room() {
            return Err(Errno::INVAL);
        }
        match request.kind {
            OpKind::Read => self.read(&shared, number, within, request.length),
            OpKind::Write => self.write(&shared, number, within, request.length),
            OpKind::Trim => {
                self.open = None;
                rustix::fs::unlinkat(&shared.folder, &slot.path, AtFlags::empty())
            }
            OpKind::Flush => Ok(()),
        }
    }

    /// Opens the file for reading or writing, unless it is open already; closes any other open file.
    fn file(&mut self, shared: &Shared, number: usize, writing: bool) -> Result<&File, Errno> {
        let is_open = matches!(&self.open, Some((n, w, _)) if (*n, *w) == (number, writing));
        if !is_open {
            self.open = None;
            let file = open(shared, &shared.files[number].path, writing)?;
            self.open = Some((number, writing, file));
        }
        let open = self.open.as_ref();
        open.map(|(_, _, file)| file).ok_or(Errno::BADF)
    }

    fn write(&mut self, shared: &Shared, number: usize, at: u64, length: u32) -> Result<(), Errno> {
        self.grow(length as usize);
        self.operations += 1;
        let slot = &shared.files[number];
        tag(
            self.buffer.bytes_mut(length as usize),
            slot.begin + at,
            self.operations,
        );
        self.file(shared, number, true)?;
        let Some((_, _, file)) = &self.open else {
            return Err(Errno::BADF);
        };
        file.write_all_at(self.buffer.bytes(length as usize), at)
            .map_err(number_of)?;
        if at + u64::from(length) == slot.room() {
            if slot.bytes != slot.room() {
                rustix::fs::ftruncate(file, slot.bytes)?;
            }
            if shared.sync_each {
                rustix::fs::fsync(file)?;
            }
            self.open = None;
        }
        Ok(())
    }

    fn read(&mut self, shared: &Shared, number: usize, at: u64, length: u32) -> Result<(), Errno> {
        self.grow(length as usize);
        let slot = &shared.files[number];
        let wanted = u64::from(length).min(slot.bytes.saturating_sub(at)) as usize;
        self.file(shared, number, false)?;
        let Some((_, _, file)) = &self.open else {
            return Err(Errno::BADF);
        };
        let buffer = self.buffer.bytes_mut(length as usize);
        let mut done = 0;
        while done < wanted {
            let got = file.read_at(&mut buffer[done..], at + done as u64);
            match got.map_err(number_of)? {
                // The file is shorter than it was written.
                0 => return Err(Errno::IO),
                n => done += n,
            }
        }
        if at + u64::from(length) == slot.room() {
            self.open = None;
        }
        Ok(())
    }

    fn grow(&mut self, length: usize) {
        if self.buffer.len() < length {
            self.buffer = Buffer::random(length, self.shared.files.len() as u64);
        }
    }
}

fn number_of(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

/// Opens a file. For writing, creates the file and missing parent folders; for reading, first drops the file's pages
/// from the page cache.
fn open(shared: &Shared, path: &str, writing: bool) -> Result<File, Errno> {
    let direct = if shared.direct {
        OFlags::DIRECT
    } else {
        OFlags::empty()
    };
    let flags = OFlags::CLOEXEC | OFlags::NOFOLLOW | direct;
    if !writing {
        let file = rustix::fs::openat(&shared.folder, path, flags | OFlags::RDONLY, Mode::empty())?;
        if !shared.direct {
            // Only advice: if the system ignores it, the device's counters show that.
            let _ = rustix::fs::fadvise(&file, 0, None, Advice::DontNeed);
        }
        return Ok(File::from(file));
    }
    let flags = flags | OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY;
    let make = || rustix::fs::openat(&shared.folder, path, flags, Mode::from(0o600));
    let file = match make() {
        Err(Errno::NOENT) => {
            make_folders(shared, path)?;
            make()
        }
        other => other,
    };
    file.map(File::from)
}

fn make_folders(shared: &Shared, path: &str) -> Result<(), Errno> {
    for (end, _) in path.match_indices('/') {
        match rustix::fs::mkdirat(&shared.folder, &path[..end], Mode::from(0o700)) {
            // Another thread created it first.
            Ok(()) | Err(Errno::EXIST) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

impl Target for FolderQueue {
    fn now(&self) -> Nanos {
        self.shared.clock.now()
    }

    fn capacity(&self) -> Bytes {
        let last = self.shared.files.last();
        Bytes(last.map_or(0, |file| file.begin + file.room()))
    }

    fn prepare(&mut self, load: &Load) -> Result<(), TargetError> {
        self.grow(load.largest as usize);
        Ok(())
    }

    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        let submitted = self.now();
        let outcome = match self.perform(&request) {
            Ok(()) => Outcome::Done,
            Err(e) if errno::is_gone(e) => {
                let why = std::io::Error::from(e).to_string();
                return Err(TargetError::Gone(why));
            }
            Err(e) => errno::outcome(e),
        };
        self.done.push(Reply {
            tag: request.tag,
            submitted,
            completed: self.now(),
            outcome,
        });
        Ok(())
    }

    fn wait(&mut self, until: Nanos, replies: &mut Vec<Reply>) -> Result<(), TargetError> {
        if !self.done.is_empty() {
            replies.append(&mut self.done);
        } else {
            self.shared.clock.idle_until(until);
        }
        Ok(())
    }

    fn reading(&mut self) -> Reading {
        Reading::default()
    }
}
