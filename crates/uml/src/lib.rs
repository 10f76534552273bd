//! Real Linux file systems on a simulated device, in virtual time, and on real devices ([`native`]).
//!
//! User-mode Linux is an ordinary process whose clock can be controlled from outside. Here it shares one
//! virtual time with the simulated device ([`machine`]). Linux's own file systems run on the model of a
//! card as fast as the processor allows, and every run with the same seed is the same.
//!
//! This crate starts processes and writes files in its own folders; it prints nothing. Its files are created by
//! [`nandscope_files`], under names that did not exist, so that no link is followed; the built kernel is renamed into its place
//! in the cache folder, which must not be a link. Three things are written otherwise: the folders of runs ([`scratch`]), which
//! are created for their owner alone together with their locks; tracefs ([`native`]), whose entries are no files; and what the
//! programs of a build and the kernel write inside these folders.

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
pub mod kernel_run;
pub mod layout;
pub mod machine;
pub mod native;
pub mod observer;
pub mod post_crash;
pub mod powercut;
pub mod process;
pub mod reason;
pub mod recording;
pub mod scratch;
pub mod time_travel;
pub mod variant_comparison;
pub mod variants;
pub mod vhost;
mod wire;
pub mod workload;
