//! Procedures of the laboratory. [`review()`] runs a full card review on a device, step by step, and returns one result
//! document; [`facts`] compares that document with published measurements of the real device.
//!
//! Procedures define how a test is run (jobs, order, pauses) and evaluated; they do not know how a device works, and
//! draw nothing.

mod applications;
pub mod at_once;
pub mod blind;
mod bursts;
pub mod cards;
pub mod closed_forms;
mod crystaldiskmark;
mod document;
pub mod facts;
mod figures;
mod fill;
pub mod flashbench;
mod folders;
mod formatting;
mod iometer;
mod jobs;
mod modes;
mod options;
mod own_time;
mod phases;
mod plain;
pub mod plan;
pub mod plateaus;
mod procedure;
mod progress;
mod real;
#[cfg(target_os = "linux")]
mod real_folders;
mod recorded;
pub mod review;
mod sequential;
mod span;
pub mod spec;
pub mod speed_class;
pub mod ssd;
mod ssd_traces;
mod step_runner;
mod sustained;

pub use nandscope_infer::timed as probe;
pub use options::{Earlier, ReviewObserver, ReviewOptions};
pub use procedure::Procedure;
pub use real::Existing;
#[cfg(target_os = "linux")]
pub use real_folders::review_folder;
pub use review::review;
pub use spec::SimSpec;
pub use step_runner::SuiteError;
