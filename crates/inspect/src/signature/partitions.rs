//! Partition tables: MBR, GPT (with the copy at the end, which alone would bring it back), and the
//! labels of Apple, Sun and BSD.

use super::fat::is_fat;
use super::{ReadAt, Signature, Source, Usage, le32};
use nandscope_units::Bytes;
use std::io;

/// Header of a GPT (UEFI specification 2.10, 5.3.2), in the second and in the last block.
const GPT: &[u8] = b"EFI PART";
/// Sizes of blocks for which it is looked for: a disk may have been written in another enclosure.
const BLOCKS: [u64; 2] = [512, 4096];

pub(super) fn probe<R: ReadAt + ?Sized>(source: &Source<'_, R>) -> io::Result<Vec<Signature>> {
    let mut found = Vec::new();
    let mut note = |name: &'static str, offset| {
        found.push(Signature {
            name: name.into(),
            usage: Usage::Partitions,
            offset: Bytes(offset),
        });
    };
    for block in BLOCKS {
        let last = source.before_end(block, block);
        for place in [Some(block), last].into_iter().flatten() {
            if source.bytes::<8>(place)? == GPT {
                note("gpt", place);
            }
        }
    }
    let first: [u8; 1024] = source.bytes(0)?;
    let boot: [u8; 512] = source.bytes(0)?;
    if is_mbr(&boot) {
        note("mbr", 510);
    }
    // Driver descriptor and first entry of the map (Inside Macintosh: Devices, chapter 3).
    if first.starts_with(b"ER") && first[512..].starts_with(b"PM") {
        note("mac", 512);
    }
    // Linux: block/partitions/sun.h.
    if first[508..510] == [0xda, 0xbe] {
        note("sun", 508);
    }
    // FreeBSD: sys/disklabel.h, in the second sector, or in the first on some platforms.
    for at in [512, 64] {
        if le32(&first, at) == 0x8256_4557 && le32(&first, at + 132) == 0x8256_4557 {
            note("bsd", at as u64);
        }
    }
    Ok(found)
}

/// Whether a boot sector is a master boot record: the signature of boot sectors, only 00h and 80h as flags of the
/// four entries, and no file system's name.
fn is_mbr(boot: &[u8; 512]) -> bool {
    let flags = [446, 462, 478, 494].map(|at| boot[at]);
    let boots_else =
        is_fat(boot) || [&b"NTFS    "[..], b"EXFAT   ", b"-FVE-FS-"].contains(&&boot[3..11]);
    boot[510..] == [0x55, 0xaa] && flags.iter().all(|f| matches!(f, 0 | 0x80)) && !boots_else
}
