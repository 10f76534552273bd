//! The host's side of a device, the same for every translation layer: [`commands`] keeps what the host has submitted,
//! [`link`] books the transfers.

pub(crate) mod commands;
pub(crate) mod link;

pub(crate) use commands::{Commands, Request};
pub(crate) use link::Link;
