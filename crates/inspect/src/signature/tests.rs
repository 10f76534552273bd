//! Places that need no tool to be written; what the real tools write is in tests/signatures.rs.

use super::*;

const SIZE: usize = 8 << 20;

fn names(bytes: &[u8]) -> Vec<String> {
    let found = probe(bytes, Bytes(bytes.len() as u64)).unwrap();
    found.iter().map(|s| s.name.to_string()).collect()
}

fn with(changes: &[(usize, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0; SIZE];
    for (at, data) in changes {
        bytes[*at..at + data.len()].copy_from_slice(data);
    }
    bytes
}

#[test]
fn nothing_is_on_an_empty_device_of_any_size() {
    for size in [0, 1, 511, 512, 513, 4096, 65_535, 65_536, 300_000, SIZE] {
        assert!(names(&vec![0; size]).is_empty(), "{size}");
        assert!(names(&vec![0xff; size]).is_empty(), "{size}");
    }
}

#[test]
fn the_copy_of_a_gpt_alone_is_enough() {
    assert_eq!(names(&with(&[(SIZE - 512, b"EFI PART")])), ["gpt"]);
    assert_eq!(names(&with(&[(4096, b"EFI PART")])), ["gpt"]);
}

#[test]
fn an_empty_mbr_is_one_and_a_boot_sector_with_wild_flags_is_not() {
    assert_eq!(names(&with(&[(510, b"\x55\xaa")])), ["mbr"]);
    assert!(names(&with(&[(510, b"\x55\xaa"), (446, b"\x17")])).is_empty());
}

#[test]
fn arrays_at_the_end() {
    let magic = &0xa92b_4efcu32.to_le_bytes();
    assert_eq!(names(&with(&[(SIZE - 0x1_0000, magic)])), ["mdraid"]);
    assert_eq!(names(&with(&[(SIZE - 0x2000, magic)])), ["mdraid"]);
    assert_eq!(names(&with(&[(0x1000, magic)])), ["mdraid"]);
    assert!(names(&with(&[(0x3000, magic)])).is_empty());
}

#[test]
fn zfs_in_its_last_label() {
    let magic = &0x00ba_b10cu64.to_le_bytes();
    assert_eq!(
        names(&with(&[(SIZE - 0x4_0000 + 0x2_0400, magic)])),
        ["zfs"]
    );
}

#[test]
fn swap_of_a_machine_with_large_pages() {
    assert_eq!(names(&with(&[(65_526, b"SWAPSPACE2")])), ["swap"]);
}

#[test]
fn the_magic_of_ext_without_a_superblock_is_chance() {
    assert!(names(&with(&[(0x438, b"\x53\xef")])).is_empty());
}

#[test]
fn a_device_that_cannot_be_read_is_not_empty() {
    struct Broken;
    impl ReadAt for Broken {
        fn read_some(&self, _: &mut [u8], _: u64) -> io::Result<usize> {
            Err(io::Error::other("no"))
        }
    }
    assert!(probe(&Broken, Bytes(1 << 20)).is_err());
}

/// Formats whose tools few machines have; what the tools write is in tests/signatures.rs.
#[test]
fn rare_formats() {
    const LAST: usize = SIZE - 512;
    let via = {
        let mut sector = [0u8; 51];
        sector[..3].copy_from_slice(b"\x55\xaa\x01");
        sector[50] = 0x55u8.wrapping_add(0xaa).wrapping_add(1);
        sector
    };
    let cases: &[(&str, usize, &[u8])] = &[
        ("sgi", 0, b"\x0b\xe5\xa9\x41"),
        ("bfs", 0, b"\xce\xfa\xad\x1b"),
        ("cramfs", 0, b"\x45\x3d\xcd\x28"),
        ("dm-integrity", 0, b"integrt\0"),
        ("dm-verity", 0, b"verity\0\0"),
        ("gfs2", 0x1_0000, b"\x01\x16\x19\x70"),
        ("ocfs2", 0x1000, b"OCFSV2"),
        ("refs", 0, b"\0\0\0ReFS\0"),
        ("reiser4", 0x1_0000, b"ReIsEr4"),
        ("romfs", 0, b"-rom1fs-"),
        ("zonefs", 0, b"SFOZ"),
        ("squashfs", 0, b"sqsh"),
        ("ufs", 0x2000 + 1372, b"\x19\x01\x54\x19"),
        ("ufs", 0x1_0000 + 1372, b"\x00\x01\x19\x54"),
        ("vxfs", 0x400, b"\xf5\xfc\x01\xa5"),
        ("lvm1", 0, b"HM\x01\0"),
        (
            "minix",
            0x400,
            b"\x20\0\x80\0\x01\0\x01\0\0\0\0\0\0\0\0\0\x7f\x13",
        ),
        ("promise-raid", SIZE - 63 * 512, b"Promise Technology, Inc."),
        ("highpoint-raid", SIZE - 11 * 512, b"\xf3\x16\x78\x5a"),
        ("highpoint-raid", 0x1220, b"\xf0\x16\x78\x5a"),
        ("nvidia-raid", LAST - 512, b"NVIDIA"),
        ("lsi-raid", LAST, b"$XIDE$"),
        ("silicon-raid", LAST + 0x60, b"\0\0\0\x2f"),
        ("adaptec-raid", LAST, b"\x37\xfc\x4d\x1e"),
        ("via-raid", LAST, &via),
    ];
    for (name, at, magic) in cases {
        assert_eq!(names(&with(&[(*at, magic)])), [*name]);
    }
    // Two bytes alone are chance.
    assert!(names(&with(&[(0x410, b"\x7f\x13")])).is_empty());
    assert!(names(&with(&[(LAST, b"\x55\xaa")])).is_empty());
}
