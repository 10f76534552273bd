//! The partial files that this process is writing, so that its sudden end leaves none behind.

use rustix::fs::{AtFlags, unlinkat};
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Folder and name of each.
static UNDER_WAY: Mutex<Vec<(OwnedFd, OsString)>> = Mutex::new(Vec::new());

fn all() -> MutexGuard<'static, Vec<(OwnedFd, OsString)>> {
    // The list is right after each statement.
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
    // A process without a free descriptor writes all the same.
    if let Ok(folder) = folder.try_clone() {
        all.push((folder, name.to_os_string()));
    }
    Ok(created)
}

/// The partial file of this name has its final name, or is gone.
pub(crate) fn end(name: &OsStr) {
    all().retain(|(_, other)| other != name);
}

/// Removes the partial files that this process is writing. From now on it writes none: who tries to waits for ever. For a
/// process that is about to exit.
pub fn abandon_all() {
    let all = all();
    for (folder, name) in all.iter() {
        // The process ends anyway.
        let _ = unlinkat(folder, name, AtFlags::empty());
    }
    std::mem::forget(all);
}
