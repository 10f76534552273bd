//! Formats that are met less often: old and special file systems, layers of device mapper, and
//! arrays of vendors' controllers. Sources: as in [`super::table`].

use super::Usage::{Encrypted, FileSystem, Member, Partitions};
use super::{ReadAt, Signature, Source, Usage, le16, le32};
use std::io;

/// Name, use, offset, bytes.
type Magic = (&'static str, Usage, u64, &'static [u8]);

/// Formats with a magic number at a fixed offset.
const FROM_START: &[Magic] = &[
    ("sgi", Partitions, 0, b"\x0b\xe5\xa9\x41"),
    ("bfs", FileSystem, 0, b"\xce\xfa\xad\x1b"),
    ("cramfs", FileSystem, 0, b"\x45\x3d\xcd\x28"),
    ("cramfs", FileSystem, 0, b"\x28\xcd\x3d\x45"),
    ("cramfs", FileSystem, 0x200, b"\x45\x3d\xcd\x28"),
    ("romfs", FileSystem, 0, b"-rom1fs-"),
    ("squashfs", FileSystem, 0, b"sqsh"),
    ("zonefs", FileSystem, 0, b"SFOZ"),
    ("refs", FileSystem, 0, b"\0\0\0ReFS\0"),
    ("reiser4", FileSystem, 0x1_0000, b"ReIsEr4"),
    ("gfs2", FileSystem, 0x1_0000, b"\x01\x16\x19\x70"),
    ("ocfs", FileSystem, 0x2000, b"OracleCFS"),
    ("ocfs2", FileSystem, 0x400, b"OCFSV2"),
    ("ocfs2", FileSystem, 0x800, b"OCFSV2"),
    ("ocfs2", FileSystem, 0x1000, b"OCFSV2"),
    ("ocfs2", FileSystem, 0x2000, b"OCFSV2"),
    ("oracleasm", Member, 0x20, b"ORCLDISK"),
    ("vxfs", FileSystem, 0x400, b"\xf5\xfc\x01\xa5"),
    ("vxfs", FileSystem, 0x2000, b"\xa5\x01\xfc\xf5"),
    ("lvm1", Member, 0, b"HM\x01\0"),
    ("lvm1", Member, 0, b"HM\x02\0"),
    ("dm-snapshot", Member, 0, b"SnAp"),
    ("dm-integrity", Encrypted, 0, b"integrt\0"),
    ("dm-verity", Encrypted, 0, b"verity\0\0"),
    ("highpoint-raid", Member, 0x1220, b"\xf0\x16\x78\x5a"),
    ("highpoint-raid", Member, 0x1220, b"\xfd\x16\x78\x5a"),
];

/// Those counted in sectors from the end, with the place of the magic number in the sector.
const FROM_END: &[(&str, u64, usize, &[u8])] = &[
    ("highpoint-raid", 11, 0, b"\xf3\x16\x78\x5a"),
    ("highpoint-raid", 11, 0, b"\xfd\x16\x78\x5a"),
    ("nvidia-raid", 2, 0, b"NVIDIA"),
    ("lsi-raid", 1, 0, b"$XIDE$"),
    ("silicon-raid", 1, 0x60, b"\0\0\0\x2f"),
    ("adaptec-raid", 1, 0, b"\x37\xfc\x4d\x1e"),
];
/// Promise's sectors from the end.
const PROMISE: [u64; 13] = [
    63, 255, 256, 16, 399, 591, 675, 735, 911, 974, 991, 951, 3087,
];
/// Magic numbers of the kinds of UFS, in either order of bytes, and where its superblocks may be.
const UFS: [u32; 6] = [
    0x0001_1954,
    0x1954_0119,
    0x0019_5612,
    0x0009_5014,
    0x0061_2195,
    0x0523_1994,
];
const UFS_PLACES: [u64; 4] = [0, 0x2000, 0x1_0000, 0x4_0000];
/// The place of the magic number in a superblock of UFS.
const UFS_MAGIC: u64 = 1372;

pub(super) fn probe<R: ReadAt + ?Sized>(source: &Source<'_, R>) -> io::Result<Vec<Signature>> {
    let mut found = Vec::new();
    let mut note = |name, usage, offset| found.push(Signature::new(name, usage, offset));
    for (name, usage, offset, magic) in FROM_START {
        if source.bytes::<16>(*offset)?.starts_with(magic) {
            note(name, *usage, *offset);
        }
    }
    for (name, sectors, at, magic) in FROM_END {
        if let Some(sector) = source.before_end(sectors * 512, 512)
            && source.bytes::<128>(sector)?[*at..].starts_with(magic)
        {
            note(name, Member, sector);
        }
    }
    for sectors in PROMISE {
        if let Some(sector) = source.before_end(sectors * 512, 512)
            && source.bytes::<24>(sector)? == *b"Promise Technology, Inc."
        {
            note("promise-raid", Member, sector);
        }
    }
    for place in UFS_PLACES {
        let magic: [u8; 4] = source.bytes(place + UFS_MAGIC)?;
        let is_one = |n: u32| UFS.contains(&n);
        if is_one(u32::from_le_bytes(magic)) || is_one(u32::from_be_bytes(magic)) {
            note("ufs", FileSystem, place + UFS_MAGIC);
        }
    }
    if let Some(place) = via(source)? {
        note("via-raid", Member, place);
    }
    if let Some(place) = minix(source)? {
        note("minix", FileSystem, place);
    }
    Ok(found)
}

/// Two bytes of magic, which boot sectors share; the sum of the first 50 bytes must fit.
fn via<R: ReadAt + ?Sized>(source: &Source<'_, R>) -> io::Result<Option<u64>> {
    let Some(place) = source.before_end(512, 512) else {
        return Ok(None);
    };
    let sector: [u8; 51] = source.bytes(place)?;
    let sum = sector[..50].iter().fold(0u8, |sum, b| sum.wrapping_add(*b));
    let fits = sector.starts_with(b"\x55\xaa") && sector[2] <= 2 && sector[50] == sum;
    Ok(fits.then_some(place))
}

/// Two bytes of magic as well: the bitmaps must be there and cover the inodes (`linux/minix_fs.h`).
fn minix<R: ReadAt + ?Sized>(source: &Source<'_, R>) -> io::Result<Option<u64>> {
    let superblock: [u8; 32] = source.bytes(0x400)?;
    let word = |at: usize, big: bool| match big {
        true => le16(&superblock, at).swap_bytes(),
        false => le16(&superblock, at),
    };
    let fits = [false, true].into_iter().any(|big| {
        let old = matches!(word(16, big), 0x137f | 0x138f | 0x2468 | 0x2478)
            && word(4, big) > 0
            && word(6, big) > 0
            && u32::from(word(4, big)) * 8192 > u32::from(word(0, big));
        let third = word(24, big) == 0x4d5a && word(6, big) > 0 && word(8, big) > 0;
        old || third
    });
    // A superblock of ext may look like one.
    let ext = le16(&source.bytes::<2>(0x438)?, 0) == 0xef53;
    let empty = le32(&superblock, 0) == 0 && le32(&superblock, 4) == 0;
    Ok((fits && !ext && !empty).then_some(0x400))
}
