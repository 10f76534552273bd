//! Where exFAT puts things on a card: Microsoft's exFAT specification for the structures, the SD
//! Association's habit of aligning the cluster heap to a boundary unit for their places.
//!
//! Every file and folder is contiguous (allocated from the first free cluster on, in the order of
//! the tree, on a freshly formatted card; a copy tells the size before it writes). Contiguous files
//! carry the NoFatChain flag, so the FAT is not written for them. Fragmentation and the reuse of
//! freed clusters are not modelled.

use super::{FileTree, Folder};
use nandscope_units::Bytes;
use thiserror::Error;

/// Sectors of a boot region (specification 3: main and backup, 12 sectors each).
pub(super) const BOOT_REGION_BYTES: u64 = 12 * 512;
/// The up-case table that the specification recommends (7.2.5), compressed.
pub(super) const UPCASE_BYTES: u64 = 5836;
/// Bytes of one directory entry.
const ENTRY_BYTES: u64 = 32;
/// Name units in one file-name entry (7.7).
const UNITS_PER_ENTRY: u64 = 15;
/// Volume label, allocation bitmap and up-case table stand first in the root directory.
const ROOT_FIXED_BYTES: u64 = 3 * ENTRY_BYTES;
/// The first cluster has the number 2; the FAT has entries for 0 and 1 all the same.
const FIRST_CLUSTER: u64 = 2;
const FAT_ENTRY_BYTES: u64 = 4;

/// Why a tree cannot be placed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LayoutError {
    /// Too small for a file system with its alignment.
    #[error("a card of {0} is too small for this layout; it needs 64 MB at least")]
    CardTooSmall(Bytes),
    /// The tree does not fit.
    #[error(
        "the tree needs {needed} in whole clusters, {free} are free; use a larger card or a smaller tree"
    )]
    CardFull {
        /// What it needs.
        needed: Bytes,
        /// What is left.
        free: Bytes,
    },
}

/// Microsoft's default cluster size for exFAT: 4 KiB up to 256 MB, 32 KiB up to 32 GB, 128 KiB
/// above ("Default cluster size for NTFS, FAT, and exFAT"; the limits are binary).
pub const fn cluster_bytes(capacity: Bytes) -> u64 {
    if capacity.0 <= 256 << 20 {
        4 << 10
    } else if capacity.0 <= 32 << 30 {
        32 << 10
    } else {
        128 << 10
    }
}

/// To what an SD card's partition and cluster heap are aligned: 4 MiB up to 32 GB, then 16, 32 and
/// 64 MiB from 128 GB and 512 GB on (boundary units of the SD file-system specification).
const fn boundary_unit(capacity: Bytes) -> u64 {
    match capacity.0 / 1_000_000_000 {
        0..=32 => 4 << 20,
        33..=128 => 16 << 20,
        129..=512 => 32 << 20,
        _ => 64 << 20,
    }
}

/// An exFAT file system on a card: its parts, and how far it is filled. All places are bytes from
/// the start of the card.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExfatLayout {
    capacity: Bytes,
    cluster: u64,
    partition: u64,
    fat: u64,
    fat_bytes: u64,
    heap: u64,
    clusters: u64,
    root: u64,
    root_bytes: u64,
    /// Entries already in the root directory, bytes.
    root_used: u64,
    /// The first free cluster, from 0 at the start of the heap.
    next_free: u64,
}

/// Where a file lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FilePlace {
    /// Its folder in the tree.
    pub folder: u32,
    /// Its first byte; a cluster boundary.
    pub start: u64,
    /// Its size.
    pub bytes: u64,
    /// Its directory entries: the first byte, and how many.
    pub entries: (u64, u64),
}

/// Where a folder lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DirectoryPlace {
    /// Its first byte; a cluster boundary.
    pub start: u64,
    /// Its clusters, bytes.
    pub allocated: u64,
    /// The entries in it, bytes.
    pub used: u64,
    /// Its own entries in its parent: the first byte, and how many.
    pub entries: (u64, u64),
}

