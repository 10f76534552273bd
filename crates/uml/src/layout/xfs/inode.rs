//! XFS inodes: their locations, and the directory blocks and extent trees that they reference. Other
//! referenced blocks are data.

use super::fields::{be16_at, be32_at, be64_at};
use super::geometry::Geometry;
use super::tree::{Found, Shape, Tree};
use crate::layout::kind::Kind;
use nandscope_blockio::memory_len;

/// Bytes of a record of the tree of inodes, and of an extent.
pub(super) const RECORD: usize = 16;
/// Inodes of a chunk, and those for which a bit says that they are missing.
const CHUNK: u64 = 64;
const PER_HOLE: u64 = 4;
const MAGIC: u64 = 0x494e;
/// Bytes of an inode before what it holds or names.
const CORE: usize = 176;
const TYPE: u64 = 0xf000;
const DIRECTORY: u64 = 0x4000;
/// Forms of what an inode names: a list of extents, or the root of a tree of them.
const EXTENTS: u8 = 2;
const TREE: u8 = 3;
/// Set if the number of extents is in the wide field.
const MANY_EXTENTS: u64 = 0x10;

impl Geometry<'_> {
    /// The chunk of inodes of a record.
    pub(super) fn add_inodes(&self, group: u64, record: &[u8], found: &mut Found) -> Option<()> {
        let (first, free) = (be32_at(record, 0)?, be64_at(record, 8)?);
        let holes = if self.sparse { be16_at(record, 4)? } else { 0 };
        let block = first * self.inode / self.block;
        let at = self.block_of(group, block)? + first * self.inode % self.block;
        if !found.visit(at) {
            return None;
        }
        if holes == 0 {
            found.add(at, CHUNK * self.inode, Kind::Inode);
        }
        for part in (0..CHUNK / PER_HOLE).filter(|part| holes > 0 && holes >> part & 1 == 0) {
            let length = PER_HOLE * self.inode;
            found.add(at + part * length, length, Kind::Inode);
        }
        let inodes = self.image.bytes(at, memory_len(CHUNK * self.inode))?;
        for (i, inode) in (0..).zip(inodes.chunks_exact(memory_len(self.inode))) {
            if free >> i & 1 == 0 && holes >> (i / PER_HOLE) & 1 == 0 {
                self.add_named(inode, found);
            }
        }
        Some(())
    }

    /// Adds the blocks that an inode references.
    fn add_named(&self, inode: &[u8], found: &mut Found) -> Option<()> {
        if be16_at(inode, 0)? != MAGIC || inode[4] != 3 {
            return None;
        }
        let directory = be16_at(inode, 2)? & TYPE == DIRECTORY;
        let fork = match usize::from(inode[82]) * 8 {
            0 => inode.get(CORE..)?,
            length => inode.get(CORE..CORE + length)?,
        };
        match inode[5] {
            EXTENTS if directory => {
                let many = be64_at(inode, 120)? & MANY_EXTENTS != 0;
                let count = if many {
                    be64_at(inode, 24)?
                } else {
                    be32_at(inode, 76)?
                };
                let used = count.min((fork.len() / RECORD) as u64) as usize;
                self.add_directory(&fork[..used * RECORD], found);
            }
            TREE => self.add_tree(fork, directory, found)?,
            _ => {}
        }
        Some(())
    }

    /// The tree of extents whose root an inode holds.
    fn add_tree(&self, fork: &[u8], directory: bool, found: &mut Found) -> Option<()> {
        let (level, count) = (be16_at(fork, 0)?, be16_at(fork, 2)?);
        let below = level.checked_sub(1)?;
        let shape = Shape::of_extents();
        let roots = shape.pointers(fork.get(4..)?, memory_len(count));
        let tree = Tree {
            image: self.image,
            size: memory_len(self.block),
            shape: &shape,
            place: &|block| self.place(block),
        };
        let roots = roots.into_iter().map(|block| (block, below)).collect();
        tree.walk(roots, found, &mut |leaf, found| {
            if directory {
                self.add_directory(leaf, found);
            }
        });
        Some(())
    }

    /// The extents of a directory: 1 bit of state, 54 of place in the file, 52 of block, 21 of length.
    fn add_directory(&self, extents: &[u8], found: &mut Found) {
        for extent in extents.chunks_exact(RECORD) {
            let Some((high, low)) = be64_at(extent, 0).zip(be64_at(extent, 8)) else {
                continue;
            };
            let block = (high & 0x1ff) << 43 | low >> 21;
            if let Some(at) = self.place(block) {
                found.add(at, (low & 0x1f_ffff) * self.block, Kind::Directory);
            }
        }
    }
}
