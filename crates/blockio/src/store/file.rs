//! Contents in a sparse file, byte for byte as on the device, so that other programs can look at
//! it while no server runs. Writes go straight to the system: what was written survives the end of
//! the server, however it ends, and a crash of the whole machine only from [`FileStore::sync`] on.

use super::error::StoreError;
use crate::memory_len;
use rustix::fs::FlockOperation;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Zeroes for file systems without holes.
static ZEROES: [u8; 64 << 10] = [0; 64 << 10];

/// See the module's text. Ranges have been checked by the caller.
#[derive(Debug)]
pub struct FileStore(File);

impl FileStore {
    pub fn open(path: &Path, capacity: u64) -> Result<Self, StoreError> {
        let unfit = |what: String| StoreError::Unfit {
            file: path.display().to_string(),
            what,
        };
        let refused = |e: io::Error| unfit(format!("cannot store the contents in this file: {e}"));
        // Opening a device or FIFO may do something to it.
        if path.metadata().is_ok_and(|found| !found.is_file()) {
            return Err(unfit("not a regular file".to_string()));
        }
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .map_err(refused)?;
        if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(unfit(
                "another server uses these contents; end it, or name another file".to_string(),
            ));
        }
        let found = file.metadata().map_err(refused)?;
        if !found.is_file() {
            return Err(unfit("not a regular file".to_string()));
        }
        match found.len() {
            size if size == capacity => {}
            0 => file.set_len(capacity).map_err(refused)?,
            size => {
                return Err(unfit(format!(
                    "has {size} bytes, but the device has {capacity}: it belongs to another device; name another file"
                )));
            }
        }
        Ok(FileStore(file))
    }

    /// Device and inode number.
    pub fn id(&self) -> Option<(u64, u64)> {
        let about = self.0.metadata().ok()?;
        Some((about.dev(), about.ino()))
    }

    pub fn read(&self, offset: u64, to: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(to, offset)
    }

    pub fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write_all_at(data, offset)
    }

    pub fn discard(&mut self, offset: u64, length: u64) -> io::Result<()> {
        if length == 0 || self.punch(offset, length) {
            return Ok(());
        }
        let mut at = offset;
        while at < offset + length {
            let part = memory_len(offset + length - at).min(ZEROES.len());
            self.0.write_all_at(&ZEROES[..part], at)?;
            at += part as u64;
        }
        Ok(())
    }

    #[cfg(target_os = "linux")]
    fn punch(&self, offset: u64, length: u64) -> bool {
        use rustix::fs::{FallocateFlags, fallocate};
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        fallocate(&self.0, hole, offset, length).is_ok()
    }

    #[cfg(not(target_os = "linux"))]
    fn punch(&self, _offset: u64, _length: u64) -> bool {
        false
    }

    pub fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}
