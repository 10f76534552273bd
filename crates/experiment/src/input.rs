//! Files that the user names, read whole within the memory there is.

use crate::error::ErrorClass;
use crate::memory;
use nandscope_files::{FollowLinks, ReadError, open_regular};
use nandscope_units::Bytes;
use nandscope_workload::trace::TraceError;
use std::borrow::Cow;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;
use thiserror::Error;

/// Largest regular file that is read, bytes: no valid input is larger.
const MOST_BYTES: u64 = 16 << 30;
/// Largest input from pipes and other files of unknown length, bytes.
const MOST_OF_STREAM: u64 = 1 << 30;
/// Memory that a text and the data parsed from it take, as a multiple of the file's size.
const MEMORY_OF_TEXT: u64 = 4;
/// Memory that a saved device or its journal takes, as a multiple of the file's size.
const MEMORY_OF_DEVICE: u64 = 2;

/// First bytes of packed files, with the name of the program and the command that unpacks them.
const PACKERS: [(&[u8], (&str, &str)); 5] = [
    (b"\x28\xb5\x2f\xfd", ("zstd", "zstd -d")),
    (b"\xfd7zXZ\0", ("xz", "xz -d")),
    (b"BZh", ("bzip2", "bzip2 -d")),
    (b"\x04\x22\x4d\x18", ("lz4", "lz4 -d")),
    (b"PK\x03\x04", ("zip", "unzip")),
];

/// Longest wait for a program that opens a FIFO for writing.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// A file cannot be read.
#[derive(Debug, Error)]
pub enum InputError {
    /// The system refuses.
    #[error("cannot read {what} {}: {error}{}", path.display(), remedy(path, error))]
    Io {
        /// Kind of the file with its article, such as `the job file`.
        what: String,
        /// File that was to be read.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// It is too large for the memory there is.
    #[error("{what} {} is larger than the limit of {limit}, which memory or the kind of file sets; check that it is the right file", path.display())]
    TooLarge {
        /// Kind of the file with its article, such as `the job file`.
        what: String,
        /// File that was to be read.
        path: PathBuf,
        /// Bytes that are read at most.
        limit: Bytes,
    },
    /// A FIFO, a device or the like, where only a regular file is read: one found in a folder, or one that must be
    /// kept.
    #[error("{what} {} is not a regular file; put a regular file there", path.display())]
    NotRegular {
        /// Kind of the file with its article, such as `the job file`.
        what: String,
        /// File that was to be read.
        path: PathBuf,
    },
    /// It is a block device.
    #[error("refusing to read {what} from {}: it is a block device; check the order of the arguments", path.display())]
    BlockDevice {
        /// Kind of the file with its article, such as `the job file`.
        what: String,
        /// Device that was named.
        path: PathBuf,
    },
    /// A trace without a byte.
    #[error("{} is empty: it has no requests to replay; check how it was recorded", .0.display())]
    EmptyTrace(PathBuf),
    /// A trace that another program than gzip has packed.
    #[error("{} is packed by {}, and only gzip is read; unpack it first: `{} {}`", path.display(), packer.0, packer.1, path.display())]
    PackedOtherwise {
        /// Path of the trace.
        path: PathBuf,
        /// Name of the program, and the command that unpacks its files.
        packer: (&'static str, &'static str),
    },
    /// A trace that cannot be unpacked.
    #[error(transparent)]
    Packed(#[from] TraceError),
    /// It should be a text and is not.
    #[error("{what} {} is not UTF-8 text: byte {offset} is invalid; save it as UTF-8", path.display())]
    NotText {
        /// Kind of the file with its article, such as `the job file`.
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
            InputError::TooLarge { .. }
            | InputError::NotRegular { .. }
            | InputError::BlockDevice { .. }
            | InputError::EmptyTrace(_)
            | InputError::PackedOtherwise { .. }
            | InputError::Packed(_)
            | InputError::NotText { .. } => ErrorClass::Usage,
        }
    }
}

fn remedy(path: &Path, error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::NotFound if path.as_os_str().as_encoded_bytes().starts_with(b"sim:") => {
            "; it names a simulated device: check the order of the arguments"
        }
        ErrorKind::NotFound if path == Path::new("-") => "; for standard input name /dev/stdin",
        ErrorKind::NotFound => "; check the name",
        ErrorKind::PermissionDenied => "; check its permissions",
        ErrorKind::IsADirectory => "; name a file in it",
        _ => "",
    }
}

/// The bytes of a file; `what` says in messages what it should hold, such as `the trace`. A FIFO needs a writer
/// within 10 s.
///
/// # Errors
/// Returns [`InputError`] if the file is missing, cannot be read, or is too large.
pub fn bytes(path: &Path, what: &str) -> Result<Vec<u8>, InputError> {
    read(path, what, MEMORY_OF_TEXT)
}

