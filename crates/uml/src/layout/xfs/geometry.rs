//! The sizes of a file system, and where its blocks are.

use crate::layout::volume::Volume;

/// The sizes of a file system.
pub(super) struct Geometry<'a> {
    pub(super) image: &'a Volume<'a>,
    pub(super) block: u64,
    pub(super) sector: u64,
    pub(super) inode: u64,
    pub(super) group_blocks: u64,
    pub(super) groups: u64,
    /// Bits of a block's address that number it within its group.
    pub(super) group_bits: u32,
    /// Chunks of inodes may have holes.
    pub(super) sparse: bool,
}

impl Geometry<'_> {
    /// Address of a block of a group.
    pub(super) fn block_of(&self, group: u64, block: u64) -> Option<u64> {
        let inside = group < self.groups && block < self.group_blocks;
        inside.then(|| (group * self.group_blocks + block) * self.block)
    }

    /// Address of a block of the file system.
    pub(super) fn place(&self, block: u64) -> Option<u64> {
        let group = block >> self.group_bits;
        self.block_of(group, block - (group << self.group_bits))
    }
}
