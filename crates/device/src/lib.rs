//! A flash device as a pure state machine over virtual time.
//!
//! A [`Device`] is made from a [`Profile`](profile::Profile) and a [`HostProfile`](profile::HostProfile)
//! and driven through three calls: [`Device::submit`], [`Device::next_event`], [`Device::advance`].
//! It does no I/O, reads no clock, starts no thread and has no global state: the same profile,
//! host, seed and commands give the same completions, bit for bit. It does not store data;
//! whoever serves the device to programs keeps the contents.

mod attachment;
pub mod command;
mod device;
mod error;
mod events;
mod fill;
mod footprint;
mod ftl;
pub mod health;
mod host_counters;
mod invariant;
pub mod link;
mod nand;
mod power;
pub mod powercut;
pub mod profile;
mod random;
mod reliability;
mod simulated;
mod snapshot;
pub mod telemetry;

pub use command::{Command, CommandKind, Completion, Payload, Status, SubmitError};
pub use device::Device;
pub use error::{AttachError, DeviceError};
pub use fill::Fill;
pub use footprint::memory_estimate;
pub use health::{HealthLog, Identity};
pub use invariant::InvalidState;
pub use powercut::{Cut, Damage};
pub use simulated::{FixedLatencyDevice, SimulatedDevice};
pub use snapshot::SnapshotError;
pub use telemetry::{Counters, Telemetry};
