//! A parsed job with every option in typed form. Parsing and writing are done elsewhere; programs may build a job from
//! [`Job::new`].

use super::data::WriteData;
use super::extent::Extent;
use super::files::Files;
use super::kinds::PerKind;
use super::relation::Relation;
use super::verify::Verify;
use crate::trace::BlockEvent;
use crate::{OpKind, Pacing};
use nandscope_units::Nanos;
use std::collections::BTreeMap;

/// Percentiles that fio reports by default.
pub const DEFAULT_PERCENTILES: [f64; 17] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95,
    99.99,
];

/// One job of a job file.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Name of the section, or the option `name`.
    pub name: String,
    /// Number among the jobs of the file, from 0, so that jobs with equal options get different random sequences.
    pub ordinal: u32,
    /// Number of the first clone among all threads of the file, from 1.
    pub first_thread: u32,
    /// `description`.
    pub description: Option<String>,
    /// `rw`.
    pub rw: Rw,
    /// `bs`, `bsrange`, `bssplit`.
    pub bs: PerKind<BlockSizes>,
    /// `blockalign`; `None` is the smallest block size of the direction.
    pub block_align: PerKind<Option<u32>>,
    /// `size`; `None` is the rest of the target after the offset.
    pub size: Option<Extent>,
    /// `io_size`: total amount to transfer; a percentage is one of `size`. `None` is `size`.
    pub io_size: Option<Extent>,
    /// `offset`; a percentage is rounded up to whole blocks.
    pub offset: Extent,
    /// `offset_align`: granularity to which a percentage is rounded up; `None` is the smallest block size.
    pub offset_align: Option<u32>,
    /// `offset_increment`: clone n starts n times this further on.
    pub offset_increment: Extent,
    /// `number_ios`: stop after this many reads, writes and trims.
    pub number_ios: Option<u64>,
    /// `rwmixread`, percent.
    pub rwmix_read: u32,
    /// `percentage_random`, percent.
    pub percentage_random: PerKind<u32>,
    /// `random_distribution`.
    pub distribution: Distribution,
    /// Whether each random block is used once per pass; false with `norandommap`.
    pub random_map: bool,
    /// `randseed`; `None` takes the seed of the run.
    pub rand_seed: Option<u64>,
    /// `random_generator`: draw the sequences of fio; `None` draws those of nandscope.
    pub generator: Option<RandomGenerator>,
    /// False with `randrepeat=0`: the sequences of fio follow from the seed.
    pub rand_repeat: bool,
    /// `fsync`: flush after this many writes; 0 is never.
    pub fsync: u64,
    /// `fdatasync`: number of writes between two such flushes; 0 for none.
    pub fdatasync: u64,
    /// `end_fsync`: flush at the end of each run over the region.
    pub end_fsync: bool,
    /// `fsync_on_close`: flush at the end.
    pub fsync_on_close: bool,
    /// `writefua`: writes are durable on completion, as with `sync`.
    pub write_fua: bool,
    /// Queue depth, times, rates: `iodepth`, `runtime`, `rate`, `thinktime`, …
    pub pacing: Pacing,
    /// `thinktime_blocks`; `None` if not given.
    pub think_blocks: Option<u32>,
    /// `numjobs`: number of clones that run in parallel, at least 1.
    pub numjobs: u32,
    /// `group_reporting`: clones are reported together.
    pub group_reporting: bool,
    /// `new_group`: this job and its successors are reported separately from earlier jobs.
    pub new_group: bool,
    /// `stonewall`: starts when the jobs before it have ended.
    pub stonewall: bool,
    /// Logs to write.
    pub logs: Logs,
    /// `percentile_list`, ascending.
    pub percentiles: Vec<f64>,
    /// Latencies that fio's output formats show.
    pub shown: Shown,
    /// `unified_rw_reporting`.
    pub unified_rw: UnifiedRw,
    /// `verify` and `do_verify`.
    pub verify: Verify,
    /// Contents of writes: `buffer_pattern`, `dedupe_percentage` and the like.
    pub data: WriteData,
    /// `read_iolog`: replay a trace instead of the pattern.
    pub trace: Option<TraceRef>,
    /// `nandscope_fullness`: fill the device to this percentage before the job.
    pub fullness_percent: Option<u32>,
    /// `zonemode=strided` with its sizes.
    pub strides: Option<StridedZones>,
    /// End of a range of `startdelay`, from which each clone draws its delay.
    pub latest_start: Option<Nanos>,
    /// `filename`, `nrfiles`, `filesize`, `file_service_type`.
    pub files: Files,
    /// `bs_is_seq_rand`: block sizes of reads and writes are those of sequential and random operations.
    pub sizes_by_order: bool,
    /// `wait_for`, `flow`, `exitall` and related options.
    pub relation: Relation,
    /// `iodepth_batch`: number of operations submitted together; 0 is the queue depth.
    pub batch: u32,
    /// `iodepth_batch_complete_min`: completions waited for once the queue is full.
    pub complete_min: u32,
    /// `iodepth_low`: number of outstanding operations at which a full queue is refilled; 0 is the queue depth.
    pub depth_low: u32,
    /// `ioengine`: fio's I/O engine. Affects only the queue depth: synchronous engines have 1.
    pub engine: Option<String>,
    /// `direct`, or the opposite of `buffered`; `None` if not given.
    pub direct: Option<bool>,
    /// `cpus_allowed`: processors of a real target's threads, ascending; empty is any.
    pub cpus_allowed: Vec<u32>,
    /// `continue_on_error`.
    pub continue_on_error: ContinueOnError,
    /// `ignore_error`: error numbers after which reads, writes and verification continue, instead of the default I/O
    /// errors.
    pub ignored_errors: [Vec<u32>; 3],
    /// Options that were accepted without effect, as written; docs/job-options.csv gives the reasons.
    pub without_effect: BTreeMap<String, String>,
    /// Position of the job in its file.
    pub origin: Origin,
}

