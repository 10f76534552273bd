//! Options of fio that are refused, each with what to do instead.

/// Options that are refused with the same remedy.
pub struct Refused {
    names: &'static str,
    /// What to do instead.
    pub remedy: &'static str,
}

impl Refused {
    /// fio's names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.names.split_whitespace()
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }
}

const fn refused(names: &'static str, remedy: &'static str) -> Refused {
    Refused { names, remedy }
}

/// All of them, in groups.
pub const REFUSED: &[Refused] = &[
    refused(
        "rate_min rate_iops_min rate_cycle rate_ignore_thinktime",
        "remove it and judge the result instead",
    ),
    refused(
        "latency_target latency_window latency_percentile latency_run",
        "run the job at several depths instead (`--set iodepth=N`)",
    ),
    refused(
        "steadystate steadystate_duration steadystate_ramp_time",
        "use the steady-state suite, or a fixed runtime",
    ),
    refused(
        "write_barrier",
        "Linux has had no barrier writes since 2.6.37: use fsync or sync",
    ),
    refused(
        "sync_file_range",
        "it works on the page cache, which is bypassed: use fsync or fdatasync",
    ),
    refused("wait_for", "use stonewall"),
    refused(
        "exit_what exitall_on_error",
        "remove it: jobs end by themselves",
    ),
    refused(
        "filename_format unique_filename lockfile",
        "use size and offset on the one target",
    ),
    refused(
        "create_only allow_mounted_write",
        "remove it: the command line decides about the target",
    ),
    refused("verify_only", "write a job that only reads, with verify"),
    refused(
        "write_iolog read_iolog_chunked merge_blktrace_file merge_blktrace_scalars \
         merge_blktrace_iters",
        "prepare the trace beforehand",
    ),
    refused(
        "log_hist_msec log_hist_coarseness write_hist_log log_alternate_epoch_clock_id",
        "remove it: the result holds histograms and series",
    ),
    refused(
        "block_error_percentiles",
        "read the error counts from the result",
    ),
    refused(
        "zonecapacity read_beyond_wp max_open_zones \
         job_max_open_zones ignore_zone_limits zone_reset_threshold zone_reset_frequency",
        "zoned block devices are not supported; for a skewed load use random_distribution=zoned",
    ),
    refused(
        "flow flow_id flow_sleep",
        "use rate limits to keep jobs in proportion",
    ),
    refused(
        "exec_prerun exec_postrun",
        "a job file starts no programs here: run them yourself",
    ),
    refused("profile ignore_error", "remove it"),
    refused(
        "cpuload cpuchunks uri hostname port listen clientname pool rbdname clustername",
        "it belongs to an engine that does no I/O on a block device",
    ),
];
