//! The result document: the one form in which every measurement ends, and the only thing that
//! reports, comparisons and inference read. It describes itself: what was asked, on what, with
//! which seed, what came out, and the units of every number.
//!
//! Versions: [`FORMAT_VERSION`] rises when an old reader could misread a new document. Within a
//! version fields are only added, each with `#[serde(default)]`, so that new readers take old
//! documents; old readers pass over fields they do not know. A reader refuses a newer version by
//! name. The JSON schema in `docs/result.schema.json` is generated from these types.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Value of [`ResultDocument::format`].
pub const FORMAT: &str = "nandscope-result";
/// The version that this build writes, and the newest it reads.
pub const FORMAT_VERSION: u32 = 1;

/// A whole measurement: one or many steps on one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ResultDocument {
    /// Always [`FORMAT`].
    pub format: String,
    /// See [`FORMAT_VERSION`].
    pub version: u32,
    /// Program and version that wrote the document, such as `nandscope 0.1.0`.
    pub generator: String,
    /// What was run: `review`, `run`, a suite's name.
    pub procedure: String,
    /// One line for the title of a report.
    pub title: String,
    /// Every random choice follows from this.
    pub seed: u64,
    /// What was measured.
    pub target: TargetInfo,
    /// The circumstances of the measurement; empty for a simulation.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Wall-clock facts; the only part that may differ between two runs of a simulation.
    #[serde(default)]
    pub wall: WallClock,
    /// True where every step ran to its end; false after an interruption or a failure.
    pub complete: bool,
    /// The steps, in the order in which they ran.
    pub steps: Vec<StepResult>,
    /// What follows from the steps: the numbers a reader looks for first.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// What a reader must know to trust the numbers.
    #[serde(default)]
    pub notices: Vec<Notice>,
}

impl ResultDocument {
    /// A document of this build in which nothing was measured yet, complete as long as nothing fails.
    pub fn begin(procedure: &str, title: String, seed: u64, target: TargetInfo) -> Self {
        ResultDocument {
            format: FORMAT.to_string(),
            version: FORMAT_VERSION,
            generator: concat!("nandscope ", env!("CARGO_PKG_VERSION")).to_string(),
            procedure: procedure.to_string(),
            title,
            seed,
            target,
            environment: BTreeMap::new(),
            wall: WallClock::default(),
            complete: true,
            steps: Vec::new(),
            figures: Vec::new(),
            notices: Vec::new(),
        }
    }
}

/// What was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TargetInfo {
    /// As given on the command line, such as `sim:sm2708-250gb`.
    pub name: String,
    /// `simulated`, `block device`, `file`, `directory`.
    pub kind: String,
    /// Model name.
    pub model: String,
    /// Addressable bytes.
    pub capacity_bytes: u64,
    /// What the link of a real device carries, bytes per second, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_bytes_per_s: Option<f64>,
    /// A paragraph about the device.
    #[serde(default)]
    pub description: String,
    /// SHA-256 of the profile text of a simulated device, hexadecimal.
    #[serde(default)]
    pub profile_sha256: Option<String>,
    /// What the device is made of, for the report's table of parameters.
    #[serde(default)]
    pub parameters: Vec<Parameter>,
    /// Where the parameters come from.
    #[serde(default)]
    pub sources: Vec<String>,
    /// Ways to attach the device that the procedure went through, such as `SD Express` and `UHS-I`.
    #[serde(default)]
    pub modes: Vec<ModeInfo>,
}

/// One way in which the device was attached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ModeInfo {
    /// Short name, referred to by [`StepResult::mode`].
    pub name: String,
    /// The chain from host to device in words, stage by stage.
    pub path: Vec<String>,
}

/// One parameter of a device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Parameter {
    /// Section of the profile, such as `nand.tlc`.
    pub group: String,
    /// Key within it.
    pub name: String,
    /// Value as text, with its unit.
    pub value: String,
    /// Why this value: source or reasoning.
    #[serde(default)]
    pub reason: String,
}

/// Wall-clock facts of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WallClock {
    /// RFC 3339 time at the start, where known.
    #[serde(default)]
    pub started: Option<String>,
    /// Seconds of wall time the run took.
    #[serde(default)]
    pub elapsed_s: Option<f64>,
}