/// A tree on a card.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PlacedTree {
    /// The folders, as in the tree.
    pub directories: Vec<DirectoryPlace>,
    /// The files, as in the tree.
    pub files: Vec<FilePlace>,
}

/// Bytes of the entries of a name: one file entry, one stream extension, the name itself.
fn entry_set_bytes(name_units: u32) -> u64 {
    (2 + u64::from(name_units).div_ceil(UNITS_PER_ENTRY)) * ENTRY_BYTES
}

impl ExfatLayout {
    /// An empty file system on a card of `capacity`.
    ///
    /// # Errors
    /// Where the card is too small for it.
    pub fn new(capacity: Bytes) -> Result<ExfatLayout, LayoutError> {
        let too_small = LayoutError::CardTooSmall(capacity);
        if capacity.0 < 64_000_000 {
            return Err(too_small);
        }
        let cluster = cluster_bytes(capacity);
        let unit = boundary_unit(capacity);
        let partition = unit;
        let fat = partition + unit / 2;
        // Entries for more clusters than there will be: the heap begins behind the FAT.
        let most_clusters = capacity.0 / cluster;
        let fat_bytes = ((most_clusters + FIRST_CLUSTER) * FAT_ENTRY_BYTES).next_multiple_of(512);
        let heap = (fat + fat_bytes).next_multiple_of(unit);
        let clusters = capacity.0.saturating_sub(heap) / cluster;
        let mut layout = ExfatLayout {
            capacity,
            cluster,
            partition,
            fat,
            fat_bytes,
            heap,
            clusters,
            root: 0,
            root_bytes: cluster,
            root_used: ROOT_FIXED_BYTES,
            next_free: 0,
        };
        let system = layout.bitmap_bytes().div_ceil(cluster) + UPCASE_BYTES.div_ceil(cluster);
        layout.root = heap + system * cluster;
        layout.next_free = system + 1;
        if layout.next_free >= clusters {
            return Err(too_small);
        }
        Ok(layout)
    }

    /// Bytes of the card.
    pub const fn capacity(&self) -> Bytes {
        self.capacity
    }

    /// Bytes of a cluster.
    pub const fn cluster(&self) -> u64 {
        self.cluster
    }

    /// Where the partition begins, with the boot region and behind it the backup.
    pub const fn partition(&self) -> u64 {
        self.partition
    }

    /// The file allocation table: where and how long.
    pub const fn fat(&self) -> (u64, u64) {
        (self.fat, self.fat_bytes)
    }

    /// Where the clusters begin.
    pub const fn heap(&self) -> u64 {
        self.heap
    }

    /// The allocation bitmap: where (the first cluster) and how long.
    pub const fn bitmap(&self) -> (u64, u64) {
        (self.heap, self.bitmap_bytes())
    }

    /// The up-case table: where and how long.
    pub const fn upcase(&self) -> (u64, u64) {
        let behind_bitmap = self.bitmap_bytes().div_ceil(self.cluster) * self.cluster;
        (self.heap + behind_bitmap, UPCASE_BYTES)
    }

    /// The root directory: where and how long.
    pub const fn root(&self) -> (u64, u64) {
        (self.root, self.root_bytes)
    }

    /// What is still free, bytes.
    pub const fn free(&self) -> Bytes {
        Bytes((self.clusters - self.next_free) * self.cluster)
    }

    const fn bitmap_bytes(&self) -> u64 {
        self.clusters.div_ceil(8)
    }

    /// The bytes of the bitmap that hold the bits of a range of the heap: the first, and how many.
    pub(super) fn bitmap_of(&self, start: u64, bytes: u64) -> (u64, u64) {
        let first = start.saturating_sub(self.heap) / self.cluster;
        let last = (start + bytes.max(1) - 1).saturating_sub(self.heap) / self.cluster;
        (self.heap + first / 8, last / 8 - first / 8 + 1)
    }

