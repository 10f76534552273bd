//! A simulated device for other programs, at the device's own speed.
//!
//! [`service`] runs the device's model against the wall clock; [`server`] is the only thread. Clients
//! ([`client`]) connect by [`nbd`], [`fuse`] or [`vhost`] and share one form of requests and outcomes
//! ([`request`]).
//!
//! This crate reads no arguments and prints nothing; it returns errors and pacing errors to the caller.

pub mod calibration;
pub mod client;
mod clients;
pub mod clock;
pub mod command_journal;
pub mod control;
#[cfg(target_os = "linux")]
pub mod fuse;
pub mod nbd;
pub mod overhead;
pub mod pacing;
pub mod record;
pub mod request;
pub mod server;
pub mod service;
#[cfg(target_os = "linux")]
pub mod vhost;
