//! Files and block devices of this machine as targets, in real time, on Linux.
//!
//! A [`Volume`] is what is open; a [`RealTarget`] drives it, through io_uring (`ring`) or, where the
//! system does not allow that, through threads of pread and pwrite (`pool`). Each thread of a run
//! gets a queue of its own with its own ring. [`RealNull`] and [`generator_cost_ns`] say what the
//! instrument itself costs.
//!
//! Nothing is opened here by its name: whether a device may be opened at all is decided elsewhere, and
//! what was opened there is driven. Temperature and power
//! come from [`Instruments`] that are given.

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
