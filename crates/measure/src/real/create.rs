//! Makes a file to measure on: in free space with a margin, never over anything that is there,
//! written once from end to end so that every read reaches the device, and marked as ours.

use super::buffer::{Buffer, stamp};
use super::volume::VolumeError;
use nandscope_units::Bytes;
use rustix::fs::{FallocateFlags, OFlags, XattrFlags};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use thiserror::Error;

/// Extended attribute that says that a file was made here, for measurements.
const MARK: &str = "user.nandscope.made";
const CHUNK: usize = 1 << 20;
/// Part of the file system that is never taken: one in so many bytes.
const MARGIN: u64 = 20;

/// Why a file cannot be made.
#[derive(Debug, Error)]
pub enum CreateError {
    /// The system says no.
    #[error(transparent)]
    Volume(#[from] VolumeError),
    /// The file would fill the file system up.
    #[error(
        "{path} of {size} would leave less than {margin} of the {free} that are free; give at most --size {most}"
    )]
    NoRoom {
        /// The file.
        path: String,
        /// How large it was to be.
        size: Bytes,
        /// What must stay free: a twentieth of the file system.
        margin: Bytes,
        /// What is free now.
        free: Bytes,
        /// The largest that would do, in bytes.
        most: u64,
    },
    /// Told to stop; the file is gone again.
    #[error("interrupted while the file was made; it has been removed")]
    Interrupted,
}

/// Whether this open file was made by [`create`].
pub fn is_ours(file: &File) -> bool {
    let mut value = [0u8; 8];
    rustix::fs::fgetxattr(file, MARK, &mut value[..]).is_ok()
}

/// Largest file that leaves the margin in the folder of `path`; zero where nothing is to be had.
///
/// # Errors
/// Where the folder cannot be asked.
pub fn room(path: &Path) -> Result<Bytes, VolumeError> {
    let (free, margin) = free(path)?;
    Ok(Bytes(
        free.saturating_sub(margin) / CHUNK as u64 * CHUNK as u64,
    ))
}

fn free(path: &Path) -> Result<(u64, u64), VolumeError> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let told = rustix::fs::statvfs(folder)
        .map_err(|e| system("ask for free space in", folder, e.into()))?;
    let free = told.f_bavail.saturating_mul(told.f_frsize);
    Ok((free, told.f_blocks.saturating_mul(told.f_frsize) / MARGIN))
}

/// Makes a file of this size, rounded down to 1 MiB, and fills it with random data. `progress` is
/// told the share that is done, and answers whether to go on. A file that could not be finished
/// is removed. False is given where the file system does not let the file be marked: a later run
/// will then not write to it.
///
/// # Errors
/// Where there is something of that name, no room, or the system says no.
pub fn create(
    path: &Path,
    size: Bytes,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<bool, CreateError> {
    let size = (size.0 / CHUNK as u64).max(1) * CHUNK as u64;
    let (free, margin) = free(path)?;
    if size.saturating_add(margin) > free {
        return Err(CreateError::NoRoom {
            path: path.display().to_string(),
            size: Bytes(size),
            margin: Bytes(margin),
            free: Bytes(free),
            most: room(path)?.0,
        });
    }
    let open = |flags: OFlags| {
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .custom_flags(flags.bits() as i32)
            .open(path)
    };
    let file = match open(OFlags::DIRECT) {
        Err(e) if e.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {
            // The file exists already where only the flag was refused.
            let _ = std::fs::remove_file(path);
            open(OFlags::empty())
        }
        other => other,
    };
    let file = file.map_err(|e| system("create", path, e))?;
    let marked = rustix::fs::fsetxattr(&file, MARK, b"1", XattrFlags::empty()).is_ok();
    match fill(&file, path, size, progress) {
        Ok(()) => Ok(marked),
        Err(error) => {
            // It is ours, and of no use.
            let _ = std::fs::remove_file(path);
            Err(error)
        }
    }
}

fn fill(
    file: &File,
    path: &Path,
    size: u64,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<(), CreateError> {
    // Room is had at once where the file system can; what cannot is found out by writing.
    match rustix::fs::fallocate(file, FallocateFlags::empty(), 0, size) {
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => {}
        Err(e) => return Err(system("make room for", path, e.into()).into()),
    }
    let mut buffer = Buffer::random(CHUNK, size);
    for offset in (0..size).step_by(CHUNK) {
        let bytes = buffer.bytes_mut(CHUNK);
        stamp(bytes, offset, u64::MAX);
        file.write_all_at(bytes, offset)
            .map_err(|e| system("fill", path, e))?;
        if !progress(offset as f64 / size as f64) {
            return Err(CreateError::Interrupted);
        }
    }
    file.sync_all().map_err(|e| system("fill", path, e).into())
}

fn system(what: &'static str, path: &Path, source: io::Error) -> VolumeError {
    VolumeError::System {
        what,
        path: path.to_path_buf(),
        source,
    }
}
