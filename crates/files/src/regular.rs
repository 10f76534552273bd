//! Reads regular files whose names the user did not give, such as those found in a folder. Opening a FIFO
//! or a device would wait, or do something to it.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use thiserror::Error;

/// Treatment of a link at the end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowLinks {
    /// The target of the link is opened.
    Yes,
    /// The link is refused.
    No,
}

/// A file that was not read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The system failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A FIFO, a device, a socket, a folder, or a link that is not followed.
    #[error("it is not a regular file")]
    NotRegular,
    /// The file is longer than this number of bytes.
    #[error("it is larger than the limit of {0} bytes")]
    TooLarge(u64),
}

/// Opens a regular file for reading. Never waits for another process.
///
/// # Errors
/// `ReadError::NotRegular` for anything else; `ReadError::Io` if it cannot be opened.
pub fn open_regular(path: &Path, follow: FollowLinks) -> Result<File, ReadError> {
    let about = match follow {
        FollowLinks::Yes => std::fs::metadata(path)?,
        FollowLinks::No => std::fs::symlink_metadata(path)?,
    };
    if !about.is_file() {
        return Err(ReadError::NotRegular);
    }
    // The path may have been replaced since it was looked at, so the opened file is checked.
    let file = options(follow).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(ReadError::NotRegular),
    }
}

/// Reads a regular file of at most `most` bytes.
///
/// # Errors
/// As [`open_regular`]; `ReadError::TooLarge` if it is longer.
pub fn read_regular(path: &Path, follow: FollowLinks, most: u64) -> Result<Vec<u8>, ReadError> {
    let file = open_regular(path, follow)?;
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(ReadError::TooLarge(most)),
        false => Ok(bytes),
    }
}

#[cfg(unix)]
fn options(follow: FollowLinks) -> std::fs::OpenOptions {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt as _;
    let flags = match follow {
        FollowLinks::Yes => OFlags::NONBLOCK,
        FollowLinks::No => OFlags::NONBLOCK | OFlags::NOFOLLOW,
    };
    let mut options = std::fs::OpenOptions::new();
    options.read(true).custom_flags(flags.bits().cast_signed());
    options
}

#[cfg(not(unix))]
fn options(_: FollowLinks) -> std::fs::OpenOptions {
    let mut options = std::fs::OpenOptions::new();
    options.read(true);
    options
}
