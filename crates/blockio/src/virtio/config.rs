//! The features and the configuration of the disk (virtio 1.2, 5.2.3 and 5.2.4).

use nandscope_units::{Bytes, SECTOR_BYTES};

const SEGMENTS: u64 = 1 << 2;
const READ_ONLY: u64 = 1 << 5;
const BLOCK_SIZE: u64 = 1 << 6;
const FLUSH: u64 = 1 << 9;
const TOPOLOGY: u64 = 1 << 10;
const DISCARD: u64 = 1 << 13;
const WRITE_ZEROES: u64 = 1 << 14;
const INDIRECT: u64 = 1 << 28;
const VERSION_1: u64 = 1 << 32;

/// Feature bit: the driver states up to which request it needs no notification.
pub const EVENT_INDEX: u64 = 1 << 29;
/// Feature bit of vhost-user: there are protocol features.
pub const PROTOCOL_FEATURES: u64 = 1 << 30;

/// Bytes of `struct virtio_blk_config` that are used here.
const CONFIG_BYTES: usize = 60;
/// Logical block of the disk.
const BLOCK_BYTES: u32 = 512;
/// Longest part of the configuration that can be read at once.
const LONGEST_PART: u32 = 256;

/// Properties of the disk in the configuration space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockConfig {
    /// Capacity of the disk.
    pub capacity: Bytes,
    /// Writes are refused.
    pub read_only: bool,
    /// Most buffers of data in a request.
    pub segments_max: u32,
    /// Sectors of a physical block, as a power of two.
    pub block_exponent: u8,
    /// Hint: smallest write that the device performs without reading first; zero for no hint.
    pub minimum_io: Bytes,
    /// Hint: best size and alignment of writes; zero for no hint.
    pub optimal_io: Bytes,
    /// Discards, if they reach the device.
    pub discard: Option<DiscardConfig>,
    /// Limits of requests that write zeroes; `None` if the device does not offer them.
    pub write_zeroes: Option<ZeroConfig>,
}

/// Limits of discards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiscardConfig {
    /// Most sectors of a discard.
    pub sectors_max: u32,
    /// Unit in which discards have an effect.
    pub granularity: Bytes,
}

/// Limits of requests that write zeroes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZeroConfig {
    /// Most sectors of a request.
    pub sectors_max: u32,
    /// A request may discard the sectors.
    pub may_unmap: bool,
}

impl BlockConfig {
    /// Feature bits that are offered.
    pub fn features(&self) -> u64 {
        let if_so = |so: bool, bit: u64| if so { bit } else { 0 };
        SEGMENTS
            | BLOCK_SIZE
            | FLUSH
            | TOPOLOGY
            | INDIRECT
            | VERSION_1
            | if_so(self.read_only, READ_ONLY)
            | if_so(self.discard.is_some(), DISCARD)
            | if_so(self.write_zeroes.is_some(), WRITE_ZEROES)
    }

    /// Layout in memory of `struct virtio_blk_config`.
    fn to_bytes(self) -> [u8; CONFIG_BYTES] {
        let sectors = |bytes: Bytes| u32::try_from(bytes.0 / SECTOR_BYTES).unwrap_or(u32::MAX);
        let minimum = u16::try_from(sectors(self.minimum_io)).unwrap_or(u16::MAX);
        let mut config = [0; CONFIG_BYTES];
        let mut put = |at: usize, bytes: &[u8]| config[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &(self.capacity.0 / SECTOR_BYTES).to_le_bytes());
        put(12, &self.segments_max.to_le_bytes());
        put(20, &BLOCK_BYTES.to_le_bytes());
        put(24, &[self.block_exponent]);
        put(26, &minimum.to_le_bytes());
        put(28, &sectors(self.optimal_io).to_le_bytes());
        put(34, &1u16.to_le_bytes());
        if let Some(discard) = self.discard {
            put(36, &discard.sectors_max.to_le_bytes());
            put(40, &1u32.to_le_bytes());
            put(44, &sectors(discard.granularity).max(1).to_le_bytes());
        }
        if let Some(zeroes) = self.write_zeroes {
            put(48, &zeroes.sectors_max.to_le_bytes());
            put(52, &1u32.to_le_bytes());
            put(56, &[u8::from(zeroes.may_unmap)]);
        }
        config
    }

    /// Part of the configuration; bytes past its end are zero. `None` if no driver reads this part.
    pub fn part(&self, offset: u32, size: u32) -> Option<Vec<u8>> {
        let end = offset.checked_add(size)?;
        let config = self.to_bytes();
        let byte = |at: u32| {
            let at = usize::try_from(at).ok();
            at.and_then(|at| config.get(at)).copied().unwrap_or(0)
        };
        (size <= LONGEST_PART).then(|| (offset..end).map(byte).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISK: BlockConfig = BlockConfig {
        capacity: Bytes::mib(64),
        read_only: false,
        segments_max: 254,
        block_exponent: 3,
        minimum_io: Bytes(16_384),
        optimal_io: Bytes::mib(4),
        discard: Some(DiscardConfig {
            sectors_max: 99,
            granularity: Bytes::mib(4),
        }),
        write_zeroes: None,
    };

    #[test]
    fn the_configuration_is_where_the_driver_looks() {
        let config = DISK.part(0, 70).unwrap();
        assert_eq!(config[0..8], 131_072u64.to_le_bytes());
        assert_eq!(config[12..16], 254u32.to_le_bytes());
        assert_eq!(config[20..24], 512u32.to_le_bytes());
        assert_eq!(config[24], 3);
        assert_eq!(config[26..28], 32u16.to_le_bytes());
        assert_eq!(config[28..32], 8192u32.to_le_bytes());
        assert_eq!(config[36..40], 99u32.to_le_bytes());
        assert_eq!(config[44..48], 8192u32.to_le_bytes());
        assert_eq!(config[48..], [0; 22]);
        assert_eq!(DISK.part(20, 4).unwrap(), config[20..24]);
        assert_eq!(DISK.part(1 << 20, 2).unwrap(), [0, 0]);
        assert_eq!(DISK.part(u32::MAX, 2), None);
        assert_eq!(DISK.part(0, 257), None);
    }

    #[test]
    fn features_are_those_that_are_configured() {
        assert_eq!(DISK.features() & (DISCARD | WRITE_ZEROES), DISCARD);
        let without = BlockConfig {
            discard: None,
            read_only: true,
            ..DISK
        };
        assert_eq!(without.features() & (DISCARD | READ_ONLY), READ_ONLY);
    }
}
