//! Why a kernel cannot be built, and what a build is doing.

use std::io;
use thiserror::Error;

/// Why there is no kernel.
#[derive(Debug, Error)]
pub enum BuildError {
    /// Programs that are needed are missing.
    #[error("a build of the kernel needs {missing}; on Debian: apt-get install {packages}")]
    Tools {
        /// Their names.
        missing: String,
        /// The packages that have them.
        packages: String,
    },
    /// A program failed.
    #[error("{what} failed ({status}); its last output:\n{said}")]
    Failed {
        /// What was being done.
        what: String,
        /// How it ended.
        status: String,
        /// Its last lines.
        said: String,
    },
    /// A file or folder.
    #[error("{place}: {source}")]
    Io {
        /// Which.
        place: String,
        /// Why.
        source: io::Error,
    },
    /// What was given is no source.
    #[error("{place} is not a source of Linux: {what}")]
    NoSource {
        /// What was given.
        place: String,
        /// What is wrong, and what to do.
        what: String,
    },
    /// What was given is not what it was said to be.
    #[error("{place}: its SHA-256 is {found}, not {expected}; it was not used")]
    Checksum {
        /// What was given.
        place: String,
        /// The sum that it has.
        found: String,
        /// The sum that was given with it.
        expected: String,
    },
    /// A sum that cannot be, or that nothing can have.
    #[error("--sha256: {0}")]
    NoChecksum(&'static str),
    /// Options that the source does not have in this form.
    #[error("this version of Linux does not support the options {0}; 6.1 does")]
    Options(String),
    /// Where to keep it is not known.
    #[error("neither XDG_CACHE_HOME nor HOME is set: no place for the kernel")]
    NoCache,
    /// Somebody asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// What is being done, for showing progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The package comes from Debian's servers.
    Fetch,
    /// The source is unpacked (400 MB less what is not needed).
    Unpack,
    /// Patch and options.
    Configure,
    /// So many lines of about so many.
    Compile(u32, u32),
}
