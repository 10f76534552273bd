//! Advice for creating a file system on the device: commands for the shell, each with its reason, and a note for what is not
//! known.

mod library;
mod makers;
mod measurements;
mod purpose;
mod ranking;

pub use measurements::Measurements;
pub use purpose::Purpose;

use super::{Report, Value, size};
use crate::probe::question::Question;
use ranking::Ranking;
use serde::Serialize;

/// One piece of advice.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Advice {
    /// Subject of the advice.
    pub about: &'static str,
    /// Command for the shell; `None` for advice without a command.
    pub command: Option<String>,
    /// Whether the command is an alternative that is not recommended, because another one is better or none is good
    /// enough.
    pub alternative: bool,
    /// Reason, with evidence.
    pub reason: String,
    /// Measurements on which the advice is based.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measured>,
}

/// Measured times of file systems.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// Workload and unit of each column of values.
    pub columns: Vec<String>,
    /// The file systems, the best first.
    pub rows: Vec<MeasuredRow>,
}

/// Measured times of one file system.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasuredRow {
    /// The file system.
    pub file_system: String,
    /// Values of the columns.
    pub values: Vec<f64>,
}

/// Alignment of a partition if the AU size is unknown, bytes: a multiple of most AU sizes.
const ALIGN_DEFAULT: u64 = 16 << 20;
/// Mount point in the command; users may choose another folder.
const MOUNT_POINT: &str = "/mnt";

/// Inputs of the advice in addition to the report.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Name of the device in the commands, such as `/dev/sdX`.
    pub device: &'a str,
    /// Purpose of the file system.
    pub purpose: Purpose,
    /// Name of the probed target, such as `sim:kingston-8gb`.
    pub target: &'a str,
    /// Measurements that rank the file systems instead of those of the library.
    pub measured: Option<&'a Measurements>,
}

/// Advice from a probe. At most one file system is recommended, and none if none keeps up; the commands of the others are
/// alternatives.
pub fn advice(report: &Report, request: &Request<'_>) -> Vec<Advice> {
    let device = request.device;
    // A stored result may contain any numbers.
    let sane = |bytes: &u64| (4096..=1 << 30).contains(bytes);
    let unit = report.bytes(Question::Unit).filter(sane);
    let page = report.whole_page().filter(sane);
    let offset = report
        .bytes(Question::Offset)
        .filter(|o| unit.is_some_and(|u| *o < u));
    let mut all = vec![partition(device, unit, offset, report)];
    let ranking = match request.measured {
        Some(measurements) => Some(measurements.ranking()),
        None => {
            let structure = unit.zip(report.count(Question::OpenLinear));
            library::ranking(request.purpose, request.target, structure)
        }
    };
    all.push(file_system(ranking.as_ref(), request));
    let is_made = match &ranking {
        Some(ranking) => ranking.keeps_up(),
        None => unranked_is_made(request.purpose),
    };
    let order = ranking.map_or_else(|| UNRANKED.map(String::from).to_vec(), |r| r.order());
    let makers = order
        .iter()
        .filter_map(|name| makers::maker(name, device, unit, page));
    all.extend(makers.enumerate().map(|(place, advice)| Advice {
        alternative: place > 0 || !is_made,
        ..advice
    }));
    all.extend(fat(report));
    all.push(Advice {
        alternative: !is_made,
        ..mount(report, device)
    });
    if let Some(worst) = report.finding(Question::Worst) {
        all.push(Advice {
            about: "avoid",
            command: None,
            alternative: false,
            reason: format!("{} ({})", worst.answer, worst.evidence),
            ..Advice::default()
        });
    }
    all
}

/// Whether the most common file system is recommended without a measurement. For purposes other than a root file system, it may
/// be slower than others by an order of magnitude.
fn unranked_is_made(purpose: Purpose) -> bool {
    purpose == Purpose::Rootfs
}

/// File systems, the most common first, for a card without data for a ranking.
const UNRANKED: [&str; 5] = ["ext4", "F2FS", "NILFS2", "exFAT", "FAT32"];

