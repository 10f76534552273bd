//! The result document: the one form in which every measurement ends, and the only input of reports,
//! comparisons and inference. It contains what was asked, on what, with which seed, what was measured, and the
//! unit of every number.
//!
//! Versions: [`FORMAT_VERSION`] rises when an old reader could misread a new document. Within a version fields
//! are only added, each with `#[serde(default)]`, so that new readers read old documents; old readers ignore
//! fields that they do not know. A newer version is refused by name. The JSON schema in
//! `docs/result.schema.json` is generated from these types.
//!
//! Words that decide something are enumerations ([`Operation`], [`Level`], …); identifiers are constants in
//! [`series`], [`counter`], [`figure_id`] and [`procedure`]. [`json`] reads and writes documents, [`histogram`] has the text form of latencies, [`throughput_profile`]
//! finds the write cliff of a time line.

#[macro_use]
mod open_enum;

pub mod counter;
mod document;
mod figure;
pub mod figure_id;
mod fio_report;
pub mod histogram;
pub mod json;
mod kind;
pub mod procedure;
pub mod recording;
pub mod run_figure;
pub mod series;
mod slug;
mod step;
pub mod step_id;
pub mod throughput_profile;

pub use document::{
    DiskUse, FORMAT, FORMAT_VERSION, ModeInfo, Notice, Parameter, ResultDocument, TargetInfo,
    WallClock,
};
pub use figure::{BYTES, Figure, Published, YES_OR_NO};
pub use fio_report::{DEPTH_CLASSES, DepthCounts, FioReport, RateSamples, Spread};
pub use kind::{
    BlockState, EventKind, Level, Operation, Relation, StopReason, TargetKind, ToleranceKind,
};
pub use slug::slug;
pub use step::{
    ADDRESS_UNIT, CANNOT_TELL, Conclusion, Curve, DataColumn, DataRow, DataTable, DirectionResult,
    Event, JobResult, Latency, LatencyStages, Ranked, Requirement, Series, StateCode, SteadyState,
    StepResult,
};
