//! Whether a simulated device and the jobs of a run fit into the memory that this process may have, before they are made:
//! an allocation that fails ends the program in the middle of a run and without a message.

use nandscope_device::memory_estimate;
use nandscope_device::profile::Profile;
use nandscope_measure::distribution::Distribution;
use nandscope_result::histogram;
use nandscope_units::Bytes;
use nandscope_workload::RateLimit;
use nandscope_workload::job::{self, Job, JobFile, RandomGenerator};
use nandscope_workload::pattern::{RandomMap, Region};
use std::path::Path;
use std::sync::OnceLock;
use thiserror::Error;

/// A bound on what the process can still take.
#[derive(Debug, PartialEq, Eq)]
struct Limit {
    left: u64,
    /// Cause of the limit, and a remedy.
    what: &'static str,
}

const ADDRESS_SPACE: &str = "are left below the limit of the address space (`ulimit -v`); raise it";
const GROUP: &str = "are left below the memory limit of the control group; raise it";
const MACHINE: &str = "are free on this machine; end other programs";
const SMALLER_DEVICE: &str = "simulate a smaller device";
const FEWER_JOBS: &str =
    "run fewer jobs at once (`numjobs`, `stonewall`), or report them as one with `group_reporting`";

/// A device or the jobs of a run do not fit into memory.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{name} {need} {needed} of memory, but {left} {limit}, or {remedy}")]
pub struct MemoryError {
    /// The device as it was named, or the number of jobs.
    pub name: String,
    need: &'static str,
    /// Required memory.
    pub needed: Bytes,
    /// Memory left.
    pub left: Bytes,
    /// Cause of the limit, and a remedy.
    limit: &'static str,
    /// Remedy that needs no change of the limit.
    remedy: &'static str,
}

/// Refuses a device that does not fit into memory once all of it is written; `name` is for the message.
///
/// # Errors
/// [`MemoryError`] with the required memory and the limit.
pub fn check(name: &str, profile: &Profile) -> Result<(), MemoryError> {
    let needed = memory_estimate(profile).0;
    match smallest_limit() {
        Some(limit) if limit.left < needed => Err(refusal(name, needed, &limit)),
        _ => Ok(()),
    }
}

/// Refuses jobs whose threads, records and results do not fit into memory. On a real target submission takes time, which is
/// recorded too.
///
/// # Errors
/// [`MemoryError`] with the required memory and the limit.
pub fn check_jobs(jobs: &JobFile, capacity: Bytes, is_real: bool) -> Result<(), MemoryError> {
    let needed = of_jobs(jobs, capacity, is_real);
    // A run of few jobs does not read the limits of the system.
    if needed < 64 << 20 {
        return Ok(());
    }
    let Some(limit) = smallest_limit().filter(|limit| limit.left < needed) else {
        return Ok(());
    };
    let threads: u64 = jobs.jobs.iter().map(|job| u64::from(job.numjobs)).sum();
    Err(MemoryError {
        name: format!("{threads} jobs"),
        need: "need",
        remedy: FEWER_JOBS,
        ..refusal("", needed, &limit)
    })
}

/// Bytes of a thread of a run without its records and its random map: its generator, its slots, its place in the result.
const THREAD: u64 = 12 << 10;

/// Copies of a result in memory at the end of a run: the document, and its text or a step of its journal.
const COPIES: u64 = 2;

/// Bytes that jobs need.
#[derive(Clone, Copy, Debug, Default)]
struct Needs {
    /// While they run.
    running: u64,
    /// Their results.
    results: u64,
}

/// Upper estimate of the memory for the jobs of a run, in bytes: the largest group, or all results at the end. A record is freed
/// when its result is made.
fn of_jobs(jobs: &JobFile, capacity: Bytes, is_real: bool) -> u64 {
    let groups = jobs.groups();
    let needs: Vec<Needs> = groups
        .into_iter()
        .map(|group| of_group(group, capacity, is_real))
        .collect();
    let running = needs.iter().map(|needs| needs.running).max().unwrap_or(0);
    let results = needs.iter().map(|needs| needs.results);
    let results = results.fold(0u64, u64::saturating_add);
    running.max(results.saturating_mul(COPIES))
}

