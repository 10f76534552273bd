//! Locations of the system's files: `/sys`, `/proc` and `/dev`, or a tree that replaces them in a test;
//! and readers of small files in them.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// System files are short; a longer one is not one of those read here.
const MOST_BYTES: u64 = 1 << 20;

/// The places of the system's own file systems.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// sysfs.
    pub sys: PathBuf,
    /// procfs.
    pub proc: PathBuf,
    /// Device nodes.
    pub dev: PathBuf,
}

impl Default for Roots {
    /// Those of the running system.
    fn default() -> Self {
        Roots::under(Path::new("/"))
    }
}

impl Roots {
    /// `sys`, `proc` and `dev` in a folder.
    pub fn under(folder: &Path) -> Self {
        Roots {
            sys: folder.join("sys"),
            proc: folder.join("proc"),
            dev: folder.join("dev"),
        }
    }

    /// The sysfs folder of a block device, without links in its path.
    ///
    /// # Errors
    /// `io::Error` if the device does not exist.
    pub(crate) fn block(&self, number: crate::DeviceNumber) -> io::Result<PathBuf> {
        self.sys
            .join("dev/block")
            .join(number.to_string())
            .canonicalize()
    }
}

/// The text of a small file, without blanks around it; bytes that are no UTF-8 are replaced.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&read_bytes(path)?)
        .trim()
        .to_string())
}

/// The bytes of a small file.
pub(crate) fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// All bytes of a file that grows with the machine, such as the list of mounts.
pub(crate) fn read_all(path: &Path) -> io::Result<Vec<u8>> {
    std::fs::read(path)
}

/// As [`read`], but `None` if the file is missing, unreadable or empty.
pub(crate) fn text(path: &Path) -> Option<String> {
    read(path).ok().filter(|text| !text.is_empty())
}

/// A file with one integer.
pub(crate) fn number(path: &Path) -> Option<u64> {
    text(path)?.parse().ok()
}

/// A flag, written as `0` or `1`.
pub(crate) fn flag(path: &Path) -> Option<bool> {
    number(path).map(|n| n != 0)
}

/// Sorted names in a folder; empty if it does not exist.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The last part of a path, as text.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}
