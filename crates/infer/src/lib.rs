//! Infers the internals of a device from measurements ([`probe`], [`flashbench`]) and detects counterfeits ([`authenticity`],
//! [`registers`]).
//!
//! No profile or counter of a simulated device is read, so that every procedure works on a real device as well. The crate prints
//! nothing and never prompts.

pub mod authenticity;
pub mod flashbench;
pub mod probe;
mod quantile;
pub mod registers;
pub mod timed;