impl Job {
    /// A job with fio's defaults: sequential reads of 4 KiB over the whole target, one at a time.
    pub fn new(name: impl Into<String>) -> Self {
        Job {
            name: name.into(),
            ordinal: 0,
            first_thread: 1,
            description: None,
            rw: Rw::default(),
            bs: PerKind::all(BlockSizes::Fixed(4096)),
            block_align: PerKind::all(None),
            size: None,
            io_size: None,
            offset: Extent::ZERO,
            offset_align: None,
            offset_increment: Extent::ZERO,
            number_ios: None,
            rwmix_read: 50,
            percentage_random: PerKind::all(100),
            distribution: Distribution::Uniform,
            random_map: true,
            rand_seed: None,
            generator: None,
            rand_repeat: true,
            fsync: 0,
            fdatasync: 0,
            end_fsync: false,
            fsync_on_close: false,
            write_fua: false,
            pacing: Pacing::default(),
            think_blocks: None,
            numjobs: 1,
            group_reporting: false,
            new_group: false,
            stonewall: false,
            logs: Logs::default(),
            percentiles: DEFAULT_PERCENTILES.to_vec(),
            shown: Shown::default(),
            unified_rw: UnifiedRw::None,
            verify: Verify::default(),
            data: WriteData::default(),
            trace: None,
            fullness_percent: None,
            strides: None,
            latest_start: None,
            files: Files::default(),
            sizes_by_order: false,
            relation: Relation::default(),
            batch: 1,
            complete_min: 1,
            depth_low: 0,
            engine: None,
            direct: None,
            cpus_allowed: Vec::new(),
            continue_on_error: ContinueOnError::None,
            ignored_errors: Default::default(),
            without_effect: BTreeMap::new(),
            origin: Origin::default(),
        }
    }

    /// The smallest block of any direction that occurs.
    pub fn min_block(&self) -> u32 {
        self.rw
            .kinds()
            .iter()
            .map(|k| self.bs.get(*k).min())
            .min()
            .unwrap_or(4096)
    }
}

/// File and lines from which a job was read. It has no influence on the equality of jobs.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// Name of the file, as given by the caller; empty for a job built by a program.
    pub file: String,
    /// The line of the section.
    pub line: usize,
    /// Line of each given option, by its main name, including global options.
    pub options: BTreeMap<String, usize>,
    /// Notices on how the job was understood.
    pub notices: Vec<String>,
}

impl PartialEq for Origin {
    fn eq(&self, _: &Origin) -> bool {
        true
    }
}

