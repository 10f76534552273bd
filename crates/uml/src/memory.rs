//! The kernel's memory as it hands it over with SET_MEM_TABLE: files that are read and written at
//! an offset. They are not mapped: reading a request of 16 bytes this way costs a microsecond, and
//! no pointer into memory that another process changes is ever held.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use thiserror::Error;

/// An address that the kernel has not handed over.
#[derive(Debug, Error)]
pub enum MemoryError {
    /// The range is in none of the regions.
    #[error("the kernel named {length} bytes of memory at {address:#x}, which it has not shared")]
    Outside {
        /// First address.
        address: u64,
        /// Bytes.
        length: u64,
    },
    /// The system refused to read or write the memory.
    #[error("the kernel's memory at {address:#x}: {source}")]
    Io {
        /// First address.
        address: u64,
        /// Why.
        source: io::Error,
    },
}

/// One shared region.
#[derive(Debug)]
pub struct Region {
    /// Address of its first byte as descriptors name it.
    pub guest: u64,
    /// Address of its first byte as vring addresses name it.
    pub user: u64,
    /// Bytes.
    pub size: u64,
    /// Where it begins in the file.
    pub offset: u64,
    /// The memory.
    pub file: File,
}

/// All shared regions.
#[derive(Debug, Default)]
pub struct Memory(Vec<Region>);

impl Memory {
    /// Memory of these regions.
    pub fn new(regions: Vec<Region>) -> Self {
        Memory(regions)
    }

    /// The address that descriptors use for one that vring addresses use.
    pub fn guest_address(&self, user: u64) -> Option<u64> {
        self.0.iter().find_map(|r| {
            let within = user.checked_sub(r.user).filter(|at| *at < r.size)?;
            r.guest.checked_add(within)
        })
    }

    fn place(&self, address: u64, length: u64) -> Result<(&File, u64), MemoryError> {
        self.0
            .iter()
            .find_map(|r| {
                let within = address.checked_sub(r.guest)?;
                let end = within.checked_add(length)?;
                (end <= r.size).then_some(())?;
                Some((&r.file, r.offset.checked_add(within)?))
            })
            .ok_or(MemoryError::Outside { address, length })
    }

    /// Fills `to` from `address` on.
    ///
    /// # Errors
    /// Where the range is not shared or cannot be read.
    pub fn read(&self, address: u64, to: &mut [u8]) -> Result<(), MemoryError> {
        let (file, at) = self.place(address, to.len() as u64)?;
        file.read_exact_at(to, at)
            .map_err(|source| MemoryError::Io { address, source })
    }

    /// Writes `data` at `address`.
    ///
    /// # Errors
    /// Where the range is not shared or cannot be written.
    pub fn write(&self, address: u64, data: &[u8]) -> Result<(), MemoryError> {
        let (file, at) = self.place(address, data.len() as u64)?;
        file.write_all_at(data, at)
            .map_err(|source| MemoryError::Io { address, source })
    }

    /// A number of two bytes, as virtio 1 has them: little-endian.
    ///
    /// # Errors
    /// As [`Memory::read`].
    pub fn read_u16(&self, address: u64) -> Result<u16, MemoryError> {
        let mut bytes = [0; 2];
        self.read(address, &mut bytes)?;
        Ok(u16::from_le_bytes(bytes))
    }
}
