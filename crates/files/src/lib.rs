//! Writes whole files.
//!
//! A regular file is replaced in one step: the contents go to a partial file in the same folder
//! (random name, never an existing file or link), are synced, and are renamed over the old file; then
//! the folder is synced. At any time, also after a power cut, the file is the old one or the new one.
//!
//! What is not a regular file is never replaced:
//!
//! | at the path | what happens |
//! |---|---|
//! | nothing, a regular file | created, replaced |
//! | a symbolic link | followed; its target is created or replaced, the link stays |
//! | a character device, a FIFO | written to |
//! | a directory, a block device, a socket | refused |
//! | a file that another program has locked (`flock`), such as the store of a running server | refused |
//!
//! In a folder that everyone may write to (sticky, such as `/tmp`), entries of other users are refused,
//! as Linux does with `fs.protected_symlinks`, `protected_fifos` and `protected_regular`.
//!
//! A process that ends suddenly but not by SIGKILL removes its partial files first ([`abandon_all`]). What a killed
//! process left of a partial file goes when the file is written the next time.
//!
//! The folder is opened once; everything is done relative to it.
//!
//! [`Claims`] compares all files of a command before the first one is written, and after [`refuse_other_names`] a written file is
//! not replaced under another name. [`read_regular`] reads files whose
//! names the user did not give. [`parquet`] has the bytes of tables in that format.

mod claims;
mod error;
pub mod parquet;
#[cfg(unix)]
mod partial;
#[cfg(unix)]
mod place;
#[cfg(not(unix))]
mod plain;
mod regular;
mod spot;
#[cfg(unix)]
mod stream;
#[cfg(unix)]
mod under_way;
#[cfg(unix)]
mod unix;
#[cfg(unix)]
mod written;

pub use claims::{Claims, Collision};
pub use error::{Refusal, WriteError};
#[cfg(not(unix))]
use plain as system;
pub use regular::{FollowLinks, ReadError, open_regular, read_regular};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
#[cfg(unix)]
pub use under_way::abandon_all;
#[cfg(unix)]
use unix as system;

/// Ending of the names of partial files.
const PARTIAL: &str = ".partial";
/// Longest part of a file's name in the name of its partial file, in bytes.
const LONGEST_STEM: usize = 100;
/// Attempts to find an unused random name. With 64 random bits one is practically always enough.
const ATTEMPTS: u32 = 16;

/// Access permissions of a written file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A new file: what the umask leaves. A replaced file: its mode, and its owner and group as far as the
    /// system lets us set them.
    Usual,
    /// Its owner only (mode 0600), for data of users: journals and stores.
    Owner,
}

/// For a process that is one command: from now on, a file that it has written is replaced under the same path only.
pub fn refuse_other_names() {
    system::refuse_other_names();
}

/// Writes a file, atomically if it is a regular one.
///
/// # Errors
/// `WriteError::Refused` if the path is refused, `WriteError::Io` if a system call fails. An older file is then
/// unchanged, and no partial file is left.
pub fn write(path: &Path, bytes: &[u8], access: Access) -> Result<(), WriteError> {
    system::write(path, bytes, access)
}

/// Checks that [`write()`] can write `path` now, by a trial in its folder. Does not open devices or FIFOs.
///
/// # Errors
/// As [`write()`].
pub fn check(path: &Path) -> Result<(), WriteError> {
    system::check(path)
}

/// Checks that a file of 512 bytes can be written into `folder` now.
///
/// # Errors
/// `WriteError::Io` if the trial file cannot be written.
pub fn check_folder(folder: &Path) -> Result<(), WriteError> {
    system::check_folder(folder)
}

/// Writes the regular file `inside` of a folder given by the user. `inside` is an untrusted relative
/// path, for example from a job file. Nothing outside the folder is written: parts like `..`, links and
/// special files are refused anywhere in the path. Its folders must exist.
///
/// # Errors
/// As [`write()`].
pub fn write_in(
    folder: &Path,
    inside: &Path,
    bytes: &[u8],
    access: Access,
) -> Result<(), WriteError> {
    system::write_in(folder, inside, bytes, access)
}

/// Checks that [`write_in`] would accept this file now, without writing. Use [`check_folder`] to check
/// that the folder is writable.
///
/// # Errors
/// As [`write()`].
pub fn check_in(folder: &Path, inside: &Path) -> Result<(), WriteError> {
    system::check_in(folder, inside)
}

/// Creates a file that is extended through the returned handle, such as a journal. It appears with
/// `head` in it and replaces an older regular file, whose open handles keep the old contents. Links and
/// special files are refused, since the user did not name this file.
///
/// # Errors
/// As [`write()`].
pub fn begin(path: &Path, head: &[u8], access: Access) -> Result<File, WriteError> {
    system::begin(path, head, access)
}

/// As [`begin`], for a new file: it appears with `head` in it and replaces nothing.
///
/// # Errors
/// `WriteError::Refused` if the path has no file name; `WriteError::Io` if anything has that name, even a dangling
/// link, or a system call fails.
pub fn begin_new(path: &Path, head: &[u8], access: Access) -> Result<File, WriteError> {
    system::begin_new(path, head, access)
}

/// As [`begin_new`], without waiting for the disk: it appears with `head` in it to other processes, and survives the
/// end of this one, but not of the machine.
///
/// # Errors
/// As [`begin_new`].
pub fn begin_unsynced(path: &Path, head: &[u8], access: Access) -> Result<File, WriteError> {
    system::begin_unsynced(path, head, access)
}

