//! Options of fio that are accepted although they have no effect here.

use crate::job::error::Problem;
use crate::job::model::Job;
use crate::job::value::Value;

/// Options that have no effect for the same reason.
pub struct Accepted {
    names: &'static str,
    /// Accepted values; any if empty. Other values would request an effect that nandscope does not have.
    pub values: &'static [&'static str],
    /// Reason why the options have no effect.
    pub reason: &'static str,
    /// Whether a notice is given, because fio's results would depend on the option.
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

/// Options on whose effect a user of fio may rely: a notice says that they have none.
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
const OWN_ENGINE: &str = "nandscope has its own engine";
const OWN_FILE: &str =
    "the target is one device or file, open all the time; no job files are created";
const OWN_STATS: &str =
    "the result always has all latencies, series, counters and errors, with units";
const OWN_LOGS: &str = "logs are uncompressed and grow as needed";
const OWN_THREADS: &str = "nandscope decides how clones run";
const GIVEN_TARGET: &str = "the command line gives the target";
const NO_CACHE: &str = "the page cache is bypassed";
const EACH_COMPLETION: &str = "each completion is processed at once";

/// All accepted options without effect, in groups.
pub const ACCEPTED: &[Accepted] = &[
    accepted("mem lockmem iomem_align hugepage-size", ANY, OWN_ENGINE),
    accepted(
        "io_submit_mode",
        ANY,
        "rates do not wait for completions, as with `offload`",
    ),
    said(
        "hipri hipri_percentage fixedbufs registerfiles sqthread_poll sqthread_poll_cpu nonvectored \
         uncached nowait force_async userspace_reap cmd_type",
        "nandscope has its own engine (`--poll` polls)",
    ),
    accepted(
        "readfua",
        OFF,
        "neither the models nor Linux' block layer have reads that bypass the write buffer; fsync empties it",
    ),
    accepted(
        "sg_write_mode",
        &["write"],
        "the models have no SCSI commands that verify or repeat a block, and a plain write would measure something else",
    ),
    said(
        "prio prioclass cmdprio_percentage cmdprio cmdprio_class cmdprio_split cmdprio_bssplit \
         write_hint ioscheduler numa_cpu_nodes numa_mem_policy cgroup cgroup_nodelete cgroup_weight \
         uid gid gtod_cpu",
        "the model has no host kernel; on a real target set it outside of the job",
    ),
    accepted("directory", ANY, GIVEN_TARGET),
    accepted("invalidate", ANY, NO_CACHE),
    accepted("fadvise_hint", ANY, NO_CACHE),
    accepted(
        "overwrite fallocate create_serialize create_fsync allow_file_create unlink",
        ANY,
        OWN_FILE,
    ),
    accepted("create_on_open opendir unlink_each_loop", ANY, OWN_FILE),
    accepted("file_append", ANY, OWN_FILE),
    accepted(
        "fill_device",
        ANY,
        "without a size, the region ends with the target",
    ),
    accepted("openfiles", ANY, OWN_FILE),
    accepted("allrandrepeat", ANY, "the seed of the run decides"),
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
        "a pause begins when all operations are complete, so both counts are equal",
    ),
    accepted("thinktime_spin", ANY, OWN_THREADS),
    accepted("clocksource", ANY, "the target has its own clock"),
    accepted(
        "thread threads nice cpumask cpus_allowed_policy",
        ANY,
        OWN_THREADS,
    ),
    accepted(
        "disable_lat disable_clat disable_slat disable_bw_measurement bwavgtime iopsavgtime",
        ANY,
        OWN_STATS,
    ),
    accepted("gtod_reduce disable_iops", ANY, OWN_STATS),
    accepted("stats", ON, OWN_STATS),
    accepted("disk_util", ANY, OWN_STATS),
    accepted(
        "filename_format unique_filename lockfile",
        ANY,
        GIVEN_TARGET,
    ),
    accepted("log_entries", ANY, OWN_LOGS),
    accepted("log_compression log_compression_cpus", ANY, OWN_LOGS),
    accepted("log_store_compressed", OFF, OWN_LOGS),
    accepted(
        "log_unix_epoch log_alternate_epoch",
        OFF,
        "the clock of a simulated device has no date",
    ),
    accepted("error_dump", ANY, OWN_STATS),
    accepted("unit_base", ANY, OWN_STATS),
    accepted("verify_fatal", ANY, OWN_STATS),
    accepted(
        "flow_watermark verifysort verifysort_nr",
        ANY,
        "fio 3.33 ignores it as well",
    ),
    accepted(
        "experimental_verify",
        ANY,
        "data is always compared with the last write",
    ),
    accepted("verify_async verify_async_cpus", ANY, OWN_THREADS),
    accepted(
        "verify_state_save verify_state_load",
        ANY,
        "a job that only reads needs no saved state",
    ),
    accepted("replay_redirect", ANY, GIVEN_TARGET),
    accepted("atomic", OFF, "writes are plain"),
    accepted("pre_read", ANY, NO_CACHE),
];
