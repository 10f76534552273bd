//! The layout of a file system, read from its own structures at the end of a run, to give each write of
//! the trace a kind. Damaged structures give fewer ranges, never an error: anything outside of all
//! ranges counts as data.

mod btrfs;
mod exfat;
mod ext4;
mod f2fs;
mod fat;
mod kind;
mod volume;
mod xfs;

use crate::filesystem::FileSystem;
pub use kind::Kind;
use std::collections::BTreeMap;
pub use volume::Contents;
use volume::Volume;

/// Ranges of a device and what they are for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout(BTreeMap<u64, (u64, Kind)>);

impl Layout {
    /// The layout of the file system that begins at `start` of `contents`.
    pub fn read(fs: FileSystem, contents: &dyn Contents, start: u64) -> Layout {
        let mut layout = Layout::default();
        let image = Volume { contents, start };
        if start > 0 {
            layout.add(0, start.min(1 << 20), Kind::Super);
        }
        let ranges = match fs {
            FileSystem::Ext4 => ext4::ranges(&image),
            FileSystem::Vfat => fat::ranges(&image),
            FileSystem::Exfat => exfat::ranges(&image),
            FileSystem::F2fs => f2fs::ranges(&image),
            FileSystem::Nilfs2 => Some(vec![
                (
                    4096,
                    contents.capacity().saturating_sub(start + 8192),
                    Kind::Log,
                ),
                (0, 4096, Kind::Super),
            ]),
            FileSystem::Btrfs => btrfs::ranges(&image),
            FileSystem::Xfs => xfs::ranges(&image),
        };
        for (from, length, kind) in ranges.into_iter().flatten() {
            layout.add(start.saturating_add(from), length, kind);
        }
        layout
    }

    /// Later ranges take precedence: what they cover of others is cut away, so that no two overlap.
    fn add(&mut self, from: u64, length: u64, kind: Kind) {
        let end = from.saturating_add(length);
        if from == end {
            return;
        }
        let before = self
            .0
            .range(..from)
            .next_back()
            .map(|(at, old)| (*at, *old));
        if let Some((at, (old_end, old))) = before.filter(|(_, (old_end, _))| *old_end > from) {
            self.0.insert(at, (from, old));
            self.keep_after(end, old_end, old);
        }
        let covered: Vec<u64> = self.0.range(from..end).map(|(at, _)| *at).collect();
        for at in covered {
            if let Some((old_end, old)) = self.0.remove(&at) {
                self.keep_after(end, old_end, old);
            }
        }
        self.0.insert(from, (end, kind));
    }

    /// Keeps the part of an older range after the end of a newer one.
    fn keep_after(&mut self, end: u64, old_end: u64, old: Kind) {
        if old_end > end {
            self.0.insert(end, (old_end, old));
        }
    }

    /// The kind of an address.
    pub fn kind(&self, address: u64) -> Kind {
        match self.0.range(..=address).next_back() {
            Some((_, (end, kind))) if address < *end => *kind,
            _ => Kind::Data,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_blockio::image::Image;
    use proptest::prelude::*;

    #[test]
    fn an_address_has_the_kind_of_the_range_around_it() {
        let mut layout = Layout::default();
        layout.add(100, 50, Kind::Journal);
        layout.add(200, 10, Kind::Bitmap);
        let kinds = [99, 100, 149, 150, 205, 210].map(|at| layout.kind(at));
        let expected = [
            Kind::Data,
            Kind::Journal,
            Kind::Journal,
            Kind::Data,
            Kind::Bitmap,
            Kind::Data,
        ];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn a_later_range_is_cut_out_of_those_before() {
        let mut layout = Layout::default();
        layout.add(100, 100, Kind::Tree);
        layout.add(300, 100, Kind::Journal);
        layout.add(120, 10, Kind::Super);
        layout.add(190, 120, Kind::Inode);
        let kinds = [99, 100, 120, 129, 130, 190, 309, 310, 400].map(|at| layout.kind(at));
        let expected = [
            Kind::Data,
            Kind::Tree,
            Kind::Super,
            Kind::Super,
            Kind::Tree,
            Kind::Inode,
            Kind::Inode,
            Kind::Journal,
            Kind::Data,
        ];
        assert_eq!(kinds, expected);
    }

    proptest! {
        #[test]
        fn no_contents_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 8192), at in 0u64..4096) {
            let mut contents = Image::bounded(1 << 20);
            contents.write(0, &bytes).unwrap();
            for fs in FileSystem::ALL {
                let layout = Layout::read(fs, &contents, at * 16);
                layout.kind(at);
            }
        }
    }
}
