//! The partial files that this process is writing, so that its sudden end leaves none behind.

use rustix::fs::{AtFlags, unlinkat};
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Folder and name of each partial file that this process is writing.
static UNDER_WAY: Mutex<Vec<(OwnedFd, OsString)>> = Mutex::new(Vec::new());

fn all() -> MutexGuard<'static, Vec<(OwnedFd, OsString)>> {
    // The list is valid after each statement, so the lock is usable even if a panic has poisoned it.
    UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates a partial file of this name by `create`, which fails or makes it in the folder.
pub(crate) fn begin<T, E>(
    folder: &OwnedFd,
    name: &OsStr,
    create: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let mut all = all();
    let created = create()?;
    // Without a free file descriptor the file is written, but not listed for removal.
    if let Ok(folder) = folder.try_clone() {
        all.push((folder, name.to_os_string()));
    }
    Ok(created)
}

/// Takes a partial file off the list: it has its final name, or was removed.
pub(crate) fn end(name: &OsStr) {
    all().retain(|(_, other)| other != name);
}

/// Removes the partial files that this process is writing, and blocks for ever every thread that begins another one.
/// For a process that is about to exit.
pub fn abandon_all() {
    let all = all();
    for (folder, name) in all.iter() {
        // The process ends anyway.
        let _ = unlinkat(folder, name, AtFlags::empty());
    }
    std::mem::forget(all);
}
