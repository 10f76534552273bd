//! Errors of creating a device and of attaching it to a host.

use crate::link::UnknownLink;
use thiserror::Error;

/// A device cannot be attached to a host.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AttachError {
    /// The profile of the host names a link that does not exist.
    #[error(transparent)]
    UnknownLink(#[from] UnknownLink),
    /// Host and device have no link in common.
    #[error("host `{host}` offers {offered} and the device has {device}: no link in common")]
    NoCommonLink {
        /// Name of the host.
        host: String,
        /// Links of the host, comma-separated.
        offered: String,
        /// Links of the device, comma-separated.
        device: String,
    },
    /// The host selects a power state in which the device executes no commands.
    #[error(
        "host `{host}` selects power state {number}, which is not an operational state of the device; choose one below {operational}, or remove `power_state`"
    )]
    NoPowerState {
        /// Name of the host.
        host: String,
        /// Number of the state.
        number: u32,
        /// Operational states of the device.
        operational: usize,
    },
}

/// A device cannot be made from a profile and a host.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DeviceError {
    /// The device cannot be attached to the host.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// The profile has no translation layer, or more than one.
    #[error("a profile has either the tables [ftl] and [controller], or the table [card]")]
    TranslationLayer,
    /// The profile names a victim policy of a program, and none was given.
    #[error(
        "the profile chooses victims by `program:{name}`, a policy of a program that uses nandscope as a library; set ftl.collection to greedy, fifo or cost-benefit"
    )]
    NoVictimPolicy {
        /// Name of the policy.
        name: String,
    },
    /// The victim policy that was given is not the one that the profile names.
    #[error(
        "the profile does not choose victims by the given policy; set ftl.collection to `program:{name}`"
    )]
    OtherVictimPolicy {
        /// Name of the given policy.
        name: String,
    },
}

impl DeviceError {
    pub(crate) fn no_policy(name: &str) -> Self {
        DeviceError::NoVictimPolicy {
            name: name.to_string(),
        }
    }
}
