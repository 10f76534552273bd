//! The integration tests of the crate in one binary, a module per subject.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod blind;
mod blind_series;
mod budget;
mod cards;
mod drives;
mod fill;
mod flashbench;
mod iometer;
mod library_cards;
mod misjudged;
mod published;
mod resume;
mod review;
mod speed_class;
mod support;
