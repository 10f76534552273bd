//! A folder deleted from a card: per file the entries marked unused and the bits of the bitmap
//! cleared, and the clusters discarded where the host passes discards on; folders after their
//! files, children before parents. One thread, as a file manager does it.

use super::copy::Metadata;
use super::extents::{Extent, ExtentSource};
use super::{ExfatLayout, PlacedTree};
use crate::OpKind;
use nandscope_units::Bytes;

/// Metadata is written in blocks of this many bytes.
const METADATA_BYTES: u32 = 4096;

/// Discards of a long file are cut into pieces of this many bytes.
const DISCARD_BYTES: u32 = 1 << 30;

/// Plan for deleting a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeletePlan {
    /// Freed clusters are discarded (many card readers pass no discard on).
    pub discard: bool,
}

impl DeletePlan {
    /// Operations that delete a placed tree. The layout does not reclaim the clusters: later trees are placed after
    /// them.
    pub fn source(&self, layout: &ExfatLayout, tree: &PlacedTree) -> ExtentSource {
        let metadata = Metadata::new(layout, METADATA_BYTES);
        let mut list = Vec::new();
        let mut remove = |entries, start, bytes: u64| {
            list.push(metadata.blocks(OpKind::Write, entries));
            list.push(metadata.bitmap(start, bytes));
            if self.discard {
                list.push(Extent {
                    kind: OpKind::Trim,
                    offset: Bytes(start),
                    length: bytes.next_multiple_of(layout.cluster()),
                    chunk: DISCARD_BYTES,
                });
            }
        };
        for file in &tree.files {
            remove(file.entries, file.start, file.bytes);
        }
        for directory in tree.directories.iter().rev() {
            remove(directory.entries, directory.start, directory.allocated);
        }
        list.push(Extent::FLUSH);
        ExtentSource::new(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OpSource;
    use crate::files::{FileTree, FolderSpec};

    #[test]
    fn discards_exactly_what_was_allocated() {
        let mut layout = ExfatLayout::new(Bytes(64_000_000_000)).unwrap();
        let before = layout.free();
        let spec = FolderSpec::new("x", Bytes(500_000_000), 300, 20);
        let tree = layout.place(&FileTree::generate(&spec).unwrap()).unwrap();
        let ops = |discard| {
            let mut source = DeletePlan { discard }.source(&layout, &tree);
            std::iter::from_fn(move || source.next_op())
                .map(|t| t.op)
                .collect::<Vec<_>>()
        };
        let with = ops(true);
        let trimmed: u64 = with
            .iter()
            .filter(|o| o.kind == OpKind::Trim)
            .map(|o| u64::from(o.length))
            .sum();
        assert_eq!(trimmed, before.0 - layout.free().0);
        let without = ops(false);
        assert!(without.iter().all(|o| o.kind != OpKind::Trim));
        assert_eq!(
            without.iter().filter(|o| o.kind == OpKind::Write).count(),
            2 * 320
        );
        assert_eq!(without.last().map(|o| o.kind), Some(OpKind::Flush));
    }
}
