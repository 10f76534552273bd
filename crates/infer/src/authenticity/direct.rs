//! An open file or block device as a medium, with single reads and writes that bypass the host's cache (`O_DIRECT`). If the file
//! system does not support that, writes are synced and dropped from the cache instead.
//!
//! The descriptor comes from the guard; no name is resolved here.

use super::medium::{Medium, MediumError};
use nandscope_units::{Bytes, Nanos};
use rustix::fs::{Advice, OFlags, SeekFrom, fadvise, fcntl_getfl, fcntl_setfl, fdatasync, seek};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::time::Instant;

/// Alignment in memory for `O_DIRECT`, bytes: one page suits every device.
const ALIGNMENT: usize = 4096;

/// A file or block device.
#[derive(Debug)]
pub struct DirectMedium {
    file: File,
    blocks: u64,
    block_bytes: usize,
    began: Instant,
    direct: bool,
    memory: Vec<u8>,
}

impl DirectMedium {
    /// Takes an open file of `size` bytes, used in blocks of `block` bytes.
    ///
    /// # Errors
    /// The error of `fcntl` if the flags of the descriptor cannot be read.
    pub fn new(file: File, size: Bytes, block: Bytes) -> io::Result<Self> {
        let flags = fcntl_getfl(&file)?;
        let direct = fcntl_setfl(&file, flags | OFlags::DIRECT).is_ok();
        Ok(DirectMedium {
            blocks: size.0 / block.0.max(1),
            block_bytes: block.0 as usize,
            file,
            began: Instant::now(),
            direct,
            memory: Vec::new(),
        })
    }

    /// Whether operations bypass the host's cache.
    pub fn is_direct(&self) -> bool {
        self.direct
    }

    /// Offset in `memory` of an aligned buffer of `length` bytes.
    fn aligned(&mut self, length: usize) -> usize {
        if self.memory.len() < length + ALIGNMENT {
            self.memory = vec![0; length + ALIGNMENT];
        }
        // The first page of a vector of bytes always contains an aligned address.
        self.memory.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT)
    }

    fn failure(&self, error: io::Error) -> MediumError {
        if !is_gone(&self.file, &error) {
            return MediumError::Failed(error.to_string());
        }
        let shown = match error.raw_os_error() {
            Some(_) => error,
            None => Errno::NODEV.into(),
        };
        MediumError::Gone(format!("the device is gone ({shown})"))
    }

    fn offset(&self, first: u64) -> u64 {
        first * self.block_bytes as u64
    }
}

impl Medium for DirectMedium {
    fn blocks(&self) -> u64 {
        self.blocks
    }

    fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    fn read(&mut self, first: u64, into: &mut [u8]) -> Result<(), MediumError> {
        let at = self.aligned(into.len());
        let offset = self.offset(first);
        let piece = &mut self.memory[at..at + into.len()];
        let done = self.file.read_exact_at(piece, offset);
        done.map_err(|e| self.failure(e))?;
        let piece = &self.memory[at..at + into.len()];
        into.copy_from_slice(piece);
        Ok(())
    }

    fn write(&mut self, first: u64, data: &[u8]) -> Result<(), MediumError> {
        let at = self.aligned(data.len());
        let offset = self.offset(first);
        let piece = &mut self.memory[at..at + data.len()];
        piece.copy_from_slice(data);
        let done = self.file.write_all_at(piece, offset);
        done.map_err(|e| self.failure(e))
    }

    fn settle(&mut self) -> Result<(), MediumError> {
        fdatasync(&self.file).map_err(|e| self.failure(e.into()))?;
        if !self.direct {
            let dropped = fadvise(&self.file, 0, None, Advice::DontNeed);
            dropped.map_err(|e| self.failure(e.into()))?;
        }
        Ok(())
    }

    fn now(&self) -> Nanos {
        Nanos(u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

/// Whether the error, or the size of the device, shows that it was removed: the kernel takes the size away, and operations
/// under way may fail with another error, or end early.
fn is_gone(file: &File, error: &io::Error) -> bool {
    let gone = [Errno::NODEV, Errno::NXIO, Errno::NOMEDIUM, Errno::SHUTDOWN];
    let code = error.raw_os_error();
    let has_no_size = || {
        let about = file.metadata();
        about.is_ok_and(|about| about.file_type().is_block_device())
            && seek(file, SeekFrom::End(0)) == Ok(0)
    };
    gone.iter().any(|e| code == Some(e.raw_os_error())) || has_no_size()
}
