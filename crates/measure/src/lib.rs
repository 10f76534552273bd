//! Runs jobs on a target and writes down what happened.
//!
//! [`target`] is the seam to whatever is measured, `runner` drives jobs through it, `recorder`
//! collects latencies and series, and [`result`] is the document in which all of it ends.

pub mod result;
pub mod target;
