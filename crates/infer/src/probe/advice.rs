//! What follows from the answers for whoever puts a file system on the device: commands that can be pasted,
//! each with its reason. What is not known is said.

use super::{Finding, Report, Value, size};
use serde::Serialize;

/// One piece of advice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// What it is about.
    pub about: &'static str,
    /// The command, where there is one.
    pub command: Option<String>,
    /// Why, from the evidence.
    pub reason: String,
}

/// exFAT clusters are no larger.
const CLUSTER_MAX: u64 = 32 << 20;
/// A partition is aligned to this where the unit is not known: a multiple of most units.
const ALIGN_DEFAULT: u64 = 16 << 20;

/// The advice for a device named `device`, such as `/dev/sdX`.
pub fn advice(report: &Report, device: &str) -> Vec<Advice> {
    // A stored result may say anything.
    let sane = |bytes: &u64| (4096..=1 << 30).contains(bytes);
    let unit = report.bytes("unit").filter(sane);
    let page = report.bytes("page").filter(sane);
    let mut all = vec![partition(device, unit, report.finding("unit"))];
    all.push(file_system(report));
    all.push(ext4(device, unit, page));
    all.push(f2fs(device, unit));
    all.push(exfat(device, unit));
    all.push(mount(report));
    if let Some(worst) = report.finding("worst") {
        all.push(Advice {
            about: "avoid",
            command: None,
            reason: format!("{} ({})", worst.answer, worst.evidence),
        });
    }
    all
}

/// The name of the first partition of a device.
fn first(device: &str) -> String {
    let digit = device.ends_with(|c: char| c.is_ascii_digit());
    format!("{device}{}1", if digit { "p" } else { "" })
}

fn partition(device: &str, unit: Option<u64>, finding: Option<&Finding>) -> Advice {
    let (align, reason) = match (unit, finding) {
        (Some(unit), Some(finding)) => {
            let align = unit * (1_u64 << 20).div_ceil(unit).max(1);
            (
                align,
                format!("allocation unit {}: {}", size(unit), finding.evidence),
            )
        }
        _ => (
            ALIGN_DEFAULT,
            "the allocation unit is not known; 16 MiB is a multiple of most".to_string(),
        ),
    };
    Advice {
        about: "partition",
        command: Some(format!(
            "parted -s {device} mklabel msdos mkpart primary {align}B 100%"
        )),
        reason,
    }
}

fn file_system(report: &Report) -> Advice {
    let open = report.count("open-linear");
    let random = report.count("open-random");
    let reason = match (open, random) {
        (Some(open), _) if open < 6 => format!(
            "{open} open allocation units are fewer than the six logs of F2FS: ext4 or exFAT with few files written at a time suit it better"
        ),
        (Some(open), Some(0)) => format!(
            "{open} units can be written in order, none at random: F2FS, which writes in order, suits it"
        ),
        (Some(open), _) => format!("{open} open allocation units: F2FS keeps six logs open and suits it"),
        (None, _) => "no collapse was seen with many units in turn, or it could not be told: any file system will do".to_string(),
    };
    Advice {
        about: "file system",
        command: None,
        reason,
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
        reason: if reasons.is_empty() {
            "neither page nor allocation unit is known: the defaults".to_string()
        } else {
            reasons.join("; ")
        },
    }
}

fn f2fs(device: &str, unit: Option<u64>) -> Advice {
    // A segment is 2 MiB; -s gives segments per section.
    let segments = unit.map(|u| u.div_ceil(2 << 20).max(1));
    let option = segments
        .filter(|s| *s > 1)
        .map(|s| format!("-s {s} "))
        .unwrap_or_default();
    Advice {
        about: "F2FS",
        command: Some(format!("mkfs.f2fs {option}{}", first(device))),
        reason: match segments {
            Some(s) => format!("a section of {s} segments of 2 MiB covers an allocation unit"),
            None => "the allocation unit is not known: the default section of 2 MiB".to_string(),
        },
    }
}

fn exfat(device: &str, unit: Option<u64>) -> Advice {
    // --boundary-align wants a power of two.
    let align = unit.filter(|u| u.is_power_of_two() && *u <= CLUSTER_MAX);
    let option = align
        .map(|u| format!("-b {}K ", u >> 10))
        .unwrap_or_default();
    Advice {
        about: "exFAT",
        command: Some(format!("mkfs.exfat -c 128K {option}{}", first(device))),
        reason: match align {
            Some(u) => format!(
                "clusters begin at a multiple of the allocation unit of {}",
                size(u)
            ),
            None => "the allocation unit is not known, or no power of two: the default boundary"
                .to_string(),
        },
    }
}

fn mount(report: &Report) -> Advice {
    let discard = matches!(
        report.finding("discard").and_then(|f| f.value),
        Some(Value::Flag(true))
    );
    let reason = if discard {
        "discards are taken; in bunches (fstrim.timer) they disturb less than one by one"
    } else {
        "discards are not taken or were not looked at: without `discard`"
    };
    Advice {
        about: "mount",
        command: Some("mount -o noatime,lazytime".to_string()),
        reason: format!("{reason}; access times are writes that nobody reads"),
    }
}
