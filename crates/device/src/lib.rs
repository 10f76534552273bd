//! A flash device as a pure state machine over virtual time.
pub mod command;
pub mod health;
pub mod telemetry;

pub use command::{Command, CommandKind, Completion, Payload, Status};
pub use health::{HealthLog, Identity};
pub use telemetry::{Counters, Telemetry};