/// One step of a procedure: a job file run, a folder copied, a format, an idle time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StepResult {
    /// Unique within the document, fit for a file name, such as `sde-cdm-fresh`.
    pub id: String,
    /// For people.
    pub title: String,
    /// The chapter of the report in which the step stands, such as `CrystalDiskMark`.
    pub section: String,
    /// Name of a [`ModeInfo`], where there are several.
    #[serde(default)]
    pub mode: Option<String>,
    /// What was done, in a sentence or two.
    #[serde(default)]
    pub description: String,
    /// Start on the target's clock, seconds.
    pub start_s: f64,
    /// End on the target's clock, seconds.
    pub end_s: f64,
    /// Why the step did not run to its end (an interruption, an error), where it did not.
    #[serde(default)]
    pub incomplete: Option<String>,
    /// The jobs that ran in this step, in order.
    #[serde(default)]
    pub jobs: Vec<JobResult>,
    /// What the instruments saw during the step.
    #[serde(default)]
    pub series: Vec<Series>,
    /// What was measured over a quantity that was varied, other than time.
    #[serde(default)]
    pub curves: Vec<Curve>,
    /// Differences of the device's own counters over the step, by name (units in the name).
    #[serde(default)]
    pub counters: BTreeMap<String, f64>,
    /// Numbers that follow from this step alone.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// What was measured crosswise, where neither a series nor a figure is the form for it.
    #[serde(default)]
    pub tables: Vec<DataTable>,
    /// Answers that follow from the step, each with its evidence.
    #[serde(default)]
    pub conclusions: Vec<Conclusion>,
    /// What stands out in the course of the step, in the order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
}

/// A place in the course of a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Mark {
    /// `cache exhausted`, `steady state`, `throttling`, `slower while hot`, `end of life`.
    pub kind: String,
    /// Where it begins, seconds on the target's clock.
    pub t_s: f64,
    /// Where it ends, where it does within the step.
    #[serde(default)]
    pub until_s: Option<f64>,
    /// What was found, in words.
    pub text: String,
}

/// A table of numbers: rows with a label, columns with a unit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DataTable {
    /// What the table holds.
    pub title: String,
    /// Heading of the column of labels.
    pub corner: String,
    /// The columns.
    pub columns: Vec<DataColumn>,
    /// The rows, in the order in which they were measured.
    pub rows: Vec<DataRow>,
}

/// One column of a [`DataTable`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DataColumn {
    /// Heading.
    pub name: String,
    /// Unit of its values; empty for counts.
    pub unit: String,
}

/// One row of a [`DataTable`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DataRow {
    /// What the row is about, such as `4 MiB`.
    pub label: String,
    /// A value for each column; `None` where nothing was measured.
    pub cells: Vec<Option<f64>>,
}

/// The answer to a question that a procedure asks of a device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Conclusion {
    /// Stable name for programs, such as `direct.align.allocation-unit`.
    pub id: String,
    /// The question in words, such as `Allocation unit`.
    pub question: String,
    /// The answer in words, such as `4 MiB`, `pass` or `cannot tell`.
    pub answer: String,
    /// The numbers on which it rests, and the conditions.
    pub evidence: String,
    /// Name of a [`ModeInfo`], where there are several.
    #[serde(default)]
    pub mode: Option<String>,
    /// For a test that is passed or failed: whether it was passed.
    #[serde(default)]
    pub passed: Option<bool>,
}

/// One job, or one group of jobs reported together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct JobResult {
    /// Name of the job's section in its file.
    pub name: String,
    /// The job as it was understood: option and value, in fio's names.
    pub options: BTreeMap<String, String>,
    /// Start on the target's clock, seconds.
    pub start_s: f64,
    /// Length of the measured part, seconds (a ramp is not measured).
    pub runtime_s: f64,
    /// Of the runtime: pauses that the job itself asked for (think time, duty cycle), mean over
    /// its threads, seconds. Bandwidth inside the bursts of a duty cycle is
    /// `bytes / (runtime_s - idle_s)`.
    #[serde(default)]
    pub idle_s: f64,
    /// Reads, writes, trims and flushes, those that occurred.
    pub directions: Vec<DirectionResult>,
    /// Operations that failed, by reason.
    #[serde(default)]
    pub errors: BTreeMap<String, u64>,
}

/// One kind of operation within a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DirectionResult {
    /// `read`, `write`, `trim` or `flush`.
    pub kind: String,
    /// Operations completed.
    pub operations: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Bytes per second over the runtime.
    pub bandwidth_bytes_per_s: f64,
    /// Operations per second over the runtime.
    pub iops: f64,
    /// From the instant an operation was due to its completion.
    pub latency: Latency,
    /// From the instant an operation was handed to the target to its completion, for jobs with a
    /// schedule (a rate limit, a trace with its own times); without one it equals `latency` and
    /// is left out.
    #[serde(default)]
    pub service: Option<Latency>,
}

