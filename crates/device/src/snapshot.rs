//! A used device as bytes, to be kept and continued: a header with a version, then everything the
//! device is, then a checksum.

use crate::device::Device;
use crate::error::DeviceError;
use crate::invariant::InvalidState;
use crate::policy::VictimPolicy;
use std::sync::Arc;
use thiserror::Error;

const MAGIC: &[u8; 8] = b"NSDEVICE";
/// Version of the snapshot format: incremented with every change of the device's state. Other versions are refused.
const VERSION: u32 = 24;
const HEADER: usize = 12;
const CHECKSUM: usize = 8;

/// Error of reading or writing a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SnapshotError {
    /// The bytes do not begin with the magic number of a snapshot.
    #[error("this is not a device snapshot")]
    NotASnapshot,
    /// The snapshot has another version.
    #[error(
        "the snapshot has version {found}; this build reads version {VERSION}: create it again"
    )]
    Version {
        /// Version found.
        found: u32,
    },
    /// Bytes are missing or changed.
    #[error("the snapshot is damaged (its checksum does not match)")]
    Damaged,
    /// The content does not describe a device.
    #[error("the snapshot cannot be read: {0}")]
    Content(String),
    /// The checksum matches, but no device can be in this state: the snapshot was forged.
    #[error("the snapshot describes a device that cannot be: {0}; make it again with --save")]
    Invalid(#[from] InvalidState),
    /// The victim policy of the device is not there.
    #[error(transparent)]
    Policy(#[from] DeviceError),
}

impl Device {
    /// The whole state as bytes.
    ///
    /// # Errors
    /// [`SnapshotError::Content`] if the state cannot be serialized, which is a fault of this program.
    pub fn save(&self) -> Result<Vec<u8>, SnapshotError> {
        self.save_after(Vec::new())
    }

    /// As [`Device::save`], appended to `bytes`, so that a large state need not be copied again.
    ///
    /// # Errors
    /// As [`Device::save`].
    pub fn save_after(&self, mut bytes: Vec<u8>) -> Result<Vec<u8>, SnapshotError> {
        let without_plan = self.without_plan();
        let device = without_plan.as_ref().unwrap_or(self);
        let begin = bytes.len();
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        let mut bytes = postcard::to_extend(device, bytes)
            .map_err(|e| SnapshotError::Content(e.to_string()))?;
        let sum = checksum(&bytes[begin..]);
        bytes.extend(sum.to_le_bytes());
        Ok(bytes)
    }

    /// The device that [`Device::save`] wrote.
    ///
    /// # Errors
    /// [`SnapshotError`] if the bytes are no snapshot, of another version, damaged, describe a
    /// state that no device can be in, or name a victim policy that the program has to supply.
    pub fn load(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let device = Self::read(bytes)?;
        match device.missing_policy() {
            Some(name) => Err(DeviceError::no_policy(name).into()),
            None => Ok(device),
        }
    }

    /// As [`Device::load`], of a device that was made by [`Device::with_victim_policy`].
    ///
    /// # Errors
    /// As [`Device::load`], and [`DeviceError::OtherVictimPolicy`] if the device does not use this policy.
    pub fn load_with_victim_policy(
        bytes: &[u8],
        policy: &Arc<dyn VictimPolicy>,
    ) -> Result<Self, SnapshotError> {
        let mut device = Self::read(bytes)?;
        device.supply(policy)?;
        Ok(device)
    }

    fn read(bytes: &[u8]) -> Result<Self, SnapshotError> {
        if bytes.len() < HEADER + CHECKSUM || &bytes[..8] != MAGIC {
            return Err(SnapshotError::NotASnapshot);
        }
        let word = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        if word(8) != VERSION {
            return Err(SnapshotError::Version { found: word(8) });
        }
        let (content, sum) = bytes.split_at(bytes.len() - CHECKSUM);
        if checksum(content).to_le_bytes() != sum {
            return Err(SnapshotError::Damaged);
        }
        // Lists are allocated by the bytes present, not by their stated length.
        let (device, rest) = postcard::take_from_bytes::<Device>(&content[HEADER..])
            .map_err(|e| SnapshotError::Content(e.to_string()))?;
        if !rest.is_empty() {
            let message = format!("{} bytes follow its end", rest.len());
            return Err(SnapshotError::Content(message));
        }
        device.audit()?;
        Ok(device)
    }
}

/// FNV-1a over eight bytes at a time: it finds damage, not forgery.
fn checksum(bytes: &[u8]) -> u64 {
    nandscope_units::Fnv1a::of_words(bytes)
}
