//! What every option of fio 3.33 means here: supported, accepted without effect, or refused and
//! why. docs/jobs.md shows the same tables; a test keeps them in step.

/// An option that is accepted although it changes nothing here.
#[derive(Clone, Copy, Debug)]
pub struct Inert {
    /// fio's name.
    pub name: &'static str,
    /// Values for which it is true that nothing changes; empty where any is.
    pub only: &'static [&'static str],
    /// Why nothing changes.
    pub reason: &'static str,
}

const fn inert(name: &'static str, only: &'static [&'static str], reason: &'static str) -> Inert {
    Inert { name, only, reason }
}

const OWN_FILE: &str = "the target is a whole device or one given file; no job files are made";
const OWN_STATS: &str = "the result always holds all latencies and series";
const OWN_ENGINE: &str = "the engine is nandscope's own, for simulated and real targets";
const OWN_DATA: &str = "writes carry fresh incompressible data";
const ONE_PROCESS: &str = "how clones are run is the runner's business";
const OFF: &[&str] = &["0"];
const ON: &[&str] = &["1"];
const ANY: &[&str] = &[];

/// Options that are accepted and change nothing, with the reason.
pub const INERT: &[Inert] = &[
    inert("ioengine", ANY, OWN_ENGINE),
    inert("filename", ANY, "the target is given on the command line"),
    inert("directory", ANY, "the target is given on the command line"),
    inert("direct", ON, "the page cache is always bypassed"),
    inert("buffered", OFF, "the page cache is always bypassed"),
    inert("invalidate", ANY, "there is no page cache to invalidate"),
    inert("sync", &["0", "none"], "writes are not synchronous"),
    inert("thread", ANY, ONE_PROCESS),
    inert("overwrite", ANY, OWN_FILE),
    inert("fallocate", ANY, OWN_FILE),
    inert("fadvise_hint", ANY, "there is no page cache to advise"),
    inert("create_serialize", ANY, OWN_FILE),
    inert("create_fsync", ANY, OWN_FILE),
    inert("create_on_open", OFF, OWN_FILE),
    inert("allow_file_create", ANY, OWN_FILE),
    inert("file_append", OFF, OWN_FILE),
    inert("fill_device", OFF, "the size is that of the region"),
    inert("unlink", ANY, OWN_FILE),
    inert("nrfiles", ON, "there is one target"),
    inert("openfiles", ANY, "there is one target"),
    inert("file_service_type", ANY, "there is one target"),
    inert(
        "randrepeat",
        ANY,
        "the seed of the run decides, and is in the result",
    ),
    inert(
        "allrandrepeat",
        ANY,
        "the seed of the run decides, and is in the result",
    ),
    inert(
        "random_generator",
        &["tausworthe", "tausworthe64"],
        "xoshiro256++ takes its place",
    ),
    inert("refill_buffers", ANY, OWN_DATA),
    inert("scramble_buffers", ANY, OWN_DATA),
    inert("zero_buffers", OFF, OWN_DATA),
    inert("buffer_compress_percentage", OFF, OWN_DATA),
    inert("dedupe_percentage", OFF, OWN_DATA),
    inert("softrandommap", OFF, "a map that does not fit is an error"),
    inert("bs_unaligned", OFF, "all sizes are whole sectors"),
    inert("bs_is_seq_rand", OFF, "sizes go by direction"),
    inert(
        "iodepth_batch",
        ON,
        "each operation is submitted as soon as there is room",
    ),
    inert(
        "iodepth_batch_complete_min",
        ON,
        "each completion is taken as it comes",
    ),
    inert(
        "iodepth_batch_complete_max",
        ANY,
        "each completion is taken as it comes",
    ),
    inert("io_submit_mode", &["inline"], OWN_ENGINE),
    inert(
        "serialize_overlap",
        OFF,
        "overlapping operations are not held back",
    ),
    inert(
        "rate_process",
        &["linear"],
        "rates are kept on an even schedule",
    ),
    inert(
        "thinktime_blocks_type",
        &["complete"],
        "completed operations are counted",
    ),
    inert(
        "thinktime_spin",
        OFF,
        "the processor is not part of the model",
    ),
    inert("clocksource", ANY, "the target has its own clock"),
    inert("mem", ANY, OWN_ENGINE),
    inert("lockmem", ANY, OWN_ENGINE),
    inert("nice", ANY, ONE_PROCESS),
    inert(
        "cpus_allowed",
        ANY,
        "a simulated device has no processors; on a real target the threads keep to these",
    ),
    inert("cpumask", ANY, ONE_PROCESS),
    inert("cpus_allowed_policy", ANY, ONE_PROCESS),
    inert("gtod_reduce", OFF, OWN_STATS),
    inert("disable_lat", ANY, OWN_STATS),
    inert("disable_clat", ANY, OWN_STATS),
    inert("disable_slat", ANY, OWN_STATS),
    inert("disable_bw_measurement", ANY, OWN_STATS),
    inert("clat_percentiles", ANY, OWN_STATS),
    inert("lat_percentiles", ANY, OWN_STATS),
    inert("slat_percentiles", ANY, OWN_STATS),
    inert("significant_figures", ANY, OWN_STATS),
    inert("disk_util", ANY, "the result has counters of its own"),
    inert("stats", ON, OWN_STATS),
    inert("bwavgtime", ANY, OWN_STATS),
    inert("iopsavgtime", ANY, OWN_STATS),
    inert("per_job_logs", ANY, "logs are named after their job"),
    inert("log_max_value", OFF, "logs hold means"),
    inert("unit_base", ANY, "the report names its units"),
    inert(
        "verify_fatal",
        ANY,
        "every mismatch is counted and reported",
    ),
    inert(
        "replay_redirect",
        ANY,
        "a trace is always replayed on the one target",
    ),
    inert("zonemode", &["none"], "there are no zones"),
    inert("atomic", OFF, "writes are plain"),
    inert("pre_read", OFF, "nothing is read before the job"),
    inert("exitall", OFF, "jobs end by themselves"),
    inert(
        "continue_on_error",
        ANY,
        "failed operations are counted, and the job goes on",
    ),
];

/// Options of fio that are not honoured, in groups, each with what to do instead.
pub const REFUSED: &[(&[&str], &str)] = &[
    (
        &["iodepth_low"],
        "remove it: the queue is refilled after every completion",
    ),
    (
        &["rate_min", "rate_iops_min", "rate_cycle"],
        "remove it and judge the result instead",
    ),
    (
        &["rate_ignore_thinktime", "thinktime_iotime"],
        "use rate or thinktime with thinktime_blocks",
    ),
    (
        &["max_latency"],
        "remove it and read the maximum from the result",
    ),
    (
        &[
            "latency_target",
            "latency_window",
            "latency_percentile",
            "latency_run",
        ],
        "run the job at several depths instead",
    ),
    (
        &[
            "steadystate",
            "steadystate_duration",
            "steadystate_ramp_time",
        ],
        "use the steady-state suite",
    ),
    (
        &["write_barrier", "sync_file_range"],
        "use fsync or fdatasync",
    ),
    (&["wait_for"], "use stonewall"),
    (
        &["exit_what", "exitall_on_error"],
        "remove it: jobs end by themselves",
    ),
    (
        &[
            "filesize",
            "filename_format",
            "unique_filename",
            "opendir",
            "lockfile",
            "unlink_each_loop",
        ],
        "use size and offset on the one target",
    ),
    (
        &["create_only", "allow_mounted_write"],
        "remove it: the command line decides about the target",
    ),
    (
        &[
            "buffer_pattern",
            "buffer_compress_chunk",
            "dedupe_mode",
            "dedupe_working_set_percentage",
            "dedupe_global",
        ],
        "remove it: writes carry fresh incompressible data",
    ),
    (
        &[
            "verify_only",
            "verify_interval",
            "verify_offset",
            "verify_pattern",
            "verify_dump",
            "verify_async",
            "verify_async_cpus",
            "verify_backlog",
            "verify_backlog_batch",
            "experimental_verify",
            "verify_state_load",
            "verify_state_save",
            "trim_percentage",
            "trim_verify_zero",
            "trim_backlog",
            "trim_backlog_batch",
        ],
        "use verify and do_verify alone",
    ),
    (
        &[
            "write_iolog",
            "read_iolog_chunked",
            "replay_skip",
            "merge_blktrace_file",
            "merge_blktrace_scalars",
            "merge_blktrace_iters",
        ],
        "prepare the trace beforehand",
    ),
    (
        &[
            "log_entries",
            "log_hist_msec",
            "log_hist_coarseness",
            "write_hist_log",
            "log_offset",
            "log_prio",
            "log_compression",
            "log_compression_cpus",
            "log_store_compressed",
            "log_unix_epoch",
            "log_alternate_epoch",
            "log_alternate_epoch_clock_id",
        ],
        "remove it: the result holds histograms and series",
    ),
    (
        &["block_error_percentiles"],
        "read the error counts from the result",
    ),
    (
        &[
            "zonesize",
            "zonecapacity",
            "zonerange",
            "zoneskip",
            "read_beyond_wp",
            "max_open_zones",
            "job_max_open_zones",
            "ignore_zone_limits",
            "zone_reset_threshold",
            "zone_reset_frequency",
        ],
        "zoned devices are not supported; for a skewed load use random_distribution=zoned",
    ),
    (
        &[
            "prio",
            "prioclass",
            "write_hint",
            "ioscheduler",
            "numa_cpu_nodes",
            "numa_mem_policy",
            "cgroup",
            "cgroup_nodelete",
            "cgroup_weight",
            "uid",
            "gid",
            "gtod_cpu",
            "hugepage-size",
        ],
        "set it outside of the job, or remove it",
    ),
    (
        &["flow", "flow_id", "flow_sleep"],
        "use rate limits to keep jobs in proportion",
    ),
    (
        &[
            "exec_prerun",
            "exec_postrun",
            "profile",
            "error_dump",
            "ignore_error",
        ],
        "remove it",
    ),
    (
        &[
            "hipri",
            "hipri_percentage",
            "fixedbufs",
            "registerfiles",
            "sqthread_poll",
            "sqthread_poll_cpu",
            "nonvectored",
            "uncached",
            "nowait",
            "force_async",
            "userspace_reap",
            "cmdprio_percentage",
            "cmdprio",
            "cmd_type",
            "readfua",
            "writefua",
            "sg_write_mode",
            "cpuload",
            "cpuchunks",
            "uri",
        ],
        "remove it: it belongs to one of fio's engines, and the engine is nandscope's own",
    ),
];

/// Options that are honoured, by their main names; extensions of ours are at the end.
pub const SUPPORTED: &[&str] = &[
    "name",
    "description",
    "rw",
    "rw_sequencer",
    "bs",
    "bsrange",
    "bssplit",
    "ba",
    "size",
    "io_size",
    "offset",
    "offset_align",
    "offset_increment",
    "number_ios",
    "iodepth",
    "numjobs",
    "group_reporting",
    "new_group",
    "stonewall",
    "runtime",
    "time_based",
    "ramp_time",
    "startdelay",
    "loops",
    "thinktime",
    "thinktime_blocks",
    "rate",
    "rate_iops",
    "rwmixread",
    "rwmixwrite",
    "percentage_random",
    "random_distribution",
    "norandommap",
    "randseed",
    "fsync",
    "fdatasync",
    "end_fsync",
    "fsync_on_close",
    "write_bw_log",
    "write_iops_log",
    "write_lat_log",
    "log_avg_msec",
    "percentile_list",
    "unified_rw_reporting",
    "verify",
    "do_verify",
    "kb_base",
    "read_iolog",
    "replay_no_stall",
    "replay_time_scale",
    "replay_scale",
    "replay_align",
    "nandscope_duty_cycle",
    "nandscope_fullness",
    "nandscope_idle_cap",
    "nandscope_trace_format",
];

/// Second names and the main ones they stand for.
pub const ALIASES: &[(&str, &str)] = &[
    ("readwrite", "rw"),
    ("blocksize", "bs"),
    ("blocksize_range", "bsrange"),
    ("blocksize_unaligned", "bs_unaligned"),
    ("blockalign", "ba"),
    ("io_limit", "io_size"),
    ("fileoffset", "offset"),
    ("wait_for_previous", "stonewall"),
    ("timeout", "runtime"),
    ("iodepth_batch_submit", "iodepth_batch"),
    ("iodepth_batch_complete", "iodepth_batch_complete_min"),
    ("nr_files", "nrfiles"),
    ("iomem", "mem"),
];

/// The main name of an option.
pub(crate) fn main_name(key: &str) -> &str {
    ALIASES
        .iter()
        .find(|(alias, _)| *alias == key)
        .map_or(key, |(_, main)| main)
}

/// The entry of an option that changes nothing.
pub(crate) fn inert_entry(name: &str) -> Option<&'static Inert> {
    INERT.iter().find(|entry| entry.name == name)
}

/// What to do instead of an option that is refused.
pub(crate) fn refusal(name: &str) -> Option<&'static str> {
    REFUSED
        .iter()
        .find(|(names, _)| names.contains(&name))
        .map(|(_, remedy)| *remedy)
}

/// The known option that is spelled most like `key`, where one is near enough.
pub(crate) fn nearest(key: &str) -> Option<&'static str> {
    if key.len() > 64 {
        return None;
    }
    let known = SUPPORTED
        .iter()
        .copied()
        .chain(ALIASES.iter().map(|a| a.0))
        .chain(INERT.iter().map(|i| i.name));
    let (distance, name) = known
        .map(|name| (strsim::osa_distance(key, name), name))
        .min_by_key(|(distance, _)| *distance)?;
    let allowed = (key.chars().count() / 3).clamp(1, 3);
    (distance <= allowed).then_some(name)
}
