//! Runs jobs on a target and records what happened.
//!
//! [`runner`] drives threads of operations through a [`target`]: a simulated device in virtual time ([`sim`]), a
//! real one on Linux (`real`). [`recorder`] collects latencies and counts per
//! interval, [`build`] makes the parts of a result document from them, and [`events`] finds notable moments. [`fio_output`]
//! converts fio's JSON output; [`steps`] keeps finished steps while others run.
//!
//! This crate makes no charts and draws no conclusions.

pub mod build;
pub mod cached;
pub mod distribution;
pub mod events;
pub mod fio_output;
#[cfg(target_os = "linux")]
pub mod real;
pub mod recorder;
pub mod runner;
pub mod sim;
pub mod steps;
pub mod target;
