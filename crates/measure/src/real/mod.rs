//! Files and block devices of this machine as targets, in real time, on Linux.
//!
//! A [`Volume`] is an open file or device; a [`RealTarget`] drives it, through io_uring (`ring`) or, if the system does
//! not allow that, through threads with pread and pwrite (`pool`). Each thread of a run gets its own queue and ring.
//! [`RealNull`] and [`generator_cost_ns`] measure the cost of the instrument itself.
//!
//! Nothing is opened by name here: callers check whether a device may be opened, and pass the open file. Temperature
//! and power come from [`Instruments`] provided by the caller.

mod affinity;
mod buffer;
mod clock;
mod cost;
mod errno;
mod fill_holes;
mod folder;
mod instruments;
mod null;
mod pool;
mod ring;
mod samples;
mod slot;
mod sys;
mod target;
mod volume;
mod zeros;

pub use cost::generator_cost_ns;
pub use fill_holes::{fill_holes, holes};
pub use folder::{BLOCK, FileSlot, FolderTarget};
pub use instruments::Instruments;
pub use null::RealNull;
pub use samples::{Recognition, Sampler, Samples};
pub use target::{Engine, EngineChoice, Options, RealTarget};
pub use volume::{Access, Volume, VolumeError, VolumeKind};
