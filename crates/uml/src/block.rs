//! virtio-blk (virtio 1, section 5.2): the features and the configuration of the device, and
//! requests as they stand in the queue. There is no FUA in virtio-blk; file systems flush instead.

use crate::memory::Memory;
use crate::queue::{Buffer, Chain, QueueError};
use nandscope_units::{Bytes, SECTOR_BYTES};

const F_SEG_MAX: u64 = 1 << 2;
const F_BLK_SIZE: u64 = 1 << 6;
const F_FLUSH: u64 = 1 << 9;
const F_TOPOLOGY: u64 = 1 << 10;
const F_DISCARD: u64 = 1 << 13;
const F_INDIRECT: u64 = 1 << 28;
const F_VERSION_1: u64 = 1 << 32;

/// Length of the configuration that we keep; what lies beyond reads as zero.
pub const CONFIG_BYTES: usize = 96;
/// Most segments of a request: so many that a request of 4 MiB in single pages has room. With fewer than
/// the largest request has pages, it would be an accident where Linux cuts requests: at how many of their
/// pages happen to be neighbours in its memory, which differs from run to run.
const SEGMENTS: u32 = 1024;
/// Length of the answer to GET_ID.
const ID_BYTES: u32 = 20;
/// Bytes of the header of a request.
const HEADER_BYTES: usize = 16;
/// Longest data of one request: well over what Linux asks (1280 KiB).
const LONGEST_DATA: u64 = 64 << 20;

/// What the device says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disk {
    /// Addressable bytes.
    pub capacity: Bytes,
    /// Discards reach the device.
    pub discard: bool,
    /// The unit in which discards have an effect.
    pub discard_granularity: Bytes,
    /// Smallest write that needs no reading before, as hint; none said where zero.
    pub minimum_io: Bytes,
    /// Best size and alignment of writes, as hint; none said where zero.
    pub optimal_io: Bytes,
}

impl Disk {
    /// Virtio features that are offered.
    pub fn features(&self) -> u64 {
        let discard = if self.discard { F_DISCARD } else { 0 };
        F_SEG_MAX | F_BLK_SIZE | F_FLUSH | F_TOPOLOGY | F_INDIRECT | F_VERSION_1 | discard
    }

    /// `struct virtio_blk_config`.
    pub fn config(&self) -> [u8; CONFIG_BYTES] {
        let sectors = |bytes: Bytes| (bytes.0 / SECTOR_BYTES).min(u64::from(u32::MAX)) as u32;
        let mut config = [0; CONFIG_BYTES];
        let mut put = |at: usize, bytes: &[u8]| config[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &(self.capacity.0 / SECTOR_BYTES).to_le_bytes());
        put(12, &SEGMENTS.to_le_bytes());
        put(20, &(SECTOR_BYTES as u32).to_le_bytes());
        put(
            26,
            &(sectors(self.minimum_io).min(0xffff) as u16).to_le_bytes(),
        );
        put(28, &sectors(self.optimal_io).to_le_bytes());
        put(36, &(u32::MAX >> 9).to_le_bytes());
        put(40, &1u32.to_le_bytes());
        put(44, &sectors(self.discard_granularity).max(1).to_le_bytes());
        config
    }
}

/// What a request asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Read into the buffers.
    Read {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u64,
        /// Where to.
        to: Vec<Buffer>,
    },
    /// Write what the buffers hold.
    Write {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u64,
        /// Where from.
        from: Vec<Buffer>,
    },
    /// What was written before is to be safe.
    Flush,
    /// A range holds nothing of value.
    Discard {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u64,
    },
    /// The serial number into the buffer.
    Identify(Buffer),
    /// Something that was not offered.
    Other,
}

/// A request: what it asks, and where its status goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockRequest {
    /// Number by which it is handed back.
    pub head: u16,
    /// What it asks.
    pub ask: Ask,
    /// Address of the status byte.
    pub status: u64,
    /// Bytes that the device writes when all goes well, the status included.
    pub written: u32,
}

