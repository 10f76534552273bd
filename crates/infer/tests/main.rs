//! The integration tests of the crate in one binary, a module per subject.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod fakes;
mod flashbench_text;
mod kills;
mod profiles;
mod registers;
mod small_target;
mod support;
mod undo_faults;
mod undo_hostile;
mod undo_media;
