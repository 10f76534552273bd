//! The integration tests of the crate in one binary, a module per subject.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod buffers;
mod lifetimes;
mod planted;
mod serial_target;
mod verdicts;
