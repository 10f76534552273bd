//! What verification asks of a device: to keep bytes. Times come from it too, so that a device in
//! virtual time tells how long a real one would have taken.

use nandscope_units::Nanos;
use thiserror::Error;

/// Why an operation on a medium did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MediumError {
    /// This operation failed; another one may succeed. In words.
    #[error("{0}")]
    Failed(String),
    /// The device is gone, and nothing will succeed any more. In words.
    #[error("the device is gone: {0}")]
    Gone(String),
}

/// A device that keeps bytes, in blocks numbered from 0.
pub trait Medium {
    /// Blocks that the device claims to have.
    fn blocks(&self) -> u64;

    /// Bytes of a block: the smallest piece that can be written.
    fn block_bytes(&self) -> usize;

    /// Reads whole blocks from `first` on.
    ///
    /// # Errors
    /// `MediumError::Failed` if the read fails; `MediumError::Gone` if the device is gone.
    fn read(&mut self, first: u64, into: &mut [u8]) -> Result<(), MediumError>;

    /// Writes whole blocks from `first` on.
    ///
    /// # Errors
    /// `MediumError::Failed` if the write fails; `MediumError::Gone` if the device is gone.
    fn write(&mut self, first: u64, data: &[u8]) -> Result<(), MediumError>;

    /// Waits until everything written has left the caches of the host and, as far as the device says
    /// the truth, its own.
    ///
    /// # Errors
    /// `MediumError::Failed` if the flush fails; `MediumError::Gone` if the device is gone.
    fn settle(&mut self) -> Result<(), MediumError>;

    /// Present time on the device's clock.
    fn now(&self) -> Nanos;
}

impl<M: Medium + ?Sized> Medium for Box<M> {
    fn blocks(&self) -> u64 {
        (**self).blocks()
    }

    fn block_bytes(&self) -> usize {
        (**self).block_bytes()
    }

    fn read(&mut self, first: u64, into: &mut [u8]) -> Result<(), MediumError> {
        (**self).read(first, into)
    }

    fn write(&mut self, first: u64, data: &[u8]) -> Result<(), MediumError> {
        (**self).write(first, data)
    }

    fn settle(&mut self) -> Result<(), MediumError> {
        (**self).settle()
    }

    fn now(&self) -> Nanos {
        (**self).now()
    }
}