/// The bytes of a regular file: of one that was found in a folder, and of one that a pipe cannot be.
///
/// # Errors
/// As [`bytes`]; [`InputError::NotRegular`] for anything else. Never waits for another process.
pub fn regular(path: &Path, what: &str) -> Result<Vec<u8>, InputError> {
    let file = open_regular(path, FollowLinks::Yes).map_err(|error| match error {
        ReadError::Io(error) => io_error(path, what)(error),
        _ => InputError::NotRegular {
            what: what.to_string(),
            path: path.to_path_buf(),
        },
    })?;
    let about = file.metadata().map_err(io_error(path, what))?;
    read_open(file, &about, path, what, MEMORY_OF_TEXT)
}

/// The bytes of a trace, unpacked if gzip has packed it.
///
/// # Errors
/// As [`bytes`], and [`InputError::Packed`] if it cannot be unpacked.
pub fn trace(path: &Path) -> Result<Vec<u8>, InputError> {
    const WHAT: &str = "the trace";
    let bytes = bytes(path, WHAT)?;
    if bytes.is_empty() {
        return Err(InputError::EmptyTrace(path.to_path_buf()));
    }
    if let Some((_, packer)) = PACKERS.iter().find(|(begin, _)| bytes.starts_with(begin)) {
        return Err(InputError::PackedOtherwise {
            path: path.to_path_buf(),
            packer: *packer,
        });
    }
    let most = most_bytes(true, memory::left(), MEMORY_OF_TEXT);
    let contents = nandscope_workload::trace::unpacked(&path.display().to_string(), &bytes, most)?;
    match contents {
        Some(Cow::Borrowed(_)) => Ok(bytes),
        Some(Cow::Owned(contents)) => Ok(contents),
        None => Err(InputError::TooLarge {
            what: WHAT.to_string(),
            path: path.to_path_buf(),
            limit: Bytes(most),
        }),
    }
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
    as_text(bytes(path, what)?, path, what)
}

/// The text of a regular file.
///
/// # Errors
/// As [`regular`], and [`InputError::NotText`] if it is not UTF-8.
pub fn regular_text(path: &Path, what: &str) -> Result<String, InputError> {
    as_text(regular(path, what)?, path, what)
}

fn as_text(bytes: Vec<u8>, path: &Path, what: &str) -> Result<String, InputError> {
    String::from_utf8(bytes).map_err(|e| InputError::NotText {
        what: what.to_string(),
        path: path.to_path_buf(),
        offset: e.utf8_error().valid_up_to(),
    })
}

fn io_error(path: &Path, what: &str) -> impl Fn(io::Error) -> InputError {
    move |error| InputError::Io {
        what: what.to_string(),
        path: path.to_path_buf(),
        error,
    }
}

fn read(path: &Path, what: &str, memory_per_byte: u64) -> Result<Vec<u8>, InputError> {
    let refuse = io_error(path, what);
    let about = std::fs::metadata(path).map_err(&refuse)?;
    if is_block_device(&about) {
        return Err(InputError::BlockDevice {
            what: what.to_string(),
            path: path.to_path_buf(),
        });
    }
    let file = match is_fifo(&about) {
        true => open_fifo(path),
        false => File::open(path),
    };
    read_open(file.map_err(&refuse)?, &about, path, what, memory_per_byte)
}

fn read_open(
    file: File,
    about: &Metadata,
    path: &Path,
    what: &str,
    memory_per_byte: u64,
) -> Result<Vec<u8>, InputError> {
    let most = most_bytes(about.is_file(), memory::left(), memory_per_byte);
    let mut bytes = Vec::new();
    if about.len() <= most {
        // To grow step by step would take twice the memory. Where there is not so much, reading will say so.
        let _ =
            bytes.try_reserve_exact(usize::try_from(about.len()).unwrap_or(0).saturating_add(1));
        let read = file.take(most + 1).read_to_end(&mut bytes);
        read.map_err(io_error(path, what))?;
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

#[cfg(unix)]
pub(crate) fn is_fifo(about: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    about.file_type().is_fifo()
}

#[cfg(not(unix))]
fn is_fifo(_: &Metadata) -> bool {
    false
}

#[cfg(unix)]
fn is_block_device(about: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    about.file_type().is_block_device()
}

#[cfg(not(unix))]
fn is_block_device(_: &Metadata) -> bool {
    false
}

/// Opens a FIFO, which waits for a program that writes to it.
fn open_fifo(path: &Path) -> io::Result<File> {
    let (opened, wait) = channel();
    let place = path.to_path_buf();
    // If no writer opens the FIFO, the thread stays until the process ends.
    std::thread::Builder::new().spawn(move || opened.send(File::open(place)))?;
    wait.recv_timeout(LONGEST_WAIT).unwrap_or_else(|_| {
        let seconds = LONGEST_WAIT.as_secs();
        Err(io::Error::other(format!(
            "it is a FIFO, and no program opened it for writing within {seconds} s; start that program first"
        )))
    })
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