fn of_group(group: &[Job], capacity: Bytes, is_real: bool) -> Needs {
    let mut shared = Needs::default();
    let mut all = Needs::default();
    for job in group {
        let clones = u64::from(job.numjobs);
        let thread = THREAD + random_map(job, capacity);
        let mut running = clones.saturating_mul(thread);
        let mut results = 0;
        // Jobs that report as a group share records.
        if job.group_reporting {
            let group = records(job, capacity, is_real, clones);
            shared.running = shared.running.max(group.running);
            shared.results = shared.results.max(group.results);
        } else {
            let one = records(job, capacity, is_real, 1);
            // The record of a clone is freed when its result is made, so that a clone needs the larger of both.
            running = running.saturating_add(clones.saturating_mul(one.running.max(one.results)));
            results = clones.saturating_mul(one.results);
        }
        all.running = all.running.saturating_add(running);
        all.results = all.results.saturating_add(results);
    }
    Needs {
        running: all.running.saturating_add(shared.running),
        results: all.results.saturating_add(shared.results),
    }
}

/// Bytes of the records of latencies that these clones share, and of their text in the result.
fn records(job: &Job, capacity: Bytes, is_real: bool, clones: u64) -> Needs {
    let endless = job.pacing.time_based || job.trace.is_some();
    let passes = Region::of(job, 0, capacity).map_or(u64::MAX, |region| {
        region.budget / u64::from(job.min_block().max(1))
    });
    let operations = match endless {
        true => u64::MAX,
        false => passes.saturating_mul(job.pacing.loops.max(1).into()),
    };
    let operations = operations.min(job.number_ios.unwrap_or(u64::MAX));
    let operations = operations.saturating_mul(clones);
    let p = &job.pacing;
    let is_scheduled = job.trace.is_some()
        || [p.read_limit, p.write_limit, p.trim_limit] != [RateLimit::Unlimited; 3];
    // From the due time, from the start, and before and after submission.
    let distributions = 1 + u64::from(is_scheduled) + 2 * u64::from(is_real);
    let flushes = job.fsync > 0 || job.fdatasync > 0 || job.end_fsync || job.fsync_on_close;
    let kinds = job.rw.kinds().len() as u64 + u64::from(flushes);
    let most = |bytes: u64| bytes.saturating_mul(kinds).saturating_mul(distributions);
    Needs {
        running: most(Distribution::most_bytes(operations)),
        results: most(histogram::most_bytes(operations)),
    }
}

/// Bytes of the map of blocks that a random job has used.
fn random_map(job: &Job, capacity: Bytes) -> u64 {
    let has_map = job.rw.random
        && job.random_map
        && job.distribution == job::Distribution::Uniform
        && job.generator != Some(RandomGenerator::Lfsr);
    if !has_map {
        return 0;
    }
    Region::of(job, 0, capacity).map_or(0, |region| {
        RandomMap::bytes(region.length / u64::from(job.min_block().max(1)))
    })
}

/// Memory left before the process was confined.
static BEFORE: OnceLock<Option<u64>> = OnceLock::new();

/// Bytes of memory that this process can still take; `None` where nobody says. A confined process cannot
/// read all of the limits: what [`remember`] read counts too.
pub fn left() -> Option<u64> {
    let now = smallest_limit().map(|limit| limit.left);
    let before = BEFORE.get().copied().flatten();
    now.into_iter().chain(before).min()
}

/// Reads the limits for a process that will be confined.
pub fn remember() {
    BEFORE.get_or_init(|| smallest_limit().map(|limit| limit.left));
}