/// A distribution of latencies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Latency {
    /// Smallest, nanoseconds.
    pub min_ns: u64,
    /// Largest, nanoseconds.
    pub max_ns: u64,
    /// Arithmetic mean, nanoseconds (exact, not from the histogram).
    pub mean_ns: f64,
    /// Standard deviation, nanoseconds.
    pub stddev_ns: f64,
    /// Percentile (such as `99.9`) and nanoseconds, ascending.
    pub percentiles: Vec<(f64, u64)>,
    /// All of it: HdrHistogram V2, base64, values in nanoseconds.
    pub histogram: String,
}

/// A quantity over time. `t_s[i]` is the end of interval i on the target's clock; `v[i]` the mean
/// over the interval (a rate) or the value at its end (a state).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Series {
    /// What is measured: `read bandwidth`, `write bandwidth`, `read IOPS`, `write IOPS`,
    /// `read latency`, `write latency`, `power`, `device temperature`, `surface temperature`,
    /// `throttle`, `SLC cache used`, …
    pub name: String,
    /// Unit of `v`: `MB/s`, `IOPS`, `µs`, `W`, `°C`, `%`, `GB`.
    pub unit: String,
    /// Length of an interval in seconds; 0 where irregular.
    pub interval_s: f64,
    /// Ends of the intervals, seconds on the target's clock.
    pub t_s: Vec<f64>,
    /// Values.
    pub v: Vec<f64>,
}

/// Unit of series that hold addresses at which something happened; reports draw them as points.
pub const ADDRESS_UNIT: &str = "MiB of address";

/// A quantity over another one that was varied, such as latency over fullness: `y[i]` was measured
/// at `x[i]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Curve {
    /// Unique among the curves of a step with the same `y_name`: what distinguishes it, such as
    /// `filled in order, with idle time`.
    pub name: String,
    /// What was varied, such as `fullness`.
    pub x_name: String,
    /// Unit of `x`.
    pub x_unit: String,
    /// What was measured, such as `mean latency`.
    pub y_name: String,
    /// Unit of `y`.
    pub y_unit: String,
    /// Places, ascending.
    pub x: Vec<f64>,
    /// Values.
    pub y: Vec<f64>,
    /// Where on the x axis it changes its course, where that was looked for and found.
    #[serde(default)]
    pub threshold: Option<f64>,
}

/// A number that a reader looks for, with its unit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Figure {
    /// Stable name for programs, such as `sde.cdm.fresh.seq1m_q8t1.read`.
    pub id: String,
    /// For people.
    pub title: String,
    /// Name of a [`ModeInfo`], where there are several.
    #[serde(default)]
    pub mode: Option<String>,
    /// The value.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// Smallest of the repeats, where there were any.
    #[serde(default)]
    pub low: Option<f64>,
    /// Largest of the repeats, where there were any.
    #[serde(default)]
    pub high: Option<f64>,
    /// The same quantity as published for a real device, where a fact exists.
    #[serde(default)]
    pub published: Option<Published>,
}

/// A published measurement of the real device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Published {
    /// Identifier of the fact in facts/published.toml.
    pub fact: String,
    /// Value as published.
    pub value: f64,
    /// How the value is to be read: `=`, `~`, `<`, `<=`, `>`, `range`.
    pub op: String,
    /// Allowed difference, as a share of the published value or in the unit (see `tolerance_kind`).
    pub tolerance: f64,
    /// `relative` or `absolute`.
    pub tolerance_kind: String,
    /// Whether the value lies within the tolerance.
    pub met: bool,
    /// Where it is not met: why, as far as known.
    #[serde(default)]
    pub why: String,
    /// Where it was published.
    pub source: String,
}

/// A remark that bears on how far the numbers can be trusted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Notice {
    /// `info`, `warning` or `error`.
    pub level: String,
    /// What is the matter, and what to do.
    pub text: String,
    /// Step concerned, where it is one.
    #[serde(default)]
    pub step: Option<String>,
}

impl Notice {
    /// A remark on the document as a whole; `level` is `info`, `warning` or `error`.
    pub fn new(level: &str, text: impl Into<String>) -> Self {
        Notice {
            level: level.to_string(),
            text: text.into(),
            step: None,
        }
    }
}
