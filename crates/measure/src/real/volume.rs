//! A file or block device that is open for measurement: how large it is, what alignment it wants,
//! whether it bypasses the page cache, how its ranges are discarded.
//!
//! Whether it may be opened at all, and for writing, is decided by whoever calls.

use super::sys;
use nandscope_units::{Bytes, SECTOR_BYTES};
use rustix::fs::{AtFlags, FallocateFlags, OFlags, StatxFlags};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// What a volume is open for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads only; the system refuses everything else.
    Read,
    /// Reads, writes, discards.
    Write,
}

/// What a volume is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VolumeKind {
    /// A regular file.
    File,
    /// A block device.
    BlockDevice,
}

/// Why a volume cannot be opened.
#[derive(Debug, Error)]
pub enum VolumeError {
    /// The system says no.
    #[error("cannot {what} {}: {source}{}", path.display(), remedy(source))]
    System {
        /// What was tried, such as `open`.
        what: &'static str,
        /// The file or device.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A folder, a pipe, a character device.
    #[error("{} is neither a file nor a block device; name one", .0.display())]
    Neither(PathBuf),
    /// Nothing to measure.
    #[error("{} holds less than one sector of {SECTOR_BYTES} bytes; make it larger", .0.display())]
    Empty(PathBuf),
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "; check the name",
        io::ErrorKind::PermissionDenied => "; use an account that may, such as root for devices",
        io::ErrorKind::ResourceBusy => {
            "; it is mounted or in use by another program: free it first"
        }
        _ => "",
    }
}

/// A file or block device that is open.
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
    /// Opens a file or block device past the page cache, where that is possible. A block device
    /// that is to be written is opened exclusively: one that is mounted or in use is refused.
    ///
    /// # Errors
    /// Where it cannot be opened, or is nothing to measure on.
    pub fn open(path: &Path, access: Access) -> Result<Volume, VolumeError> {
        let error = |source| VolumeError::System {
            what: "open",
            path: path.to_path_buf(),
            source,
        };
        let is_device = std::fs::metadata(path)
            .map_err(error)?
            .file_type()
            .is_block_device();
        let exclusive = if is_device && access == Access::Write {
            OFlags::EXCL
        } else {
            OFlags::empty()
        };
        let open = |flags: OFlags| {
            OpenOptions::new()
                .read(true)
                .write(access == Access::Write)
                .custom_flags((flags | exclusive).bits() as i32)
                .open(path)
        };
        let file = match open(OFlags::DIRECT) {
            // What a file system without direct I/O answers.
            Err(e) if e.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {
                open(OFlags::empty())
            }
            other => other,
        };
        Volume::from_file(path, file.map_err(error)?, access)
    }

    /// Takes what has been opened already; `path` is for messages, `access` is how it was opened.
    ///
    /// # Errors
    /// Where it is nothing to measure on.
    pub fn from_file(path: &Path, mut file: File, access: Access) -> Result<Volume, VolumeError> {
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
        let capacity = Bytes(length - length % SECTOR_BYTES);
        if capacity == Bytes::ZERO {
            return Err(VolumeError::Empty(path.to_path_buf()));
        }
        let flags = rustix::fs::fcntl_getfl(&file).map_err(|e| error("examine", e.into()))?;
        let direct = flags.contains(OFlags::DIRECT);
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

    /// Its name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it is.
    pub fn kind(&self) -> VolumeKind {
        self.kind
    }

    /// What it is open for.
    pub fn access(&self) -> Access {
        self.access
    }

    /// Addressable bytes; whole sectors.
    pub fn capacity(&self) -> Bytes {
        self.capacity
    }

    /// What offsets and lengths must be multiples of, bytes.
    pub fn alignment(&self) -> u32 {
        self.alignment
    }

    /// Whether the page cache is bypassed.
    pub fn is_direct(&self) -> bool {
        self.direct
    }

    /// Whether it is a file that was made for measurements by [`super::create()`].
    pub fn is_ours(&self) -> bool {
        super::is_ours(&self.file)
    }

    /// The open file.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Discards a range: of a device by its own command, of a file by punching a hole.
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

/// What direct I/O must be a multiple of: the logical block of a device; of a file what the system
/// tells since Linux 6.1, before that a page, which every file system takes.
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
