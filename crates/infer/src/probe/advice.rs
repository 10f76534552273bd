//! What follows from the answers for whoever puts a file system on the device: commands that can be pasted,
//! each with its reason. What is not known is said.

use super::{Report, Value, size};
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
    let offset = report
        .bytes("offset")
        .filter(|o| unit.is_some_and(|u| *o < u));
    let mut all = vec![partition(device, unit, offset, report)];
    all.push(file_system(report));
    all.push(ext4(device, unit, page));
    all.push(f2fs(device, unit));
    all.push(exfat(device, unit));
    all.extend(fat(report));
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

/// At least 1 MiB in, at a boundary of the unit as it was seen: boundaries need not lie at multiples.
fn partition(device: &str, unit: Option<u64>, offset: Option<u64>, report: &Report) -> Advice {
    let why = |id: &str| report.finding(id).map_or("", |f| f.evidence.as_str());
    let (begin, reason) = match (unit, offset) {
        (Some(unit), first @ (None | Some(0))) => {
            let begin = unit * (1_u64 << 20).div_ceil(unit).max(1);
            let seen = if first.is_some() {
                "boundaries lie at its multiples"
            } else {
                "where its boundaries lie is not known, and taken to be at its multiples"
            };
            (
                begin,
                format!("allocation unit {}: {}; {seen}", size(unit), why("unit")),
            )
        }
        (Some(unit), Some(first)) => {
            let begin = first + unit * (1_u64 << 20).saturating_sub(first).div_ceil(unit);
            let reason = format!(
                "allocation unit {}, and the first boundary lies {first} bytes behind the beginning: {}. If what was probed is a partition, it is not aligned; moved back by {} bytes it would be",
                size(unit),
                why("offset"),
                unit - first
            );
            (begin, reason)
        }
        _ => (
            ALIGN_DEFAULT,
            "the allocation unit is not known; 16 MiB is a multiple of most".to_string(),
        ),
    };
    Advice {
        about: "partition",
        command: Some(format!(
            "parted -s {device} mklabel msdos mkpart primary {begin}B 100%"
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

/// Where the first units are treated otherwise, a file system with its table there gains by it.
fn fat(report: &Report) -> Option<Advice> {
    let found = report.finding("fat")?;
    let Some(Value::Flag(true)) = found.value else {
        return None;
    };
    Some(Advice {
        about: "first units",
        command: None,
        reason: format!(
            "{}: exFAT keeps its table there; other file systems do not, and may well begin behind them",
            found.evidence
        ),
    })
}

fn mount(report: &Report) -> Advice {
    let flag = |id: &str| match report.finding(id).and_then(|f| f.value) {
        Some(Value::Flag(flag)) => Some(flag),
        _ => None,
    };
    let reason = match (flag("discard"), flag("discard-speed")) {
        (Some(true), Some(true)) => {
            "discards are taken and restore speed; in bunches (fstrim.timer) they disturb less than one by one"
        }
        (Some(true), Some(false)) => {
            "discards are taken and were not seen to restore speed; in bunches (fstrim.timer) they cost little"
        }
        (Some(true), None) => {
            "discards are taken; whether they restore speed is not known; in bunches (fstrim.timer) they disturb less than one by one"
        }
        (Some(false), _) => "discards are not taken: without `discard`",
        (None, _) => "whether discards are taken is not known: without `discard`",
    };
    Advice {
        about: "mount",
        command: Some("mount -o noatime,lazytime".to_string()),
        reason: format!("{reason}; access times are writes that nobody reads"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Finding;
    use super::*;

    fn report(findings: &[(&'static str, Value)]) -> Report {
        let finding = |(id, value): &(&'static str, Value)| {
            Finding::new(id, "?", *value, "!".to_string(), 0.99, "seen".to_string())
        };
        Report {
            findings: findings.iter().map(finding).collect(),
            ..Report::default()
        }
    }

    fn begin(findings: &[(&'static str, Value)]) -> String {
        let all = advice(&report(findings), "/dev/sdX");
        let first = all.first().unwrap().command.clone().unwrap();
        first.split(' ').nth(7).unwrap().to_string()
    }

    #[test]
    fn a_partition_begins_at_a_boundary_wherever_it_lies() {
        let unit = ("unit", Value::Bytes(4 << 20));
        assert_eq!(begin(&[unit]), "4194304B");
        assert_eq!(begin(&[unit, ("offset", Value::Bytes(0))]), "4194304B");
        // 1 MiB at least; the boundary itself where it lies behind that.
        assert_eq!(
            begin(&[unit, ("offset", Value::Bytes(512))]),
            format!("{}B", 512 + (4 << 20))
        );
        assert_eq!(
            begin(&[unit, ("offset", Value::Bytes(3 << 20))]),
            format!("{}B", 3 << 20)
        );
        // An offset without a unit, or beyond it, says nothing.
        assert_eq!(begin(&[("offset", Value::Bytes(512))]), "16777216B");
        assert_eq!(
            begin(&[unit, ("offset", Value::Bytes(9 << 20))]),
            "4194304B"
        );
    }

    #[test]
    fn what_is_not_known_is_said() {
        let all = advice(&report(&[]), "/dev/mmcblk0");
        for about in ["partition", "ext4", "F2FS", "mount"] {
            let one = all.iter().find(|a| a.about == about).unwrap();
            assert!(one.reason.contains("known"), "{one:?}");
        }
        assert!(
            all.iter()
                .any(|a| a.command.as_deref() == Some("mkfs.f2fs /dev/mmcblk0p1"))
        );
        assert!(all.iter().all(|a| a.about != "first units"));
    }
}
