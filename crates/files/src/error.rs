//! Why a file was not written.

use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Reason for which a path is not written to, though the system would write to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// A directory, or a path that ends like one.
    #[error("it is a folder; name a file in it")]
    Directory,
    /// A path without a file name at its end.
    #[error("this is not a file name; name a file")]
    NoName,
    /// A block device, which would be overwritten as a file.
    #[error("it is a block device; name a file")]
    BlockDevice,
    /// A socket, into which nothing can be written by name.
    #[error("it is a socket; name a file or a pipe")]
    Socket,
    /// An open regular file named by its number, such as `/dev/stdout` redirected to a file.
    #[error("it leads to an open file of a process; name the file itself")]
    OpenFile,
    /// A chain of links that is too long or circular.
    #[error("too many symbolic links; name the file itself")]
    Links,
    /// An entry of another user in a folder that everyone may write to.
    #[error("it belongs to another user, in a world-writable folder; name another file")]
    ForeignEntry,
    /// A link or special file under a name that the user did not give.
    #[error("it is not a regular file; remove it")]
    NotRegular,
    /// A FIFO without a reader within the time limit.
    #[error("the FIFO has no reader; start it first")]
    NoReader,
    /// A name that leads out of its folder, by `..` or a link.
    #[error("it leads out of its folder; use a name without `..` and links")]
    Outside,
    /// A file that another program has locked.
    #[error(
        "another program has it locked, as a running server locks its files; end that program, or name another file"
    )]
    Locked,
    /// A device or FIFO that was replaced by another kind of file while it was opened.
    #[error("the device or FIFO was replaced; try again")]
    NotStream,
    /// Something else that has the name.
    #[error("it is not a file, device or FIFO; name a file")]
    Unknown,
}

/// A file that was not written.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The path is refused.
    #[error("cannot write {}: {refusal}", .path.display())]
    Refused {
        /// The path as it was given.
        path: PathBuf,
        /// Reason of the refusal.
        refusal: Refusal,
    },
    /// The path leads to a file that this command has written under another path.
    #[error(
        "cannot write {}: it is the same file as {}, which this command has written; choose another name for one of them",
        .path.display(),
        .first.display()
    )]
    Twice {
        /// The path as it was given.
        path: PathBuf,
        /// The other path.
        first: PathBuf,
    },
    /// The system failed.
    #[error("cannot write {}: cannot {action}: {source}; {}", .path.display(), remedy(.source))]
    Io {
        /// The path as it was given.
        path: PathBuf,
        /// The failed action, as it follows "cannot".
        action: &'static str,
        /// The error of the system.
        source: io::Error,
    },
}

impl WriteError {
    /// Makes an error of the system, for `map_err`.
    pub(crate) fn io<E: Into<io::Error>>(
        path: &Path,
        action: &'static str,
    ) -> impl FnOnce(E) -> Self {
        move |source| WriteError::Io {
            path: path.to_path_buf(),
            action,
            source: source.into(),
        }
    }

    /// Makes a refusal, for `map_err`.
    pub(crate) fn refused(path: &Path) -> impl FnOnce(Refusal) -> Self {
        move |refusal| WriteError::Refused {
            path: path.to_path_buf(),
            refusal,
        }
    }

    /// The error as an [`io::Error`] with the whole message, for interfaces that carry only those.
    pub fn into_io(self) -> io::Error {
        let kind = match &self {
            WriteError::Refused { .. } | WriteError::Twice { .. } => io::ErrorKind::InvalidInput,
            WriteError::Io { source, .. } => source.kind(),
        };
        io::Error::new(kind, self)
    }
}

/// Remedy for an error of the system.
fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space, or name a file on another disk"
        }
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => "create its folder first",
        io::ErrorKind::AlreadyExists => "remove it, or name another file",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "name a file where you may write"
        }
        _ => "name another file, or try again",
    }
}
