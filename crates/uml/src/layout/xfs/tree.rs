//! XFS's B+ trees: all nodes of one, each seen once, however damaged the tree may be.

use super::fields::{be16_at, be32_at, be64_at};
use crate::layout::kind::{Kind, Range};
use crate::layout::volume::Volume;
use std::collections::BTreeSet;

/// Limit of nodes, inode chunks, ranges, and of a tree's height.
const MOST_READ: usize = 1 << 16;
const MOST_RANGES: usize = 1 << 20;
const HIGHEST: u64 = 10;

/// Ranges and visited blocks of a file system.
#[derive(Default)]
pub(super) struct Found {
    pub(super) ranges: Vec<Range>,
    read: BTreeSet<u64>,
}

impl Found {
    pub(super) fn add(&mut self, at: u64, length: u64, kind: Kind) {
        if self.ranges.len() < MOST_RANGES {
            self.ranges.push((at, length, kind));
        }
    }

    /// Returns true if the address has not been read yet and the limit is not reached.
    pub(super) fn visit(&mut self, at: u64) -> bool {
        self.read.len() < MOST_READ && self.read.insert(at)
    }
}

/// Format of the nodes of a kind of tree.
pub(super) struct Shape {
    magic: u64,
    /// Bytes of the head of a node, of a key (both keys of a range), and of a pointer to another node.
    head: usize,
    key: usize,
    pointer: usize,
    /// Kind of its nodes.
    kind: Kind,
}

impl Shape {
    /// A tree whose pointers number the blocks of its group: free space, inodes.
    pub(super) fn within_a_group(magic: &[u8; 4], key: usize) -> Shape {
        Shape {
            magic: u64::from(u32::from_be_bytes(*magic)),
            head: 56,
            key,
            pointer: 4,
            kind: Kind::Bitmap,
        }
    }

    /// The tree of the extents of an inode, whose pointers number the blocks of the file system.
    pub(super) fn of_extents() -> Shape {
        Shape {
            magic: u64::from(u32::from_be_bytes(*b"BMA3")),
            head: 72,
            key: 8,
            pointer: 8,
            kind: Kind::Inode,
        }
    }

    /// The pointers of a node, or of a root in an inode. `node` is the part after the header. Pointers
    /// follow the space for the maximum number of keys.
    pub(super) fn pointers(&self, node: &[u8], count: usize) -> Vec<u64> {
        let room = node.len() / (self.key + self.pointer);
        let rest = node.get(room * self.key..).unwrap_or_default();
        let of = |pointer: &[u8]| match self.pointer {
            4 => be32_at(pointer, 0),
            _ => be64_at(pointer, 0),
        };
        let pointers = rest.chunks_exact(self.pointer);
        pointers.take(count.min(room)).filter_map(of).collect()
    }
}

/// A tree on an image.
pub(super) struct Tree<'a> {
    pub(super) image: &'a Volume<'a>,
    /// Bytes of a node.
    pub(super) size: usize,
    pub(super) shape: &'a Shape,
    /// Address of the block of a pointer.
    pub(super) place: &'a dyn Fn(u64) -> Option<u64>,
}

impl Tree<'_> {
    /// Adds the nodes below and among these (blocks and their levels), and gives the records of each leaf, as one
    /// piece of bytes, to `leaf`.
    pub(super) fn walk(
        &self,
        mut waiting: Vec<(u64, u64)>,
        found: &mut Found,
        leaf: &mut dyn FnMut(&[u8], &mut Found),
    ) {
        while let Some((block, level)) = waiting.pop() {
            let Some(at) = (self.place)(block).filter(|_| level < HIGHEST) else {
                continue;
            };
            if !found.visit(at) {
                continue;
            }
            let node = self.image.bytes(at, self.size).unwrap_or_default();
            if be32_at(&node, 0) != Some(self.shape.magic) || be16_at(&node, 4) != Some(level) {
                continue;
            }
            found.add(at, self.size as u64, self.shape.kind);
            let count = be16_at(&node, 6).unwrap_or(0) as usize;
            let inside = node.get(self.shape.head..).unwrap_or_default();
            if level > 0 {
                let below = self.shape.pointers(inside, count);
                waiting.extend(below.into_iter().map(|to| (to, level - 1)));
            } else {
                // Only trees with records of 16 bytes have a `leaf` that looks at them.
                let end = (count * 16).min(inside.len());
                leaf(&inside[..end], found);
            }
        }
    }
}
