//! Interface of a device under verification. Times come from it too, so that a device in virtual time shows how long a real one
//! would take.

use nandscope_units::Nanos;
use thiserror::Error;

/// Why an operation on a medium failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MediumError {
    /// This operation failed, others may succeed; with the reason.
    #[error("{0}")]
    Failed(String),
    /// The device is gone, and no operation will succeed; with the reason.
    #[error("the device disappeared (unplugged or reset): {0}")]
    Gone(String),
}

/// A device with blocks numbered from 0.
pub trait Medium {
    /// Number of blocks that the device claims.
    fn blocks(&self) -> u64;

    /// Size of a block, the smallest unit of a write, bytes.
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

    /// Flushes the caches of the host and, unless the device is lying, its own.
    ///
    /// # Errors
    /// `MediumError::Failed` if the flush fails; `MediumError::Gone` if the device is gone.
    fn settle(&mut self) -> Result<(), MediumError>;

    /// Current time of the device's clock.
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
