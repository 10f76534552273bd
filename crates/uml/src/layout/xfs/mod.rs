//! XFS: superblocks and headers of the allocation groups, the internal log, the trees of free space and
//! of inodes, the inodes, and the blocks of directories (the kernel's XFS Algorithms & Data Structures,
//! and `fs/xfs/libxfs/xfs_format.h` of Linux). Supports the format with checksums (version 5, the
//! default of mkfs.xfs). An external log and the realtime section are on other devices.

mod fields;
mod geometry;
mod inode;
mod tree;

use super::kind::{Kind, Range};
use super::volume::Volume;
use fields::{be16_at, be32_at, be64_at};
use geometry::Geometry;
use nandscope_blockio::memory_len;
use tree::{Found, Shape, Tree};

const MAGIC: u64 = 0x5846_5342;
const AGF_MAGIC: u64 = 0x5841_4746;
const AGI_MAGIC: u64 = 0x5841_4749;
const AGFL_MAGIC: u64 = 0x5841_464c;
/// Bytes of the header of a free list.
const AGFL_HEAD: usize = 36;
const SPARSE_INODES: u64 = 2;
/// Larger file systems are refused, so that no address overflows.
const MOST_GROUPS: u64 = 1 << 16;
const MOST_BLOCKS: u64 = 1 << 40;

pub(super) fn ranges(image: &Volume<'_>) -> Option<Vec<Range>> {
    let sb = image.bytes(0, 512)?;
    if be32_at(&sb, 0)? != MAGIC || be16_at(&sb, 100)? & 0xf != 5 {
        return None;
    }
    let geometry = Geometry {
        image,
        block: be32_at(&sb, 4)?,
        sector: be16_at(&sb, 102)?,
        inode: be16_at(&sb, 104)?,
        group_blocks: be32_at(&sb, 84)?,
        groups: be32_at(&sb, 88)?,
        group_bits: u32::from(sb[124]),
        sparse: be32_at(&sb, 216)? & SPARSE_INODES != 0,
    };
    let g = &geometry;
    let fits = (1024..=65_536).contains(&g.block)
        && (512..=32_768).contains(&g.sector)
        && (256..=2048).contains(&g.inode)
        && g.groups <= MOST_GROUPS
        && g.groups * g.group_blocks <= MOST_BLOCKS
        && g.group_bits <= 32;
    if !fits {
        return None;
    }
    let mut found = Found::default();
    let log = be64_at(&sb, 48)?;
    if let Some(at) = g.place(log).filter(|_| log > 0) {
        found.add(at, be32_at(&sb, 96)? * g.block, Kind::Journal);
    }
    for group in 0..g.groups {
        g.add_group(group, &mut found);
    }
    Some(found.ranges)
}

impl Geometry<'_> {
    /// A sector of a group's headers, if its magic is right.
    fn header(&self, group: u64, sector: u64, magic: u64) -> Option<Vec<u8>> {
        let at = self.block_of(group, 0)?.checked_add(sector * self.sector)?;
        let bytes = self.image.bytes(at, memory_len(self.sector))?;
        (be32_at(&bytes, 0)? == magic).then_some(bytes)
    }

    fn add_group(&self, group: u64, found: &mut Found) {
        if let Some(start) = self.block_of(group, 0)
            && self.header(group, 0, MAGIC).is_some()
        {
            found.add(start, self.sector, Kind::Super);
            found.add(start + self.sector, 3 * self.sector, Kind::Bitmap);
        }
        if let Some(agf) = self.header(group, 1, AGF_MAGIC) {
            self.free_space(group, &agf, found);
            self.spare(group, &agf, found);
        }
        if let Some(agi) = self.header(group, 2, AGI_MAGIC) {
            self.inodes(group, &agi, found);
        }
    }

    /// The blocks reserved for the trees: a ring of numbers, whose used part is in the header.
    fn spare(&self, group: u64, agf: &[u8], found: &mut Found) -> Option<()> {
        let list = self.header(group, 3, AGFL_MAGIC)?;
        let slots: Vec<&[u8]> = list.get(AGFL_HEAD..)?.chunks_exact(4).collect();
        let first = memory_len(be32_at(agf, 40)?);
        let used = (memory_len(be32_at(agf, 48)?)).min(slots.len());
        for slot in slots.iter().cycle().skip(first % slots.len()).take(used) {
            if let Some(at) = self.block_of(group, be32_at(slot, 0)?) {
                found.add(at, self.block, Kind::Bitmap);
            }
        }
        Some(())
    }

    /// The trees of free space by place and by size, of owners, and of shared blocks.
    fn free_space(&self, group: u64, agf: &[u8], found: &mut Found) -> Option<()> {
        let trees = [
            (16, 28, b"AB3B", 8),
            (20, 32, b"AB3C", 8),
            (24, 36, b"RMB3", 40),
            (88, 92, b"R3FC", 4),
        ];
        for (root, level, magic, key) in trees {
            let root = (be32_at(agf, root)?, be32_at(agf, level)?);
            self.walk(
                group,
                root,
                &Shape::within_a_group(magic, key),
                found,
                &mut |_, _| {},
            );
        }
        Some(())
    }

    /// The inode trees; the first has the locations of the inodes.
    fn inodes(&self, group: u64, agi: &[u8], found: &mut Found) -> Option<()> {
        let free = (be32_at(agi, 328)?, be32_at(agi, 332)?);
        self.walk(
            group,
            free,
            &Shape::within_a_group(b"FIB3", 4),
            found,
            &mut |_, _| {},
        );
        let all = (be32_at(agi, 20)?, be32_at(agi, 24)?);
        let shape = Shape::within_a_group(b"IAB3", 4);
        self.walk(group, all, &shape, found, &mut |leaf, found| {
            for record in leaf.chunks_exact(inode::RECORD) {
                self.add_inodes(group, record, found);
            }
        });
        Some(())
    }

    /// Goes through a tree within a group, given by the block of its root and its height.
    fn walk(
        &self,
        group: u64,
        (root, height): (u64, u64),
        shape: &Shape,
        found: &mut Found,
        leaf: &mut dyn FnMut(&[u8], &mut Found),
    ) {
        let Some(level) = height.checked_sub(1) else {
            return;
        };
        let tree = Tree {
            image: self.image,
            size: memory_len(self.block),
            shape,
            place: &|block| self.block_of(group, block),
        };
        tree.walk(vec![(root, level)], found, leaf);
    }
}
