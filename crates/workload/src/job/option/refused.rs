//! Options of fio that are refused, each with an alternative.

/// Options that are refused with the same remedy.
pub struct Refused {
    names: &'static str,
    /// Alternative.
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

/// All refused options, in groups.
pub const REFUSED: &[Refused] = &[
    refused(
        "write_barrier",
        "Linux has had no barrier writes since 2.6.37: use fsync or sync",
    ),
    refused(
        "sync_file_range",
        "it works on the page cache, which is bypassed: use fsync or fdatasync",
    ),
    refused(
        "create_only allow_mounted_write",
        "remove it: the command line decides about the target",
    ),
    refused(
        "read_iolog_chunked merge_blktrace_file merge_blktrace_scalars \
         merge_blktrace_iters",
        "prepare the trace beforehand",
    ),
    refused(
        "log_alternate_epoch_clock_id",
        "remove it: the clock of a simulated device has no date",
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
        "exec_prerun exec_postrun",
        "a job file starts no programs here: run them yourself",
    ),
    refused(
        "profile device-names test-duration threads-per-queue read-req-num-512-blocks large-block-op-kbytes prep",
        "profiles of fio make jobs of their own: write these jobs in the file",
    ),
    refused(
        "cpuload cpuchunks uri hostname port listen clientname pool rbdname clustername",
        "it belongs to an engine that does no I/O on a block device",
    ),
];