fn refusal(name: &str, needed: u64, limit: &Limit) -> MemoryError {
    MemoryError {
        name: name.to_string(),
        need: "needs",
        needed: Bytes(needed),
        left: Bytes(limit.left),
        limit: limit.what,
        remedy: SMALLER_DEVICE,
    }
}

/// The smallest limit that the system reports; `None` if it reports none.
fn smallest_limit() -> Option<Limit> {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let own = read("/proc/self/limits").zip(read("/proc/self/statm"));
    let address_space = own.and_then(|(limits, statm)| address_space_left(&limits, &statm));
    let machine = read("/proc/meminfo").and_then(|text| machine_left(&text));
    let group = read("/proc/self/cgroup").and_then(|text| {
        let root = Path::new("/sys/fs/cgroup");
        let both = [V2.left(root, &text), V1.left(&root.join("memory"), &text)];
        both.into_iter().flatten().min()
    });
    let all = [
        (address_space, ADDRESS_SPACE),
        (group, GROUP),
        (machine, MACHINE),
    ];
    let known = all.into_iter().filter_map(|(left, what)| {
        let left = left?;
        Some(Limit { left, what })
    });
    known.min_by_key(|limit| limit.left)
}

/// Memory left by `RLIMIT_AS`, from `/proc/self/limits` and `/proc/self/statm` (whose pages have 4 KiB at least).
fn address_space_left(limits: &str, statm: &str) -> Option<u64> {
    let line = limits
        .lines()
        .find_map(|l| l.strip_prefix("Max address space"))?;
    let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
    let pages: u64 = statm.split_whitespace().next()?.parse().ok()?;
    Some(limit.saturating_sub(pages * 4096))
}

