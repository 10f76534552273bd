//! Real Linux file systems on a simulated device, in virtual time.
//!
//! Linux built for user mode is an ordinary process whose clock can be taken over from outside.
//! Here it gets its time from the simulated device: both live in one virtual time
//! ([`machine`]), so that ext4, F2FS, NILFS2, FAT32 and exFAT run as they are in Linux, on a card that is a
//! model, as fast as the processor allows, and every run with the same seed is the same.
//!
//! This crate starts processes and writes files in folders of its own; it prints nothing. What
//! a device does is the business of the device crate.

pub mod access_pattern;
pub mod build;
pub mod calls;
pub mod cell;
pub mod confine;
pub mod document;
pub mod filesystem;
#[cfg(target_arch = "x86_64")]
mod filter;
pub mod guest;
pub mod job;
mod kept;
pub mod layout;
pub mod machine;
pub mod observer;
pub mod post_crash;
pub mod powercut;
pub mod process;
pub mod reason;
pub mod recording;
pub mod scratch;
pub mod session;
pub mod sweep;
pub mod time_travel;
pub mod variants;
pub mod vhost;
mod wire;
pub mod workload;
