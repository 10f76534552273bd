//! A simulated device that other programs can use, at the speed that the device would have.
//!
//! [`service`] drives the device's model against the clock
//! on the wall; [`server`] is the one thread on which everything runs. Clients ([`client`]) come by
//! [`nbd`], [`fuse`] or [`vhost`]; requests and what comes of them ([`request`]) are the same for all.
//!
//! This crate reads no argument and prints nothing; where something ended badly or late it says so
//! in what it returns.

pub mod calibration;
pub mod client;
mod clients;
pub mod clock;
pub mod control;
#[cfg(target_os = "linux")]
pub mod fuse;
pub mod journal;
pub mod nbd;
pub mod overhead;
pub mod pacing;
pub mod record;
pub mod request;
pub mod server;
pub mod service;
#[cfg(target_os = "linux")]
pub mod vhost;
