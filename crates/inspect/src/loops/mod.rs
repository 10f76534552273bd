//! Loop devices and their backing files or devices, identified by the device and inode or the device
//! number in the kernel. If the loop device can be queried, names are irrelevant: a backing file may
//! have been renamed, deleted, over-mounted, or opened by another path.

mod attach;
mod status;

pub use attach::{AttachError, Attached, is_detached, is_direct};

use crate::DeviceNumber;
use crate::roots::{self, Roots};
use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Identity of a file, whatever names lead to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileId {
    /// The file system, as `stat` gives it.
    pub device: DeviceNumber,
    /// The inode in there.
    pub inode: u64,
}

impl FileId {
    pub fn of(about: &Stat) -> Self {
        FileId {
            device: DeviceNumber::from_raw(about.st_dev),
            inode: about.st_ino,
        }
    }
}

/// Identity of the file at a path, following links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behind {
    /// A block device.
    Device(DeviceNumber),
    /// Backing file, by device and inode.
    File(FileId),
}

impl Behind {
    /// Identity of the file at a path; `None` if it does not exist or is not accessible. Only absolute
    /// paths count: the source of a mount may be a word (`overlay`, `none`), which is not a file.
    pub fn at(path: &Path) -> Option<Self> {
        if !path.is_absolute() {
            return None;
        }
        let about = rustix::fs::stat(path).ok()?;
        Some(match FileType::from_raw_mode(about.st_mode) {
            FileType::BlockDevice => Behind::Device(DeviceNumber::from_raw(about.st_rdev)),
            _ => Behind::File(FileId::of(&about)),
        })
    }
}

/// A loop device that is in use.
#[derive(Clone, Debug)]
pub(crate) struct Loop {
    /// Major and minor number of the loop device.
    pub number: DeviceNumber,
    /// The kernel's name.
    pub name: String,
    /// Backing file or device; `None` if unknown.
    pub behind: Option<Behind>,
}

/// Every loop device that is in use.
pub(crate) fn loops(roots: &Roots) -> Vec<Loop> {
    let folder = roots.sys.join("block");
    let names = roots::names(&folder).into_iter();
    names
        .filter(|name| name.starts_with("loop"))
        .filter_map(|name| one(roots, &folder.join(&name), name))
        .collect()
}

/// The path that the kernel shows for a backing file: for people, and no more than that.
pub(crate) fn shown_path(place: &Path) -> Option<PathBuf> {
    let bytes = roots::read_bytes(&place.join("loop/backing_file")).ok()?;
    let path = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    (!path.is_empty()).then(|| PathBuf::from(std::ffi::OsStr::from_bytes(path)))
}

fn one(roots: &Roots, place: &Path, name: String) -> Option<Loop> {
    // Present while the loop device is in use, even if the kernel cannot print the path.
    if !place.join("loop").exists() {
        return None;
    }
    let number = roots::text(&place.join("dev"))?.parse().ok()?;
    let behind = match status(&roots.dev.join(&name), number) {
        Ok(status) => Some(status.behind(|| shown_path(place))),
        // Taken down since the folder was read.
        Err(Errno::NXIO) => return None,
        Err(_) => shown_path(place).and_then(|path| by_path(&path)),
    };
    Some(Loop {
        number,
        name,
        behind,
    })
}

fn status(node: &Path, number: DeviceNumber) -> Result<status::Status, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let node = rustix::fs::open(node, flags, Mode::empty())?;
    let about = rustix::fs::fstat(&node)?;
    let is_block = FileType::from_raw_mode(about.st_mode) == FileType::BlockDevice;
    if !is_block || DeviceNumber::from_raw(about.st_rdev) != number {
        return Err(Errno::NODEV);
    }
    status::read(&node)
}

/// For users who may not open the loop device. A deleted file is not confused with a new one of the same
/// name.
fn by_path(path: &Path) -> Option<Behind> {
    let deleted = path.as_os_str().as_bytes().ends_with(b" (deleted)");
    (!deleted).then(|| Behind::at(path)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_no_path() {
        // Tests run in the folder of their crate.
        let here = Path::new("Cargo.toml");
        assert!(here.exists());
        assert_eq!(Behind::at(here), None);
        assert!(Behind::at(&here.canonicalize().unwrap()).is_some());
    }
}
