//! The files that this process has written, for a process that is one command.
//!
//! [`Claims`](crate::Claims) compares names before anything is written. Two names can still become one file when the first
//! is created: FAT drops a dot at the end and gives every long name a short one, other file systems normalize Unicode, and
//! a link can be made in between. The second write would replace the first; here it is refused.

use crate::WriteError;
use crate::place::{Found, Place};
#[cfg(target_os = "linux")]
use rustix::fs::{Mode, OFlags, openat};
use rustix::fs::{Stat, fstat, stat};
use std::collections::HashMap;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most files that stay open. FAT numbers a file again when it is opened again, so numbers are compared while it is open.
#[cfg(target_os = "linux")]
const MOST_OPEN: usize = 64;

/// Device and inode number.
type FileId = (u64, u64);

/// A written file.
#[derive(Debug)]
struct Entry {
    id: FileId,
    /// The path as it was given.
    path: PathBuf,
    open: Option<OwnedFd>,
}

/// The written files by their absolute paths, links not resolved.
#[derive(Debug, Default)]
struct Written {
    entries: HashMap<PathBuf, Entry>,
    by_id: HashMap<FileId, PathBuf>,
    open: usize,
}

/// `None` unless this process is one command.
static WRITTEN: Mutex<Option<Written>> = Mutex::new(None);

fn written() -> MutexGuard<'static, Option<Written>> {
    // The maps are valid after each statement, so the lock is usable even if a panic has poisoned it.
    WRITTEN.lock().unwrap_or_else(PoisonError::into_inner)
}

#[allow(
    clippy::unnecessary_cast,
    reason = "the types of these fields differ between systems"
)]
fn id(stat: &Stat) -> FileId {
    (stat.st_dev as u64, stat.st_ino as u64)
}

/// Begins to keep the written files.
pub fn refuse_other_names() {
    written().get_or_insert_default();
}

/// Refuses to replace a file that was written under another path.
///
/// # Errors
/// `WriteError::Twice` with both paths.
pub fn refuse_twice(path: &Path, place: &Place) -> Result<(), WriteError> {
    let (Some(written), Found::File(found)) = (&*written(), &place.found) else {
        return Ok(());
    };
    let Some(first) = written.by_id.get(&id(found)) else {
        return Ok(());
    };
    let is_rewritten = std::path::absolute(path).is_ok_and(|path| path == *first);
    // The number may belong to another file by now if the first one was removed.
    let is_there = || stat(first).is_ok_and(|now| id(&now) == id(found));
    match written.entries.get(first) {
        Some(entry) if !is_rewritten && is_there() => Err(WriteError::Twice {
            path: path.to_path_buf(),
            first: entry.path.clone(),
        }),
        _ => Ok(()),
    }
}

/// Keeps a file that has its final name.
pub fn remember(path: &Path, place: &Place, file: &File) {
    let mut guard = written();
    let (Some(written), Ok(stat)) = (&mut *guard, fstat(file)) else {
        return;
    };
    let Ok(absolute) = std::path::absolute(path) else {
        return;
    };
    if let Some(older) = written.entries.remove(&absolute) {
        written.by_id.remove(&older.id);
        written.open -= usize::from(older.open.is_some());
    }
    let open = open(place, written.open);
    written.open += usize::from(open.is_some());
    written.by_id.insert(id(&stat), absolute.clone());
    let entry = Entry {
        id: id(&stat),
        path: path.to_path_buf(),
        open,
    };
    written.entries.insert(absolute, entry);
}

/// Opens a file without any access to it, so that its number stays its own.
#[cfg(target_os = "linux")]
fn open(place: &Place, already: usize) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = || openat(&place.folder, &place.name, flags, Mode::empty()).ok();
    (already < MOST_OPEN).then(open).flatten()
}

#[cfg(not(target_os = "linux"))]
fn open(_: &Place, _: usize) -> Option<OwnedFd> {
    None
}
