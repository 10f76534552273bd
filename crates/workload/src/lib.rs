//! Workloads of a device: jobs in fio's grammar, access patterns, traces and file workloads.
//! Nothing here knows what a device is, or does any I/O.

pub mod files;
pub mod job;
mod op;
pub mod pattern;
mod source;
pub mod trace;

pub use op::{Op, OpKind};
pub use source::{DutyCycle, OpSource, Pacing, RateLimit, TimedOp};
