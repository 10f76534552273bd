//! Errors of drawing, making and probing a device: faults of the library or the generator, not of a device.

use nandscope_device::DeviceError;
use nandscope_measure::target::TargetError;
use thiserror::Error;

/// A device cannot be drawn, made or probed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BlindError {
    /// The library has no profile of the kind to be drawn.
    #[error("the library has no such device")]
    NoDevice,
    /// The library profile of this name has faults.
    #[error("`{0}` has faults")]
    FaultyProfile(&'static str),
    /// The library host of this name has faults.
    #[error("the host `{0}` has faults")]
    FaultyHost(&'static str),
    /// No library host fits the profile of this name.
    #[error("`{0}` fits no host")]
    NoFittingHost(String),
    /// The device cannot be made.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// An operation on the target failed as a whole.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// An error on a device of a series.
    #[error("device {number} of seed {seed}: {error}")]
    Of {
        /// Number of the device.
        number: u64,
        /// Seed of the series.
        seed: u64,
        /// Error on that device.
        error: Box<BlindError>,
    },
}

impl BlindError {
    /// Adds the device of the series to the error.
    pub(super) fn of(self, number: u64, seed: u64) -> Self {
        BlindError::Of {
            number,
            seed,
            error: Box::new(self),
        }
    }
}