    /// Allocates the tree behind what is on the card already. The card is unchanged on an error.
    ///
    /// # Errors
    /// Where it does not fit, or the root directory (one cluster) is full.
    pub fn place(&mut self, tree: &FileTree) -> Result<PlacedTree, LayoutError> {
        let used = directory_sizes(tree);
        let whole = |bytes: u64| bytes.max(1).div_ceil(self.cluster);
        let sizes = tree
            .files()
            .iter()
            .map(|f| f.bytes)
            .chain(used.iter().copied());
        let needed: u64 = sizes.map(whole).sum();
        let top_entries = tree.folders().first().map_or(0, entries_of);
        if needed > self.clusters - self.next_free || self.root_used + top_entries > self.root_bytes
        {
            return Err(LayoutError::CardFull {
                needed: Bytes(needed.saturating_mul(self.cluster)),
                free: self.free(),
            });
        }
        let mut placer = Placer {
            heap: self.heap,
            cluster: self.cluster,
            next: self.next_free,
        };
        // The next free entry of each folder.
        let mut entry: Vec<u64> = Vec::with_capacity(used.len());
        let mut directories: Vec<DirectoryPlace> = Vec::with_capacity(used.len());
        let mut files = Vec::with_capacity(tree.files().len());
        let mut rest = tree.files();
        for ((folder, &used), number) in tree.folders().iter().zip(&used).zip(0u32..) {
            let (start, allocated) = placer.take(used);
            let entries = entries_of(folder);
            let slot = match folder.parent {
                Some(parent) => &mut entry[parent as usize],
                None => &mut self.root_used,
            };
            let at = *slot
                + if folder.parent.is_none() {
                    self.root
                } else {
                    0
                };
            *slot += entries;
            entry.push(start);
            directories.push(DirectoryPlace {
                start,
                allocated,
                used,
                entries: (at, entries),
            });
            let here = rest.partition_point(|f| f.folder <= number);
            for file in &rest[..here] {
                let bytes = entry_set_bytes(file.name_units);
                let at = &mut entry[number as usize];
                files.push(FilePlace {
                    folder: number,
                    start: placer.take(file.bytes).0,
                    bytes: file.bytes,
                    entries: (*at, bytes),
                });
                *at += bytes;
            }
            rest = &rest[here..];
        }
        self.next_free = placer.next;
        Ok(PlacedTree { directories, files })
    }
}

fn entries_of(folder: &Folder) -> u64 {
    entry_set_bytes(folder.name_units)
}

/// Bytes of the entries in each folder.
fn directory_sizes(tree: &FileTree) -> Vec<u64> {
    let mut used = vec![0; tree.folders().len()];
    for folder in tree.folders() {
        if let Some(parent) = folder.parent {
            used[parent as usize] += entries_of(folder);
        }
    }
    for file in tree.files() {
        used[file.folder as usize] += entry_set_bytes(file.name_units);
    }
    used
}

/// Takes clusters in a row.
struct Placer {
    heap: u64,
    cluster: u64,
    next: u64,
}

