//! A flash device as a pure state machine over virtual time.
//!
//! A [`Device`] is made from a [`Profile`](profile::Profile) and a [`HostProfile`](profile::HostProfile)
//! and driven through three calls: [`Device::submit`], [`Device::next_event`], [`Device::advance`].
//! It does no I/O, reads no clock, starts no thread and has no global state: the same profile,
//! host, seed and commands give the same completions, bit for bit. What the stored data is, it does
//! not know; contents belong to whoever serves the device to programs.

mod attachment;
mod au;
pub mod command;
mod device;
mod events;
mod fill;
mod footprint;
mod ftl;
mod geometry;
pub mod health;
mod hostcount;
mod idle;
mod invariant;
pub mod link;
mod meter;
mod nand;
mod paged;
pub mod powercut;
pub mod profile;
mod random;
mod readahead;
mod reliability;
mod simulated;
mod snapshot;
pub mod telemetry;
mod thermal;

pub use command::{Command, CommandKind, Completion, Payload, Status, SubmitError};
pub use device::Device;
pub use fill::Fill;
pub use footprint::memory_estimate;
pub use health::{HealthLog, Identity};
pub use invariant::InvalidState;
pub use powercut::{Cut, Damage};
pub use simulated::{FixedLatencyDevice, SimulatedDevice};
pub use snapshot::SnapshotError;
pub use telemetry::{Counters, Telemetry};
