//! Files that the user names, read whole within the memory there is.

use crate::error::ErrorClass;
use crate::memory;
use nandscope_units::Bytes;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Files larger than this are none of ours; reading on would only fill the memory.
const MOST_BYTES: u64 = 16 << 30;
/// The same for pipes and the like, whose length is not known.
const MOST_OF_STREAM: u64 = 1 << 30;
/// A text is read whole, and what is made of it takes about so many times its size.
const MEMORY_OF_TEXT: u64 = 4;
/// The same of a saved device or its journal, which is in memory as it is in the file.
const MEMORY_OF_DEVICE: u64 = 2;

/// A file cannot be read.
#[derive(Debug, Error)]
pub enum InputError {
    /// The system refuses.
    #[error("cannot read {what} {}: {error}{}", path.display(), remedy(error))]
    Io {
        /// What the file holds, with its article.
        what: String,
        /// File that was to be read.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// It is too large for the memory there is.
    #[error("{what} {} is larger than the limit of {limit}, which memory or the kind of file sets; check that it is the right file", path.display())]
    TooLarge {
        /// What the file holds, with its article.
        what: String,
        /// File that was to be read.
        path: PathBuf,
        /// Bytes that are read at most.
        limit: Bytes,
    },
    /// It should be a text and is not.
    #[error("{what} {} is not UTF-8 text: byte {offset} is invalid; save it as UTF-8", path.display())]
    NotText {
        /// What the file holds, with its article.
        what: String,
        /// File that was to be read.
        path: PathBuf,
        /// Offset of the first invalid byte.
        offset: usize,
    },
}

impl InputError {
    /// Class of the error: who can fix it.
    pub fn class(&self) -> ErrorClass {
        match self {
            InputError::Io { .. } => ErrorClass::System,
            InputError::TooLarge { .. } | InputError::NotText { .. } => ErrorClass::Usage,
        }
    }
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::NotFound => "; check the name",
        ErrorKind::PermissionDenied => "; check its permissions",
        ErrorKind::IsADirectory => "; name a file in it",
        _ => "",
    }
}

/// The bytes of a file; `what` says in messages what it should hold, such as `the trace`.
///
/// # Errors
/// Returns [`InputError`] if there is none, it cannot be read, or it is too large.
pub fn bytes(path: &Path, what: &str) -> Result<Vec<u8>, InputError> {
    read(path, what, MEMORY_OF_TEXT)
}

/// The bytes of a saved device or its journal, of which a device as large as the file is made.
///
/// # Errors
/// As [`bytes`].
pub fn device(path: &Path, what: &str) -> Result<Vec<u8>, InputError> {
    read(path, what, MEMORY_OF_DEVICE)
}

/// The text of a file.
///
/// # Errors
/// As [`bytes`], and [`InputError::NotText`] if it is not UTF-8.
pub fn text(path: &Path, what: &str) -> Result<String, InputError> {
    String::from_utf8(bytes(path, what)?).map_err(|e| InputError::NotText {
        what: what.to_string(),
        path: path.to_path_buf(),
        offset: e.utf8_error().valid_up_to(),
    })
}

fn read(path: &Path, what: &str, memory_per_byte: u64) -> Result<Vec<u8>, InputError> {
    let refuse = |error| InputError::Io {
        what: what.to_string(),
        path: path.to_path_buf(),
        error,
    };
    let about = std::fs::metadata(path).map_err(refuse)?;
    let most = most_bytes(about.is_file(), memory::left(), memory_per_byte);
    let mut bytes = Vec::new();
    if about.len() <= most {
        let file = File::open(path).map_err(refuse)?;
        // To grow step by step would take twice the memory. Where there is not so much, reading will say so.
        let _ =
            bytes.try_reserve_exact(usize::try_from(about.len()).unwrap_or(0).saturating_add(1));
        let read = file.take(most + 1).read_to_end(&mut bytes);
        read.map_err(refuse)?;
    }
    if about.len().max(bytes.len() as u64) > most {
        return Err(InputError::TooLarge {
            what: what.to_string(),
            path: path.to_path_buf(),
            limit: Bytes(most),
        });
    }
    Ok(bytes)
}

fn most_bytes(regular: bool, left: Option<u64>, memory_per_byte: u64) -> u64 {
    let most = if regular { MOST_BYTES } else { MOST_OF_STREAM };
    left.map_or(most, |left| most.min(left / memory_per_byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_device_may_take_half_of_the_memory_and_a_text_a_quarter() {
        let left = Some(8 << 30);
        assert_eq!(most_bytes(true, left, MEMORY_OF_DEVICE), 4 << 30);
        assert_eq!(most_bytes(true, left, MEMORY_OF_TEXT), 2 << 30);
        assert_eq!(most_bytes(false, left, MEMORY_OF_DEVICE), MOST_OF_STREAM);
        assert_eq!(most_bytes(true, None, MEMORY_OF_TEXT), MOST_BYTES);
    }
}
