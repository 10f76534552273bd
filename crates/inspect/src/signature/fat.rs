//! FAT: it has no magic number that every writer of it sets, so that the boot sector's numbers are
//! looked at (as `vfat.c` of libblkid and `fs/fat/inode.c` of Linux do).

use super::{ReadAt, Signature, Source, Usage, le16, le32};
use nandscope_units::Bytes;
use std::io;

pub(super) fn probe<R: ReadAt + ?Sized>(source: &Source<'_, R>) -> io::Result<Option<Signature>> {
    let boot: [u8; 512] = source.bytes(0)?;
    Ok(is_fat(&boot).then_some(Signature {
        name: "vfat".into(),
        usage: Usage::FileSystem,
        offset: Bytes(0),
    }))
}

/// True if a boot sector describes a FAT file system, and not a partition table.
pub(super) fn is_fat(boot: &[u8; 512]) -> bool {
    let named = [
        (0x36, &b"FAT12   "[..]),
        (0x36, b"FAT16   "),
        (0x36, b"FAT     "),
        (0x36, b"MSDOS"),
        (0x52, b"FAT32   "),
        (0x52, b"MSWIN"),
    ];
    let has_name = named.iter().any(|(at, name)| boot[*at..].starts_with(name));
    let jumps = matches!(boot[0], 0xeb | 0xe9) && boot[510..] == [0x55, 0xaa];
    (has_name || jumps) && has_sensible_numbers(boot)
}

fn has_sensible_numbers(boot: &[u8; 512]) -> bool {
    let sector = le16(boot, 0x0b);
    let (cluster, reserved, fats, media) = (boot[0x0d], le16(boot, 0x0e), boot[0x10], boot[0x15]);
    let sectors = u32::from(le16(boot, 0x13)).max(le32(boot, 0x20));
    let length = u32::from(le16(boot, 0x16)).max(le32(boot, 0x24));
    sector.is_power_of_two()
        && (512..=4096).contains(&sector)
        && cluster.is_power_of_two()
        && reserved > 0
        && (1..=2).contains(&fats)
        && (media == 0xf0 || media >= 0xf8)
        && sectors > 0
        && length > 0
}
