//! What stands beside a real target and shows temperature, power and the like. Reading them is not
//! the business of this crate: whoever opens the target knows which there are.

use crate::target::Reading;

/// Instruments beside a target.
pub trait Instruments: Send + Sync {
    /// What they show now. It must return at once, as it may be called between two operations:
    /// what takes time is read by a thread of its own, and this gives what it read last.
    fn read(&self) -> Reading;
}
