//! A flash device as a pure state machine over virtual time.
//!
//! A [`Device`] is made from a [`Profile`](profile::Profile) and a [`HostProfile`](profile::HostProfile)
//! and driven through three calls: [`Device::submit`], [`Device::next_event`], [`Device::advance`].
//! It does no I/O, reads no clock, starts no thread and has no global state: the same profile,
//! host, seed and commands give the same completions, bit for bit. It does not store data;
//! whoever serves the device to programs keeps the contents.
//!
//! A read of 4 KiB from a full drive, and its latency:
//!
//! ```
//! use nandscope_device::profile::library;
//! use nandscope_device::{Command, CommandKind, Device, Fill, Status};
//! use nandscope_units::{Lba, Nanos};
//!
//! let profile = library::device("reference-nvme-64gb").unwrap().profile().unwrap();
//! let host = library::host("direct").unwrap().host_profile().unwrap();
//! let mut drive = Device::new(&profile, &host, 1)?;
//! drive.precondition(1.0, Fill::Sequential);
//!
//! let command = Command { tag: 7, kind: CommandKind::Read, lba: Lba(4096), sectors: 8 };
//! drive.submit(command, drive.now())?;
//! let mut completions = Vec::new();
//! while completions.is_empty() {
//!     drive.advance(Nanos::MAX, &mut completions);
//! }
//!
//! let done = &completions[0];
//! assert_eq!((done.tag, done.status), (7, Status::Ok));
//! // Array time, transfer, firmware and link of this profile: 60 to 70 µs.
//! let latency = done.completed - done.submitted;
//! assert!(latency > Nanos::from_micros(60) && latency < Nanos::from_micros(70), "{latency}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(
    not(test),
    warn(
        clippy::cast_lossless,
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss
    )
)]

pub mod command;
mod convert;
mod device;
mod divisor;
mod error;
mod events;
mod fill;
mod flash;
mod footprint;
pub mod health;
mod host;
mod invariant;
pub mod link;
mod mapping;
pub mod policy;
mod power;
pub mod powercut;
pub mod profile;
mod random;
pub mod registers;
mod schedule;
mod simulated;
mod snapshot;
mod table;
pub mod telemetry;
pub mod theory;

pub use command::{Command, CommandKind, Completion, Payload, Status, SubmitError};
pub use device::Device;
pub use error::{AttachError, DeviceError};
pub use fill::{Afterwards, Fill, FillError, FillProgress, FillStep, break_if};
pub use footprint::memory_estimate;
pub use health::{HealthLog, Identity};
pub use invariant::InvalidState;
pub use powercut::{Cut, Damage};
pub use registers::CardRegisters;
pub use simulated::{FixedLatencyDevice, SimulatedDevice};
pub use snapshot::SnapshotError;
pub use telemetry::{Counters, Telemetry, Wear};
