//! A folder copied to a card, or read back from it, by several threads at once, as
//! `robocopy /MT:32 /J` (unbuffered) does.
//!
//! **Which thread copies what.** robocopy's threads take the next file from a queue when they are
//! done with one. Which thread that is depends on the device; here it must not, or two devices
//! would not be given the same work. So the queue is worked off on paper: each file, in the order
//! of the tree, goes to the thread with the least to do so far (its bytes plus
//! [`FILE_COST_BYTES`] per file), as if all threads were equally fast.
//!
//! **What a thread does for a file it writes**: the directory entries (created, size zero), the
//! data in chunks, the allocation bitmap, the directory entries again (size and times); a flush if
//! asked for. A folder is created - cluster zeroed, bitmap, entries in its parent - by the thread
//! that copies the first file in it, before that file. The FAT is not written, as every file is
//! contiguous. Threads do not wait for one another. **Reading**: the directory's entries once per
//! folder, then the data.
//!
//! The actual behaviour of Windows between these is only partly known: unbuffered copies are commonly seen
//! to use requests of 1 MiB, exFAT's metadata goes through the cache manager and may be written
//! later and several entries at a time. This is the order without such merging: the upper bound of
//! small writes.

use super::extents::{Extent, ExtentSource};
use super::{DirectoryPlace, ExfatLayout, FilePlace, PlacedTree};
use crate::OpKind;
use nandscope_units::{Bytes, SECTOR_BYTES};

/// Cost of a file besides its bytes, in bytes, when files are distributed to threads.
pub const FILE_COST_BYTES: u64 = 256 << 10;

/// Direction of the copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the host to the card.
    Write,
    /// From the card to the host.
    Read,
}

/// Options for copying a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyOptions {
    /// Files copied at once; zero counts as one.
    pub threads: u32,
    /// Data bytes in one request; rounded up to whole sectors, zero counts as one sector.
    pub io_bytes: u32,
    /// Metadata is read and written in aligned blocks of this many bytes: a power of two of 512 at
    /// least, 4096 as the cache manager's pages by default.
    pub metadata_bytes: u32,
    /// A flush after every file, as on a volume set to quick removal.
    pub flush_per_file: bool,
}

impl Default for CopyOptions {
    /// 32 threads, 1 MiB, metadata in 4 KiB, no flush.
    fn default() -> Self {
        CopyOptions {
            threads: 32,
            io_bytes: 1 << 20,
            metadata_bytes: 4096,
            flush_per_file: false,
        }
    }
}

/// A copy distributed to its threads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CopyJob {
    sources: Vec<ExtentSource>,
}

impl CopyJob {
    /// A copy of a placed tree to the card, or from it.
    pub fn new(
        layout: &ExfatLayout,
        tree: &PlacedTree,
        direction: Direction,
        options: &CopyOptions,
    ) -> CopyJob {
        let metadata = Metadata::new(layout, options.metadata_bytes);
        let io_bytes = options.io_bytes.clamp(1, 1 << 30);
        let plan = Plan {
            metadata,
            chunk: io_bytes.next_multiple_of(SECTOR_BYTES as u32),
            flush: options.flush_per_file,
        };
        let threads = options.threads.clamp(1, 4096) as usize;
        let mut lists: Vec<Vec<Extent>> = vec![Vec::new(); threads];
        let mut load = vec![0u64; threads];
        let mut entered = vec![false; tree.directories.len()];
        for file in &tree.files {
            let thread = least(&load);
            load[thread] = load[thread]
                .saturating_add(file.bytes)
                .saturating_add(FILE_COST_BYTES);
            let list = &mut lists[thread];
            if let Some(entered) = entered.get_mut(file.folder as usize)
                && !std::mem::replace(entered, true)
            {
                plan.enter(direction, &tree.directories[file.folder as usize], list);
            }
            plan.file(direction, file, list);
        }
        // Folders without files of their own.
        for (directory, entered) in tree.directories.iter().zip(entered) {
            if !entered {
                plan.enter(direction, directory, &mut lists[least(&load)]);
            }
        }
        CopyJob {
            sources: lists.into_iter().map(ExtentSource::new).collect(),
        }
    }

    /// One source per thread; all run at once.
    pub fn sources(&self) -> &[ExtentSource] {
        &self.sources
    }

    /// The sources themselves, to be run.
    pub fn into_sources(self) -> Vec<ExtentSource> {
        self.sources
    }
}

/// The thread with the least to do; the first of several.
fn least(load: &[u64]) -> usize {
    (0..load.len()).min_by_key(|&i| load[i]).unwrap_or(0)
}