/// `rw`: kinds of operations, and order of their offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rw {
    /// Reads, writes, trims, or a mix of two of them.
    pub access: Access,
    /// Whether offsets are random.
    pub random: bool,
    /// Number after the colon: for random offsets, the number of operations at each; for sequential ones, the number of
    /// bytes skipped between two operations.
    pub modifier: Option<u64>,
    /// Whether the `modifier` goes back by its bytes, from the end of the region on (`rw=read:-8k`).
    pub backwards: bool,
    /// `rw_sequencer=identical`: operations after a random offset repeat it.
    pub identical: bool,
}

impl Default for Rw {
    fn default() -> Self {
        Rw {
            access: Access::Read,
            random: false,
            modifier: None,
            backwards: false,
            identical: false,
        }
    }
}

impl Rw {
    /// The directions that occur.
    pub fn kinds(&self) -> &'static [OpKind] {
        match self.access {
            Access::Read => &[OpKind::Read],
            Access::Write => &[OpKind::Write],
            Access::Trim => &[OpKind::Trim],
            Access::ReadWrite => &[OpKind::Read, OpKind::Write],
            Access::TrimWrite => &[OpKind::Trim, OpKind::Write],
        }
    }
}

/// `zonemode=strided`: zones between which a job moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StridedZones {
    /// Whether `zonemode=strided` is given, without which the sizes have no effect.
    pub is_on: bool,
    /// `zonesize`: bytes of I/O in a zone before the next one.
    pub size: u64,
    /// `zonerange`: bytes of a zone; `None` is `size`.
    pub range: Option<u64>,
    /// `zoneskip`: bytes between two zones.
    pub skip: u64,
}

/// Directions of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Only reads.
    Read,
    /// Only writes.
    Write,
    /// Only trims.
    Trim,
    /// Reads and writes, mixed.
    ReadWrite,
    /// Each block is trimmed, then written.
    TrimWrite,
}

/// Sizes of operations, in bytes; all multiples of 512.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockSizes {
    /// One size, bytes.
    Fixed(u32),
    /// Uniform from `min` to `max`, rounded down to multiples of `min`.
    Range {
        /// Smallest size, bytes.
        min: u32,
        /// Largest size, bytes.
        max: u32,
    },
    /// Sizes in bytes with their shares in percent; the shares sum to 100.
    Split(Vec<(u32, u32)>),
}

impl BlockSizes {
    /// Smallest block size, bytes.
    pub fn min(&self) -> u32 {
        match self {
            BlockSizes::Fixed(size) => *size,
            BlockSizes::Range { min, .. } => *min,
            BlockSizes::Split(parts) => parts.iter().map(|p| p.0).min().unwrap_or(512),
        }
    }

    /// Largest block size, bytes.
    pub fn max(&self) -> u32 {
        match self {
            BlockSizes::Fixed(size) => *size,
            BlockSizes::Range { max, .. } => *max,
            BlockSizes::Split(parts) => parts.iter().map(|p| p.0).max().unwrap_or(512),
        }
    }
}

/// `random_distribution`: popularity of the parts of the region.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// All blocks with equal probability.
    Uniform,
    /// The block of rank k is used in proportion to k^−theta.
    Zipf {
        /// Exponent, from 0 (all ranks alike) and not 1.
        theta: f64,
        /// Position of the most used block as a share of the region; `None` is a random one.
        centre: Option<f64>,
    },
    /// Rank n·u^(ln h / ln(1−h)) for uniform u: the share h of the region gets the share 1−h of the accesses (h=0.2: 80/20).
    Pareto {
        /// Pareto power, between 0 and 1.
        h: f64,
        /// Position of the most used block, as for `Zipf`.
        centre: Option<f64>,
    },
    /// Ranks by a normal distribution around the middle one; as for `Zipf`, ranks are spread over the region.
    Normal {
        /// Standard deviation, percent of the ranks.
        deviation: f64,
        /// Position of the most used block, as for `Zipf`.
        centre: Option<f64>,
    },
    /// Consecutive zones, each with its share of the accesses.
    Zoned(Vec<Zone>),
}

impl Distribution {
    /// Whether all blocks are alike.
    pub fn is_uniform(&self) -> bool {
        *self == Distribution::Uniform
    }
}

/// One zone of [`Distribution::Zoned`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Share of the accesses, percent; the shares of all zones sum to 100.
    pub access: u32,
    /// Length of the zone; a percentage is one of the region.
    pub extent: Extent,
}

