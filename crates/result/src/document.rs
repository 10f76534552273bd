//! The whole document: what was run, on what, with which seed, and how the steps ended.

use crate::{Figure, Level, StepResult, TargetKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Value of [`ResultDocument::format`].
pub const FORMAT: &str = "nandscope-result";
/// The version that this build writes, and the newest that it reads.
pub const FORMAT_VERSION: u32 = 2;

/// A whole measurement: one or many steps on one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ResultDocument {
    /// Always [`FORMAT`].
    pub format: String,
    /// See [`FORMAT_VERSION`].
    pub version: u32,
    /// Program and version, such as `nandscope 0.1.0`.
    pub generator: String,
    /// Name of the procedure: `review`, `run`, or of a suite.
    pub procedure: String,
    /// Title of a report.
    pub title: String,
    /// Seed of the random number generator.
    pub seed: u64,
    /// The measured device or file.
    pub target: TargetInfo,
    /// Conditions of the measurement; empty for a simulation.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Wall-clock times; only they may differ between two runs of a simulation.
    #[serde(default)]
    pub wall: WallClock,
    /// Whether every step completed.
    pub complete: bool,
    /// Whether it is a quick run, of shorter steps: its figures are not those of a whole one.
    #[serde(default)]
    pub quick: bool,
    /// The steps in order.
    pub steps: Vec<StepResult>,
    /// The main numbers, derived from the steps.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// Disks of the system that were used, as the kernel counts their requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<DiskUse>,
    /// Warnings and remarks on the validity of the numbers.
    #[serde(default)]
    pub notices: Vec<Notice>,
}

impl ResultDocument {
    /// All figures: those of the steps, then those of the document.
    pub fn all_figures(&self) -> impl Iterator<Item = &Figure> {
        let of_steps = self.steps.iter().flat_map(|s| &s.figures);
        of_steps.chain(&self.figures)
    }

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
            quick: false,
            steps: Vec::new(),
            figures: Vec::new(),
            disks: Vec::new(),
            notices: Vec::new(),
        }
    }
}

/// The measured device, file or folder.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TargetInfo {
    /// As given on the command line, such as `sim:sm2708-250gb`.
    pub name: String,
    /// `simulated`, `block device`, `file`, `directory`.
    pub kind: TargetKind,
    /// Model name.
    pub model: String,
    /// Addressable bytes.
    pub capacity_bytes: u64,
    /// Link rate of a real device, bytes per second, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_bytes_per_s: Option<f64>,
    /// A paragraph about the device.
    #[serde(default)]
    pub description: String,
    /// SHA-256 of the profile text of a simulated device, hexadecimal.
    #[serde(default)]
    pub profile_sha256: Option<String>,
    /// Parameters of a simulated device.
    #[serde(default)]
    pub parameters: Vec<Parameter>,
    /// Sources of the parameters' values.
    #[serde(default)]
    pub sources: Vec<String>,
    /// Modes of the procedure, such as `SD Express` and `UHS-I`.
    #[serde(default)]
    pub modes: Vec<ModeInfo>,
}

impl TargetInfo {
    /// Whether the device is simulated.
    pub fn is_simulated(&self) -> bool {
        self.kind == TargetKind::Simulated
    }
}

/// One way in which the device was attached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ModeInfo {
    /// Short name, referred to by [`StepResult::mode`].
    pub name: String,
    /// Title of the host, or of its port; the same for every device that was attached to it. Empty in results of version 0.1.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// The chain from host to device, stage by stage.
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

/// Requests of a disk of the system during a run, also those of other programs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DiskUse {
    /// Kernel name, such as `nvme0n1`.
    pub name: String,
    /// Reads completed.
    pub reads: u64,
    /// Writes completed.
    pub writes: u64,
    /// Reads merged with others before they were issued.
    pub read_merges: u64,
    /// Writes merged with others before they were issued.
    pub write_merges: u64,
    /// Sum of the times of reads, milliseconds.
    pub read_ms: u64,
    /// Sum of the times of writes, milliseconds.
    pub write_ms: u64,
    /// Sum of the times of all requests, milliseconds.
    pub in_queue_ms: u64,
    /// Share of the time with at least one request, percent.
    pub busy_percent: f64,
}

/// A remark on the validity of the numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Notice {
    /// `info`, `warning` or `error`.
    pub level: Level,
    /// The problem, and what to do.
    pub text: String,
    /// Step concerned, if any.
    #[serde(default)]
    pub step: Option<String>,
}

impl Notice {
    /// Notice about the document as a whole.
    pub fn new(level: Level, text: impl Into<String>) -> Self {
        Notice {
            level,
            text: text.into(),
            step: None,
        }
    }

    /// Notice for information.
    pub fn info(text: impl Into<String>) -> Self {
        Notice::new(Level::Info, text)
    }

    /// A notice that limits the use of the numbers.
    pub fn warning(text: impl Into<String>) -> Self {
        Notice::new(Level::Warning, text)
    }

    /// A notice that something was not measured, or wrongly.
    pub fn error(text: impl Into<String>) -> Self {
        Notice::new(Level::Error, text)
    }
}
