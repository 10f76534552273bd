//! The card as virtio-blk shows it to a guest.

use nandscope_blockio::virtio::{
    BlockConfig, DiscardConfig, EVENT_INDEX, PROTOCOL_FEATURES, ZeroConfig,
};
use nandscope_units::{Bytes, SECTOR_BYTES};

/// Entries of the queue at most.
pub(super) const QUEUE_SIZE: u16 = 256;
/// Sectors of one discard or zeroing at most.
pub(super) const LARGEST_DISCARD: u32 = 1 << 22;
/// Sectors of a physical block, as a power of two: blocks of 4 KiB are best.
const BLOCK_EXPONENT: u8 = 3;

/// The card as a guest sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disk {
    /// Capacity that guests see.
    pub size: Bytes,
    /// It takes no writes.
    pub read_only: bool,
    /// Discards reach it.
    pub discards: bool,
    /// The allocation unit or preferred write size, if known.
    pub unit: Option<Bytes>,
}

impl Disk {
    /// Feature bits of virtio that are offered.
    pub(super) fn features(&self) -> u64 {
        self.config().features() | EVENT_INDEX | PROTOCOL_FEATURES
    }

    /// Its configuration as a virtio-blk device.
    pub(super) fn config(&self) -> BlockConfig {
        let block = Bytes(SECTOR_BYTES << BLOCK_EXPONENT);
        BlockConfig {
            capacity: self.size,
            read_only: self.read_only,
            // All entries but those of the header and the status.
            segments_max: u32::from(QUEUE_SIZE) - 2,
            block_exponent: BLOCK_EXPONENT,
            minimum_io: block,
            optimal_io: self.unit.unwrap_or(Bytes::ZERO),
            discard: (self.discards && !self.read_only).then_some(DiscardConfig {
                sectors_max: LARGEST_DISCARD,
                granularity: block,
            }),
            write_zeroes: (!self.read_only).then_some(ZeroConfig {
                sectors_max: LARGEST_DISCARD,
                may_unmap: self.discards,
            }),
        }
    }
}
