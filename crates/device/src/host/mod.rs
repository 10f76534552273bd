//! The host's side of a device, the same for every translation layer: [`attachment`] is the link and the path in use,
//! [`commands`] keeps what the host has submitted, [`adapter`] is the controller in front of the drive, [`link`] books the
//! transfers, [`counters`] counts what was asked.

pub(crate) mod adapter;
pub(crate) mod attachment;
pub(crate) mod commands;
pub(crate) mod counters;
pub(crate) mod link;

pub(crate) use adapter::Adapter;
pub(crate) use commands::{Commands, Request};
pub(crate) use link::Link;