/// Available memory and free swap of `/proc/meminfo`.
fn machine_left(meminfo: &str) -> Option<u64> {
    let kib = |name: &str| {
        let line = meminfo.lines().find_map(|l| l.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let free = kib("MemAvailable:")? + kib("SwapFree:").unwrap_or(0);
    Some(free * 1024)
}

/// Files of a version of control groups that state the memory limit of a group.
struct Groups {
    /// Whether a line of `/proc/self/cgroup` (number, controllers, path) is about memory.
    is_about_memory: fn(&str, &str) -> bool,
    limit: &'static str,
    /// The lines of `memory.stat` with the memory that the kernel cannot give up, of the group and those in it.
    used: &'static str,
}

const V2: Groups = Groups {
    is_about_memory: |number, controllers| number == "0" && controllers.is_empty(),
    limit: "memory.max",
    used: "anon ",
};

const V1: Groups = Groups {
    is_about_memory: |_, controllers| controllers.split(',').any(|name| name == "memory"),
    limit: "memory.limit_in_bytes",
    used: "total_rss ",
};

impl Groups {
    /// The least that a control group of this process leaves, from itself up to the root. What its page cache holds
    /// is not counted: the kernel gives that up.
    fn left(&self, root: &Path, membership: &str) -> Option<u64> {
        let own = membership.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':');
            let (number, controllers) = (parts.next()?, parts.next()?);
            let path = parts.next()?;
            (self.is_about_memory)(number, controllers).then_some(path)
        })?;
        let folder = root.join(own.trim_start_matches('/'));
        let groups = folder.ancestors().take_while(|f| f.starts_with(root));
        groups.filter_map(|group| self.left_in(group)).min()
    }

    fn left_in(&self, group: &Path) -> Option<u64> {
        let limit = std::fs::read_to_string(group.join(self.limit)).ok()?;
        // Without a limit version 2 says "max", and version 1 a number that no memory has.
        let limit: u64 = limit.trim().parse().ok()?;
        let used = std::fs::read_to_string(group.join("memory.stat")).ok()?;
        let used = used.lines().find_map(|l| l.strip_prefix(self.used))?;
        Some(limit.saturating_sub(used.trim().parse().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_as_the_kernel_writes_them() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
            Max cpu time              unlimited            unlimited            seconds   \n\
            Max address space         3000000000           unlimited            bytes     \n";
        assert_eq!(
            address_space_left(limits, "1000 50 30 1 0 20 0\n"),
            Some(3_000_000_000 - 4_096_000)
        );
        let unlimited = limits.replace("3000000000", "unlimited ");
        assert_eq!(address_space_left(&unlimited, "1000 50"), None);
        let meminfo = "MemTotal: 100 kB\nMemAvailable:     50 kB\nSwapFree:  7 kB\n";
        assert_eq!(machine_left(meminfo), Some(57 * 1024));
        assert_eq!(machine_left("MemTotal: 100 kB\n"), None);
    }

    #[test]
    fn the_tightest_group_counts() {
        let root = std::env::temp_dir().join(format!("nandscope-groups-{}", std::process::id()));
        for (groups, unlimited, line) in [
            (V2, "max", "0::/a/b\n"),
            (
                V1,
                "9223372036854771712",
                "12:pids:/\n5:cpu,memory:/a/b\n0::/\n",
            ),
        ] {
            let inner = root.join("a/b");
            std::fs::create_dir_all(&inner).unwrap();
            for (folder, max, used) in [(&root.join("a"), "5000", 1000), (&inner, unlimited, 900)] {
                std::fs::write(folder.join(groups.limit), format!("{max}\n")).unwrap();
                let stat = format!("cache 9\n{}{used}\nfile 700\n", groups.used);
                std::fs::write(folder.join("memory.stat"), stat).unwrap();
            }
            assert_eq!(groups.left(&root, line), Some(4000));
            assert_eq!(groups.left(&root, "0::/elsewhere\n3:memory:/none\n"), None);
            assert_eq!(groups.left(&root, "3:cpu:/\n"), None);
            std::fs::remove_dir_all(&root).unwrap();
        }
    }

    #[test]
    fn jobs_need_memory_for_their_records_and_maps() {
        let of = |text: &str| {
            let jobs = JobFile::parse("t", text).unwrap();
            of_jobs(&jobs, Bytes::gib(64), false)
        };
        let many = "numjobs=30000\nsize=1m\n";
        // Some hundred operations need little, and a group has one record.
        assert!(of(&format!("[a]\n{many}bs=4k\nrw=read\n")) < 700 << 20);
        let long = "numjobs=30000\nsize=5m\nbs=512\n";
        let each = of(&format!("[a]\n{long}rw=read\n"));
        assert!((1_600_000_000..1_800_000_000).contains(&each), "{each}");
        assert_eq!(
            of(&format!("[a]\n{long}loops=9\nnumber_ios=10240\nrw=read\n")),
            each
        );
        assert!(of(&format!("[a]\n{long}rw=read\ngroup_reporting\n")) < 700 << 20);
        // Reads and writes apart, each with the service time of a schedule.
        let both = of(&format!("[a]\n{long}rw=rw\nrate_iops=100,100\n"));
        assert_eq!(both, 4 * each);
        // However long the jobs are, records and results are bounded.
        let longest = of(&format!("[a]\n{long}rw=read\ntime_based\nruntime=9d\n"));
        assert!(longest < 30_000 * 1_000_000, "{longest}");
        // A bit for each block of 64 GiB.
        let maps = of("[a]\nnumjobs=1000\nrw=randread\nbs=4k\ngroup_reporting\n");
        assert!((2_000_000_000..3_000_000_000).contains(&maps), "{maps}");
        let in_turn = "[a]\nrw=randread\n[b]\nstonewall\nrw=randread\n";
        assert_eq!(of(in_turn), of("[a]\nrw=randread\n"));
    }

    #[test]
    fn the_message_names_need_limit_and_remedy() {
        let limit = Limit {
            left: 3_000_000_000,
            what: ADDRESS_SPACE,
        };
        let text = refusal("sim:large", 4_500_000_000, &limit).to_string();
        assert!(text.starts_with("sim:large needs "), "{text}");
        assert!(text.contains("`ulimit -v`") && text.contains("smaller device"));
    }
}
