//! Workloads of a device: jobs in fio's grammar, access patterns, traces and file workloads.
//! Nothing here knows what a device is, or does any I/O.
//!
//! A fio job file becomes jobs, and each job a source of operations:
//!
//! ```
//! use nandscope_units::Bytes;
//! use nandscope_workload::job::JobFile;
//! use nandscope_workload::pattern::Generator;
//! use nandscope_workload::{OpKind, OpSource};
//!
//! let file = JobFile::parse("log.fio", "[log]\nrw=write\nbs=4k\nsize=16k\n")?;
//! let mut operations = Generator::new(&file.jobs[0], 0, Bytes::gib(1), 1)?;
//!
//! let mut offsets = Vec::new();
//! while let Some(next) = operations.next_op() {
//!     assert_eq!((next.op.kind, next.op.length), (OpKind::Write, 4096));
//!     offsets.push(next.op.offset.0);
//! }
//! assert_eq!(offsets, [0, 4096, 8192, 12288]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod condition;
pub mod files;
pub mod job;
mod op;
pub mod pattern;
mod source;
pub mod trace;

pub use condition::{LatencyTarget, LowestRates, SteadyState};
pub use op::{Op, OpKind};
pub use source::{Arrivals, DutyCycle, OpSource, Pace, Pacing, RateLimit, TimedOp};