/// Creates an empty file that did not exist, for reading and writing.
///
/// # Errors
/// `WriteError::Refused` if the path has no file name; `WriteError::Io` if anything has that name, even a dangling
/// link, or a system call fails.
pub fn create_new(path: &Path, access: Access) -> Result<File, WriteError> {
    system::create_new(path, access)
}

/// Creates a folder, and those above it that are missing. When it returns, their names are on the disk.
///
/// # Errors
/// `WriteError::Io` if a folder cannot be created.
pub fn create_folder(folder: &Path) -> Result<(), WriteError> {
    system::create_folder(folder)
}

/// Creates the folder `inside` of a folder given by the user, and those above it that are missing. `inside` is an
/// untrusted relative path. Links are not followed.
///
/// # Errors
/// `WriteError::Refused` if `inside` leads out of the folder; `WriteError::Io` if a folder cannot be created.
pub fn create_folder_in(folder: &Path, inside: &Path) -> Result<(), WriteError> {
    system::create_folder_in(folder, inside)
}

/// Makes it durable that the file of this name was created or removed, where the file system can.
///
/// # Errors
/// The [`io::Error`](std::io::Error) of the system if the folder of the file cannot be opened or synced.
pub fn sync_folder_of(path: &Path) -> std::io::Result<()> {
    system::sync_folder_of(path)
}

/// Locks a file that its program keeps open, so that [`write()`] and [`check()`] of other programs refuse to replace it.
/// Not every file system has locks.
pub fn lock(file: &File) {
    system::lock(file);
}

/// Partial files of `path` left by killed processes, without those that a process is still writing.
pub fn abandoned(path: &Path) -> Vec<PathBuf> {
    let Some(name) = path.file_name() else {
        return Vec::new();
    };
    let stem = stem_of(name);
    abandoned_in(folder_of(path), |found| found == stem.as_encoded_bytes())
}

/// The partial files in a folder that killed processes left of files with some names. Of a name of more than 100
/// bytes `chosen` gets the beginning.
pub fn abandoned_in(folder: &Path, chosen: impl Fn(&[u8]) -> bool) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let names = entries.flatten().map(|entry| entry.file_name());
    names
        .filter(|name| stem_in(name).is_some_and(&chosen))
        .map(|name| folder.join(name))
        .filter(|path| system::is_abandoned(path))
        .collect()
}

/// The value of [`stem_of`] for the final file of a partial file.
fn stem_in(partial: &OsStr) -> Option<&[u8]> {
    let bytes = partial.as_encoded_bytes().strip_prefix(b".")?;
    let (name, digits) = bytes
        .strip_suffix(PARTIAL.as_bytes())?
        .split_last_chunk::<16>()?;
    let is_random = digits.iter().all(u8::is_ascii_hexdigit);
    name.strip_suffix(b".").filter(|_| is_random)
}

/// The folder of a path; the current folder for a bare name.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// The file name at the end of a path that names a file.
///
/// # Errors
/// `Refusal` if the path ends like one of a directory (`x/`, `x/.`, `..`) or is empty.
fn name_of(path: &Path) -> Result<&OsStr, Refusal> {
    let bytes = path.as_os_str().as_encoded_bytes();
    // `Path::file_name` ignores a final slash and a final `/.`.
    if bytes.ends_with(b"/") || bytes.ends_with(b"/.") {
        return Err(Refusal::Directory);
    }
    match path.file_name() {
        Some(name) => Ok(name),
        None if bytes.is_empty() => Err(Refusal::NoName),
        // The path ends in `..`, or is `.`.
        None => Err(Refusal::Directory),
    }
}

/// A file name, shortened if it is long.
fn stem_of(name: &OsStr) -> OsString {
    if name.len() <= LONGEST_STEM {
        return name.to_os_string();
    }
    let text = name.to_string_lossy();
    let end = (0..=LONGEST_STEM).rev().find(|i| text.is_char_boundary(*i));
    OsString::from(&text[..end.unwrap_or(0)])
}

/// An unpredictable name for a partial file of `name`.
fn partial_name(name: &OsStr) -> OsString {
    // The keys of `RandomState` come from the system's random numbers, and differ each time.
    let random = RandomState::new().hash_one(name);
    let mut partial = OsString::from(".");
    partial.push(stem_of(name));
    partial.push(format!(".{random:016x}{PARTIAL}"));
    partial
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_names_are_random_and_short() {
        let long = OsString::from("ä".repeat(120));
        for name in [OsStr::new("result.json"), &long] {
            let (a, b) = (partial_name(name), partial_name(name));
            assert_ne!(a, b);
            assert!(a.len() <= 1 + LONGEST_STEM + 1 + 16 + PARTIAL.len());
            assert!(a.to_str().is_some());
        }
    }

    #[test]
    fn paths_of_directories_name_no_file() {
        for (path, refusal) in [
            ("", Refusal::NoName),
            (".", Refusal::Directory),
            ("..", Refusal::Directory),
            ("/", Refusal::Directory),
            ("a/", Refusal::Directory),
            ("a/.", Refusal::Directory),
            ("a/..", Refusal::Directory),
        ] {
            assert_eq!(name_of(Path::new(path)), Err(refusal), "{path}");
        }
        assert_eq!(name_of(Path::new("a/b")), Ok(OsStr::new("b")));
    }
}
