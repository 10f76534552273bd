//! Why a kernel cannot be built, and what a build is doing.

use nandscope_files::WriteError;
use std::io;
use thiserror::Error;

/// Why there is no kernel.
#[derive(Debug, Error)]
pub enum BuildError {
    /// Programs that are needed are missing.
    #[error("a build of the kernel needs {missing}; on Debian: apt-get install {packages}")]
    Tools {
        /// Names of the missing tools.
        missing: String,
        /// The packages that have them.
        packages: String,
    },
    /// A program failed.
    #[error("{what} failed ({status}); its last output:\n{said}")]
    Failed {
        /// The failed action.
        what: String,
        /// Exit status or signal.
        status: String,
        /// Last lines of the program's output.
        said: String,
    },
    /// A file or folder.
    #[error("{place}: {source}")]
    Io {
        /// Path of the file or folder.
        place: String,
        /// Why.
        source: io::Error,
    },
    /// A file or folder that is written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The path is not a source of Linux.
    #[error("{place} is not a source of Linux: {what}")]
    NoSource {
        /// Path given by the user.
        place: String,
        /// The problem and its remedy.
        what: String,
    },
    /// The checksum of the source differs from the expected one.
    #[error("{place}: its SHA-256 is {found}, not {expected}; it was not used")]
    Checksum {
        /// Path given by the user.
        place: String,
        /// The sum that it has.
        found: String,
        /// The sum that was given with it.
        expected: String,
    },
    /// An invalid checksum, or one for a source that has none.
    #[error("--sha256: {0}")]
    NoChecksum(&'static str),
    /// Options that the source does not have in this form.
    #[error("this version of Linux does not support the options {0}; 6.1 does")]
    Options(String),
    /// The cache folder is unknown.
    #[error("neither XDG_CACHE_HOME nor HOME is set: no place for the kernel")]
    NoCache,
    /// Stopped by the user.
    #[error("interrupted")]
    Interrupted,
}

/// Step of a build, for progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The package comes from Debian's servers.
    Fetch,
    /// Unpacks the source (400 MB less the parts that are not needed).
    Unpack,
    /// Patch and options.
    Configure,
    /// Compiled files so far, and the approximate total.
    Compile(u32, u32),
}