/// Writes metadata in whole aligned blocks.
pub(super) struct Metadata<'a> {
    layout: &'a ExfatLayout,
    block: u64,
}

impl<'a> Metadata<'a> {
    pub(super) fn new(layout: &'a ExfatLayout, block: u32) -> Self {
        // No larger than a cluster, so that a block never reaches out of its structure.
        let block = u64::from(block).max(SECTOR_BYTES).next_power_of_two();
        Metadata {
            layout,
            block: block.min(layout.cluster()),
        }
    }

    /// Operations for the blocks that contain a range.
    pub(super) fn blocks(&self, kind: OpKind, (start, bytes): (u64, u64)) -> Extent {
        let first = start / self.block * self.block;
        let end = (start + bytes.max(1)).next_multiple_of(self.block);
        Extent {
            kind,
            offset: Bytes(first),
            length: end - first,
            chunk: MOST_METADATA_BYTES,
        }
    }

    /// The blocks of the bitmap for a range of clusters, written.
    pub(super) fn bitmap(&self, start: u64, bytes: u64) -> Extent {
        self.blocks(OpKind::Write, self.layout.bitmap_of(start, bytes))
    }
}

/// A long row of metadata blocks is moved in requests of this many bytes.
const MOST_METADATA_BYTES: u32 = 64 << 10;

struct Plan<'a> {
    metadata: Metadata<'a>,
    chunk: u32,
    flush: bool,
}

