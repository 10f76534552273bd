//! The options of `nandscope fs`, and the cells and settings that they select.

use super::Subject;
use super::plan::{Plan, topology};
use crate::failure::Failure;
use crate::heading;
use crate::input;
use clap::Args;
use nandscope_uml::filesystem::FileSystem;
use nandscope_uml::job::{CpuCost, Settings};
use nandscope_uml::variants::{Variant, variants};
use nandscope_uml::workload::{self, Workload};
use nandscope_units::{Bytes, Nanos, SizeBase, parse_duration, parse_size};
use std::path::PathBuf;
use std::time::Duration;

/// Default of `--dirty`.
const DIRTY: &str = "512KiB";
/// Default of `--max-request`.
const MAX_REQUEST: &str = "512KiB";

/// Options of what is run and how.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// File systems: ext4, f2fs, nilfs2, vfat, exfat, btrfs, xfs
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "ext4,f2fs,nilfs2,vfat,exfat",
        help_heading = heading::FILE_SYSTEMS
    )]
    fs: Vec<String>,
    /// Workloads: postmark, build, untar, dbench, copy, sqlite, camera, log, create, boot
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    workload: Vec<String>,
    /// Your own workload: a bash script with `work` and, optionally, `prepare`;
    /// `$MNT` is the mount point
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    script: Vec<PathBuf>,
    /// Fill the file system to this percentage before the work
    #[arg(
        long,
        default_value_t = 0,
        value_name = "PERCENT",
        value_parser = clap::value_parser!(u32).range(0..=95),
        help_heading = heading::FILE_SYSTEMS,
        hide_short_help = true
    )]
    fullness: u32,
    /// Then delete a third and fill again, this many times
    #[arg(long, default_value_t = 0, value_name = "ROUNDS", help_heading = heading::FILE_SYSTEMS, hide_short_help = true)]
    age: u32,
    /// Use a card that was written completely before and gets no discards
    #[arg(long, help_heading = heading::SIMULATED, hide_short_help = true)]
    used: bool,
    /// Offset of a partition to use instead of the whole device
    #[arg(long, value_name = "OFFSET", help_heading = heading::FILE_SYSTEMS, hide_short_help = true)]
    partition: Option<String>,
    /// Size of the partition [default: to the end of the device]
    #[arg(long, value_name = "SIZE", requires = "partition", help_heading = heading::FILE_SYSTEMS, hide_short_help = true)]
    partition_size: Option<String>,
    /// mkfs options for a file system, such as 'f2fs:-s 2'
    #[arg(long, value_name = "FS:OPTIONS", help_heading = heading::FILE_SYSTEMS)]
    mkfs: Vec<String>,
    /// Compare mkfs options derived from the card's allocation unit and page,
    /// and partition offsets
    #[arg(long, conflicts_with = "cuts", help_heading = heading::FILE_SYSTEMS)]
    sweep: bool,
    /// Mount options for a file system, such as 'ext4:data=journal'
    #[arg(long, value_name = "FS:OPTIONS", help_heading = heading::FILE_SYSTEMS, hide_short_help = true)]
    mount: Vec<String>,
    /// Setting of a workload, such as POSTMARK_FILES=2000 (list: docs/fs.md)
    #[arg(long, value_name = "NAME=VALUE", hide_short_help = true)]
    setting: Vec<String>,
    /// Processor time of a system call, bytes moved per second, time to
    /// compile a file of 18 kB, such as 2us,400M,1.5s [default: none]
    #[arg(long, value_name = "CALL,RATE,COMPILE", help_heading = heading::MACHINE, hide_short_help = true)]
    cpu: Option<String>,
    /// Dirty pages at which the kernel starts background writeback
    #[arg(long, default_value = DIRTY, value_name = "SIZE", help_heading = heading::MACHINE, hide_short_help = true)]
    dirty: String,
    /// Largest request that the host sends
    #[arg(long, default_value = MAX_REQUEST, value_name = "SIZE", help_heading = heading::MACHINE, hide_short_help = true)]
    max_request: String,
    /// Report page and AU to the file systems, unlike SD and eMMC hosts
    #[arg(long, help_heading = heading::MACHINE, hide_short_help = true)]
    topology: bool,
    /// Idle time between the work and umount, seconds
    #[arg(
        long,
        default_value_t = 0,
        value_name = "SECONDS",
        hide_short_help = true
    )]
    idle: u32,
    /// Run NILFS2's cleaner; it keeps deleted data for this many seconds
    #[arg(long, value_name = "SECONDS", help_heading = heading::FILE_SYSTEMS, hide_short_help = true)]
    cleaner: Option<u32>,
    /// Seed of the random number generator
    #[arg(long, default_value_t = 1, help_heading = heading::SIMULATED)]
    seed: u64,
    /// Runs with seeds SEED, SEED + 1, …; reports the spread
    ///
    /// On a real device the runs are repeated; a seed changes nothing there.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000), hide_short_help = true)]
    seeds: u64,
    /// Limit of the real time of a cell, seconds
    #[arg(long, default_value_t = 900, value_name = "SECONDS", help_heading = heading::MACHINE, hide_short_help = true)]
    time_limit: u64,
}

