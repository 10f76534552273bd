//! A quick format of a card: the whole device is discarded if the host passes discards on, then the structures of an
//! empty exFAT file system are written. The partition table is not changed.

use super::ExfatLayout;
use super::exfat::BOOT_REGION_BYTES;
use super::extents::{Extent, ExtentSource};
use crate::OpKind;
use nandscope_units::{Bytes, SECTOR_BYTES};

/// Plan for formatting a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatPlan {
    /// Whether the whole device is discarded first (the SD Association's formatter and Linux's tools do so if possible;
    /// many card readers pass no discard on).
    pub discard: bool,
    /// Bytes in one discard; rounded down to whole sectors, zero counts as one sector.
    pub discard_bytes: u32,
    /// Length of a write of a long structure, bytes; rounded down to whole sectors, zero counts as one sector.
    pub io_bytes: u32,
}

impl Default for FormatPlan {
    /// With discards of 1 GiB, writes of 1 MiB.
    fn default() -> Self {
        FormatPlan {
            discard: true,
            discard_bytes: 1 << 30,
            io_bytes: 1 << 20,
        }
    }
}

impl FormatPlan {
    /// The operations that make the empty file system of `layout`: discard, FAT (all of it, so
    /// that no old chain is left), allocation bitmap, up-case table, root directory, backup boot
    /// region, main boot region last, flush.
    pub fn source(&self, layout: &ExfatLayout) -> ExtentSource {
        let sector = SECTOR_BYTES as u32;
        let whole = |bytes: u32| (bytes / sector * sector).max(sector);
        let write = |(start, bytes): (u64, u64)| Extent {
            kind: OpKind::Write,
            offset: Bytes(start),
            length: bytes.next_multiple_of(SECTOR_BYTES),
            chunk: whole(self.io_bytes),
        };
        let mut list = Vec::new();
        if self.discard {
            list.push(Extent {
                kind: OpKind::Trim,
                offset: Bytes::ZERO,
                length: layout.capacity().0 / SECTOR_BYTES * SECTOR_BYTES,
                chunk: whole(self.discard_bytes),
            });
        }
        let boot = layout.partition();
        list.extend([
            write(layout.fat()),
            write(layout.bitmap()),
            write(layout.upcase()),
            write(layout.root()),
            write((boot + BOOT_REGION_BYTES, BOOT_REGION_BYTES)),
            write((boot, BOOT_REGION_BYTES)),
            Extent::FLUSH,
        ]);
        ExtentSource::new(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OpSource;

    #[test]
    fn writes_each_structure_once_and_discards_everything() {
        let layout = ExfatLayout::new(Bytes(128_000_000_000)).unwrap();
        let plan = FormatPlan::default();
        let mut source = plan.source(&layout);
        let ops: Vec<_> = std::iter::from_fn(|| source.next_op())
            .map(|t| t.op)
            .collect();
        let sum = |kind| -> u64 {
            ops.iter()
                .filter(|o| o.kind == kind)
                .map(|o| u64::from(o.length))
                .sum()
        };
        assert_eq!(sum(OpKind::Trim), 128_000_000_000);
        let sectors = |n: u64| n.next_multiple_of(512);
        let structures = layout.fat().1
            + sectors(layout.bitmap().1)
            + sectors(5836)
            + layout.root().1
            + 2 * 12 * 512;
        assert_eq!(sum(OpKind::Write), structures);
        // Two writes never meet.
        let mut writes: Vec<_> = ops
            .iter()
            .filter(|o| o.kind == OpKind::Write)
            .map(|o| (o.offset.0, u64::from(o.length)))
            .collect();
        writes.sort_unstable();
        assert!(writes.windows(2).all(|w| w[0].0 + w[0].1 <= w[1].0));
        assert_eq!(ops.last().map(|o| o.kind), Some(OpKind::Flush));

        let quiet = FormatPlan {
            discard: false,
            ..plan
        };
        assert_eq!(quiet.source(&layout).expected_bytes(), Some(structures));
    }
}
