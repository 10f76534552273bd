//! Places the folders and files of a tree on a card: allocated consecutively from the
//! first free cluster on, each contiguous, folder by folder.

use super::exfat::{ENTRY_BYTES, ExfatLayout, LayoutError};
use super::{File, FileTree};
use nandscope_units::Bytes;

/// Name units in one file-name entry (exFAT specification 7.7).
const UNITS_PER_ENTRY: u64 = 15;

/// Location of a file's extents and directory entries on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FilePlace {
    /// Number of the file's folder in the tree.
    pub folder: u32,
    /// Offset of the file's first byte; a cluster boundary.
    pub start: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Directory entries of the file: offset of the first byte, and length in bytes.
    pub entries: (u64, u64),
}

/// The place of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DirectoryPlace {
    /// Offset of the folder's first byte; a cluster boundary.
    pub start: u64,
    /// Size of the folder's clusters, bytes.
    pub allocated: u64,
    /// Size of the entries in the folder, bytes.
    pub used: u64,
    /// Directory entries of the folder in its parent: offset of the first byte, and length in bytes.
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

impl ExfatLayout {
    /// Allocates the tree after the data already on the card. After an error, the layout is unchanged.
    ///
    /// # Errors
    /// Returns [`LayoutError`] if it does not fit, or the root directory (one cluster) is full.
    pub fn place(&mut self, tree: &FileTree) -> Result<PlacedTree, LayoutError> {
        let used = directory_sizes(tree);
        self.check_room(tree, &used)?;
        let mut placer = Placer {
            heap: self.heap(),
            cluster: self.cluster(),
            next: self.next_free,
            next_entry: Vec::with_capacity(used.len()),
        };
        let mut placed = PlacedTree {
            directories: Vec::with_capacity(used.len()),
            files: Vec::with_capacity(tree.files().len()),
        };
        let mut rest = tree.files();
        for ((folder, &used), number) in tree.folders().iter().zip(&used).zip(0u32..) {
            let bytes = entry_set_bytes(folder.name_units);
            let entries = match folder.parent {
                Some(parent) => placer.entries(parent, bytes),
                None => self.root_entries(bytes),
            };
            placed.directories.push(placer.directory(used, entries));
            let (here, later) = rest.split_at(rest.partition_point(|f| f.folder <= number));
            placed.files.extend(here.iter().map(|f| placer.file(f)));
            rest = later;
        }
        self.next_free = placer.next;
        Ok(placed)
    }

    fn check_room(&self, tree: &FileTree, directories: &[u64]) -> Result<(), LayoutError> {
        let files = tree.files().iter().map(|f| f.bytes);
        let clusters: u64 = files
            .chain(directories.iter().copied())
            .map(|bytes| bytes.max(1).div_ceil(self.cluster()))
            .sum();
        let needed = Bytes(clusters.saturating_mul(self.cluster()));
        if needed > self.free() {
            return Err(LayoutError::CardFull {
                needed,
                free: self.free(),
            });
        }
        let top = tree.folders().first();
        if top.is_some_and(|f| entry_set_bytes(f.name_units) > self.root_free()) {
            return Err(LayoutError::RootFull);
        }
        Ok(())
    }
}

/// Size of the entries of a name, bytes: one file entry, one stream extension, the name entries.
fn entry_set_bytes(name_units: u32) -> u64 {
    (2 + u64::from(name_units).div_ceil(UNITS_PER_ENTRY)) * ENTRY_BYTES
}

/// Bytes of the entries in each folder.
fn directory_sizes(tree: &FileTree) -> Vec<u64> {
    let mut used = vec![0; tree.folders().len()];
    for folder in tree.folders() {
        if let Some(parent) = folder.parent {
            used[parent as usize] += entry_set_bytes(folder.name_units);
        }
    }
    for file in tree.files() {
        used[file.folder as usize] += entry_set_bytes(file.name_units);
    }
    used
}

/// Allocates consecutive clusters, and directory entries in each folder.
struct Placer {
    heap: u64,
    cluster: u64,
    /// The first free cluster, from 0 at the start of the heap.
    next: u64,
    /// The place of the next entry of each folder placed so far.
    next_entry: Vec<u64>,
}

impl Placer {
    /// Allocates clusters for this many bytes, at least one; returns their start and length in bytes.
    fn take(&mut self, bytes: u64) -> (u64, u64) {
        let clusters = bytes.max(1).div_ceil(self.cluster);
        let start = self.heap + self.next * self.cluster;
        self.next += clusters;
        (start, clusters * self.cluster)
    }

    /// Allocates entries in a folder that has been placed: parents precede their children.
    fn entries(&mut self, folder: u32, bytes: u64) -> (u64, u64) {
        let at = self.next_entry[folder as usize];
        self.next_entry[folder as usize] += bytes;
        (at, bytes)
    }

    fn directory(&mut self, used: u64, entries: (u64, u64)) -> DirectoryPlace {
        let (start, allocated) = self.take(used);
        self.next_entry.push(start);
        DirectoryPlace {
            start,
            allocated,
            used,
            entries,
        }
    }

    fn file(&mut self, file: &File) -> FilePlace {
        FilePlace {
            folder: file.folder,
            start: self.take(file.bytes).0,
            bytes: file.bytes,
            entries: self.entries(file.folder, entry_set_bytes(file.name_units)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{FolderSpec, das_suite};
    use proptest::prelude::*;

    /// All ranges of the tree on the card, as (start, length).
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
    fn the_root_directory_fills_up() {
        let mut layout = ExfatLayout::new(Bytes(2_000_000_000)).unwrap();
        let tree = FileTree::generate(&FolderSpec::new("x", Bytes(1), 1, 1)).unwrap();
        // 32 KiB less three entries, 96 or 128 bytes each by the length of the name.
        let placed = (0..1000).map_while(|_| layout.place(&tree).ok()).count();
        assert!((255..=340).contains(&placed), "{placed}");
        assert_eq!(layout.place(&tree), Err(LayoutError::RootFull));
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
            // Entries are within the directory of the parent, one after another.
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
