//! Magic numbers at fixed places. Sources: the on-disk structures in Linux (`include/uapi/linux/`,
//! `fs/*/`), and the tables in `libblkid/src/superblocks` of util-linux, which collects them.

use super::Usage::{Encrypted, FileSystem, Member, Swap};
use super::{ReadAt, Signature, Source, Usage, le16, le32};
use std::io;

/// A magic number: name, use, offset, bytes.
type Magic = (&'static str, Usage, u64, &'static [u8]);

/// Formats with a magic number at a fixed offset.
const FROM_START: &[Magic] = &[
    ("xfs", FileSystem, 0, b"XFSB"),
    ("btrfs", FileSystem, 0x1_0040, b"_BHRfS_M"),
    ("exfat", FileSystem, 3, b"EXFAT   "),
    ("ntfs", FileSystem, 3, b"NTFS    "),
    ("f2fs", FileSystem, 0x400, b"\x10\x20\xf5\xf2"),
    ("f2fs", FileSystem, 0x1400, b"\x10\x20\xf5\xf2"),
    ("squashfs", FileSystem, 0, b"hsqs"),
    ("erofs", FileSystem, 0x400, b"\xe2\xe1\xf5\xe0"),
    ("jfs", FileSystem, 0x8000, b"JFS1"),
    ("reiserfs", FileSystem, 0x1_0034, b"ReIsEr"),
    ("iso9660", FileSystem, 0x8001, b"CD001"),
    ("udf", FileSystem, 0x8001, b"BEA01"),
    ("udf", FileSystem, 0x8801, b"NSR0"),
    ("apfs", FileSystem, 0x20, b"NXSB"),
    ("hfsplus", FileSystem, 0x400, b"H+\x00\x04"),
    ("hfsx", FileSystem, 0x400, b"HX\x00\x05"),
    ("ubi", FileSystem, 0, b"UBI#"),
    ("ubifs", FileSystem, 0, b"\x31\x18\x10\x06"),
    ("vmfs", FileSystem, 0x10_0000, b"\x0d\xd0\x01\xc0"),
    (
        "bcache",
        Member,
        0x1018,
        b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca",
    ),
    (
        "bcachefs",
        FileSystem,
        0x1018,
        b"\xc6\x85\x73\xf6\x66\xce\x90\xa9",
    ),
    ("bluestore", Member, 0, b"bluestore block device"),
    ("vdo", Member, 0, b"dmvdo001"),
    ("stratis", Member, 0x204, b"!Stra0tis\x86\xff\x02^\x41rh"),
    ("luks", Encrypted, 0, b"LUKS\xba\xbe"),
    ("bitlocker", Encrypted, 3, b"-FVE-FS-"),
];

/// Those counted from the end: distance, after rounding the size down to a multiple.
const FROM_END: &[(&str, Usage, u64, u64, &[u8])] = &[
    ("isw-raid", Member, 1024, 512, b"Intel Raid ISM Cfg Sig. "),
    ("ddf-raid", Member, 512, 512, b"\xde\x11\xde\x11"),
];

/// Sizes of a memory page; the signature of swap is at the end of the first page.
const PAGES: [u64; 5] = [4096, 8192, 16_384, 32_768, 65_536];
/// Signatures of swap and of a system that sleeps in it (`kernel/power/swap.c`).
const SWAP: [&[u8]; 5] = [
    b"SWAPSPACE2",
    b"SWAP-SPACE",
    b"S1SUSPEND",
    b"S2SUSPEND",
    b"LINHIB0001",
];
/// Places of the second header of LUKS2 (its format specification, 2.4).
const LUKS_SECOND: [u64; 9] = [
    0x4000, 0x8000, 0x1_0000, 0x2_0000, 0x4_0000, 0x8_0000, 0x10_0000, 0x20_0000, 0x40_0000,
];
/// Magic number of Linux RAID (`md_p.h`).
const MD: u32 = 0xa92b_4efc;
/// Magic number of an uberblock of ZFS (`uberblock_impl.h`).
const ZFS: u64 = 0x00ba_b10c;

