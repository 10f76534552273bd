//! Instruments of a real target, for temperature, power and the like. This crate does not read
//! sensors: the caller that opens the target knows which there are.

use crate::target::Reading;

/// Instruments beside a target.
pub trait Instruments: Send + Sync {
    /// Returns the current reading. It must return at once, as it may be called between two operations:
    /// a thread reads slow sensors, and this returns its last reading.
    fn read(&self) -> Reading;
}
