//! One step: its jobs, time lines, curves, tables and conclusions.

use crate::{BlockState, EventKind, Figure, FioReport, Operation, StopReason};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One step of a procedure: a job file run, a folder copied, a format, an idle time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StepResult {
    /// Unique within the document, fit for a file name, such as `sde-cdm-fresh`.
    pub id: String,
    /// For people.
    pub title: String,
    /// Chapter of the report, such as `CrystalDiskMark`.
    pub section: String,
    /// Whether the step only prepares later ones: its rates are no results.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub preparation: bool,
    /// Mode, if there are several.
    #[serde(default)]
    pub mode: Option<String>,
    /// Summary of the step's operations, one or two sentences.
    #[serde(default)]
    pub description: String,
    /// Start on the target's clock, seconds.
    pub start_s: f64,
    /// End on the target's clock, seconds.
    pub end_s: f64,
    /// Why the step did not complete.
    #[serde(default)]
    pub incomplete: Option<StopReason>,
    /// The jobs in order.
    #[serde(default)]
    pub jobs: Vec<JobResult>,
    /// Measurements over time.
    #[serde(default)]
    pub series: Vec<Series>,
    /// Measurements over a quantity other than time.
    #[serde(default)]
    pub curves: Vec<Curve>,
    /// Changes of the device's counters during the step.
    #[serde(default)]
    pub counters: BTreeMap<String, f64>,
    /// Figures of this step.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// Measurements in two dimensions.
    #[serde(default)]
    pub tables: Vec<DataTable>,
    /// Answers with their evidence.
    #[serde(default)]
    pub conclusions: Vec<Conclusion>,
    /// Notable moments in order.
    #[serde(rename = "marks", default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
}

impl StepResult {
    /// The series of that name.
    pub fn find_series(&self, name: &str) -> Option<&Series> {
        self.series.iter().find(|s| s.name == name)
    }

    /// Bytes that the jobs of the step read and wrote.
    pub fn bytes_read_and_written(&self) -> u64 {
        let of_job = |job: &JobResult| {
            let apart = |d: &&DirectionResult| matches!(d.kind, Operation::Read | Operation::Write);
            let apart: u64 = job.directions.iter().filter(apart).map(|d| d.bytes).sum();
            let mixed = job.directions.iter().find(|d| d.kind == Operation::Mixed);
            // Results of fio with both have the same bytes twice: by direction, and as their sum.
            apart.max(mixed.map_or(0, |d| d.bytes))
        };
        self.jobs.iter().map(of_job).sum()
    }
}

/// A notable moment of a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Event {
    /// `cache exhausted`, `steady state`, `throttling`, `slower while hot`, `end of life`.
    pub kind: EventKind,
    /// Start, seconds on the target's clock.
    pub t_s: f64,
    /// End, if within the step.
    #[serde(default)]
    pub until_s: Option<f64>,
    /// Description, as a sentence.
    pub text: String,
}

/// A table of numbers: rows with a label, columns with a unit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DataTable {
    /// Title.
    pub title: String,
    /// Heading of the column of labels.
    pub corner: String,
    /// The columns.
    pub columns: Vec<DataColumn>,
    /// The rows, as measured.
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
    /// Such as `4 MiB`.
    pub label: String,
    /// A value for each column, or `None`.
    pub cells: Vec<Option<f64>>,
}

/// An answer about a device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Conclusion {
    /// Stable name for programs, such as `direct.align.allocation-unit`.
    pub id: String,
    /// Such as `Allocation unit`.
    pub question: String,
    /// The answer in words, such as `4 MiB`, `pass` or [`CANNOT_TELL`].
    pub answer: String,
    /// Whether the evidence is too thin for an answer.
    #[serde(default)]
    pub unknown: bool,
    /// How likely the answer is to be right, 0 to 1, where that was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Place in the ranking of a workload, where the answer is what has this place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranked: Option<Ranked>,
    /// Numbers and conditions.
    pub evidence: String,
    /// Mode, if there are several.
    #[serde(default)]
    pub mode: Option<String>,
    /// Result of a test.
    #[serde(default)]
    pub passed: Option<bool>,
    /// Values that the test requires, with what was measured. It is passed if all of them are met.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<Requirement>,
}

/// A measured value and the limit that a test sets it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Requirement {
    /// Required quantity, such as `random read`; empty if the question names it.
    #[serde(default)]
    pub what: String,
    /// Measured value.
    pub value: f64,
    /// Limit of the value.
    pub limit: f64,
    /// Unit of both, such as `MB/s`.
    pub unit: String,
    /// Whether the limit is the greatest value allowed; otherwise it is the least.
    #[serde(default)]
    pub at_most: bool,
}

impl Requirement {
    /// Whether the value keeps the limit.
    pub fn is_met(&self) -> bool {
        match self.at_most {
            true => self.value <= self.limit,
            false => self.value >= self.limit,
        }
    }
}

/// Answer of a [`Conclusion`] that has none.
pub const CANNOT_TELL: &str = "cannot tell";

