//! Requests of virtio-blk (virtio 1.2, 5.2.6).

use super::error::VirtioError;
use super::memory::GuestMemory;
use super::queue::{Buffer, Chain, RequestQueue};
use crate::memory_len;
use nandscope_units::SECTOR_BYTES;

/// Bytes of the header of a request.
const HEADER_BYTES: u32 = 16;
/// Bytes of the answer to [`Kind::Identify`].
const ID_BYTES: usize = 20;
/// Bytes of the range of a discard.
const RANGE_BYTES: usize = 16;
/// Flag of a range: zeroes may be made by discarding.
pub const UNMAP: u32 = 1;

/// Operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Reads into the buffers.
    Read,
    /// Writes the buffers.
    Write,
    /// Makes completed writes durable.
    Flush,
    /// Returns the serial number.
    Identify,
    /// Discards a range.
    Discard,
    /// Makes a range read as zeroes.
    WriteZeroes,
    /// An operation that is not known.
    Unknown,
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// `VIRTIO_BLK_S_OK`: the request succeeded.
    Done = 0,
    /// `VIRTIO_BLK_S_IOERR`: the device or the driver failed.
    Failed = 1,
    /// `VIRTIO_BLK_S_UNSUPP`: the device does not offer the operation.
    Unsupported = 2,
}

/// Range of sectors to discard or to zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectorRange {
    /// Number of the first sector.
    pub first: u64,
    /// Number of sectors.
    pub sectors: u32,
    /// Flags, of which only [`UNMAP`] is known.
    pub flags: u32,
}

/// A request, its buffers of data, and the place of its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockRequest {
    /// Number of the request's first descriptor, with which the request is returned to the driver.
    pub head: u16,
    /// Operation.
    pub kind: Kind,
    /// First sector of a read or write.
    pub sector: u64,
    /// Buffers with data for the device.
    pub sent: Vec<Buffer>,
    /// Buffers for data of the device.
    pub room: Vec<Buffer>,
    /// Address of the status byte.
    status: u64,
}

/// Bytes of buffers together.
fn total(buffers: &[Buffer]) -> u64 {
    buffers.iter().map(|b| u64::from(b.length)).sum()
}

impl BlockRequest {
    /// Reads the header of a request and locates its parts. All known drivers use separate buffers for
    /// header and status.
    ///
    /// # Errors
    /// `Broken` if the chain is broken or lacks header or status; `Outside` or `Io` if the header cannot
    /// be read.
    pub fn read(memory: &GuestMemory, chain: Chain) -> Result<Self, VirtioError> {
        let Chain {
            head,
            readable: mut sent,
            writable: mut room,
            fault,
        } = chain;
        if let Some(fault) = fault {
            return Err(VirtioError::Broken(fault));
        }
        if sent.first().is_none_or(|b| b.length != HEADER_BYTES) {
            return Err(VirtioError::Broken("a request without a header"));
        }
        let header = sent.remove(0);
        let status = match room.pop() {
            Some(status) if status.length == 1 => status.address,
            _ => {
                return Err(VirtioError::Broken(
                    "a request without a buffer for its status",
                ));
            }
        };
        let mut raw = [0; HEADER_BYTES as usize];
        memory.read(header.address, &mut raw)?;
        let [a, b, c, d, _, _, _, _, sector @ ..] = raw;
        Ok(BlockRequest {
            head,
            kind: match u32::from_le_bytes([a, b, c, d]) {
                0 => Kind::Read,
                1 => Kind::Write,
                4 => Kind::Flush,
                8 => Kind::Identify,
                11 => Kind::Discard,
                13 => Kind::WriteZeroes,
                _ => Kind::Unknown,
            },
            sector: u64::from_le_bytes(sector),
            sent,
            room,
            status,
        })
    }

    /// Address of the first byte of a read or write; `None` if it exceeds 64 bits.
    pub fn offset(&self) -> Option<u64> {
        self.sector.checked_mul(SECTOR_BYTES)
    }

    /// Bytes of data that it transfers.
    pub fn length(&self) -> u64 {
        match self.kind {
            Kind::Read => total(&self.room),
            Kind::Write => total(&self.sent),
            _ => 0,
        }
    }

    /// Collects the data that it sends. The caller has checked the length.
    ///
    /// # Errors
    /// `Outside` or `Io` if a buffer cannot be read.
    pub fn gather(&self, memory: &GuestMemory) -> Result<Vec<u8>, VirtioError> {
        let mut data = vec![0; memory_len(total(&self.sent))];
        let mut rest = &mut data[..];
        for buffer in &self.sent {
            let (part, after) = rest.split_at_mut(memory_len(u64::from(buffer.length)));
            memory.read(buffer.address, part)?;
            rest = after;
        }
        Ok(data)
    }

    /// Spreads data over the buffers that it has for it; what does not fit is left out.
    ///
    /// # Errors
    /// `Outside` or `Io` if a buffer cannot be written.
    pub fn scatter(&self, memory: &GuestMemory, data: &[u8]) -> Result<(), VirtioError> {
        let mut rest = data;
        for buffer in &self.room {
            let length = memory_len(u64::from(buffer.length)).min(rest.len());
            let (part, after) = rest.split_at(length);
            memory.write(buffer.address, part)?;
            rest = after;
        }
        Ok(())
    }

    /// The serial number as [`Kind::Identify`] returns it; `None` if the request has no room for it.
    pub fn serial(&self, number: &str) -> Option<[u8; ID_BYTES]> {
        let mut serial = [0; ID_BYTES];
        for (to, from) in serial.iter_mut().zip(number.bytes()) {
            *to = from;
        }
        (total(&self.room) >= ID_BYTES as u64).then_some(serial)
    }

    /// The range of a discard or of zeroes; `None` if it is not exactly one.
    ///
    /// # Errors
    /// `Outside` or `Io` if it cannot be read.
    pub fn range(&self, memory: &GuestMemory) -> Result<Option<SectorRange>, VirtioError> {
        if total(&self.sent) != RANGE_BYTES as u64 {
            return Ok(None);
        }
        let raw = self.gather(memory)?;
        let Ok([a, b, c, d, e, f, g, h, i, j, k, l, flags @ ..]) =
            <[u8; RANGE_BYTES]>::try_from(raw)
        else {
            return Ok(None);
        };
        Ok(Some(SectorRange {
            first: u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            sectors: u32::from_le_bytes([i, j, k, l]),
            flags: u32::from_le_bytes(flags),
        }))
    }

    /// Writes the status and returns the request; `data` bytes were written into its buffers.
    ///
    /// # Errors
    /// `Outside` or `Io` if the status cannot be written, `Ring` if the used ring cannot be.
    pub fn answer(
        &self,
        memory: &GuestMemory,
        queue: &mut RequestQueue,
        status: Status,
        data: u32,
    ) -> Result<(), VirtioError> {
        let written = memory.write(self.status, &[status as u8]);
        queue.give_back(memory, self.head, data.saturating_add(1))?;
        written
    }
}