/// Name of the first partition of a device.
fn first(device: &str) -> String {
    let digit = device.ends_with(|c: char| c.is_ascii_digit());
    format!("{device}{}1", if digit { "p" } else { "" })
}

/// Partition at an AU boundary at 1 MiB or more; AU boundaries need not be multiples of the AU size.
fn partition(device: &str, unit: Option<u64>, offset: Option<u64>, report: &Report) -> Advice {
    let why = |question: Question| report.finding(question).map_or("", |f| f.evidence.as_str());
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
                format!(
                    "allocation unit {}: {}; {seen}",
                    size(unit),
                    why(Question::Unit)
                ),
            )
        }
        (Some(unit), Some(first)) => {
            let begin = first + unit * (1_u64 << 20).saturating_sub(first).div_ceil(unit);
            let reason = format!(
                "allocation unit {}, and the first boundary is {first} bytes after the beginning: {}. If the probed device is a partition, it is not aligned; moving it back by {} bytes aligns it",
                size(unit),
                why(Question::Offset),
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
        alternative: false,
        reason,
        ..Advice::default()
    }
}

/// Advice with the first file system of the ranking, its measurement, and whether it keeps up.
fn file_system(ranking: Option<&Ranking>, request: &Request<'_>) -> Advice {
    let purpose = request.purpose;
    let reason = match ranking {
        Some(ranking) => format!("{}: {}", ranking.answer(purpose), ranking.evidence()),
        None => format!(
            "unknown. {} {}{}",
            match library::has(purpose) {
                true =>
                    "The structure of the card is unknown, so no measured card can be compared with it.",
                false => "No card of the library was measured with this workload.",
            },
            match unranked_is_made(purpose) {
                true => "ext4 is the most common file system, but not known to be fast. ",
                false => "",
            },
            how_to_measure(request)
        ),
    };
    Advice {
        about: "file system",
        command: None,
        alternative: false,
        reason,
        measured: ranking.map(Ranking::table),
    }
}

/// The commands that measure file systems for this purpose, on the simulated card itself or on one like it.
fn how_to_measure(request: &Request<'_>) -> String {
    let workloads = request.purpose.workloads().join(",");
    let card = match request.target.strip_prefix("sim:") {
        Some(_) => request.target,
        None => "sim:CARD",
    };
    let like = match card == request.target {
        true => "this card",
        false => "a simulated card like it (`nandscope devices` lists them)",
    };
    format!(
        "Measure {like} with `nandscope fs {card} --workload {workloads} -o DIR`, then add `--measured DIR/result.json`"
    )
}

/// Advice if the card has a FAT area: file systems with their table there benefit.
fn fat(report: &Report) -> Option<Advice> {
    let found = report.finding(Question::Fat)?;
    let Some(Value::Flag(true)) = found.value else {
        return None;
    };
    Some(Advice {
        about: "first units",
        command: None,
        alternative: false,
        reason: format!(
            "{}: FAT32 and exFAT gain where their table lies in such a unit; the partition above begins with the unit that its first byte lies in",
            found.evidence
        ),
        ..Advice::default()
    })
}