impl Conclusion {
    /// An answer to a question, or [`CANNOT_TELL`].
    pub fn new(
        id: &str,
        question: &str,
        answer: impl Into<String>,
        evidence: impl Into<String>,
    ) -> Self {
        let answer = answer.into();
        Conclusion {
            id: id.to_string(),
            question: question.to_string(),
            unknown: answer == CANNOT_TELL,
            answer,
            evidence: evidence.into(),
            ..Conclusion::default()
        }
    }
}

/// A place in a ranking.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Ranked {
    /// Workload that was ranked, such as `untar`.
    pub workload: String,
    /// Place, from 1.
    pub place: u32,
}

/// One job, or one group of jobs reported together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct JobResult {
    /// Name of the job's section in its file.
    pub name: String,
    /// Options in effect, in fio's names.
    pub options: BTreeMap<String, String>,
    /// Start on the target's clock, seconds.
    pub start_s: f64,
    /// Length of the measured part, seconds (a ramp is not measured).
    pub runtime_s: f64,
    /// Pauses of the job within the runtime (think time, duty cycle), mean over its threads, seconds. Bandwidth of the bursts: `bytes / (runtime_s - idle_s)`.
    #[serde(default)]
    pub idle_s: f64,
    /// Reads, writes, trims and flushes, those that occurred.
    pub directions: Vec<DirectionResult>,
    /// Operations that failed, by reason.
    #[serde(default)]
    pub errors: BTreeMap<String, u64>,
    /// Queue depth found for `latency_target`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_depth: Option<u32>,
    /// Outcome of `steadystate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady_state: Option<SteadyState>,
    /// Facts for the output formats of fio; jobs of job files have them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fio: Option<FioReport>,
}

/// Whether a job became steady, and the rates that decided.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SteadyState {
    /// The state was steady.
    pub attained: bool,
    /// Slope or largest deviation of the rate, per second; `None` if the job ended before.
    #[serde(default)]
    pub value: Option<f64>,
    /// Operations per second in each second of the last window.
    #[serde(default)]
    pub iops: Vec<f64>,
    /// Bytes per second in each of them.
    #[serde(default)]
    pub bandwidth_bytes_per_s: Vec<f64>,
}

/// One kind of operation within a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DirectionResult {
    /// `read`, `write`, `trim` or `flush`.
    pub kind: Operation,
    /// Operations completed.
    pub operations: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Bytes per second over the runtime.
    pub bandwidth_bytes_per_s: f64,
    /// Operations per second over the runtime.
    pub iops: f64,
    /// From the scheduled start of an operation to its completion.
    pub latency: Latency,
    /// From the issue of an operation to its completion (fio's `lat`), for jobs with a schedule; without one it equals `latency` and is left out.
    #[serde(default)]
    pub service: Option<Latency>,
    /// The time from issue to completion, divided at the submission to the kernel; left out for simulated devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stages: Option<LatencyStages>,
}

impl DirectionResult {
    /// Whether the operations define a percentile of their latency: at least one of them must lie beyond it, so that the
    /// 99th takes 100 operations and the 99.99th takes 10,000.
    pub fn defines(&self, percentile: f64) -> bool {
        let beyond = self.operations as f64 * (100.0 - percentile) / 100.0;
        beyond >= 1.0 - 1e-6
    }

    /// fio's `lat`: from the instant an operation was issued to its completion.
    pub fn since_issue(&self) -> &Latency {
        self.service.as_ref().unwrap_or(&self.latency)
    }
}

/// A latency before and after submission to the kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LatencyStages {
    /// From issue to submission: fio's `slat`.
    pub submission: Latency,
    /// From submission to completion: fio's `clat`.
    pub completion: Latency,
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
    /// Measured quantity: `read bandwidth`, `write bandwidth`, `read IOPS`, `write IOPS`, `read latency`
    /// (`read due latency` where jobs have a schedule), `power`, `device temperature`, `surface temperature`, `throttle`,
    /// `SLC cache used`, …
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
    /// Unique among the curves of a step with the same `y_name`, such as `filled in order, with idle time`.
    pub name: String,
    /// Name of the varied quantity, such as `fullness`.
    pub x_name: String,
    /// Unit of `x`.
    pub x_unit: String,
    /// Name of the measured quantity, such as `mean latency`.
    pub y_name: String,
    /// Unit of `y`.
    pub y_unit: String,
    /// Places, ascending.
    pub x: Vec<f64>,
    /// Values.
    pub y: Vec<f64>,
    /// Place of a knee on the x axis, if one was found.
    #[serde(default)]
    pub threshold: Option<f64>,
    /// Names of the values of `y` if they are codes of states; empty if `y` is a quantity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<StateCode>,
}

/// Code of a state of a block among the values of a [`Curve`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StateCode {
    /// Value in `y`.
    pub value: f64,
    /// `genuine`, `aliased`, `lost`, `unreadable`.
    pub state: BlockState,
}
