//! btrfs: superblocks, and the chunks of metadata. Everything except file contents is in trees, whose
//! nodes are anywhere in metadata chunks, so the trees are not distinguished
//! (<https://btrfs.readthedocs.io/en/latest/dev/On-disk-format.html>). Chunks that mix data and metadata
//! (`--mixed`) and chunks with parity count as data.

use super::kind::{Kind, Range};
use super::volume::{Volume, u16_at, u32_at, u64_at};
use nandscope_blockio::memory_len;
use std::collections::{BTreeMap, BTreeSet};

/// Offsets of the superblock and its copies, as far as they exist on the device.
const SUPERBLOCKS: [u64; 3] = [64 << 10, 64 << 20, 256 << 30];
const SUPERBLOCK: u64 = 4096;
const MAGIC: u64 = u64::from_le_bytes(*b"_BHRfS_M");
/// Offset and size of the first chunks in the superblock.
const SYSTEM_CHUNKS: (usize, usize) = (811, 2048);
const CHUNK_ITEM: u8 = 228;
/// Bytes of a key, of the head of a node, of an item of a leaf, and of a pointer of another node.
const KEY: usize = 17;
const HEAD: usize = 101;
const ITEM: usize = 25;
const POINTER: usize = 33;
/// Bytes of a chunk before its stripes, and of a stripe.
const CHUNK: usize = 48;
const STRIPE: usize = 32;
/// Flags of a chunk: contents and profile.
const DATA: u64 = 1;
const SYSTEM: u64 = 2;
const METADATA: u64 = 4;
const RAID0: u64 = 8;
/// RAID1, DUP, and three or four copies: each stripe has the whole chunk.
const COPIES: u64 = 0x10 | 0x20 | 0x200 | 0x400;
const PROFILES: u64 = 0x7f8;
/// Limit of nodes of the chunk tree, of chunks, and of a tree's height. A chunk has one stripe on a
/// device, or two with DUP.
const MOST_NODES: usize = 1 << 12;
const MOST_CHUNKS: usize = 1 << 16;
const MOST_STRIPES: usize = 2;
const HIGHEST: u8 = 8;

pub(super) fn ranges(image: &Volume<'_>) -> Option<Vec<Range>> {
    let sb = SUPERBLOCKS.iter().find_map(|at| {
        let sb = image.bytes(*at, memory_len(SUPERBLOCK))?;
        (u64_at(&sb, 64)? == MAGIC).then_some(sb)
    })?;
    let node = memory_len(u32_at(&sb, 148)?);
    if !(4096..=65_536).contains(&node) {
        return None;
    }
    let mut chunks = Chunks {
        device: u64_at(&sb, 201)?,
        map: BTreeMap::new(),
    };
    let room = (memory_len(u32_at(&sb, 160)?)).min(SYSTEM_CHUNKS.1);
    chunks.add_array(sb.get(SYSTEM_CHUNKS.0..SYSTEM_CHUNKS.0 + room)?);
    chunks.add_tree(image, u64_at(&sb, 88)?, *sb.get(199)?, node);
    let mut ranges = chunks.ranges();
    // The copies are inside chunks but not part of them, so they are added last.
    ranges.extend(SUPERBLOCKS.map(|at| (at, SUPERBLOCK, Kind::Super)));
    Some(ranges)
}

/// A chunk: its flags, and the offsets of its stripes on this device.
struct Chunk {
    flags: u64,
    length: u64,
    /// Bytes on each device that has a stripe.
    each: u64,
    stripes: Vec<u64>,
}

/// The chunks by their logical addresses.
struct Chunks {
    /// The number of this device among those of the file system.
    device: u64,
    map: BTreeMap<u64, Chunk>,
}

impl Chunks {
    /// Adds the chunks in the superblock, which contain the chunk tree.
    fn add_array(&mut self, mut array: &[u8]) {
        while let Some((key, chunk)) = array.split_at_checked(KEY) {
            let Some(length) = self.add(key, chunk) else {
                break;
            };
            array = chunk.get(length..).unwrap_or_default();
        }
    }

    /// Adds a chunk, and says how many bytes its description has.
    fn add(&mut self, key: &[u8], bytes: &[u8]) -> Option<usize> {
        if *key.get(8)? != CHUNK_ITEM || self.map.len() >= MOST_CHUNKS {
            return None;
        }
        let (length, flags, count) = (u64_at(bytes, 0)?, u64_at(bytes, 24)?, u16_at(bytes, 44)?);
        let end = CHUNK + STRIPE * memory_len(count);
        let mut stripes = Vec::new();
        for stripe in bytes.get(CHUNK..end)?.chunks_exact(STRIPE) {
            if u64_at(stripe, 0)? == self.device && stripes.len() < MOST_STRIPES {
                stripes.push(u64_at(stripe, 8)?);
            }
        }
        let profile = flags & PROFILES;
        let each = match profile {
            0 => length,
            RAID0 => length.checked_div(count)?,
            p if p & COPIES == p => length,
            _ => 0,
        };
        let chunk = Chunk {
            flags,
            length,
            each,
            stripes,
        };
        self.map.insert(u64_at(key, 9)?, chunk);
        Some(end)
    }

    /// Adds the chunks of the tree with this root.
    fn add_tree(&mut self, image: &Volume<'_>, root: u64, level: u8, size: usize) {
        let mut seen = BTreeSet::new();
        let mut waiting = vec![(root, level)];
        while let Some((logical, level)) = waiting.pop() {
            if level > HIGHEST || seen.len() >= MOST_NODES || !seen.insert(logical) {
                continue;
            }
            let Some(at) = self.place(logical) else {
                continue;
            };
            let node = image.bytes(at, size).unwrap_or_default();
            if u64_at(&node, 48) != Some(logical) || node.get(100) != Some(&level) {
                continue;
            }
            let count = u32_at(&node, 96).unwrap_or(0) as usize;
            if level == 0 {
                self.add_leaf(&node, count);
                continue;
            }
            for pointer in node[HEAD..].chunks_exact(POINTER).take(count) {
                waiting.extend(u64_at(pointer, KEY).map(|to| (to, level - 1)));
            }
        }
    }

    fn add_leaf(&mut self, leaf: &[u8], count: usize) {
        for item in leaf[HEAD..].chunks_exact(ITEM).take(count) {
            let place = u32_at(item, KEY).zip(u32_at(item, KEY + 4));
            let chunk = place.and_then(|(from, length)| {
                let from = HEAD + memory_len(from);
                leaf.get(from..from + memory_len(length))
            });
            if let Some(chunk) = chunk {
                self.add(&item[..KEY], chunk);
            }
        }
    }

    /// Device offset of a logical address.
    fn place(&self, logical: u64) -> Option<u64> {
        let (start, chunk) = self.map.range(..=logical).next_back()?;
        let within = logical - start;
        if within >= chunk.length || chunk.each != chunk.length {
            return None;
        }
        chunk.stripes.first()?.checked_add(within)
    }

    fn ranges(&self) -> Vec<Range> {
        let of_trees = self
            .map
            .values()
            .filter(|c| c.flags & (SYSTEM | METADATA) != 0 && c.flags & DATA == 0);
        of_trees
            .flat_map(|c| c.stripes.iter().map(|at| (*at, c.each, Kind::Tree)))
            .collect()
    }
}
