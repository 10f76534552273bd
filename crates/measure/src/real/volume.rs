//! A file or block device opened for measurement: size, alignment, page cache bypass, discards.
//!
//! Callers check first whether it may be opened and written.

use super::{errno, sys};
use nandscope_units::{Bytes, SECTOR_BYTES};
use rustix::fs::{AtFlags, FallocateFlags, OFlags, StatxFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Access to a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads only; the system refuses other operations.
    Read,
    /// Reads, writes, discards.
    Write,
}

/// Decides how discards are done and how the size is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VolumeKind {
    /// A regular file.
    File,
    /// A block device; discards use `BLKDISCARD`.
    BlockDevice,
}

/// Why a volume cannot be measured on.
#[derive(Debug, Error)]
pub enum VolumeError {
    /// A system call failed.
    #[error("cannot {what} {}: {source}", path.display())]
    System {
        /// Failed action, such as `examine`.
        what: &'static str,
        /// The file or device.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A folder, a pipe, a character device.
    #[error("{} is neither a file nor a block device; name one", .0.display())]
    Neither(PathBuf),
    /// The file or device has no whole sector.
    #[error("{} holds less than one sector of {SECTOR_BYTES} bytes; make it larger", .0.display())]
    Empty(PathBuf),
}

/// An open file or block device.
#[derive(Debug)]
pub struct Volume {
    file: File,
    path: PathBuf,
    kind: VolumeKind,
    access: Access,
    capacity: Bytes,
    alignment: u32,
    direct: bool,
}

impl Volume {
    /// Takes an open file, and bypasses the page cache if possible. `path` is for messages and never opened; `access`
    /// is the mode in which it was opened.
    ///
    /// # Errors
    /// [`VolumeError`] if it is neither file nor block device, is smaller than a sector, or the system refuses a request.
    pub fn new(path: &Path, mut file: File, access: Access) -> Result<Volume, VolumeError> {
        let error = |what, source: io::Error| VolumeError::System {
            what,
            path: path.to_path_buf(),
            source,
        };
        let file_type = file
            .metadata()
            .map_err(|e| error("examine", e))?
            .file_type();
        let kind = if file_type.is_block_device() {
            VolumeKind::BlockDevice
        } else if file_type.is_file() {
            VolumeKind::File
        } else {
            return Err(VolumeError::Neither(path.to_path_buf()));
        };
        let length = file
            .seek(SeekFrom::End(0))
            .map_err(|e| error("find the size of", e))?;
        let capacity = Self::capacity_of(Bytes(length));
        if capacity == Bytes::ZERO {
            return Err(VolumeError::Empty(path.to_path_buf()));
        }
        let direct = bypass_cache(&file).map_err(|e| error("examine", e.into()))?;
        let alignment = if direct {
            alignment(&file, kind)
        } else {
            SECTOR_BYTES as u32
        };
        Ok(Volume {
            file,
            path: path.to_path_buf(),
            kind,
            access,
            capacity,
            alignment,
            direct,
        })
    }

    /// Path of the file, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Block device or file.
    pub fn kind(&self) -> VolumeKind {
        self.kind
    }

    /// Requested access.
    pub fn access(&self) -> Access {
        self.access
    }

    /// Capacity for this length: its whole sectors.
    pub fn capacity_of(length: Bytes) -> Bytes {
        Bytes(length.0 - length.0 % SECTOR_BYTES)
    }

    /// Addressable bytes; whole sectors.
    pub fn capacity(&self) -> Bytes {
        self.capacity
    }

    /// Offsets and lengths must be multiples of this, bytes.
    pub fn alignment(&self) -> u32 {
        self.alignment
    }

    /// Whether the page cache is bypassed.
    pub fn is_direct(&self) -> bool {
        self.direct
    }

    /// The open file.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// The error by which the whole device is lost, if a failed operation shows that: its own, or `ENODEV` for a block device
    /// that has no size any more. The kernel takes the size away when a device is removed; writes then fail with `ENOSPC`,
    /// reads return nothing, and those under way fail with `EIO`.
    pub(super) fn lost(&self, error: Option<Errno>) -> Option<Errno> {
        let own = error.filter(|e| errno::is_gone(*e));
        own.or_else(|| self.has_no_size().then_some(Errno::NODEV))
    }

    fn has_no_size(&self) -> bool {
        let end = || rustix::fs::seek(&self.file, rustix::fs::SeekFrom::End(0));
        self.kind == VolumeKind::BlockDevice && end() == Ok(0)
    }

    /// Discards a range: of a device by a discard command, of a file by punching a hole.
    pub(super) fn discard(&self, offset: u64, length: u64) -> Result<(), Errno> {
        match self.kind {
            VolumeKind::BlockDevice => sys::discard(&self.file, offset, length),
            VolumeKind::File => {
                let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                rustix::fs::fallocate(&self.file, flags, offset, length)
            }
        }
    }
}

/// Sets `O_DIRECT` on an open file; returns whether the file system supports it.
fn bypass_cache(file: &File) -> Result<bool, Errno> {
    let flags = rustix::fs::fcntl_getfl(file)?;
    match rustix::fs::fcntl_setfl(file, flags | OFlags::DIRECT) {
        Ok(()) => Ok(true),
        // Error of a file system without direct I/O.
        Err(Errno::INVAL) => Ok(false),
        Err(e) => Err(e),
    }
}

/// Alignment that direct I/O requires, bytes. Devices: the logical block. Files: the value of `statx` since Linux
/// 6.1; before that a page, which every file system accepts.
fn alignment(file: &File, kind: VolumeKind) -> u32 {
    const PAGE: u32 = 4096;
    match kind {
        VolumeKind::BlockDevice => rustix::fs::ioctl_blksszget(file).unwrap_or(PAGE),
        VolumeKind::File => {
            let told = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN);
            match told {
                Ok(told)
                    if StatxFlags::from_bits_retain(told.stx_mask)
                        .contains(StatxFlags::DIOALIGN)
                        && told.stx_dio_offset_align > 0 =>
                {
                    told.stx_dio_offset_align.max(SECTOR_BYTES as u32)
                }
                _ => PAGE,
            }
        }
    }
}
