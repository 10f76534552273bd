//! A second opinion on the contents of a device: `blkid`, if installed. It knows more formats, and gets
//! the open descriptor, so that no name is looked up again.

use super::{Signature, Usage};
use crate::program;
use nandscope_units::Bytes;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Locations of system programs; a program that runs as root must not search a user's folders.
const PLACES: [&str; 4] = [
    "/usr/sbin/blkid",
    "/sbin/blkid",
    "/usr/bin/blkid",
    "/bin/blkid",
];
/// A device that has not been looked at by then is left to our own reader.
const LONGEST: Duration = Duration::from_secs(20);
/// Exit codes of blkid: nothing found; several formats found.
const NOTHING: i32 = 2;
const SEVERAL: i32 = 8;

/// Findings of `blkid` on a device that is open for reading; empty without `blkid`.
pub(super) fn opinion(device: File) -> Vec<Signature> {
    let Some(place) = PLACES.iter().find(|place| Path::new(place).exists()) else {
        return Vec::new();
    };
    let mut command = Command::new(place);
    command
        .args(["-p", "-o", "export", "/proc/self/fd/0"])
        .env_clear()
        .stdin(Stdio::from(device));
    match program::run(&mut command, LONGEST) {
        Ok((status, said)) => match status.code() {
            Some(0) => parse(&said),
            Some(SEVERAL) => vec![signature("several formats".to_string(), Usage::FileSystem)],
            Some(NOTHING) | Some(_) | None => Vec::new(),
        },
        Err(_) => Vec::new(),
    }
}

/// `KEY=value` in lines.
fn parse(said: &[u8]) -> Vec<Signature> {
    let text = String::from_utf8_lossy(said);
    let of = |key: &str| {
        let mut lines = text.lines();
        lines.find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
    };
    let usage = match of("USAGE") {
        Some("raid") => Usage::Member,
        Some("crypto") => Usage::Encrypted,
        _ if of("TYPE") == Some("swap") => Usage::Swap,
        _ => Usage::FileSystem,
    };
    let kind = of("TYPE").map(|name| signature(name.to_string(), usage));
    let table = of("PTTYPE").map(|name| signature(name.to_string(), Usage::Partitions));
    kind.into_iter().chain(table).collect()
}

fn signature(name: String, usage: Usage) -> Signature {
    Signature {
        name: name.into(),
        usage,
        offset: Bytes::ZERO,
    }
}

/// The name that our own reader has for a format of `blkid`.
pub(super) fn own_name(name: &str) -> &str {
    match name {
        "ext2" | "ext3" | "ext4" | "ext4dev" | "jbd" => "ext",
        "LVM2_member" => "lvm",
        "LVM1_member" => "lvm1",
        "crypto_LUKS" => "luks",
        "linux_raid_member" => "mdraid",
        "zfs_member" => "zfs",
        "isw_raid_member" => "isw-raid",
        "ddf_raid_member" => "ddf-raid",
        "BitLocker" => "bitlocker",
        "dos" | "PMBR" => "mbr",
        "swsuspend" => "swap",
        "DM_integrity" => "dm-integrity",
        "DM_verity_hash" => "dm-verity",
        "ReFS" => "refs",
        "squashfs3" => "squashfs",
        "VMFS_volume_member" | "VMFS" => "vmfs",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_blkid() {
        let said = b"DEVNAME=/proc/self/fd/0\nUUID=1\nVERSION=1.0\nTYPE=LVM2_member\nUSAGE=raid\nPTTYPE=gpt\n";
        let found = parse(said);
        let shown: Vec<_> = found.iter().map(|s| (s.name.as_ref(), s.usage)).collect();
        assert_eq!(
            shown,
            [("LVM2_member", Usage::Member), ("gpt", Usage::Partitions)]
        );
        assert!(parse(b"\xff\xfe\nTYPEX=1\n=\n").is_empty());
    }
}