pub(super) fn probe<R: ReadAt + ?Sized>(source: &Source<'_, R>) -> io::Result<Vec<Signature>> {
    let mut found = Vec::new();
    let mut note = |name, usage, offset| found.push(Signature::new(name, usage, offset));
    for (name, usage, offset, magic) in FROM_START {
        if source.bytes::<32>(*offset)?.starts_with(magic) {
            note(name, *usage, *offset);
        }
    }
    for (name, usage, distance, align, magic) in FROM_END {
        if let Some(offset) = source.before_end(*distance, *align)
            && source.bytes::<32>(offset)?.starts_with(magic)
        {
            note(name, *usage, offset);
        }
    }
    for page in PAGES {
        let text: [u8; 10] = source.bytes(page - 10)?;
        if SWAP.iter().any(|magic| text.starts_with(magic)) {
            note("swap", Swap, page - 10);
        }
    }
    for offset in LUKS_SECOND {
        if source.bytes::<6>(offset)? == *b"SKUL\xba\xbe" {
            note("luks", Encrypted, offset);
        }
    }
    // A label may be in any of the first four sectors (LVM2: lib/label/label.h).
    for offset in [0, 512, 1024, 1536] {
        let label: [u8; 32] = source.bytes(offset)?;
        if label.starts_with(b"LABELONE") && label[24..].starts_with(b"LVM2 001") {
            note("lvm", Member, offset);
        }
    }
    found.extend(ext(source)?);
    found.extend(nilfs(source)?);
    found.extend(raid(source)?);
    found.extend(zfs(source)?);
    Ok(found)
}

/// Two bytes of magic are met in random data now and then: revision and block size must fit, too.
fn ext<R: ReadAt + ?Sized>(source: &Source<'_, R>) -> io::Result<Option<Signature>> {
    let superblock: [u8; 128] = source.bytes(0x400)?;
    let fits = le16(&superblock, 0x38) == 0xef53
        && le32(&superblock, 0x18) <= 6
        && le32(&superblock, 0x4c) <= 1
        && le32(&superblock, 0) > 0;
    Ok(fits.then_some(Signature::new("ext", FileSystem, 0x438)))
}

/// The superblock and its copy in the last 4 KiB (`include/uapi/linux/nilfs2_ondisk.h`).
fn nilfs<R: ReadAt + ?Sized>(source: &Source<'_, R>) -> io::Result<Vec<Signature>> {
    let mut found = Vec::new();
    for place in [Some(0x400), source.before_end(4096, 4096)]
        .into_iter()
        .flatten()
    {
        let superblock: [u8; 16] = source.bytes(place)?;
        let size = le16(&superblock, 8);
        if le16(&superblock, 6) == 0x3434 && le32(&superblock, 0) == 2 && size <= 1024 {
            found.push(Signature::new("nilfs2", FileSystem, place + 6));
        }
    }
    Ok(found)
}

/// Versions 0.90 and 1.0 are near the end, 1.1 at the start, 1.2 at 4 KiB
/// (`include/uapi/linux/raid/md_p.h`).
fn raid<R: ReadAt + ?Sized>(source: &Source<'_, R>) -> io::Result<Vec<Signature>> {
    let places = [
        source.before_end(0x1_0000, 0x1_0000),
        source.before_end(0x2000, 0x1000),
        Some(0),
        Some(0x1000),
    ];
    let mut found = Vec::new();
    for place in places.into_iter().flatten() {
        let head: [u8; 4] = source.bytes(place)?;
        if u32::from_le_bytes(head) == MD || u32::from_be_bytes(head) == MD {
            found.push(Signature::new("mdraid", Member, place));
        }
    }
    Ok(found)
}

/// Four labels of 256 KiB, two at each end; the upper half of each holds uberblocks, one every
/// KiB (ZFS on-disk specification, chapter 1). One of them is enough.
fn zfs<R: ReadAt + ?Sized>(source: &Source<'_, R>) -> io::Result<Option<Signature>> {
    const LABEL: u64 = 0x4_0000;
    let ends = [2 * LABEL, LABEL].map(|distance| source.before_end(distance, LABEL));
    let labels = [Some(0), Some(LABEL), ends[0], ends[1]];
    for label in labels.into_iter().flatten() {
        for slot in (LABEL / 2..LABEL).step_by(1024) {
            let magic: [u8; 8] = source.bytes(label + slot)?;
            if u64::from_le_bytes(magic) == ZFS || u64::from_be_bytes(magic) == ZFS {
                return Ok(Some(Signature::new("zfs", Member, label + slot)));
            }
        }
    }
    Ok(None)
}
