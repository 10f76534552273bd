//! Runs jobs on a target and writes down what happened.
//!
//! The way of a measurement: [`runner`] drives threads of operations through a [`target`] (a
//! simulated device in virtual time by [`sim`], a real one on Linux by `real`, test doubles in [`mock`]), [`recorder`] collects
//! latencies and counts per interval, [`build`] makes the parts of the result document from
//! them, and [`document`] keeps the [`result`] document in files; [`fio_output`] makes such documents of
//! what fio wrote; [`steps`] keeps the steps that are done while others are under way. [`summary`] says the same to a
//! terminal, in fio's words.
//!
//! This crate makes no charts and no judgements: what a number means is for others.

pub mod build;
pub mod cached;
pub mod course;
pub mod document;
pub mod fio_output;
pub mod histogram;
pub mod marks;
pub mod mock;
#[cfg(target_os = "linux")]
pub mod real;
pub mod recorder;
pub mod result;
pub mod runner;
pub mod sim;
pub mod steps;
pub mod summary;
pub mod target;
