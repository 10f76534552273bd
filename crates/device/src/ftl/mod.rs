//! Flash translation layers, one per kind of device: [`page_map`] of SSDs and SD Express cards,
//! [`au_map`] of SD cards, eMMC and USB sticks. [`blocks`] holds the states and wear of superblocks.

pub(crate) mod au_map;
pub(crate) mod blocks;
pub(crate) mod page_map;
pub(crate) mod superblock_id;
