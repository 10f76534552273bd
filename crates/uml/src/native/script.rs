//! The script of a cell on a real device: the same phases and workloads as inside the kernel of virtual time, on a machine
//! that is the running one.

use super::Disk;
use crate::filesystem::FileSystem;
use crate::guest;
use crate::job::{self, Settings};
use crate::workload::Workload;
use nandscope_units::Nanos;

/// Node of the device in the namespace of the run.
const NODE: &str = "/run/disk";
/// Bytes that the shell itself writes in the measured part at most.
const OWN_BYTES: u64 = 512;

/// The script of a cell on `disk`.
pub fn script(disk: &Disk, fs: FileSystem, workload: &Workload, settings: &Settings) -> String {
    let (major, minor) = disk.number();
    let (sequence, file) = disk.sequence();
    let shown = |path: std::path::PathBuf| path.display().to_string();
    assemble(
        fs,
        workload,
        settings,
        &[
            ("MAJOR", major.to_string()),
            ("MINOR", minor.to_string()),
            ("STAT", shown(disk.counts())),
            (
                "SEQUENCE",
                sequence.map(|n| n.to_string()).unwrap_or_default(),
            ),
            ("SEQUENCE_FILE", shown(file)),
        ],
    )
}

fn assemble(
    fs: FileSystem,
    workload: &Workload,
    settings: &Settings,
    own: &[(&str, String)],
) -> String {
    let mut variables = job::variables(fs, settings, NODE, own);
    for (name, value) in &mut variables {
        if *name == "CHECK" && !value.is_empty() {
            *value = format!("blockdev --flushbufs {NODE} && {value}");
        }
    }
    let make = format!(
        "make_it() {{\n    try {}\n    fresh\n}}\n",
        fs.mkfs(&settings.mkfs_options)
    );
    let job = [
        include_str!("../guest/cleaner.sh"),
        &workload.script,
        &make,
        include_str!("../guest/native/disk.sh"),
        include_str!("../guest/flow.sh"),
    ]
    .concat();
    guest::assembled(&variables, include_str!("../guest/native/machine.sh"), &job)
}

/// Counts of the kernel at the start of a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests and bytes.
    pub reads: (u64, u64),
    /// Requests and bytes.
    pub writes: (u64, u64),
    /// Requests and bytes.
    pub discards: (u64, u64),
    /// Requests; `None` before Linux 5.5.
    pub flushes: Option<u64>,
}

impl Counts {
    /// The counts of a phase: a line `@disk NAME` with the columns of `stat` in sysfs.
    pub fn at(console: &str, phase: &str) -> Option<Counts> {
        let line = line(console, "@disk ", phase)?;
        let columns: Vec<u64> = line.map(str::parse).collect::<Result<_, _>>().ok()?;
        let of = |at: usize| {
            let requests = columns.get(at).copied().unwrap_or(0);
            let sectors = columns.get(at + 2).copied().unwrap_or(0);
            (requests, sectors.saturating_mul(512))
        };
        columns.get(6)?;
        Some(Counts {
            reads: of(0),
            writes: of(4),
            discards: of(11),
            flushes: columns.get(15).copied(),
        })
    }

    /// Difference from the counts of an `earlier` time.
    pub fn since(&self, earlier: &Counts) -> Counts {
        let of = |now: (u64, u64), then: (u64, u64)| {
            (now.0.saturating_sub(then.0), now.1.saturating_sub(then.1))
        };
        Counts {
            reads: of(self.reads, earlier.reads),
            writes: of(self.writes, earlier.writes),
            discards: of(self.discards, earlier.discards),
            flushes: self
                .flushes
                .zip(earlier.flushes)
                .map(|(now, then)| now.saturating_sub(then)),
        }
    }
}

/// Bytes that programs wrote between two phases; `None` if the kernel does not count them, zero if only the shell wrote.
pub fn written_between(console: &str, from: &str, to: &str) -> Option<u64> {
    let at = |phase| -> Option<u64> { line(console, "@wrote ", phase)?.next()?.parse().ok() };
    let bytes = at(to)?.checked_sub(at(from)?)?;
    Some(if bytes < OWN_BYTES { 0 } else { bytes })
}

fn line<'a>(console: &'a str, kind: &str, phase: &str) -> Option<std::str::SplitWhitespace<'a>> {
    console.lines().find_map(|line| {
        let mut words = line.strip_prefix(kind)?.split_whitespace();
        (words.next()? == phase).then_some(words)
    })
}

/// Time between two starts of phases on the clock of the script.
pub fn starts(console: &str, base: Nanos) -> Vec<guest::PhaseStart> {
    let mut all = guest::phase_starts_since(console, 0);
    for start in &mut all {
        start.at = start.at.saturating_sub(base);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload;

    fn every() -> Vec<String> {
        let settings = Settings::default();
        let mut all = Vec::new();
        for fs in FileSystem::ALL {
            for workload in workload::library() {
                all.push(assemble(
                    fs,
                    &workload,
                    &settings,
                    &[("MAJOR", "7".to_string())],
                ));
            }
        }
        all
    }

    #[test]
    fn no_script_for_this_machine_switches_it_off_or_names_a_disk() {
        for script in every() {
            for forbidden in [
                "sysrq",
                "poweroff",
                "/dev/vda",
                "/proc/sys/vm/dirty",
                "swappiness",
            ] {
                assert!(!script.contains(forbidden), "{forbidden} in {script}");
            }
            assert!(script.contains("DEV=/run/disk"));
        }
    }

    #[test]
    fn every_tool_gets_the_node_of_the_number_alone() {
        for script in every() {
            let tools = script.lines().filter(|line| line.contains("try mkfs."));
            let tools: Vec<_> = tools.collect();
            assert_eq!(tools.len(), 1);
            assert!(tools[0].ends_with("\"$DEV\""), "{}", tools[0]);
            let devices: Vec<_> = script.match_indices("DEV=").collect();
            assert_eq!(devices.len(), 1, "the node is set in one place");
        }
    }

    #[test]
    fn counts_are_those_of_their_phase() {
        let console = "@wrote work 100\n@disk work 10 0 80 1 20 0 160 2 0 0 0 0 0 0 0 3 1\n@mark work 5.000001\n\
                       @wrote sync 8100\n@disk idle 11 0 88 1 25 0 260 2 0 0 0 1 0 8 0 5 1\n@mark idle 6.000001\n";
        let (from, to) = (Counts::at(console, "work"), Counts::at(console, "idle"));
        let counts = to.unwrap().since(&from.unwrap());
        assert_eq!(counts.reads, (1, 8 * 512));
        assert_eq!(counts.writes, (5, 100 * 512));
        assert_eq!(counts.discards, (1, 8 * 512));
        assert_eq!(counts.flushes, Some(2));
        assert_eq!(written_between(console, "work", "sync"), Some(8000));
        assert_eq!(written_between(console, "work", "idle"), None);
        assert_eq!(Counts::at("@disk work 1 2\n", "work"), None);
        let starts = starts(console, Nanos::from_secs(5));
        assert_eq!(starts[1].at, Nanos::from_secs(1) + Nanos::from_micros(1));
    }
}
