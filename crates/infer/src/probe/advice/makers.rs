//! Commands that make each file system, with options that follow from the page and AU sizes.

use super::{Advice, first};
use crate::probe::size;
use num_integer::gcd;

/// Size of an F2FS segment, bytes.
const SEGMENT: u64 = 2 << 20;
/// Block size of ext4 and NILFS2, bytes.
const BLOCK: u64 = 4096;

/// mkfs command of the file system `name`, with its reason; `None` for unknown names.
pub(super) fn maker(
    name: &str,
    device: &str,
    unit: Option<u64>,
    page: Option<u64>,
) -> Option<Advice> {
    Some(match name {
        "ext4" => ext4(device, unit, page),
        "F2FS" => f2fs(device, unit),
        "NILFS2" => nilfs2(device, unit),
        "FAT32" => plain(
            "FAT32",
            "mkfs.vfat -F 32 -s 128",
            device,
            "clusters of 64 KiB",
        ),
        "exFAT" => exfat(device, unit),
        "btrfs" => plain("btrfs", "mkfs.btrfs", device, "the defaults"),
        "XFS" => plain("XFS", "mkfs.xfs", device, "the defaults"),
        _ => return None,
    })
}

/// Advice for a file system without options that depend on the card.
fn plain(about: &'static str, command: &str, device: &str, reason: &str) -> Advice {
    Advice {
        about,
        command: Some(format!("{command} {}", first(device))),
        alternative: false,
        reason: reason.to_string(),
        ..Advice::default()
    }
}

fn ext4(device: &str, unit: Option<u64>, page: Option<u64>) -> Advice {
    let mut options = String::new();
    let mut reasons = Vec::new();
    if let Some(page) = page.filter(|p| *p > 4096) {
        options.push_str(&format!("stride={}", page / 4096));
        reasons.push(format!("stride: page of {}", size(page)));
    }
    if let Some(unit) = unit {
        if !options.is_empty() {
            options.push(',');
        }
        options.push_str(&format!("stripe_width={}", unit / 4096));
        reasons.push(format!("stripe width: allocation unit of {}", size(unit)));
    }
    let given = if options.is_empty() {
        String::new()
    } else {
        format!("-E {options} ")
    };
    Advice {
        about: "ext4",
        command: Some(format!("mkfs.ext4 -b 4096 {given}{}", first(device))),
        alternative: false,
        reason: if reasons.is_empty() {
            "neither page nor allocation unit is known: the defaults".to_string()
        } else {
            reasons.join("; ")
        },
        ..Advice::default()
    }
}

fn f2fs(device: &str, unit: Option<u64>) -> Advice {
    // A section begins at a multiple of its size, so its size must be a multiple of the AU.
    let segments = unit.map(|u| u / gcd(u, SEGMENT));
    let option = segments
        .filter(|s| *s > 1)
        .map(|s| format!("-s {s} "))
        .unwrap_or_default();
    Advice {
        about: "F2FS",
        command: Some(format!("mkfs.f2fs {option}{}", first(device))),
        alternative: false,
        reason: match segments {
            Some(s) => format!(
                "a section of {} ({s} segments of 2 MiB) is a multiple of the allocation unit",
                size(s * SEGMENT)
            ),
            None => "the allocation unit is not known: the default section of 2 MiB".to_string(),
        },
        ..Advice::default()
    }
}

fn nilfs2(device: &str, unit: Option<u64>) -> Advice {
    let blocks = unit.filter(|u| u.is_power_of_two() && *u >= SEGMENT);
    let option = blocks
        .map(|u| format!("-B {} ", u / BLOCK))
        .unwrap_or_default();
    Advice {
        about: "NILFS2",
        command: Some(format!("mkfs.nilfs2 {option}{}", first(device))),
        alternative: false,
        reason: match blocks {
            Some(u) => format!("a segment of the log covers an allocation unit of {}", size(u)),
            None => "the allocation unit is not known, or its size is not a power of two of 2 MiB or more: the default segment of 8 MiB".to_string(),
        },
        ..Advice::default()
    }
}

fn exfat(device: &str, unit: Option<u64>) -> Advice {
    // mkfs.exfat requires a power of two. The FAT begins one boundary into the partition: with half an AU, it lies in the first
    // AU, followed by the packed bitmap, and clusters begin with the second AU.
    let align = unit.filter(|u| u.is_power_of_two() && *u >= 1 << 20);
    let option = align
        .map(|u| format!("-b {}K --pack-bitmap ", u >> 11))
        .unwrap_or_default();
    Advice {
        about: "exFAT",
        command: Some(format!("mkfs.exfat -c 128K {option}{}", first(device))),
        alternative: false,
        reason: match align {
            Some(u) => format!(
                "table and bitmap share the first allocation unit of {} of the partition, and files begin with the second",
                size(u)
            ),
            None => {
                "the allocation unit is not known, or its size is not a power of two of 1 MiB or more: the default boundary"
                    .to_string()
            }
        },
        ..Advice::default()
    }
}
