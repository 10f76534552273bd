//! A cell of the table: one file system, one workload, one device. Builds the script, runs it, and
//! collects the results.

use crate::filesystem::FileSystem;
use crate::guest;
use crate::kernel_run::{KernelRun, KernelRunError, Run};
use crate::machine::{Ended, MachineError};
use crate::observer::Observer;
use crate::post_crash::{self, Torn};
use crate::variants::Variant;
use crate::workload::Workload;
use nandscope_blockio::image::Image;
use nandscope_blockio::virtio::{BlockConfig, DiscardConfig};
use nandscope_device::Device;
use nandscope_units::{Bytes, Nanos};
use std::path::Path;
use std::time::Duration;

/// Limit of segments per request, enough for 4 MiB in single pages. With fewer, Linux would split
/// requests depending on how many of their pages happen to be adjacent in memory, which differs from run
/// to run.
const SEGMENTS: u32 = 1024;
/// Most sectors of a discard: 4 GiB less a sector.
const LARGEST_DISCARD: u32 = u32::MAX >> 9;

/// Processor time in the run; zero by default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuCost {
    /// A system call.
    pub call: Nanos,
    /// Moving a byte between a program and the kernel, picoseconds.
    pub byte_ps: u64,
    /// Compiling a source file of 18 kB.
    pub compile: Nanos,
}

/// Settings of a cell.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Options for mkfs, after our own.
    pub mkfs_options: String,
    /// The user's mount options, in addition to the defaults.
    pub mount_options: String,
    /// Offset of a partition to use instead of the whole device.
    pub partition_start: Option<Bytes>,
    /// Size of the partition; to the end of the device where not given.
    pub partition_size: Option<Bytes>,
    /// Fullness of the file system before the work, percent.
    pub fullness: u32,
    /// Rounds in which a third of that is deleted and filled up again.
    pub age_rounds: u32,
    /// Largest request that the host sends.
    pub max_request: Bytes,
    /// Reported minimum size of a write without read-modify-write; zero reports nothing.
    pub minimum_io: Bytes,
    /// Reported optimal size and alignment; zero reports nothing.
    pub optimal_io: Bytes,
    /// The unit of discards, as the device says it.
    pub discard_granularity: Bytes,
    /// Variables of the workloads' scripts, such as `POSTMARK_FILES`.
    pub variables: Vec<(String, String)>,
    /// True if the host path passes discards on.
    pub discard: bool,
    /// Dirty pages at which the kernel starts background writeback
    /// (`/proc/sys/vm/dirty_background_bytes`); programs are blocked at 32 times as much.
    ///
    /// Processor time is free, so a workload ends before pages reach their age limit: with Linux's own
    /// limits its files would be deleted before they are written. The second limit is high because F2FS
    /// and NILFS2 write at their own pace, and programs would wait for timers, not for the card.
    pub dirty_background: Bytes,
    /// Seconds of idle time between the work and umount.
    pub idle_s: u32,
    /// Runs NILFS2's cleaner, which keeps deleted data for this many seconds (its `protection_period`).
    /// The other file systems have none.
    pub cleaner_s: Option<u32>,
    /// The processor's time.
    pub cpu: CpuCost,
    /// Seed of every random choice in the kernel.
    pub seed: u64,
    /// Memory of the machine, MiB.
    pub memory_mib: u32,
    /// Longest real time of the run.
    pub wall: Duration,
    /// Virtual time of a power cut, if there is one.
    pub cut: Option<Nanos>,
    /// Flushes are acknowledged but not performed.
    pub flushes_lie: bool,
    /// Contents of pages that the cut tears.
    pub torn: Torn,
    /// Of a sweep: the variant that these settings are.
    pub variant: Option<Variant>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            mkfs_options: String::new(),
            mount_options: String::new(),
            partition_start: None,
            partition_size: None,
            fullness: 0,
            age_rounds: 0,
            max_request: Bytes::kib(512),
            minimum_io: Bytes::ZERO,
            optimal_io: Bytes::ZERO,
            discard_granularity: Bytes::mib(4),
            variables: Vec::new(),
            discard: true,
            dirty_background: Bytes::kib(512),
            idle_s: 0,
            cleaner_s: None,
            cpu: CpuCost::default(),
            seed: 1,
            memory_mib: 256,
            wall: Duration::from_secs(600),
            cut: None,
            flushes_lie: false,
            torn: Torn::default(),
            variant: None,
        }
    }
}

impl Settings {
    /// The settings of a cell of a variant. Options of the user come after those of the variant, and so
    /// take precedence.
    #[must_use]
    pub fn with_variant(&self, variant: &Variant) -> Settings {
        let mkfs_options = format!("{} {}", variant.mkfs, self.mkfs_options);
        Settings {
            mkfs_options: mkfs_options.trim().to_string(),
            partition_start: variant.partition.or(self.partition_start),
            variant: Some(variant.clone()),
            ..self.clone()
        }
    }
}

/// Longest real time without a word of the kernel.
const SILENCE: Duration = Duration::from_secs(120);
/// Longest virtual time: ten days.
const LONGEST: Nanos = Nanos::from_secs(864_000);