impl Options {
    /// The scripts of `--script`.
    pub fn scripts(&self) -> &[PathBuf] {
        &self.script
    }

    /// Refuses options that cannot apply to the real target `name`. With a simulated target beside it, `beside`, those
    /// that configure the machine of virtual time apply to that one.
    ///
    /// # Errors
    /// `Exit::Usage` with the first of them.
    pub fn refuse_on_real(&self, name: &str, beside: bool) -> Result<(), Failure> {
        let given = [
            (self.used, "--used"),
            (self.partition.is_some(), "--partition"),
            (!beside && self.topology, "--topology"),
            (!beside && self.dirty != DIRTY, "--dirty"),
            (!beside && self.max_request != MAX_REQUEST, "--max-request"),
        ];
        match given.iter().find(|(given, _)| *given) {
            None => Ok(()),
            Some((_, option)) => Err(Failure::usage(format!(
                "{option} works with simulated devices only, and {name} is a real target; omit it"
            ))),
        }
    }
}

/// The checked options.
#[derive(Clone, Debug)]
pub struct Chosen {
    file_systems: Vec<FileSystem>,
    workloads: Vec<Workload>,
    settings: Settings,
    mkfs: Vec<(FileSystem, String)>,
    mount: Vec<(FileSystem, String)>,
    seeds: u64,
    topology: bool,
    used: bool,
    sweep: bool,
}

/// The workloads of the talk.
const TALK: [&str; 3] = ["postmark", "build", "untar"];

impl Chosen {
    /// Checks the options.
    ///
    /// # Errors
    /// `Exit::Usage` if a name or number is invalid; `Exit::File` if a script cannot be read.
    pub fn of(arguments: &Options) -> Result<Chosen, Failure> {
        let file_systems = arguments
            .fs
            .iter()
            .map(|n| file_system(n))
            .collect::<Result<Vec<_>, _>>()?;
        let mut workloads = Vec::new();
        let mut names: Vec<&str> = arguments.workload.iter().map(String::as_str).collect();
        if names.is_empty() && arguments.script.is_empty() {
            names = TALK.to_vec();
        }
        for name in names {
            workloads.push(workload(name)?);
        }
        for path in &arguments.script {
            let text = input::text(path, "the workload's script")?;
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            workloads.push(workload::own(&name, &text));
        }
        let size = |text: &str, option: &str| {
            parse_size(text, SizeBase::Binary)
                .map_err(|e| Failure::usage(format!("{option} {text}: {e}")))
        };
        let sectors = |bytes: Bytes, option: &str| {
            if bytes.0 > 0 && bytes.0.is_multiple_of(512) {
                Ok(bytes)
            } else {
                Err(Failure::usage(format!(
                    "{option}: {bytes} is not a multiple of 512 bytes"
                )))
            }
        };
        let partition = |text: &Option<String>, option: &str| {
            text.as_deref()
                .map(|t| sectors(size(t, option)?, option))
                .transpose()
        };
        let settings = Settings {
            partition_start: partition(&arguments.partition, "--partition")?,
            partition_size: partition(&arguments.partition_size, "--partition-size")?,
            fullness: arguments.fullness,
            age_rounds: arguments.age,
            max_request: size(&arguments.max_request, "--max-request")?,
            dirty_background: size(&arguments.dirty, "--dirty")?,
            variables: arguments
                .setting
                .iter()
                .map(|t| variable(t))
                .collect::<Result<_, _>>()?,
            idle_s: arguments.idle,
            cleaner_s: arguments.cleaner,
            cpu: arguments
                .cpu
                .as_deref()
                .map_or(Ok(CpuCost::default()), cpu)?,
            seed: arguments.seed,
            wall: Duration::from_secs(arguments.time_limit.max(1)),
            ..Settings::default()
        };
        Ok(Chosen {
            file_systems,
            workloads,
            settings,
            mkfs: per_fs(&arguments.mkfs, "--mkfs")?,
            mount: per_fs(&arguments.mount, "--mount")?,
            seeds: arguments.seeds,
            topology: arguments.topology,
            used: arguments.used,
            sweep: arguments.sweep,
        })
    }

