//! Where exFAT puts things on a card: Microsoft's exFAT specification for the structures, the SD
//! Association's habit of aligning the cluster heap to a boundary unit for their places.
//!
//! Every file and folder is contiguous (allocated from the first free cluster on, in the order of
//! the tree, on a freshly formatted card; a copy tells the size before it writes). Contiguous files
//! carry the NoFatChain flag, so the FAT is not written for them. Fragmentation and the reuse of
//! freed clusters are not modelled.

use nandscope_units::Bytes;
use thiserror::Error;

/// Sectors of a boot region (specification 3: main and backup, 12 sectors each).
pub(super) const BOOT_REGION_BYTES: u64 = 12 * 512;
/// The up-case table that the specification recommends (7.2.5), compressed.
pub(super) const UPCASE_BYTES: u64 = 5836;
/// Bytes of one directory entry.
pub(super) const ENTRY_BYTES: u64 = 32;
/// The first entries of the root directory: volume label, allocation bitmap, up-case table.
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
        /// Bytes needed.
        needed: Bytes,
        /// Bytes available.
        free: Bytes,
    },
    /// The root directory is one cluster.
    #[error("the root directory has no room for another folder; place fewer trees on one card")]
    RootFull,
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

/// Alignment of an SD card's partition and cluster heap: 4 MiB up to 32 GB, then 16, 32 and 64 MiB from 128 GB and 512
/// GB on (boundary units of the SD file-system specification).
const fn boundary_unit(capacity: Bytes) -> u64 {
    match capacity.0 / 1_000_000_000 {
        0..=32 => 4 << 20,
        33..=128 => 16 << 20,
        129..=512 => 32 << 20,
        _ => 64 << 20,
    }
}

/// An exFAT file system on a card: its parts, and its fill level. All places are bytes from
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
    pub(super) next_free: u64,
}

impl ExfatLayout {
    /// An empty file system on a card of `capacity`.
    ///
    /// # Errors
    /// Returns [`LayoutError`] if the card is too small for it.
    pub fn new(capacity: Bytes) -> Result<ExfatLayout, LayoutError> {
        let too_small = LayoutError::CardTooSmall(capacity);
        if capacity.0 < 64_000_000 {
            return Err(too_small);
        }
        let cluster = cluster_bytes(capacity);
        let unit = boundary_unit(capacity);
        let partition = unit;
        let fat = partition + unit / 2;
        // Upper bound of the number of clusters: the heap begins after the FAT.
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

    /// Start of the partition: the boot region, followed by its backup.
    pub const fn partition(&self) -> u64 {
        self.partition
    }

    /// Place and length of the file allocation table.
    pub const fn fat(&self) -> (u64, u64) {
        (self.fat, self.fat_bytes)
    }

    /// Start of the clusters.
    pub const fn heap(&self) -> u64 {
        self.heap
    }

    /// Place (the first cluster) and length of the allocation bitmap.
    pub const fn bitmap(&self) -> (u64, u64) {
        (self.heap, self.bitmap_bytes())
    }

    /// Place and length of the up-case table.
    pub const fn upcase(&self) -> (u64, u64) {
        let behind_bitmap = self.bitmap_bytes().div_ceil(self.cluster) * self.cluster;
        (self.heap + behind_bitmap, UPCASE_BYTES)
    }

    /// Place and length of the root directory.
    pub const fn root(&self) -> (u64, u64) {
        (self.root, self.root_bytes)
    }

    /// Free space, bytes.
    pub const fn free(&self) -> Bytes {
        Bytes((self.clusters - self.next_free) * self.cluster)
    }

    const fn bitmap_bytes(&self) -> u64 {
        self.clusters.div_ceil(8)
    }

    /// Free space in the root directory, bytes.
    pub(super) const fn root_free(&self) -> u64 {
        self.root_bytes - self.root_used
    }

    /// Allocates entries in the root directory; returns their offset and length. The caller has checked that there is
    /// room.
    pub(super) const fn root_entries(&mut self, bytes: u64) -> (u64, u64) {
        let at = self.root + self.root_used;
        self.root_used += bytes;
        (at, bytes)
    }

    /// Bytes of the bitmap with the bits of a range of the heap: offset of the first, and number.
    pub(super) fn bitmap_of(&self, start: u64, bytes: u64) -> (u64, u64) {
        let first = start.saturating_sub(self.heap) / self.cluster;
        let last = (start + bytes.max(1) - 1).saturating_sub(self.heap) / self.cluster;
        (self.heap + first / 8, last / 8 - first / 8 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn a_small_card_is_refused() {
        assert!(matches!(
            ExfatLayout::new(Bytes(1)),
            Err(LayoutError::CardTooSmall(_))
        ));
        assert!(ExfatLayout::new(Bytes(64_000_000)).is_ok());
    }
}
