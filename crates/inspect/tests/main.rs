//! The integration tests of the crate in one binary, a module per subject.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod cards;
mod guard_block;
mod guard_file;
mod guard_names;
mod machines;
mod never_panics;
mod signatures;
mod support;
mod ways;
