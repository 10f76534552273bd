//! Paths of journals and of the states of full runs, which are kept between runs, and the salt of tags.

use crate::failure::Failure;
use nandscope_infer::authenticity::{JournaledDevice, Salt};
use nandscope_units::Fnv1a;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Path of the journal of a device: `given`, or a file in the user's state folder named after the device, so that the next
/// run finds it.
///
/// # Errors
/// `Exit::File` if the folder cannot be made.
pub fn journal_place(
    given: Option<&Path>,
    journaled: &JournaledDevice,
) -> Result<PathBuf, Failure> {
    match given {
        Some(path) => Ok(path.to_path_buf()),
        None => Ok(folder()?.join(format!("{}.journal", name(journaled)))),
    }
}

/// Path of the state of a full run: `given`, or a file in the user's state folder named after the device.
///
/// # Errors
/// As [`journal_place`].
pub fn full_place(given: Option<&Path>, journaled: &JournaledDevice) -> Result<PathBuf, Failure> {
    match given {
        Some(path) => Ok(path.to_path_buf()),
        None => Ok(folder()?.join(format!("{}.full", name(journaled)))),
    }
}

/// All journals in the state folder of the user, by name.
///
/// # Errors
/// `Exit::File` if the folder cannot be made or read.
pub fn journals() -> Result<Vec<PathBuf>, Failure> {
    let folder = folder()?;
    let unread =
        |e: std::io::Error| Failure::file(format!("cannot read {}: {e}", folder.display()));
    let mut journals = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(unread)? {
        let path = entry.map_err(unread)?.path();
        if path.extension().is_some_and(|e| e == "journal") {
            journals.push(path);
        }
    }
    journals.sort();
    Ok(journals)
}

/// Path of the list of tags left on the device of a journal.
pub fn left_place(journal: &Path) -> PathBuf {
    let mut name = journal.as_os_str().to_os_string();
    name.push(".left");
    PathBuf::from(name)
}

/// Bytes of the longest state and list of tags that are read.
const LONGEST: u64 = 256 << 20;

/// The bytes of a regular file; links are not followed.
///
/// # Errors
/// `io::Error` if it is something else, too long, or cannot be read.
pub fn read_own(path: &Path) -> std::io::Result<Vec<u8>> {
    let about = std::fs::symlink_metadata(path)?;
    if !about.file_type().is_file() {
        return Err(std::io::Error::other("it is not an ordinary file"));
    }
    if about.len() > LONGEST {
        let text = format!("it is longer than {LONGEST} bytes");
        return Err(std::io::Error::other(text));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Seconds since 1970 by the clock of the machine.
pub fn seconds_now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// The folder that the journal of a target is in, for the guard: it must not be on the device.
pub fn journal_folder(given: Option<&Path>) -> Option<PathBuf> {
    let folder = match given {
        Some(path) => nandscope_files::folder_of(path).to_path_buf(),
        None => folder().ok()?,
    };
    folder.canonicalize().ok()
}

/// The state folder of the user, created if missing.
fn folder() -> Result<PathBuf, Failure> {
    let folder = crate::state_folder::path();
    nandscope_files::create_folder(&folder)
        .map_err(|e| Failure::file(format!("the journal: {e}; or name a file with --journal")))?;
    Ok(folder)
}

/// File name from the first 80 characters of the identity, with `-` for all but ASCII letters and digits, and the checksum
/// of the identity.
fn name(journaled: &JournaledDevice) -> String {
    let plain = journaled
        .identity
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    let plain: String = plain.take(80).collect();
    let sum = Fnv1a::of_bytes(journaled.identity.bytes());
    format!("verify-{plain}-{:08x}", sum as u32)
}

/// Random bytes from the system.
///
/// # Errors
/// `Exit::File` if the system has no random numbers.
pub fn salt() -> Result<Salt, Failure> {
    let mut salt = [0; 16];
    File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut salt))
        .map_err(|e| Failure::file(format!("cannot read /dev/urandom: {e}")))?;
    Ok(Salt(salt))
}

/// The present year by the clock of the machine.
pub fn this_year() -> u16 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    // A mean year of 365.2425 days; the result may be wrong within a day of New Year.
    1970 + (since.as_secs_f64() / 31_556_952.0) as u16
}
