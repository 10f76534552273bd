//! The file of a journal: only a regular file is opened, and it is removed only if its name still refers to the opened file.

use super::UndoJournalError;
use nandscope_files::sync_folder_of;
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Opens a regular file, for reading and, if allowed, for writing. Does not follow symbolic links, and does not block.
///
/// # Errors
/// `UndoJournalError` if there is no such file, or it is something else.
pub(super) fn open(path: &Path) -> Result<File, UndoJournalError> {
    if std::fs::symlink_metadata(path)?.file_type().is_symlink() {
        return Err(UndoJournalError::Foreign("it is a symbolic link"));
    }
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits() as i32);
    let file = match options.clone().write(true).open(path) {
        Ok(file) => file,
        Err(_) => options.open(path)?,
    };
    if !file.metadata()?.is_file() {
        return Err(UndoJournalError::Foreign("it is not a file"));
    }
    Ok(file)
}

/// Removes the name of an open file.
///
/// # Errors
/// `io::Error` if the name belongs to another file by now, or cannot be removed.
pub(super) fn remove(path: &Path, file: &File) -> io::Result<()> {
    let (named, opened) = (std::fs::symlink_metadata(path)?, file.metadata()?);
    if (named.dev(), named.ino()) != (opened.dev(), opened.ino()) {
        return Err(io::Error::other("another file has that name by now"));
    }
    std::fs::remove_file(path)?;
    sync_folder_of(path)
}
