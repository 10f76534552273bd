//! Errors of drawing, making and probing a device: faults of the library or of the generator, none of a device.

use nandscope_device::DeviceError;
use nandscope_measure::target::TargetError;
use thiserror::Error;

/// A device cannot be drawn, made or probed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BlindError {
    /// The library has no profile of the kind that is drawn.
    #[error("the library has no such device")]
    NoDevice,
    /// The library lacks this profile.
    #[error("the library has no `{0}`")]
    NoProfile(&'static str),
    /// The library lacks this host.
    #[error("the library has no host `{0}`")]
    NoHost(&'static str),
    /// This profile has faults.
    #[error("`{0}` has faults")]
    FaultyProfile(&'static str),
    /// This host has faults.
    #[error("the host `{0}` has faults")]
    FaultyHost(&'static str),
    /// A profile lacks this table.
    #[error("the {device} has no [{table}]")]
    NoTable {
        /// A card or a drive.
        device: &'static str,
        /// Name of the missing table.
        table: &'static str,
    },
    /// No host of the library fits the profile of this name.
    #[error("`{0}` fits no host")]
    NoFittingHost(String),
    /// The device cannot be made.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// An operation on it failed as a whole.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The probe failed, for this reason.
    #[error("{0}")]
    Probe(String),
    /// One of these on a device of a series.
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
    /// The error with the device of the series that it concerns.
    pub(super) fn of(self, number: u64, seed: u64) -> Self {
        BlindError::Of {
            number,
            seed,
            error: Box::new(self),
        }
    }
}
