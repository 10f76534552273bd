//! A simulated device that other programs can use, at the speed that the device would have.
//!
//! [`store`] holds what is written to it; [`service`] drives the device's model against the clock
//! on the wall; [`nbd`] is the protocol by which clients come. Requests and what comes of them
//! ([`request`]) are the same for every protocol.
//!
//! This crate reads no argument and prints nothing; where something ended badly or late it says so
//! in what it returns.

pub mod clock;
pub mod lateness;
pub mod model;
pub mod nbd;
pub mod overhead;
pub mod record;
pub mod request;
pub mod service;
pub mod store;
