//! Jobs in fio's file grammar: [`JobFile::parse`] parses them, [`Job::to_fio`] writes them. An option either has the
//! effect that it has in fio 3.33, or is refused with its name, file and line; docs/jobs.md has the tables.
//! [`crate::pattern`] derives the operations of a job.

mod arithmetic;
mod check;
mod data;
mod distribution;
mod emit;
mod engine;
mod error;
mod extent;
mod file;
mod files;
mod kinds;
mod lines;
mod model;
mod option;
mod relation;
mod substitute;
mod surroundings;
mod text;
mod value;
mod verify;
mod verify_parts;
mod words;

pub use data::{DataPattern, Repetition, WriteData};
pub use error::{Fault, JobError};
pub use extent::Extent;
pub use file::JobFile;
pub use files::{FileService, Files, PlacedFile, PlacedFiles};
pub use kinds::PerKind;
pub use model::{
    Access, BlockSizes, ContinueOnError, DEFAULT_PERCENTILES, Distribution, Job, Logs, Origin,
    RandomGenerator, Rw, Shown, StridedZones, TraceRef, UnifiedRw, Zone,
};
pub use option::{
    ACCEPTED, ALIASES, AS_IN_FIO, Accepted, JobOption, REFUSED, Refused, data_options, supported,
};
pub use relation::{ExitScope, Relation};
pub use surroundings::{FileError, Included, Machine, Nowhere, Override, Surroundings};
pub use verify::{Backlog, VERIFY_HEADER, Verify, VerifyMethod};
