//! A partial file: the new contents under a random name next to the final file.

use crate::{ATTEMPTS, partial_name, under_way};
use rustix::fs::{
    AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, flock, fstat, fsync, linkat, openat,
    renameat, statat, unlinkat,
};
#[cfg(target_os = "linux")]
use rustix::fs::{RenameFlags, renameat_with};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// A partial file with a random name. It is removed when this value is dropped, unless it got its final name.
#[derive(Debug)]
pub struct Partial<'a> {
    folder: &'a OwnedFd,
    name: OsString,
    renamed: bool,
}

impl<'a> Partial<'a> {
    /// Creates the partial file of `name` in a folder, open for writing. It stays locked until
    /// [`settle`], so that no other process considers it abandoned.
    ///
    /// # Errors
    /// The `Errno` of the system call that failed.
    pub fn create(
        folder: &'a OwnedFd,
        name: &OsStr,
        mode: Mode,
    ) -> Result<(Partial<'a>, File), Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE;
        let exclusive = OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for _ in 0..ATTEMPTS {
            let name = partial_name(name);
            let created = under_way::begin(folder, &name, || {
                openat(folder, &name, flags | exclusive, mode)
            });
            match created {
                Ok(file) => {
                    // Not every file system supports locks.
                    let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
                    let renamed = false;
                    let partial = Partial {
                        folder,
                        name,
                        renamed,
                    };
                    return Ok((partial, File::from(file)));
                }
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Errno::EXIST)
    }

    /// Whether the file is found by its name in capitals as well.
    pub fn is_found_in_capitals(&self) -> bool {
        let capitals = self.name.to_string_lossy().to_uppercase();
        statat(self.folder, capitals, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Gives the file its final name, in place of the file that has it.
    ///
    /// # Errors
    /// The `Errno` of the system call that failed.
    pub fn rename(mut self, name: &OsStr) -> Result<(), Errno> {
        renameat(self.folder, &self.name, self.folder, name)?;
        self.renamed = true;
        Ok(())
    }

    /// Gives the file its final name, unless anything has it.
    ///
    /// # Errors
    /// `Errno::EXIST` if anything has that name, even a dangling link; otherwise that of the system call that failed.
    #[cfg_attr(not(target_os = "linux"), allow(unused_mut))]
    pub fn claim(mut self, name: &OsStr) -> Result<(), Errno> {
        #[cfg(target_os = "linux")]
        match renameat_with(
            self.folder,
            &self.name,
            self.folder,
            name,
            RenameFlags::NOREPLACE,
        ) {
            // Not every file system supports this kind of renaming.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            done => {
                self.renamed = done.is_ok();
                return done;
            }
        }
        // A second name; the first is removed with this value.
        linkat(self.folder, &self.name, self.folder, name, AtFlags::empty())
    }
}

impl Drop for Partial<'_> {
    fn drop(&mut self) {
        if !self.renamed {
            // The file is useless; failing to remove it is harmless.
            let _ = unlinkat(self.folder, &self.name, AtFlags::empty());
        }
        under_way::end(&self.name);
    }
}

/// Unlocks a file that has its final name, and makes that durable.
///
/// # Errors
/// The `Errno` of the system if the folder cannot be synced.
pub fn settle(folder: &OwnedFd, file: &File) -> Result<(), Errno> {
    unlock(file);
    sync_folder(folder)
}

/// Unlocks a file that has its final name.
pub fn unlock(file: &File) {
    let _ = flock(file, FlockOperation::Unlock);
}

/// True if no process is writing the partial file.
pub fn is_abandoned(path: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = openat(CWD, path, flags, Mode::empty()) else {
        return false;
    };
    let is_file = fstat(&file)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile);
    is_file && flock(&file, FlockOperation::NonBlockingLockExclusive) != Err(Errno::WOULDBLOCK)
}

/// Makes the names in a folder durable, where its file system can.
///
/// # Errors
/// The `Errno` of the system if the folder cannot be synced.
pub fn sync_folder(folder: &OwnedFd) -> Result<(), Errno> {
    match fsync(folder.as_fd()) {
        // Some file systems cannot sync folders, and one that may not be read is not open for it.
        Err(Errno::INVAL | Errno::NOTSUP | Errno::BADF) => Ok(()),
        done => done,
    }
}
