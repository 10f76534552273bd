//! FAT32: reserved sectors, tables, and the clusters of directories (Microsoft's specification,
//! version 1.03).

use super::kind::{Kind, Range};
use super::volume::{Volume, u16_at, u32_at};
use nandscope_blockio::memory_len;
use std::collections::BTreeSet;

const DIRECTORY: u8 = 0x10;
const VOLUME: u8 = 0x08;
/// More directories are not followed.
const MOST: usize = 10_000;
const LAST_CLUSTER: u64 = 0x0fff_fff8;

pub(super) fn ranges(image: &Volume<'_>) -> Option<Vec<Range>> {
    let boot = image.bytes(0, 512)?;
    let sector = u16_at(&boot, 11)?;
    let cluster = sector * u64::from(*boot.get(13)?);
    let fat = u16_at(&boot, 14)? * sector;
    let length = u32_at(&boot, 36)? * sector;
    if cluster == 0 || length == 0 {
        return None;
    }
    let heap = fat + length * u64::from(*boot.get(16)?);
    let mut ranges = vec![(0, fat, Kind::Super), (fat, heap - fat, Kind::Fat)];
    let mut seen = BTreeSet::new();
    let mut waiting = vec![u32_at(&boot, 44)?];
    while let Some(first) = waiting.pop() {
        let mut number = first;
        while (2..LAST_CLUSTER).contains(&number) && seen.len() < MOST && seen.insert(number) {
            let at = heap.checked_add((number - 2) * cluster)?;
            ranges.push((at, cluster, Kind::Directory));
            let Some(entries) = image.bytes(at, memory_len(cluster)) else {
                break;
            };
            waiting.extend(entries.chunks_exact(32).filter_map(folder));
            let Some(next) = image.bytes(fat + 4 * number, 4) else {
                break;
            };
            number = u32_at(&next, 0)? & 0x0fff_ffff;
        }
    }
    Some(ranges)
}

/// First cluster of the folder that an entry is, if it is one.
fn folder(entry: &[u8]) -> Option<u64> {
    let (name, attributes) = (entry[0], entry[11]);
    if name == 0 || name == 0xe5 || name == b'.' || attributes & (DIRECTORY | VOLUME) != DIRECTORY {
        return None;
    }
    Some(u16_at(entry, 20)? << 16 | u16_at(entry, 26)?)
}