    /// The cells of a target.
    pub fn plans(&self, number: usize, subject: &Subject) -> Vec<Plan> {
        let mut plans = Vec::new();
        for workload in &self.workloads {
            for fs in self.file_systems.iter().filter(|fs| subject.has(**fs)) {
                let all = if self.sweep {
                    self.variants_for(*fs, subject)
                } else {
                    vec![self.settings_for(*fs, subject.discard)]
                };
                for settings in all {
                    for seed in self.settings.seed..self.settings.seed + self.seeds {
                        let settings = Settings {
                            seed,
                            ..settings.clone()
                        };
                        plans.push(Plan {
                            used: self.used,
                            ..Plan::new(number, *fs, workload.clone(), settings)
                        });
                    }
                }
            }
        }
        plans
    }

    /// Settings of the cells of a sweep of a file system on a target, the default first.
    pub fn variants_for(&self, fs: FileSystem, subject: &Subject) -> Vec<Settings> {
        let (page, unit) = topology(subject);
        let settings = self.settings_for(fs, subject.discard);
        // Nothing partitions a real device.
        let wanted = |v: &&Variant| v.partition.is_none() || subject.as_real().is_none();
        let all = variants(fs, unit, page);
        all.iter()
            .filter(wanted)
            .map(|v| settings.with_variant(v))
            .collect()
    }

    /// Whether the variants of the file systems are run too.
    pub fn sweep(&self) -> bool {
        self.sweep
    }

    /// Settings of a cell of a file system.
    pub fn settings_for(&self, fs: FileSystem, discard: bool) -> Settings {
        let of = |list: &[(FileSystem, String)]| {
            let mine: Vec<_> = list
                .iter()
                .filter(|(f, _)| *f == fs)
                .map(|(_, o)| o.as_str())
                .collect();
            mine.join(" ")
        };
        Settings {
            mkfs_options: of(&self.mkfs),
            mount_options: of(&self.mount).replace(' ', ","),
            discard,
            ..self.settings.clone()
        }
    }

    /// True if the device reports its page and allocation unit.
    pub fn topology(&self) -> bool {
        self.topology
    }

    /// The options on which a result depends: all but the time limit of a cell.
    pub fn asked(&self) -> String {
        let mut all = self.clone();
        all.settings.wall = Settings::default().wall;
        format!("{all:?}")
    }

    /// The first seed.
    pub fn seed(&self) -> u64 {
        self.settings.seed
    }

    /// Names of the chosen workloads.
    pub fn workload_names(&self) -> Vec<String> {
        self.workloads.iter().map(|w| w.name.clone()).collect()
    }

    /// The chosen workloads.
    pub fn workloads(&self) -> &[Workload] {
        &self.workloads
    }

    /// The chosen file systems.
    pub fn file_systems(&self) -> &[FileSystem] {
        &self.file_systems
    }
}

