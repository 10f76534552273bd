//! What the tools of the system write is recognised, and by the same name as `blkid` gives it.

use crate::support::{Folder, Loop, has, must, run, skip};
use nandscope_inspect::signature::{first_data, probe, probe_device};
use nandscope_units::Bytes;
use nandscope_units::random::SplitMix64;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// A tool, its command, our name for the result, and `blkid`'s (of a file system or a table).
const TOOLS: &[(&str, &str, &str, &str)] = &[
    ("mkfs.ext4", "mkfs.ext4 -q -F", "ext", "ext4"),
    ("mkfs.ext2", "mkfs.ext2 -q -F", "ext", "ext2"),
    ("mkfs.xfs", "mkfs.xfs -q -f", "xfs", "xfs"),
    ("mkfs.btrfs", "mkfs.btrfs -q -f", "btrfs", "btrfs"),
    (
        "mkfs.vfat",
        "mkfs.vfat -F 12 -s 128 DEVICE 100000",
        "vfat",
        "vfat",
    ),
    ("mkfs.vfat", "mkfs.vfat -F 16", "vfat", "vfat"),
    ("mkfs.vfat", "mkfs.vfat -F 32", "vfat", "vfat"),
    ("mkfs.exfat", "mkfs.exfat", "exfat", "exfat"),
    ("mkfs.f2fs", "mkfs.f2fs -q -f", "f2fs", "f2fs"),
    ("mkfs.nilfs2", "mkfs.nilfs2 -q -f", "nilfs2", "nilfs2"),
    ("mkswap", "mkswap", "swap", "swap"),
    ("pvcreate", "pvcreate -q -ff -y", "lvm", "LVM2_member"),
    (
        "cryptsetup",
        "cryptsetup -q luksFormat --type luks1 --pbkdf-force-iterations 1000 --key-file /etc/passwd",
        "luks",
        "crypto_LUKS",
    ),
    (
        "cryptsetup",
        "cryptsetup -q luksFormat --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --key-file /etc/passwd",
        "luks",
        "crypto_LUKS",
    ),
    ("mkfs.minix", "mkfs.minix -1", "minix", "minix"),
    ("mkfs.minix", "mkfs.minix -2", "minix", "minix"),
    ("mkfs.minix", "mkfs.minix -3", "minix", "minix"),
    ("mkfs.bfs", "mkfs.bfs", "bfs", "bfs"),
    (
        "mkfs.cramfs",
        "mkfs.cramfs /etc/skel DEVICE",
        "cramfs",
        "cramfs",
    ),
    (
        "veritysetup",
        "veritysetup format /usr/bin/env DEVICE",
        "dm-verity",
        "DM_verity_hash",
    ),
    ("sgdisk", "sgdisk -n 1:0:0", "gpt", "gpt"),
    (
        "parted",
        "parted -s DEVICE mklabel msdos mkpart primary 1MiB 100%",
        "mbr",
        "dos",
    ),
];

#[test]
fn what_the_tools_write_is_found() {
    let test = "what_the_tools_write_is_found";
    let folder = Folder::new("signatures");
    // The smallest size that XFS, btrfs and f2fs all take.
    let Some(device) = Loop::new(test, &folder, "image", 320) else {
        return;
    };
    let size = Bytes::mib(320);
    let open = || File::open(&device.device).unwrap();
    assert_eq!(probe(&open(), size).unwrap(), []);
    for (tool, command, name, blkid) in TOOLS {
        if !has(tool) {
            skip(test, &format!("there is no {tool}"));
            continue;
        }
        let command = match command.contains("DEVICE") {
            true => command.replace("DEVICE", &device.show()),
            false => format!("{command} {}", device.show()),
        };
        must(&command);
        let found = probe(&open(), size).unwrap();
        assert!(
            found.iter().any(|s| s.name == *name),
            "{command}: {found:?}"
        );
        let of = |tag: &str| run(&format!("blkid -p -o value -s {tag} {}", device.show())).stdout;
        let said = [of("TYPE"), of("PTTYPE")].concat();
        let said = String::from_utf8(said).unwrap();
        assert!(
            said.split_whitespace().any(|s| s == *blkid),
            "{command}: {said}"
        );
        // Everything that was written goes away with its signatures, in our eyes as in blkid's.
        must(&format!("wipefs -q -a {}", device.show()));
        must(&format!("blkdiscard -z {}", device.show()));
        assert_eq!(probe(&open(), size).unwrap(), [], "{command}");
    }
}

/// Random data, such as an earlier measurement leaves, is taken for no format; and not for nothing.
#[test]
fn random_data_carries_no_format() {
    let mut random = SplitMix64::new(1);
    let bytes: Vec<u8> = (0..1 << 20)
        .flat_map(|_| random.bits().to_le_bytes())
        .collect();
    let size = Bytes(bytes.len() as u64);
    assert_eq!(probe(&bytes[..], size).unwrap(), []);
    assert_eq!(first_data(&bytes[..], size).unwrap(), Some(Bytes::ZERO));
}

/// A format that only `blkid` knows: HPFS, which nobody has made for decades.
#[test]
fn what_only_blkid_knows_is_found() {
    let test = "what_only_blkid_knows_is_found";
    let folder = Folder::new("second");
    if !has("blkid") {
        return skip(test, "there is no blkid");
    }
    let Some(device) = Loop::new(test, &folder, "image", 32) else {
        return;
    };
    let file = File::options().write(true).open(&device.device).unwrap();
    // Superblock and spare block, at the sectors 16 and 17 (`fs/hpfs/hpfs.h`).
    file.write_at(b"\x49\xe8\x95\xf9\xc5\xe9\x53\xfa", 0x2000)
        .unwrap();
    file.write_at(b"\x49\x18\x91\xf9", 0x2200).unwrap();
    file.sync_all().unwrap();
    let size = Bytes::mib(32);
    let open = || File::open(&device.device).unwrap();
    assert_eq!(probe(&open(), size).unwrap(), []);
    let found = probe_device(open(), size).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].name, "hpfs");
}