impl Placer {
    /// Start and length in bytes of the clusters for this much; one cluster at least.
    fn take(&mut self, bytes: u64) -> (u64, u64) {
        let clusters = bytes.max(1).div_ceil(self.cluster);
        let start = self.heap + self.next * self.cluster;
        self.next += clusters;
        (start, clusters * self.cluster)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{FolderSpec, das_suite};
    use proptest::prelude::*;

    #[test]
    fn cluster_sizes_are_microsofts() {
        for (capacity, kib) in [
            (Bytes::mib(256), 4),
            (Bytes::mib(257), 32),
            (Bytes(32_000_000_000), 32),
            (Bytes(64_000_000_000), 128),
            (Bytes(2_000_000_000_000), 128),
        ] {
            assert_eq!(cluster_bytes(capacity), kib << 10, "{capacity}");
        }
    }

    #[test]
    fn a_card_of_128_gb() {
        let layout = ExfatLayout::new(Bytes(128_000_000_000)).unwrap();
        assert_eq!(layout.partition(), 16 << 20);
        assert_eq!(layout.fat(), (24 << 20, 3_906_560));
        assert_eq!(layout.heap(), 32 << 20);
        // (128e9 - 32 MiB) / 128 KiB = 976,306 clusters, a bit each.
        assert_eq!(layout.bitmap(), (32 << 20, 122_039));
        assert_eq!(layout.upcase(), ((32 << 20) + (128 << 10), 5836));
        assert_eq!(layout.root(), ((32 << 20) + (256 << 10), 128 << 10));
        assert_eq!(layout.free(), Bytes((976_306 - 3) * (128 << 10)));
    }

    /// Everything the tree takes on the card, as (start, length).
    fn taken(tree: &PlacedTree, cluster: u64) -> Vec<(u64, u64)> {
        let files = tree
            .files
            .iter()
            .map(|f| (f.start, f.bytes.next_multiple_of(cluster)));
        let mut all: Vec<_> = files
            .chain(tree.directories.iter().map(|d| (d.start, d.allocated)))
            .collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn the_das_suite_fits_a_card_of_128_gb() {
        let mut layout = ExfatLayout::new(Bytes(128_000_000_000)).unwrap();
        let mut all = Vec::new();
        for spec in das_suite() {
            let tree = layout.place(&FileTree::generate(&spec).unwrap()).unwrap();
            all.extend(taken(&tree, layout.cluster()));
        }
        assert!(all.windows(2).all(|w| w[0].0 + w[0].1 <= w[1].0));
        let full = layout.clone();
        let again = layout
            .place(&FileTree::generate(&das_suite()[3]).unwrap())
            .and_then(|_| layout.place(&FileTree::generate(&das_suite()[0]).unwrap()));
        assert!(
            matches!(again, Err(LayoutError::CardFull { .. })),
            "{again:?}"
        );
        assert!(full.free().0 > 30_000_000_000);
    }

    #[test]
    fn a_small_card_is_refused() {
        assert!(matches!(
            ExfatLayout::new(Bytes(1)),
            Err(LayoutError::CardTooSmall(_))
        ));
        assert!(ExfatLayout::new(Bytes(64_000_000)).is_ok());
    }

    proptest! {
        #[test]
        fn nothing_overlaps_and_all_is_in_bounds(
            files in 1..300u32, folders in 1..60u32, extra in 0..2_000_000_000u64, seed: u64,
            capacity in 4_000_000_000..2_000_000_000_000u64,
        ) {
            let spec = FolderSpec { seed, ..FolderSpec::new("x", Bytes(u64::from(files) + extra), files, folders) };
            let mut layout = ExfatLayout::new(Bytes(capacity)).unwrap();
            let before = layout.free();
            let tree = layout.place(&FileTree::generate(&spec).unwrap()).unwrap();
            let all = taken(&tree, layout.cluster());
            prop_assert!(all.iter().all(|&(start, _)| (start - layout.heap()).is_multiple_of(layout.cluster())));
            prop_assert!(all.windows(2).all(|w| w[0].0 + w[0].1 <= w[1].0));
            prop_assert!(all.iter().all(|&(start, length)| start >= layout.root().0 + layout.root().1 && start + length <= capacity));
            prop_assert_eq!(all.iter().map(|a| a.1).sum::<u64>(), before.0 - layout.free().0);
            // Entries lie within the directory of the parent, one behind another.
            let mut entries: Vec<_> = tree.files.iter().map(|f| f.entries).chain(tree.directories.iter().map(|d| d.entries)).collect();
            entries.sort_unstable();
            prop_assert!(entries.windows(2).all(|w| w[0].0 + w[0].1 <= w[1].0));
            for file in &tree.files {
                let home = tree.directories[file.folder as usize];
                prop_assert!(file.entries.0 >= home.start && file.entries.0 + file.entries.1 <= home.start + home.used);
            }
            let (at, n) = layout.bitmap_of(all[0].0, all[0].1);
            prop_assert!(at >= layout.bitmap().0 && at + n <= layout.bitmap().0 + layout.bitmap().1);
        }
    }
}