impl Plan<'_> {
    fn enter(&self, direction: Direction, directory: &DirectoryPlace, list: &mut Vec<Extent>) {
        match direction {
            Direction::Read => {
                let entries = (directory.start, directory.used);
                list.push(self.metadata.blocks(OpKind::Read, entries));
            }
            Direction::Write => list.extend([
                // A new directory is all zeros: no entry in use.
                Extent {
                    kind: OpKind::Write,
                    offset: Bytes(directory.start),
                    length: directory.allocated,
                    chunk: self.chunk,
                },
                self.metadata.bitmap(directory.start, directory.allocated),
                self.metadata.blocks(OpKind::Write, directory.entries),
            ]),
        }
    }

    fn file(&self, direction: Direction, file: &FilePlace, list: &mut Vec<Extent>) {
        let data = Extent {
            kind: match direction {
                Direction::Write => OpKind::Write,
                Direction::Read => OpKind::Read,
            },
            offset: Bytes(file.start),
            // Whole sectors, because the copy is unbuffered.
            length: file.bytes.next_multiple_of(SECTOR_BYTES),
            chunk: self.chunk,
        };
        if direction == Direction::Read {
            list.push(data);
            return;
        }
        let entries = self.metadata.blocks(OpKind::Write, file.entries);
        let bitmap = self.metadata.bitmap(file.start, file.bytes);
        list.extend([entries, data, bitmap, entries]);
        if self.flush {
            list.push(Extent::FLUSH);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OpSource;
    use crate::files::{FileTree, FolderSpec, das_suite};
    use proptest::prelude::*;

    fn placed(spec: &FolderSpec, capacity: Bytes) -> (ExfatLayout, PlacedTree) {
        let mut layout = ExfatLayout::new(capacity).unwrap();
        let tree = layout.place(&FileTree::generate(spec).unwrap()).unwrap();
        (layout, tree)
    }

    fn ops(source: &ExtentSource) -> Vec<(OpKind, u64, u64)> {
        let mut source = source.clone();
        std::iter::from_fn(|| source.next_op())
            .map(|t| (t.op.kind, t.op.offset.0, t.op.length.into()))
            .collect()
    }

    /// All operations of all threads that lie within files, by place.
    fn data(job: &CopyJob, tree: &PlacedTree, kind: OpKind) -> Vec<(u64, u64)> {
        let of_a_file = |at: u64| {
            let i = tree.files.partition_point(|f| f.start <= at);
            i > 0 && at < tree.files[i - 1].start + tree.files[i - 1].bytes
        };
        let all = job.sources().iter().flat_map(ops);
        let mut data: Vec<_> = all
            .filter(|&(k, at, _)| k == kind && of_a_file(at))
            .map(|(_, at, n)| (at, n))
            .collect();
        data.sort_unstable();
        data
    }

    /// Checks that every sector of every file is covered exactly once, and nothing else.
    fn covers_once(mut data: &[(u64, u64)], tree: &PlacedTree) {
        for file in &tree.files {
            let end = file.start + file.bytes.next_multiple_of(512);
            let mut at = file.start;
            while at < end {
                let (&(offset, length), rest) = data.split_first().expect("a missing piece");
                assert_eq!(offset, at);
                at += length;
                data = rest;
            }
            assert_eq!(at, end);
        }
        assert!(data.is_empty());
    }

    #[test]
    fn the_threads_together_copy_every_byte_once() {
        for spec in das_suite() {
            let (layout, tree) = placed(&spec, Bytes(64_000_000_000));
            for (direction, kind) in [
                (Direction::Write, OpKind::Write),
                (Direction::Read, OpKind::Read),
            ] {
                let job = CopyJob::new(&layout, &tree, direction, &CopyOptions::default());
                assert_eq!(job.sources().len(), 32);
                covers_once(&data(&job, &tree, kind), &tree);
            }
        }
    }

    #[test]
    fn one_file_step_by_step() {
        let spec = FolderSpec::new("x", Bytes(300_000), 1, 1);
        let (layout, tree) = placed(&spec, Bytes(64_000_000_000));
        let options = CopyOptions {
            threads: 1,
            io_bytes: 128 << 10,
            flush_per_file: true,
            ..CopyOptions::default()
        };
        let job = CopyJob::new(&layout, &tree, Direction::Write, &options);
        let (file, folder) = (tree.files[0], tree.directories[0]);
        let (root, bitmap) = (layout.root().0, layout.bitmap().0);
        use OpKind::{Flush, Read, Write};
        assert_eq!(
            ops(&job.sources()[0]),
            [
                (Write, folder.start, 128 << 10),
                (Write, bitmap, 4096),
                (Write, root, 4096),
                (Write, folder.start, 4096),
                (Write, file.start, 128 << 10),
                (Write, file.start + (128 << 10), 128 << 10),
                (Write, file.start + (256 << 10), 38_400 - 512),
                (Write, bitmap, 4096),
                (Write, folder.start, 4096),
                (Flush, 0, 0),
            ]
        );
        let job = CopyJob::new(&layout, &tree, Direction::Read, &options);
        let reads = ops(&job.sources()[0]);
        assert_eq!(reads[0], (Read, folder.start, 4096));
        assert_eq!(reads.len(), 4);
    }

    #[test]
    fn work_is_dealt_evenly() {
        let (layout, tree) = placed(&das_suite()[0], Bytes(64_000_000_000));
        let job = CopyJob::new(&layout, &tree, Direction::Read, &CopyOptions::default());
        let loads: Vec<u64> = job
            .sources()
            .iter()
            .map(|s| s.expected_bytes().unwrap())
            .collect();
        let largest_file = tree.files.iter().map(|f| f.bytes).max().unwrap();
        let (least, most) = (loads.iter().min().unwrap(), loads.iter().max().unwrap());
        assert!(most - least <= largest_file + (32 << 20), "{loads:?}");
    }

    /// The same work on every platform and in every version: a change here changes results.
    #[test]
    fn golden() {
        let (layout, tree) = placed(&das_suite()[1], Bytes(64_000_000_000));
        let job = CopyJob::new(&layout, &tree, Direction::Write, &CopyOptions::default());
        let mut crc = crc32fast::Hasher::new();
        for source in job.sources() {
            for (kind, offset, length) in ops(source) {
                crc.update(&[kind as u8]);
                crc.update(&offset.to_le_bytes());
                crc.update(&length.to_le_bytes());
            }
        }
        assert_eq!(crc.finalize(), 0x4596_9fe9);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_copy_is_whole_and_in_bounds(
            files in 1..200u32, folders in 1..30u32, extra in 0..200_000_000u64, seed: u64,
            threads in 0..40u32, io_bytes in 1..3_000_000u32, metadata_bytes in 0..300_000u32,
        ) {
            let spec = FolderSpec { seed, ..FolderSpec::new("x", Bytes(u64::from(files) + extra), files, folders) };
            let capacity = Bytes(40_000_000_000);
            let (layout, tree) = placed(&spec, capacity);
            let options = CopyOptions { threads, io_bytes: io_bytes.max(4096), metadata_bytes, flush_per_file: false };
            for (direction, kind) in [(Direction::Write, OpKind::Write), (Direction::Read, OpKind::Read)] {
                let job = CopyJob::new(&layout, &tree, direction, &options);
                covers_once(&data(&job, &tree, kind), &tree);
                for (_, at, n) in job.sources().iter().flat_map(ops) {
                    prop_assert!(at % 512 == 0 && n % 512 == 0 && n > 0 && at >= layout.heap() && at + n <= capacity.0);
                }
            }
        }
    }
}
