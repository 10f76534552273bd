//! A used device in a file: the profiles it was made from, followed by its snapshot, so that it can
//! be continued, attached elsewhere and described without the files of that day.
//!
//! The file: the line `nandscope kept device 2 CHECKSUM`, one line of JSON ([`Kept`]), the snapshot.
//! The checksum is the CRC-32 of what follows the line, in hexadecimal.

use crate::Simulated;
use nandscope_device::{Device, SnapshotError};
use serde::{Deserialize, Serialize};
use thiserror::Error;

const FIRST_LINE: &str = "nandscope kept device 2 ";
const ANY_VERSION: &str = "nandscope kept device ";
/// Digits of the checksum and the end of its line.
const CHECKSUM: usize = 9;

fn checksum(content: &[u8]) -> [u8; CHECKSUM] {
    let mut line = [b'\n'; CHECKSUM];
    let sum = format!("{:08x}", crc32fast::hash(content));
    line[..CHECKSUM - 1].copy_from_slice(sum.as_bytes());
    line
}

/// Why a device cannot be kept, or read from its file.
#[derive(Debug, Error)]
pub enum KeptError {
    /// It is another kind of file.
    #[error("not a saved device; `nandscope run … --save FILE` writes one")]
    Foreign,
    /// Another version wrote it.
    #[error("a device saved by another version of nandscope; save it again with --save")]
    Version,
    /// Its end is missing.
    #[error("the saved device is truncated; save it again with --save")]
    CutOff,
    /// Its checksum is wrong.
    #[error(
        "the saved device is damaged (wrong checksum); use a copy, or save it again with --save"
    )]
    Damaged,
    /// The profiles before the snapshot cannot be read or written.
    #[error("the header of the saved device: {0}")]
    Header(#[from] serde_json::Error),
    /// The device itself cannot be read or written.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
}

/// Header of a file with a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// File of the device's profile, for messages.
    pub profile_file: String,
    /// Text of the device's profile.
    pub profile: String,
    /// File of the host's profile, for messages.
    pub host_file: String,
    /// Text of the host's profile.
    pub host: String,
}

impl Kept {
    /// The header for the snapshot of this target.
    pub fn of(target: &Simulated) -> Kept {
        Kept {
            profile_file: target.device_source.file.clone(),
            profile: target.device_source.text.clone(),
            host_file: target.host_source.file.clone(),
            host: target.host_source.text.clone(),
        }
    }

    /// The bytes of a file that keeps a device.
    ///
    /// # Errors
    /// [`KeptError::Header`] or [`KeptError::Snapshot`] if the profiles or the device cannot be written out.
    pub fn write(target: &Simulated, device: &Device) -> Result<Vec<u8>, KeptError> {
        Kept::of(target).with(device)
    }

    /// The same for a device whose profiles are known by what was kept before.
    ///
    /// # Errors
    /// As [`Kept::write`].
    pub fn with(&self, device: &Device) -> Result<Vec<u8>, KeptError> {
        let mut bytes = [FIRST_LINE.as_bytes(), &[b'\n'; CHECKSUM]].concat();
        let content = bytes.len();
        serde_json::to_writer(&mut bytes, self)?;
        bytes.push(b'\n');
        let mut bytes = device.save_after(bytes)?;
        let sum = checksum(&bytes[content..]);
        bytes[content - CHECKSUM..content].copy_from_slice(&sum);
        Ok(bytes)
    }

    /// Reads what [`Kept::write`] wrote.
    ///
    /// # Errors
    /// [`KeptError`] if the bytes are something else, of another version, or damaged.
    pub fn read(bytes: &[u8]) -> Result<(Kept, Device), KeptError> {
        let (kept, snapshot) = Kept::open(bytes)?;
        Ok((kept, Device::load(snapshot)?))
    }

    /// Reads the header only; the device may need more memory than there is.
    ///
    /// # Errors
    /// As [`Kept::read`].
    pub fn open(bytes: &[u8]) -> Result<(Kept, &[u8]), KeptError> {
        let Some(rest) = bytes.strip_prefix(FIRST_LINE.as_bytes()) else {
            return Err(match bytes.starts_with(ANY_VERSION.as_bytes()) {
                true => KeptError::Version,
                false => KeptError::Foreign,
            });
        };
        let (sum, rest) = rest.split_first_chunk().ok_or(KeptError::CutOff)?;
        if *sum != checksum(rest) {
            return Err(KeptError::Damaged);
        }
        let end = rest.iter().position(|b| *b == b'\n');
        let end = end.ok_or(KeptError::CutOff)?;
        let (header, snapshot) = rest.split_at(end);
        Ok((serde_json::from_slice(header)?, &snapshot[1..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_kept_device_is_refused() {
        let sealed = |content: &[u8]| {
            let sum = checksum(content);
            [FIRST_LINE.as_bytes(), &sum, content].concat()
        };
        for (bytes, part) in [
            (b"".to_vec(), "not a saved device"),
            (b"NSDEVICE".to_vec(), "not a saved device"),
            (b"nandscope kept device 1\n{}".to_vec(), "another version"),
            (b"nandscope kept device 2 0000".to_vec(), "truncated"),
            (
                b"nandscope kept device 2 00000000\n{}\n".to_vec(),
                "damaged",
            ),
            (sealed(b"{}"), "truncated"),
            (sealed(b"{}\n"), "header"),
        ] {
            let error = Kept::read(&bytes).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    /// Every bit counts, those of the profiles before the snapshot too.
    #[test]
    fn damage_is_found_wherever_it_is() {
        let tiny = concat!(
            "sim:",
            env!("CARGO_MANIFEST_DIR"),
            "/../cli/tests/data/tiny.toml"
        );
        let (target, device) = crate::open(tiny, &crate::OpenOptions::default()).unwrap();
        let bytes = Kept::write(&target, &device).unwrap();
        let (kept, _) = Kept::read(&bytes).unwrap();
        assert_eq!(kept, Kept::of(&target));
        for at in (0..bytes.len()).step_by(7) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            assert!(Kept::read(&damaged).is_err(), "byte {at}");
        }
    }
}
