//! A simulated device that other programs can use: [`store`] holds what is written to it,
//! [`service`] drives the device's model against the clock on the wall.
//!
//! This crate reads no argument and prints nothing; where something ended badly or late it says so
//! in what it returns.

pub mod store;