/// The script of a cell.
pub fn script(fs: FileSystem, workload: &Workload, settings: &Settings) -> String {
    let own = [
        ("PARTITION", partition(settings)),
        ("MAX_KB", (settings.max_request.0 / 1024).max(4).to_string()),
        (
            "DIRTY_BYTES",
            settings.dirty_background.0.max(4096).to_string(),
        ),
    ];
    let variables = variables(fs, settings, device_name(settings), &own);
    let make = format!(
        "make_it() {{\n    try {}\n}}\n",
        fs.mkfs(&settings.mkfs_options)
    );
    let job = [
        include_str!("guest/job.sh"),
        include_str!("guest/cleaner.sh"),
        &workload.script,
        &make,
        include_str!("guest/disk.sh"),
        include_str!("guest/flow.sh"),
    ]
    .concat();
    guest::script(&variables, &job)
}

/// Variables of the script of a cell: those that every run has, `own` ones, and the user's. `device` is the node that
/// the check reads.
pub(crate) fn variables<'a>(
    fs: FileSystem,
    settings: &'a Settings,
    device: &str,
    own: &[(&'a str, String)],
) -> Vec<(&'a str, String)> {
    let mut mount = fs.mount_options().to_string();
    if !settings.mount_options.is_empty() {
        mount.push(',');
        mount.push_str(&settings.mount_options);
    }
    let check = fs.check().unwrap_or_default().replace("$DEV", device);
    let compile = settings.cpu.compile.as_secs_f64();
    let mut variables = vec![
        ("FS", fs.name().to_string()),
        ("MOUNT_OPTIONS", mount),
        ("CHECK", check),
        ("FULLNESS", settings.fullness.min(99).to_string()),
        ("AGE_ROUNDS", settings.age_rounds.to_string()),
        ("IDLE_S", settings.idle_s.to_string()),
        ("CLEANER", cleaner(fs, settings)),
        ("COMPILE_S", format!("{compile:.6}")),
        (
            "TREE_PL",
            include_str!("guest/workloads/tree.pl").to_string(),
        ),
        ("AGE_PL", include_str!("guest/workloads/age.pl").to_string()),
    ];
    variables.extend_from_slice(own);
    let users = settings.variables.iter();
    variables.extend(users.map(|(name, value)| (name.as_str(), value.clone())));
    variables
}

/// Protection period of the cleaner in seconds; `None` without a cleaner.
fn cleaner(fs: FileSystem, settings: &Settings) -> String {
    let seconds = settings.cleaner_s.filter(|_| fs == FileSystem::Nilfs2);
    seconds.map_or(String::new(), |s| s.to_string())
}

fn device_name(settings: &Settings) -> &'static str {
    if settings.partition_start.is_some() {
        "/dev/vda1"
    } else {
        "/dev/vda"
    }
}

/// Input of sfdisk; `None` without a partition.
fn partition(settings: &Settings) -> String {
    let sectors = |bytes: Bytes| bytes.0 / 512;
    match (settings.partition_start, settings.partition_size) {
        (None, _) => String::new(),
        (Some(start), None) => format!("start={}, type=83", sectors(start)),
        (Some(start), Some(size)) => {
            format!("start={}, size={}, type=83", sectors(start), sectors(size))
        }
    }
}

/// Runs a cell on a device at `device_now`.
///
/// # Errors
/// [`KernelRunError`] if the run does not end.
pub fn run(
    kernel: &Path,
    fs: FileSystem,
    workload: &Workload,
    settings: &Settings,
    device: &mut Device,
    contents: &mut Image,
    observer: &dyn Observer,
) -> Result<Run, KernelRunError> {
    let script = script(fs, workload, settings);
    run_script(kernel, &script, settings, device, contents, observer)
}

/// Runs a script on a device as [`run`] does. After a power cut, the contents are those that the device
/// kept.
///
/// # Errors
/// [`KernelRunError`] if the run does not end.
pub fn run_script(
    kernel: &Path,
    script: &str,
    settings: &Settings,
    device: &mut Device,
    contents: &mut Image,
    observer: &dyn Observer,
) -> Result<Run, KernelRunError> {
    let run = kernel_run(kernel, script, settings, device.capacity());
    let now = device.now();
    // Cloned only if needed: a clone keeps overwritten pages.
    let before = settings.cut.map(|_| contents.clone());
    if settings.cut.is_some() {
        device.track_writes();
    }
    let run = run.run(device, now, contents, observer)?;
    if let (Ended::Cut, Some(before)) = (run.ended, before) {
        let cut = device.cut_power();
        *contents = before;
        post_crash::apply(contents, &run.changes, &cut, settings.torn)
            .map_err(|error| KernelRunError::of(MachineError::from(error)))?;
    }
    Ok(run)
}

/// The kernel run of [`run_script`] on a device of `capacity`.
pub(crate) fn kernel_run<'a>(
    kernel: &'a Path,
    script: &'a str,
    settings: &Settings,
    capacity: Bytes,
) -> KernelRun<'a> {
    KernelRun {
        kernel,
        script,
        disk: BlockConfig {
            capacity,
            read_only: false,
            segments_max: SEGMENTS,
            block_exponent: 0,
            minimum_io: settings.minimum_io,
            optimal_io: settings.optimal_io,
            discard: settings.discard.then_some(DiscardConfig {
                sectors_max: LARGEST_DISCARD,
                granularity: settings.discard_granularity,
            }),
            write_zeroes: None,
        },
        memory_mib: settings.memory_mib,
        seed: settings.seed,
        call_ns: settings.cpu.call.0,
        byte_ps: settings.cpu.byte_ps,
        silence: SILENCE,
        wall: settings.wall,
        virtual_time: LONGEST,
        cut: settings.cut,
        keep_changes: settings.cut.is_some(),
        flushes_lie: settings.flushes_lie,
    }
}
