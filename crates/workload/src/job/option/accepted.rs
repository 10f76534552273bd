//! Options of fio that are accepted although they have no effect here.

use crate::job::error::Problem;
use crate::job::model::Job;
use crate::job::value::Value;

/// Options that have no effect for the same reason.
pub struct Accepted {
    names: &'static str,
    /// The values that are accepted; any if empty. Others would ask for something that does not happen.
    pub values: &'static [&'static str],
    /// Why they have no effect.
    pub reason: &'static str,
    /// A notice says it, because fio's numbers would depend on it.
    pub is_said: bool,
}

impl Accepted {
    /// fio's main names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.names.split_whitespace()
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    pub(super) fn set(&self, job: &mut Job, v: Value<'_>) -> Result<(), Problem> {
        let text = v.text.unwrap_or("1");
        if !self.values.is_empty() && !self.values.contains(&text) {
            return Err(v.bad(
                format!("not honoured: {}", self.reason),
                format!(
                    "remove it, or write `{}={}`",
                    v.key,
                    self.values.join("` or `")
                ),
            ));
        }
        if self.is_said && text != "0" {
            job.origin.notices.push(format!(
                "`{}{}` has no effect: {}",
                v.key,
                v.text.map(|t| format!("={t}")).unwrap_or_default(),
                self.reason
            ));
        }
        job.without_effect
            .insert(v.key.to_string(), text.to_string());
        Ok(())
    }
}

const fn accepted(
    names: &'static str,
    values: &'static [&'static str],
    reason: &'static str,
) -> Accepted {
    Accepted {
        names,
        values,
        reason,
        is_said: false,
    }
}

/// Options whose effect a user of fio may count on: a notice says that they have none.
const fn said(names: &'static str, reason: &'static str) -> Accepted {
    Accepted {
        names,
        values: ANY,
        reason,
        is_said: true,
    }
}

const OFF: &[&str] = &["0"];
const ON: &[&str] = &["1"];
const ANY: &[&str] = &[];
const OWN_ENGINE: &str = "the engine is nandscope's own, for simulated and real targets";
const OWN_FILE: &str = "the target is a whole device or one given file; no job files are made";
const OWN_STATS: &str = "the result always holds all latencies and series";
const EACH_COMPLETION: &str = "each completion is taken as it comes";

/// All of them, in groups.
pub const ACCEPTED: &[Accepted] = &[
    accepted("mem lockmem iomem_align hugepage-size", ANY, OWN_ENGINE),
    accepted(
        "io_submit_mode",
        ANY,
        "rates are schedules that do not wait for completions, as with `offload`",
    ),
    said(
        "hipri hipri_percentage fixedbufs registerfiles sqthread_poll sqthread_poll_cpu nonvectored \
         uncached nowait force_async userspace_reap cmd_type readfua writefua sg_write_mode",
        "it belongs to one of fio's engines, and the engine is nandscope's own (`--poll` polls)",
    ),
    said(
        "prio prioclass cmdprio_percentage cmdprio cmdprio_class cmdprio_split cmdprio_bssplit \
         write_hint ioscheduler numa_cpu_nodes numa_mem_policy cgroup cgroup_nodelete cgroup_weight \
         uid gid gtod_cpu",
        "the kernel of the host is not part of the model; on a real target set it outside of the job",
    ),
    accepted("directory", ANY, "the target is given on the command line"),
    accepted("invalidate", ANY, "there is no page cache to invalidate"),
    accepted("fadvise_hint", ANY, "there is no page cache to advise"),
    accepted(
        "overwrite fallocate create_serialize create_fsync allow_file_create unlink",
        ANY,
        OWN_FILE,
    ),
    accepted("create_on_open opendir unlink_each_loop", ANY, OWN_FILE),
    accepted(
        "file_append",
        ANY,
        "as in fio, it is for regular files only, and the target counts as a device",
    ),
    accepted(
        "fill_device",
        ANY,
        "without a size, the region ends with the target",
    ),
    accepted(
        "openfiles",
        ANY,
        "the files of a job are parts of one target, which is open all the time",
    ),
    accepted(
        "allrandrepeat",
        ANY,
        "the seed of the run decides, and is in the result",
    ),
    accepted("softrandommap", OFF, "a map that does not fit is an error"),
    accepted(
        "bs_unaligned",
        OFF,
        "a block device takes whole sectors only",
    ),
    accepted("iodepth_batch_complete_max", ANY, EACH_COMPLETION),
    accepted(
        "thinktime_blocks_type",
        ANY,
        "a pause begins when all that was issued is complete, so both counts are the same",
    ),
    accepted(
        "thinktime_spin",
        ANY,
        "the thread sleeps; the device sees no difference",
    ),
    accepted("clocksource", ANY, "the target has its own clock"),
    accepted(
        "thread threads nice cpumask cpus_allowed_policy",
        ANY,
        "how clones are run is the runner's business",
    ),
    accepted(
        "disable_lat disable_clat disable_slat disable_bw_measurement clat_percentiles \
         lat_percentiles slat_percentiles significant_figures bwavgtime iopsavgtime",
        ANY,
        OWN_STATS,
    ),
    accepted("gtod_reduce disable_iops", ANY, OWN_STATS),
    accepted("stats", ON, OWN_STATS),
    accepted("disk_util", ANY, "the result has counters of its own"),
    accepted(
        "filename_format unique_filename lockfile",
        ANY,
        "the names of files are not used; the target is given on the command line",
    ),
    accepted("per_job_logs", ANY, "logs are named after their job"),
    accepted("log_entries", ANY, "logs grow as needed"),
    accepted(
        "log_compression log_compression_cpus",
        ANY,
        "logs are written uncompressed",
    ),
    accepted("log_store_compressed", OFF, "logs are written uncompressed"),
    accepted(
        "log_unix_epoch log_alternate_epoch",
        OFF,
        "the clock of a simulated device has no date",
    ),
    accepted(
        "error_dump",
        ANY,
        "the result holds the reasons of all errors",
    ),
    accepted("unit_base", ANY, "the report names its units"),
    accepted(
        "verify_fatal",
        ANY,
        "every mismatch is counted, the first 16 are described",
    ),
    accepted(
        "flow_watermark verifysort verifysort_nr",
        ANY,
        "fio 3.33 ignores it as well",
    ),
    accepted(
        "experimental_verify",
        ANY,
        "what was written is always compared with the write it should come from",
    ),
    accepted(
        "verify_async verify_async_cpus",
        ANY,
        "contents are compared by the thread that reads them",
    ),
    accepted(
        "verify_state_save verify_state_load",
        ANY,
        "a job that only reads, or has verify_only, needs no saved state",
    ),
    accepted(
        "replay_redirect",
        ANY,
        "a trace is always replayed on the one target",
    ),
    accepted("atomic", OFF, "writes are plain"),
    accepted(
        "pre_read",
        ANY,
        "it fills the page cache, which is bypassed",
    ),
];
