//! Kinds of file system blocks.

use serde::{Deserialize, Serialize};

/// Use of a range of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// Contents of files, and everything that is not recognised.
    Data,
    /// The journal of ext4, the log of XFS.
    Journal,
    /// Inodes: ext4's tables, F2FS's node blocks, XFS's chunks of inodes and trees of extents.
    Inode,
    /// Allocation of blocks and inodes: bitmaps, XFS's trees and headers of allocation groups.
    Bitmap,
    /// The file allocation table.
    Fat,
    /// Directories, if they are recognised.
    Directory,
    /// F2FS's checkpoints and address tables (CP, SIT, NAT, SSA).
    Map,
    /// btrfs's trees: inodes, directories, extents, checksums, and the log that `fsync` writes.
    Tree,
    /// NILFS2's log: data and metadata together.
    Log,
    /// Superblocks, group descriptors, boot sectors, partition table.
    Super,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 10] = [
        Kind::Data,
        Kind::Journal,
        Kind::Inode,
        Kind::Bitmap,
        Kind::Fat,
        Kind::Directory,
        Kind::Map,
        Kind::Tree,
        Kind::Log,
        Kind::Super,
    ];

    /// Name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Data => "data",
            Kind::Journal => "journal",
            Kind::Inode => "inode",
            Kind::Bitmap => "bitmap",
            Kind::Fat => "FAT",
            Kind::Directory => "directory",
            Kind::Map => "map",
            Kind::Tree => "tree",
            Kind::Log => "log",
            Kind::Super => "superblock",
        }
    }
}

/// A range from the start of the file system: where, how long, what.
pub(super) type Range = (u64, u64, Kind);