/// Logs requested by the job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Logs {
    /// `write_bw_log`: prefix of the file name; empty takes the name of the job.
    pub bandwidth: Option<String>,
    /// `write_iops_log`.
    pub iops: Option<String>,
    /// `write_lat_log`.
    pub latency: Option<String>,
    /// `log_avg_msec`: mean over this time; zero is every operation.
    pub interval: Nanos,
    /// `log_offset`: a column of offsets.
    pub offsets: bool,
    /// `log_prio`: priorities in hexadecimal.
    pub priorities: bool,
    /// `log_max_value`: the largest value of each interval instead of the mean.
    pub largest: bool,
    /// `write_hist_log`.
    pub histogram: Option<String>,
    /// `log_hist_msec`: time between two histograms; zero for no histograms.
    pub histogram_interval: Nanos,
    /// `log_hist_coarseness`: 2 to this power bins are added up, 0 to 6.
    pub coarseness: u32,
    /// `per_job_logs=0`: threads share the files of their logs of values and histograms.
    pub shared: bool,
    /// `write_iolog`: file of the operations, as a trace in fio's format.
    pub operations: Option<String>,
}

impl Logs {
    /// Whether any log is requested.
    pub fn any(&self) -> bool {
        self.has_values() || self.histogram.is_some() || self.operations.is_some()
    }

    /// Whether a log of bandwidth, operations per second or latency is requested.
    pub fn has_values(&self) -> bool {
        let logs = [&self.bandwidth, &self.iops, &self.latency];
        logs.into_iter().any(Option::is_some)
    }
}

/// `random_generator`: the generators of fio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RandomGenerator {
    /// Combined Tausworthe generator with 32 bits.
    Tausworthe,
    /// The Tausworthe generator with 64 bits.
    Tausworthe64,
    /// Linear feedback shift register for offsets, which draws every block once; `Tausworthe` for all else.
    Lfsr,
}

/// Latencies of a job that fio's output formats show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// `slat_percentiles`.
    pub submission: bool,
    /// `clat_percentiles`.
    pub completion: bool,
    /// `lat_percentiles`.
    pub total: bool,
    /// `significant_figures`.
    pub digits: u32,
}

impl Default for Shown {
    fn default() -> Self {
        Shown {
            submission: false,
            completion: true,
            total: false,
            digits: 4,
        }
    }
}

/// `unified_rw_reporting`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnifiedRw {
    /// Directions are reported separately.
    #[default]
    None,
    /// Directions are reported together.
    Mixed,
    /// Directions are reported separately, with their sum.
    Both,
}

/// `continue_on_error`: the failures that do not end a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContinueOnError {
    /// The first failed operation ends the job.
    #[default]
    None,
    /// Failed reads.
    Read,
    /// Failed writes.
    Write,
    /// Failed operations of any kind.
    Io,
    /// Mismatches of `verify`.
    Verify,
    /// All failures.
    All,
}

/// A trace to replay. This crate does not open it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceRef {
    /// `read_iolog`.
    pub path: String,
    /// `nandscope_trace_format`; `None` detects it by content.
    pub format: Option<String>,
    /// `replay_no_stall`: as fast as the target allows, without the recorded times.
    pub no_stall: bool,
    /// `replay_time_scale`, percent: 200 leaves half as much time between operations.
    pub time_scale_percent: u32,
    /// `replay_scale`: offsets are divided by this.
    pub offset_divisor: u64,
    /// `nandscope_trace_device`: only the requests of this device of the trace.
    pub device: Option<String>,
    /// `nandscope_trace_event`: event of blkparse's text that counts as the request.
    pub event: BlockEvent,
    /// `replay_skip`: kinds of requests that are left out.
    pub skip: Vec<OpKind>,
    /// `nandscope_trace_sort`: records out of order are sorted.
    pub sort: bool,
    /// `replay_align`: offsets are rounded down to this.
    pub align: Option<u32>,
}

impl TraceRef {
    /// A trace with fio's defaults.
    pub fn new(path: impl Into<String>) -> Self {
        TraceRef {
            path: path.into(),
            format: None,
            no_stall: false,
            time_scale_percent: 100,
            offset_divisor: 1,
            align: None,
            device: None,
            event: BlockEvent::default(),
            sort: false,
            skip: Vec::new(),
        }
    }
}
