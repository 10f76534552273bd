//! Loop devices and what is behind each of them: a file, by the device and inode that the kernel
//! holds, or a block device, by its number. Names play no part where the loop device can be asked:
//! a backing file may be renamed, deleted, over-mounted, or have been reached by another path.

mod status;

use crate::DeviceNumber;
use crate::roots::{self, Roots};
use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A file, whatever its names are.
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

/// What a path leads to now, following links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behind {
    /// A block device.
    Device(DeviceNumber),
    /// A file.
    File(FileId),
}

impl Behind {
    /// What is at a path; `None` where nothing is, or where it may not be looked at. Only absolute paths
    /// lead somewhere: the source of a mount may be a word (`overlay`, `none`), which names no file here.
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
    /// Its number.
    pub number: DeviceNumber,
    /// The kernel's name.
    pub name: String,
    /// What is behind it; `None` where that cannot be found out.
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
    // Present while something is behind it, whether or not the kernel can print its path.
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

/// For who may not open the loop device. A deleted file is not taken for another one of its name.
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
