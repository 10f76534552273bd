//! F2FS: superblocks, checkpoint and address tables, and which segments of the main area hold
//! nodes (`fs/f2fs/f2fs_fs.h` of Linux).

use super::{Image, Kind, Range, u16_at, u32_at};

const MAGIC: u64 = 0xf2f5_2010;
const BLOCK: u64 = 4096;
const BLOCKS_PER_SEGMENT: u64 = 512;
/// Bytes of an entry of the segment information table, and entries in a block.
const SIT_ENTRY: usize = 74;
const SIT_PER_BLOCK: u64 = 55;
/// Types of segments from this on hold nodes (CURSEG_HOT_NODE).
const FIRST_NODE_TYPE: u64 = 3;

pub(super) fn ranges(image: &Image<'_>) -> Option<Vec<Range>> {
    let sb = image.bytes(1024, 256)?;
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
    // There are two copies of each block of the table; which is the newer says the checkpoint. The one
    // with more valid blocks in a segment will do: a segment keeps its type while it is used.
    let copy = sit_segments / 2 * BLOCKS_PER_SEGMENT;
    for segment in 0..segments {
        let block = sit + segment / SIT_PER_BLOCK;
        let at = (segment % SIT_PER_BLOCK) as usize * SIT_ENTRY;
        let entry = |copy: u64| {
            let bytes = image.bytes((block + copy) * BLOCK + at as u64, 2)?;
            u16_at(&bytes, 0)
        };
        let (one, other) = (entry(0)?, entry(copy)?);
        let used = if one & 0x3ff >= other & 0x3ff {
            one
        } else {
            other
        };
        if used >> 10 >= FIRST_NODE_TYPE {
            let start = (main + segment * BLOCKS_PER_SEGMENT) * BLOCK;
            ranges.push((start, BLOCKS_PER_SEGMENT * BLOCK, Kind::Inode));
        }
    }
    Some(ranges)
}
