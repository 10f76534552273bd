//! What is inside a device, concluded from measurements alone: whether it is what it claims to be
//! ([`authenticity`], [`registers`]).
//!
//! Nothing here asks a simulated device for its profile or its counters: what is concluded could be
//! concluded of a real one. This crate prints nothing and asks nobody.

pub mod authenticity;
pub mod flashbench;
pub mod probe;
mod quantile;
pub mod registers;
pub mod timed;
