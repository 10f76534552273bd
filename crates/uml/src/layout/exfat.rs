//! exFAT: boot region, table, bitmap, and the clusters of directories (Microsoft's specification).

use super::kind::{Kind, Range};
use super::volume::{Volume, u32_at, u64_at};
use nandscope_blockio::memory_len;
use std::collections::BTreeSet;

const BITMAP: u8 = 0x81;
const FILE: u8 = 0x85;
const STREAM: u8 = 0xc0;
const DIRECTORY: u8 = 0x10;
/// Set if the clusters of a file are contiguous, without entries in the FAT.
const NO_CHAIN: u8 = 2;
/// More directory clusters are not followed.
const MOST: usize = 10_000;
const LAST_CLUSTER: u64 = 0xffff_fff7;

pub(super) fn ranges(image: &Volume<'_>) -> Option<Vec<Range>> {
    let boot = image.bytes(0, 512)?;
    if boot.get(3..11)? != b"EXFAT   " {
        return None;
    }
    let sector = 1u64.checked_shl(u32::from(*boot.get(108)?))?;
    let cluster = sector.checked_shl(u32::from(*boot.get(109)?))?;
    if !(512..=4096).contains(&sector) || !(512..=32 << 20).contains(&cluster) {
        return None;
    }
    let fat = u32_at(&boot, 80)? * sector;
    let heap = u32_at(&boot, 88)? * sector;
    let mut ranges = vec![
        (0, fat, Kind::Super),
        (fat, u32_at(&boot, 84)? * sector, Kind::Fat),
    ];
    let mut seen = BTreeSet::new();
    // First cluster, and how many follow it without a chain.
    let mut waiting = vec![(u32_at(&boot, 96)?, None::<u64>)];
    while let Some((first, plain)) = waiting.pop() {
        let (mut number, mut done) = (first, 0);
        while (2..LAST_CLUSTER).contains(&number) && seen.len() < MOST && seen.insert(number) {
            let at = heap.checked_add((number - 2) * cluster)?;
            ranges.push((at, cluster, Kind::Directory));
            let Some(entries) = image.bytes(at, memory_len(cluster.min(1 << 20))) else {
                break;
            };
            for pair in pairs(&entries) {
                match pair {
                    Found::Folder(first, plain) => {
                        waiting.push((first, plain.map(|bytes| bytes.div_ceil(cluster))));
                    }
                    Found::Bitmap(first, bytes) if first >= 2 => {
                        ranges.push((heap + (first - 2) * cluster, bytes, Kind::Bitmap));
                    }
                    Found::Bitmap(..) => {}
                }
            }
            done += 1;
            number = match plain {
                Some(count) if done >= count => break,
                Some(_) => number + 1,
                None => u32_at(&image.bytes(fat + 4 * number, 4)?, 0)?,
            };
        }
    }
    Some(ranges)
}

enum Found {
    Folder(u64, Option<u64>),
    Bitmap(u64, u64),
}

fn pairs(entries: &[u8]) -> Vec<Found> {
    let entries: Vec<&[u8]> = entries.chunks_exact(32).collect();
    let mut found = Vec::new();
    for (i, entry) in entries.iter().enumerate() {
        let (first, length) = (u32_at(entry, 20), u64_at(entry, 24));
        match (entry[0], first, length) {
            (BITMAP, Some(first), Some(length)) => found.push(Found::Bitmap(first, length)),
            (FILE, ..) if entry[4] & DIRECTORY != 0 => {
                let Some(stream) = entries.get(i + 1).filter(|e| e[0] == STREAM) else {
                    continue;
                };
                let plain = (stream[1] & NO_CHAIN != 0)
                    .then(|| u64_at(stream, 24))
                    .flatten();
                if let Some(first) = u32_at(stream, 20) {
                    found.push(Found::Folder(first, plain));
                }
            }
            _ => {}
        }
    }
    found
}
