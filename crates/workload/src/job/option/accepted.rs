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
    }
}

const OFF: &[&str] = &["0"];
const ON: &[&str] = &["1"];
const ANY: &[&str] = &[];
const OWN_ENGINE: &str = "the engine is nandscope's own, for simulated and real targets";
const OWN_FILE: &str = "the target is a whole device or one given file; no job files are made";
const OWN_DATA: &str = "writes carry fresh incompressible data";
const OWN_STATS: &str = "the result always holds all latencies and series";
const ONE_TARGET: &str = "there is one target";
const EACH_COMPLETION: &str = "each completion is taken as it comes";

/// All of them, in groups.
pub const ACCEPTED: &[Accepted] = &[
    accepted("mem lockmem", ANY, OWN_ENGINE),
    accepted("io_submit_mode", &["inline"], OWN_ENGINE),
    accepted(
        "filename directory",
        ANY,
        "the target is given on the command line",
    ),
    accepted("invalidate", ANY, "there is no page cache to invalidate"),
    accepted("fadvise_hint", ANY, "there is no page cache to advise"),
    accepted("sync", &["0", "none"], "writes are not synchronous"),
    accepted(
        "overwrite fallocate create_serialize create_fsync allow_file_create unlink",
        ANY,
        OWN_FILE,
    ),
    accepted("create_on_open file_append", OFF, OWN_FILE),
    accepted("fill_device", OFF, "the size is that of the region"),
    accepted("nrfiles", ON, ONE_TARGET),
    accepted("openfiles file_service_type", ANY, ONE_TARGET),
    accepted(
        "randrepeat allrandrepeat",
        ANY,
        "the seed of the run decides, and is in the result",
    ),
    accepted(
        "random_generator",
        &["tausworthe", "tausworthe64"],
        "xoshiro256++ takes its place",
    ),
    accepted("refill_buffers scramble_buffers", ANY, OWN_DATA),
    accepted(
        "zero_buffers buffer_compress_percentage dedupe_percentage",
        OFF,
        OWN_DATA,
    ),
    accepted("softrandommap", OFF, "a map that does not fit is an error"),
    accepted("bs_unaligned", OFF, "all sizes are whole sectors"),
    accepted("bs_is_seq_rand", OFF, "sizes go by direction"),
    accepted("iodepth_batch_complete_max", ANY, EACH_COMPLETION),
    accepted(
        "serialize_overlap",
        OFF,
        "overlapping operations are not held back",
    ),
    accepted(
        "rate_process",
        &["linear"],
        "rates are kept on an even schedule",
    ),
    accepted(
        "thinktime_blocks_type",
        &["complete"],
        "completed operations are counted",
    ),
    accepted(
        "thinktime_spin",
        OFF,
        "the processor is not part of the model",
    ),
    accepted("clocksource", ANY, "the target has its own clock"),
    accepted(
        "thread nice cpumask cpus_allowed_policy",
        ANY,
        "how clones are run is the runner's business",
    ),
    accepted(
        "disable_lat disable_clat disable_slat disable_bw_measurement clat_percentiles \
         lat_percentiles slat_percentiles significant_figures bwavgtime iopsavgtime",
        ANY,
        OWN_STATS,
    ),
    accepted("gtod_reduce", OFF, OWN_STATS),
    accepted("stats", ON, OWN_STATS),
    accepted("disk_util", ANY, "the result has counters of its own"),
    accepted("per_job_logs", ANY, "logs are named after their job"),
    accepted("log_max_value", OFF, "logs hold means"),
    accepted("unit_base", ANY, "the report names its units"),
    accepted(
        "verify_fatal",
        ANY,
        "every mismatch is counted and reported",
    ),
    accepted(
        "replay_redirect",
        ANY,
        "a trace is always replayed on the one target",
    ),
    accepted("zonemode", &["none"], "there are no zones"),
    accepted("atomic", OFF, "writes are plain"),
    accepted("pre_read", OFF, "nothing is read before the job"),
    accepted("exitall", OFF, "jobs end by themselves"),
];
