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
        "rate_min rate_iops_min rate_cycle",
        "remove it and judge the result instead",
    ),
    refused(
        "rate_ignore_thinktime thinktime_iotime",
        "use rate or thinktime with thinktime_blocks",
    ),
    refused(
        "max_latency",
        "remove it and read the maximum from the result",
    ),
    refused(
        "latency_target latency_window latency_percentile latency_run",
        "run the job at several depths instead",
    ),
    refused(
        "steadystate steadystate_duration steadystate_ramp_time",
        "use the steady-state suite",
    ),
    refused("write_barrier sync_file_range", "use fsync or fdatasync"),
    refused("wait_for", "use stonewall"),
    refused(
        "exit_what exitall_on_error",
        "remove it: jobs end by themselves",
    ),
    refused(
        "filesize filename_format unique_filename opendir lockfile unlink_each_loop",
        "use size and offset on the one target",
    ),
    refused(
        "create_only allow_mounted_write",
        "remove it: the command line decides about the target",
    ),
    refused(
        "buffer_pattern buffer_compress_chunk dedupe_mode dedupe_working_set_percentage \
         dedupe_global",
        "remove it: writes carry fresh incompressible data",
    ),
    refused(
        "verify_only verify_interval verify_offset verify_pattern verify_dump verify_async \
         verify_async_cpus verify_backlog verify_backlog_batch experimental_verify \
         verify_state_load verify_state_save trim_percentage trim_verify_zero trim_backlog \
         trim_backlog_batch",
        "use verify and do_verify alone",
    ),
    refused(
        "write_iolog read_iolog_chunked replay_skip merge_blktrace_file \
         merge_blktrace_scalars merge_blktrace_iters",
        "prepare the trace beforehand",
    ),
    refused(
        "log_entries log_hist_msec log_hist_coarseness write_hist_log log_offset log_prio \
         log_compression log_compression_cpus log_store_compressed log_unix_epoch \
         log_alternate_epoch log_alternate_epoch_clock_id",
        "remove it: the result holds histograms and series",
    ),
    refused(
        "block_error_percentiles",
        "read the error counts from the result",
    ),
    refused(
        "zonesize zonecapacity zonerange zoneskip read_beyond_wp max_open_zones \
         job_max_open_zones ignore_zone_limits zone_reset_threshold zone_reset_frequency",
        "zoned devices are not supported; for a skewed load use random_distribution=zoned",
    ),
    refused(
        "prio prioclass write_hint ioscheduler numa_cpu_nodes numa_mem_policy cgroup \
         cgroup_nodelete cgroup_weight uid gid gtod_cpu hugepage-size",
        "set it outside of the job, or remove it",
    ),
    refused(
        "flow flow_id flow_sleep",
        "use rate limits to keep jobs in proportion",
    ),
    refused(
        "exec_prerun exec_postrun profile error_dump ignore_error",
        "remove it",
    ),
    refused(
        "hipri hipri_percentage fixedbufs registerfiles sqthread_poll sqthread_poll_cpu \
         nonvectored uncached nowait force_async userspace_reap cmdprio_percentage cmdprio \
         cmd_type readfua writefua sg_write_mode cpuload cpuchunks uri",
        "remove it: it belongs to one of fio's engines, and the engine is nandscope's own",
    ),
];
