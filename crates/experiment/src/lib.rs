//! Simulated devices by name, and jobs on them: what the command line, sweeps and the Python package
//! have in common.
//!
//! [`open`] makes a device from a profile of the library, a file, or a saved state, with single values
//! of the profile replaced where wanted ([`overrides`]). [`jobs`] reads job files with what they refer
//! to on this machine. [`run`] runs them on a target and gives the result document.
//!
//! Nothing here knows a terminal, arguments, signals or exit codes: errors are typed, progress goes to
//! a [`run::RunObserver`], and a run ends early when a callback says so.
//!
//! ```
//! use nandscope_experiment::jobs::Jobs;
//! use nandscope_experiment::run::{RunOptions, SimulatedTarget, run_jobs};
//! use nandscope_experiment::{OpenOptions, open};
//!
//! let options = OpenOptions {
//!     overrides: vec!["ftl.over_provisioning=0.28".parse()?],
//!     ..OpenOptions::default()
//! };
//! let (about, device) = open("sim:reference-nvme-64gb", &options)?;
//! let mut target = SimulatedTarget::new(about, device);
//! let jobs = Jobs::parse("read.fio", "[read]\nrw=randread\nbs=4k\nsize=1g\nnumber_ios=100\n", &[])?;
//! let run = run_jobs(&mut target, &jobs, &RunOptions::new("read.fio"), &mut (), &|| false)?;
//! assert!(run.document.complete);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
pub mod input;
pub mod jobs;
mod kept;
mod machine;
mod medium;
pub mod memory;
mod open;
pub mod overrides;
mod precondition;
pub mod run;
mod source;

pub use error::{ErrorClass, InvalidProfile};
pub use kept::{Kept, KeptError};
pub use machine::FACTS;
pub use medium::{MediumFaultError, SimulatedMedium};
pub use open::{DEFAULT_HOST, OpenError, OpenOptions, Simulated, open};
pub use overrides::{OverrideError, ProfileOverride};
pub use precondition::{Precondition, PreconditionError, Preparation, PreparationStep};
pub use source::{DeviceSource, HostSource, Source, SourceError, device_source, host_source};