fn file_system(name: &str) -> Result<FileSystem, Failure> {
    FileSystem::named(name).ok_or_else(|| {
        let names: Vec<_> = FileSystem::ALL.iter().map(|fs| fs.name()).collect();
        Failure::usage(format!(
            "unknown file system `{name}`; known are {}",
            names.join(", ")
        ))
    })
}

fn workload(name: &str) -> Result<Workload, Failure> {
    workload::named(name).ok_or_else(|| {
        let names: Vec<_> = workload::library().into_iter().map(|w| w.name).collect();
        Failure::usage(format!(
            "unknown workload `{name}`; known are {}; --script runs your own",
            names.join(", ")
        ))
    })
}

/// Parses a variable of the workloads' scripts. Unknown names are refused as misspelt.
fn variable(text: &str) -> Result<(String, String), Failure> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| Failure::usage(format!("--setting {text}: write NAME=VALUE")))?;
    let known = workload::library()
        .iter()
        .any(|w| w.script.contains(&format!("${{{name}:-")));
    if !known {
        return Err(Failure::usage(format!(
            "--setting {text}: unknown setting `{name}`; docs/fs.md lists the settings"
        )));
    }
    if value.parse::<u32>().is_err() {
        return Err(Failure::usage(format!(
            "--setting {text}: `{value}` is not a whole number"
        )));
    }
    Ok((name.to_string(), value.to_string()))
}

fn per_fs(list: &[String], option: &str) -> Result<Vec<(FileSystem, String)>, Failure> {
    list.iter()
        .map(|text| {
            let (name, options) = text.split_once(':').ok_or_else(|| {
                Failure::usage(format!(
                    "{option} {text}: write FS:OPTIONS, such as ext4:-O ^has_journal"
                ))
            })?;
            // The options become part of a shell script.
            if let Some(bad) = options
                .chars()
                .find(|c| "\"'`$\\;&|<>(){}\n#*?!~".contains(*c))
            {
                return Err(Failure::usage(format!(
                    "{option} {text}: `{bad}` is not allowed in options"
                )));
            }
            Ok((file_system(name)?, options.trim().to_string()))
        })
        .collect()
}

fn cpu(text: &str) -> Result<CpuCost, Failure> {
    let wrong = |what: &str| {
        Failure::usage(format!(
            "--cpu {text}: {what}; write CALL,RATE,COMPILE such as 2us,400M,1.5s"
        ))
    };
    let [call, rate, compile] = text.split(',').collect::<Vec<_>>()[..] else {
        return Err(wrong("three values are needed"));
    };
    let time = |text: &str| parse_duration(text, 1_000_000_000).map_err(|e| wrong(&e.to_string()));
    let rate = parse_size(rate, SizeBase::Decimal).map_err(|e| wrong(&e.to_string()))?;
    if rate == Bytes::ZERO {
        return Err(wrong("the rate is zero"));
    }
    let call: Nanos = time(call)?;
    Ok(CpuCost {
        call,
        byte_ps: 1_000_000_000_000 / rate.0,
        compile: time(compile)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_of_the_processor_is_three_values_with_units() {
        let cost = cpu("2us,400M,1.5s").unwrap();
        assert_eq!((cost.call, cost.byte_ps), (Nanos(2_000), 2_500));
        assert_eq!(cost.compile, Nanos::from_millis(1500));
        for wrong in ["2us", "2us,0,1s", "x,1M,1s", "1us,1M,1s,4"] {
            assert!(cpu(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_settings_that_a_workload_has_can_be_set() {
        let set = variable("POSTMARK_FILES=20").unwrap();
        assert_eq!(set, ("POSTMARK_FILES".to_string(), "20".to_string()));
        for wrong in [
            "POSTMARK_FILES",
            "POSTMARK_FILE=20",
            "LOG_LINES=x",
            "PATH=/tmp",
        ] {
            assert!(variable(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn options_for_tools_cannot_carry_commands() {
        assert!(per_fs(&["ext4:-O ^has_journal".to_string()], "--mkfs").is_ok());
        for wrong in ["ext4", "ntfs:-a", "ext4:; rm -r /", "ext4:$(id)"] {
            assert!(per_fs(&[wrong.to_string()], "--mkfs").is_err(), "{wrong}");
        }
    }
}
