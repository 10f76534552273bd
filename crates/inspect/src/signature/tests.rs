//! Places that need no tool to be written; what the real tools write is in tests/signatures.rs.

use super::*;

const SIZE: usize = 8 << 20;

fn names(bytes: &[u8]) -> Vec<&'static str> {
    let found = probe(bytes, Bytes(bytes.len() as u64)).unwrap();
    found.iter().map(|s| s.name).collect()
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