fn mount(report: &Report, device: &str) -> Advice {
    let flag = |question: Question| match report.finding(question).and_then(|f| f.value) {
        Some(Value::Flag(flag)) => Some(flag),
        _ => None,
    };
    let reason = match (flag(Question::Discard), flag(Question::DiscardSpeed)) {
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
        command: Some(format!(
            "mount -o noatime,lazytime {} {MOUNT_POINT}",
            first(device)
        )),
        alternative: false,
        reason: format!(
            "{reason}; updates of access times cost writes, and few programs need them"
        ),
        ..Advice::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Strength;
    use super::*;

    fn report(findings: &[(Question, Value)]) -> Report {
        let finding = |(question, value): &(Question, Value)| {
            question.answer(
                *value,
                "!".to_string(),
                Strength::Strong,
                "seen".to_string(),
            )
        };
        Report {
            findings: findings.iter().map(finding).collect(),
            ..Report::default()
        }
    }

    fn ask(report: &Report, device: &str) -> Vec<Advice> {
        let request = Request {
            device,
            purpose: Purpose::Rootfs,
            target: device,
            measured: None,
        };
        advice(report, &request)
    }

    fn begin(findings: &[(Question, Value)]) -> String {
        let all = ask(&report(findings), "/dev/sdX");
        let first = all.first().unwrap().command.clone().unwrap();
        first.split(' ').nth(7).unwrap().to_string()
    }

    #[test]
    fn a_partition_begins_at_a_boundary_wherever_it_lies() {
        let unit = (Question::Unit, Value::Bytes(4 << 20));
        assert_eq!(begin(&[unit]), "4194304B");
        assert_eq!(
            begin(&[unit, (Question::Offset, Value::Bytes(0))]),
            "4194304B"
        );
        // At least 1 MiB; the AU boundary itself if that is further up.
        assert_eq!(
            begin(&[unit, (Question::Offset, Value::Bytes(512))]),
            format!("{}B", 512 + (4 << 20))
        );
        assert_eq!(
            begin(&[unit, (Question::Offset, Value::Bytes(3 << 20))]),
            format!("{}B", 3 << 20)
        );
        // An offset is ignored without an AU, or if it is not less than the AU.
        assert_eq!(begin(&[(Question::Offset, Value::Bytes(512))]), "16777216B");
        assert_eq!(
            begin(&[unit, (Question::Offset, Value::Bytes(9 << 20))]),
            "4194304B"
        );
    }

    fn command(about: &str, unit: u64) -> String {
        let found = report(&[(Question::Unit, Value::Bytes(unit << 20))]);
        let all = ask(&found, "/dev/sdX");
        let one = all.into_iter().find(|a| a.about == about).unwrap();
        one.command.unwrap()
    }

    #[test]
    fn structures_of_file_systems_are_multiples_of_the_unit() {
        for (unit, expected) in [
            (1, "mkfs.f2fs /dev/sdX1"),
            (2, "mkfs.f2fs /dev/sdX1"),
            (3, "mkfs.f2fs -s 3 /dev/sdX1"),
            (4, "mkfs.f2fs -s 2 /dev/sdX1"),
            (6, "mkfs.f2fs -s 3 /dev/sdX1"),
            (7, "mkfs.f2fs -s 7 /dev/sdX1"),
            (128, "mkfs.f2fs -s 64 /dev/sdX1"),
        ] {
            assert_eq!(command("F2FS", unit), expected, "{unit}");
        }
        let packed = "mkfs.exfat -c 128K -b 2048K --pack-bitmap /dev/sdX1";
        assert_eq!(command("exFAT", 4), packed);
        let large = "mkfs.exfat -c 128K -b 65536K --pack-bitmap /dev/sdX1";
        assert_eq!(command("exFAT", 128), large);
        assert_eq!(command("exFAT", 3), "mkfs.exfat -c 128K /dev/sdX1");
        assert_eq!(command("NILFS2", 128), "mkfs.nilfs2 -B 32768 /dev/sdX1");
        assert_eq!(command("NILFS2", 3), "mkfs.nilfs2 /dev/sdX1");
    }

    #[test]
    fn one_file_system_is_advised_and_the_others_are_alternatives() {
        for known in [
            vec![],
            vec![
                (Question::Unit, Value::Bytes(4 << 20)),
                (Question::OpenLinear, Value::Count(2)),
            ],
        ] {
            let all = ask(&report(&known), "/dev/sdX");
            let made = all.iter().filter(|a| {
                let command = a.command.as_deref().unwrap_or_default();
                command.starts_with("mkfs") && !a.alternative
            });
            let made: Vec<_> = made.map(|a| a.about).collect();
            assert_eq!(made, [if known.is_empty() { "ext4" } else { "NILFS2" }]);
            let mount = all.iter().find(|a| a.about == "mount").unwrap();
            let command = "mount -o noatime,lazytime /dev/sdX1 /mnt";
            assert_eq!(mount.command.as_deref(), Some(command));
        }
    }

    #[test]
    fn what_is_not_known_is_said() {
        let all = ask(&report(&[]), "/dev/mmcblk0");
        for about in [
            "partition",
            "file system",
            "ext4",
            "F2FS",
            "NILFS2",
            "exFAT",
            "mount",
        ] {
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
