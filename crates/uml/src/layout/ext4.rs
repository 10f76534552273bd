//! ext4: superblock, group descriptors, bitmaps, inode tables and the journal
//! (`Documentation/filesystems/ext4` of Linux).

use super::kind::{Kind, Range};
use super::volume::{Volume, u16_at, u32_at};
use nandscope_blockio::memory_len;

const MAGIC: u64 = 0xef53;
const INCOMPAT_64BIT: u64 = 0x80;
const JOURNAL_INODE: u64 = 8;
const EXTENT_MAGIC: u64 = 0xf30a;

pub(super) fn ranges(image: &Volume<'_>) -> Option<Vec<Range>> {
    let sb = image.bytes(1024, 1024)?;
    if u16_at(&sb, 56)? != MAGIC {
        return None;
    }
    let block = 1024u64.checked_shl(u32::try_from(u32_at(&sb, 24)?).ok()?)?;
    let (blocks, per_group) = (u32_at(&sb, 4)?, u32_at(&sb, 32)?);
    let (inodes_per_group, inode_size) = (u32_at(&sb, 40)?, u16_at(&sb, 88)?);
    if !(1024..=65_536).contains(&block) || per_group == 0 || inode_size == 0 {
        return None;
    }
    let wide = u32_at(&sb, 96)? & INCOMPAT_64BIT != 0;
    let size = if wide { u16_at(&sb, 254)? } else { 32 };
    let groups = blocks.div_ceil(per_group);
    if size < 32 || groups > 1 << 17 {
        return None;
    }
    let first = u32_at(&sb, 20)? + 1;
    let table = image.bytes(first * block, memory_len(groups * size))?;
    let mut ranges = vec![(
        0,
        (first * block).saturating_add(groups * size),
        Kind::Super,
    )];
    let mut first_inodes = None;
    for group in 0..groups {
        let at = memory_len(group * size);
        let number = |low: usize, high: usize| {
            let high = if wide && size >= 64 {
                u32_at(&table, at + high)?
            } else {
                0
            };
            Some((u32_at(&table, at + low)? | high << 32).saturating_mul(block))
        };
        let inodes = number(8, 40)?;
        first_inodes.get_or_insert(inodes);
        ranges.push((number(0, 32)?, block, Kind::Bitmap));
        ranges.push((number(4, 36)?, block, Kind::Bitmap));
        ranges.push((inodes, inodes_per_group * inode_size, Kind::Inode));
    }
    let inode = first_inodes?.saturating_add((JOURNAL_INODE - 1) * inode_size);
    ranges.extend(journal(image, inode, block).into_iter().flatten());
    Some(ranges)
}

/// The extents of the journal's inode, which are in the inode or in one block.
fn journal(image: &Volume<'_>, inode: u64, block: u64) -> Option<Vec<Range>> {
    let map = image.bytes(inode.checked_add(40)?, 60)?;
    match u16_at(&map, 6)? {
        0 => extents(&map, block),
        1 => {
            let leaf = (u32_at(&map, 16)? | u16_at(&map, 20)? << 32).checked_mul(block)?;
            extents(&image.bytes(leaf, memory_len(block))?, block)
        }
        _ => None,
    }
}

fn extents(node: &[u8], block: u64) -> Option<Vec<Range>> {
    if u16_at(node, 0)? != EXTENT_MAGIC {
        return None;
    }
    (0..u16_at(node, 2)? as usize)
        .map(|i| {
            let at = 12 + 12 * i;
            let start = u32_at(node, at + 8)? | u16_at(node, at + 6)? << 32;
            let length = u16_at(node, at + 4)?;
            Some((start.checked_mul(block)?, length * block, Kind::Journal))
        })
        .collect()
}