/// Done.
pub const STATUS_OK: u8 = 0;
/// Failed.
pub const STATUS_ERROR: u8 = 1;
/// Not offered.
pub const STATUS_UNSUPPORTED: u8 = 2;

impl BlockRequest {
    /// Reads a request out of its chain of buffers.
    ///
    /// # Errors
    /// Where there is no header or no place for the status, or the data cannot be that long.
    pub fn decode(memory: &Memory, chain: &Chain) -> Result<BlockRequest, QueueError> {
        let (status, rest) = match chain.buffers.split_last() {
            Some((last, rest)) if last.writable && last.length >= 1 => (last, rest),
            _ => {
                return Err(QueueError::Broken(
                    "a request without a place for its status",
                ));
            }
        };
        let (header, data) = match rest.split_first() {
            Some((first, data)) if !first.writable && first.length as usize >= HEADER_BYTES => {
                (first, data)
            }
            _ => return Err(QueueError::Broken("a request without a header")),
        };
        let mut raw = [0; HEADER_BYTES];
        memory.read(header.address, &mut raw)?;
        let [a, b, c, d, _, _, _, _, sector @ ..] = raw;
        let sector = u64::from_le_bytes(sector);
        let length: u64 = data.iter().map(|b| u64::from(b.length)).sum();
        if length > LONGEST_DATA {
            return Err(QueueError::Broken("a request of more than 64 MiB"));
        }
        // A sector beyond 2^55 lies beyond every device; it is refused as out of range later.
        let offset = sector.saturating_mul(SECTOR_BYTES);
        let all = |writable: bool| data.iter().all(|b| b.writable == writable);
        let ask = match u32::from_le_bytes([a, b, c, d]) {
            0 if all(true) => Ask::Read {
                offset,
                length,
                to: data.to_vec(),
            },
            1 if all(false) => Ask::Write {
                offset,
                length,
                from: data.to_vec(),
            },
            4 => Ask::Flush,
            8 => match data {
                [to] if to.writable && to.length >= ID_BYTES => Ask::Identify(*to),
                _ => Ask::Other,
            },
            11 => discard(memory, data)?,
            _ => Ask::Other,
        };
        let written = match &ask {
            Ask::Read { length, .. } => *length as u32 + 1,
            Ask::Identify(_) => ID_BYTES + 1,
            _ => 1,
        };
        Ok(BlockRequest {
            head: chain.head,
            ask,
            status: status.address + u64::from(status.length) - 1,
            written,
        })
    }
}

/// The one range that we let a discard have.
fn discard(memory: &Memory, data: &[Buffer]) -> Result<Ask, QueueError> {
    let [range] = data else {
        return Ok(Ask::Other);
    };
    if range.writable || range.length != 16 {
        return Ok(Ask::Other);
    }
    let mut raw = [0; 16];
    memory.read(range.address, &mut raw)?;
    let [a, b, c, d, e, f, g, h, i, j, k, l, ..] = raw;
    Ok(Ask::Discard {
        offset: u64::from_le_bytes([a, b, c, d, e, f, g, h]).saturating_mul(SECTOR_BYTES),
        length: u64::from(u32::from_le_bytes([i, j, k, l])) * SECTOR_BYTES,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_is_where_the_driver_looks() {
        let disk = Disk {
            capacity: Bytes::mib(64),
            discard: true,
            discard_granularity: Bytes::mib(4),
            minimum_io: Bytes(16_384),
            optimal_io: Bytes::mib(4),
        };
        let config = disk.config();
        assert_eq!(config[0..8], 131_072u64.to_le_bytes());
        assert_eq!(config[20..24], 512u32.to_le_bytes());
        assert_eq!(config[26..28], 32u16.to_le_bytes());
        assert_eq!(config[28..32], 8192u32.to_le_bytes());
        assert_eq!(config[44..48], 8192u32.to_le_bytes());
        assert_ne!(disk.features() & (1 << 13), 0);
        let without = Disk {
            discard: false,
            ..disk
        };
        assert_eq!(without.features() & (1 << 13), 0);
    }
}
