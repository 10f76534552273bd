//! Interface of a real target's instruments for temperature, power and similar. This crate reads no sensors: the caller
//! that opens the target provides them.

use crate::target::Reading;

/// Instruments of a target.
pub trait Instruments: Send + Sync {
    /// Returns the current reading. It must return at once, as it may be called between two operations:
    /// a thread reads slow sensors, and this returns its last reading.
    fn read(&self) -> Reading;
}
