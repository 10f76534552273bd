//! F2FS: superblocks, checkpoint and address tables, and the node segments of the main area
//! (`fs/f2fs/f2fs_fs.h` of Linux). The type of a segment is that of its last use: an empty one keeps its
//! type until it is used again.

use super::kind::{Kind, Range};
use super::volume::{Volume, u16_at, u32_at, u64_at};
use nandscope_blockio::memory_len;
use std::collections::BTreeMap;

const MAGIC: u64 = 0xf2f5_2010;
const BLOCK: u64 = 4096;
const BLOCKS_PER_SEGMENT: u64 = 512;
/// Bytes of an entry of the segment information table, and entries in a block.
const SIT_ENTRY: usize = 74;
const SIT_PER_BLOCK: u64 = 55;
/// Types of segments from this on hold nodes (CURSEG_HOT_NODE).
const FIRST_NODE_TYPE: u64 = 3;
/// Flags of a checkpoint: node summaries are present (after `umount`, or for a fast start), summaries
/// are short, bitmaps follow a checksum.
const NODE_SUMMARIES: u64 = 1 | 0x20;
const COMPACT: u64 = 4;
const LARGE_BITMAPS: u64 = 0x400;
/// Bytes of the entries of a summary block, before its journal, and of a journal.
const SUMMARY: u64 = 7 * 512;
const JOURNAL: u64 = 507;

pub(super) fn ranges(image: &Volume<'_>) -> Option<Vec<Range>> {
    let sb = image.bytes(1024, 2048)?;
    if u32_at(&sb, 0)? != MAGIC {
        return None;
    }
    let (checkpoint, sit, main) = (u32_at(&sb, 76)?, u32_at(&sb, 80)?, u32_at(&sb, 92)?);
    let (sit_segments, segments) = (u32_at(&sb, 56)?, u32_at(&sb, 68)?);
    if main < checkpoint || segments > 1 << 24 {
        return None;
    }
    let mut ranges = vec![
        (0, checkpoint * BLOCK, Kind::Super),
        (checkpoint * BLOCK, (main - checkpoint) * BLOCK, Kind::Map),
    ];
    let checkpoint = Checkpoint::newest(image, checkpoint, u32_at(&sb, 1664)?);
    let copy = sit_segments / 2 * BLOCKS_PER_SEGMENT;
    let mut table = Vec::new();
    for segment in 0..segments {
        let (block, at) = (segment / SIT_PER_BLOCK, segment % SIT_PER_BLOCK);
        if at == 0 {
            let second = checkpoint.as_ref().is_some_and(|c| c.is_second(block));
            let from = sit + block + if second { copy } else { 0 };
            table = image.bytes(from * BLOCK, memory_len(BLOCK))?;
        }
        let recent = checkpoint.as_ref().and_then(|c| c.recent.get(&segment));
        let entry = match recent {
            Some(entry) => *entry,
            None => u16_at(&table, memory_len(at) * SIT_ENTRY)?,
        };
        if entry >> 10 >= FIRST_NODE_TYPE {
            let start = (main + segment * BLOCKS_PER_SEGMENT) * BLOCK;
            ranges.push((start, BLOCKS_PER_SEGMENT * BLOCK, Kind::Inode));
        }
    }
    Some(ranges)
}

/// The segment table according to the newer of the two checkpoints.
struct Checkpoint {
    /// A bit for each block of the segment information table: whether its second copy is valid.
    second: Vec<u8>,
    /// First field of the journal's entries, which are newer than the segment information table, by segment.
    recent: BTreeMap<u64, u64>,
}

impl Checkpoint {
    fn newest(image: &Volume<'_>, first: u64, payload: u64) -> Option<Checkpoint> {
        let packs = [first, first + BLOCKS_PER_SEGMENT].into_iter();
        let (block, head) = packs
            .filter_map(|block| {
                let head = image.bytes(block * BLOCK, memory_len(BLOCK))?;
                let last = block + u32_at(&head, 136)?.checked_sub(1)?;
                let end = image.bytes(last * BLOCK, 8)?;
                // A pack whose last block is of another version was never finished.
                (u64_at(&end, 0)? == u64_at(&head, 0)?).then_some((block, head))
            })
            .max_by_key(|(_, head)| u64_at(head, 0))?;
        let (nat_bytes, sit_bytes) = (u32_at(&head, 160)?, u32_at(&head, 156)?);
        let place = block * BLOCK
            + if u32_at(&head, 132)? & LARGE_BITMAPS != 0 {
                192 + 4 + nat_bytes
            } else if payload > 0 {
                BLOCK
            } else {
                192
            };
        Some(Checkpoint {
            second: image.bytes(place, memory_len(sit_bytes))?,
            recent: recent(image, block, &head).unwrap_or_default(),
        })
    }

    fn is_second(&self, block: u64) -> bool {
        let byte = self.second.get(memory_len(block / 8));
        byte.is_some_and(|byte| byte & 0x80 >> (block % 8) != 0)
    }
}

/// The journal of the segment table. It is in the summary of the cold data segment or, with short
/// summaries, after the journal of the node table.
fn recent(image: &Volume<'_>, block: u64, head: &[u8]) -> Option<BTreeMap<u64, u64>> {
    let (flags, blocks) = (u32_at(head, 132)?, u32_at(head, 136)?);
    let at = if flags & COMPACT != 0 {
        (block + u32_at(head, 140)?) * BLOCK + JOURNAL
    } else {
        let summaries = if flags & NODE_SUMMARIES != 0 { 6 } else { 3 };
        let cold = (block + blocks).checked_sub(summaries + 1)? + 2;
        cold * BLOCK + SUMMARY
    };
    let journal = image.bytes(at, memory_len(JOURNAL))?;
    let entries = journal.get(2..)?.chunks_exact(4 + SIT_ENTRY);
    let count = memory_len(u16_at(&journal, 0)?);
    entries
        .take(count)
        .map(|entry| Some((u32_at(entry, 0)?, u16_at(entry, 4)?)))
        .collect()
}
