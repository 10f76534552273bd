//! Pins a file before it is opened. An `O_PATH` descriptor can be examined without side effects (opening
//! a pipe would block, a tape would rewind). Its type decides how the file is opened through
//! `/proc/self/fd`, which leads to the same file even if its name has changed.

use super::Reason;
use crate::place::Kind;
use crate::{DeviceNumber, Roots};
use nandscope_units::Bytes;
use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, open};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

pub(super) const READ: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC);
pub(super) const WRITE: OFlags = OFlags::RDWR.union(OFlags::CLOEXEC);
pub(super) const READ_EXCLUSIVELY: OFlags = READ.union(OFlags::EXCL);
pub(super) const WRITE_EXCLUSIVELY: OFlags = WRITE.union(OFlags::EXCL);

/// A file that is held by `O_PATH`, and not open yet.
#[derive(Debug)]
pub(super) struct Pinned {
    held: OwnedFd,
    /// Path at which it was found.
    pub path: PathBuf,
    /// Metadata when it was pinned.
    pub stat: Stat,
}

impl Pinned {
    /// Pins the file at a path; a link itself, not its target.
    ///
    /// # Errors
    /// The error of the system if the path cannot be opened.
    pub fn new(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Self::of(open(path, flags, Mode::empty())?, path)
    }

    /// Reads the metadata of a held file.
    ///
    /// # Errors
    /// `io::Error` if the metadata cannot be read.
    pub fn of(held: OwnedFd, path: &Path) -> io::Result<Self> {
        Ok(Pinned {
            stat: fstat(&held)?,
            path: path.to_path_buf(),
            held,
        })
    }

    pub fn file_type(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }

    pub fn kind(&self) -> Option<Kind> {
        match self.file_type() {
            FileType::BlockDevice => Some(Kind::BlockDevice),
            FileType::RegularFile => Some(Kind::File),
            FileType::Directory => Some(Kind::Directory),
            _ => None,
        }
    }

    pub fn device(&self) -> Option<DeviceNumber> {
        let is_block = self.file_type() == FileType::BlockDevice;
        is_block.then(|| DeviceNumber::from_raw(self.stat.st_rdev))
    }

    pub fn size(&self) -> Bytes {
        Bytes(u64::try_from(self.stat.st_size).unwrap_or(0))
    }

    /// Opens the pinned file.
    ///
    /// # Errors
    /// The error of the system if the file cannot be opened with these flags.
    pub fn reopen(&self, flags: OFlags) -> io::Result<File> {
        // Not from the roots: this is a way to say "the same file", not a source of knowledge.
        let place = format!("/proc/self/fd/{}", self.held.as_raw_fd());
        Ok(File::from(open(place, flags, Mode::empty())?))
    }
}

/// Takes hold of a block device. Links within the folder of devices are udev's (`/dev/disk/by-id`)
/// and are followed; any other link is a reason to refuse.
pub(super) fn device_node(roots: &Roots, name: &Path) -> Result<Pinned, Reason> {
    let system = |e: io::Error| Reason::system(name, &e);
    let pinned = Pinned::new(name).map_err(system)?;
    if pinned.file_type() != FileType::Symlink {
        return Ok(pinned);
    }
    let target = name.canonicalize().map_err(system)?;
    let folder = roots.dev.canonicalize().map_err(system)?;
    let parent = name.parent().map(Path::canonicalize);
    let begins_there = parent.is_some_and(|p| p.is_ok_and(|p| p.starts_with(&folder)));
    if !begins_there || !target.starts_with(&folder) {
        return Err(Reason::Link(target));
    }
    let pinned = Pinned::new(&target).map_err(system)?;
    match pinned.file_type() {
        FileType::Symlink => Err(Reason::Link(target)),
        _ => Ok(pinned),
    }
}
