//! A used device in a file: its own snapshot behind the profiles it was made from, so that it can
//! be continued, attached elsewhere and described without the files of that day.
//!
//! The file: the line `nandscope kept device 1`, one line of JSON ([`Kept`]), the snapshot.

use super::Simulated;
use nandscope_device::Device;
use serde::{Deserialize, Serialize};

const FIRST_LINE: &[u8] = b"nandscope kept device 1\n";
const ANY_VERSION: &[u8] = b"nandscope kept device ";

/// What stands before the snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// File of the device's profile, for messages.
    pub profile_file: String,
    /// Its text.
    pub profile: String,
    /// File of the host's profile, for messages.
    pub host_file: String,
    /// Its text.
    pub host: String,
}

impl Kept {
    /// What stands before the snapshot of this target.
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
    /// Where the device cannot be written out, in words.
    pub fn write(target: &Simulated, device: &Device) -> Result<Vec<u8>, String> {
        Kept::of(target).with(device)
    }

    /// The same for a device whose profiles are known by what was kept before.
    ///
    /// # Errors
    /// As [`Kept::write`].
    pub fn with(&self, device: &Device) -> Result<Vec<u8>, String> {
        let mut bytes = FIRST_LINE.to_vec();
        serde_json::to_writer(&mut bytes, self).map_err(|e| e.to_string())?;
        bytes.push(b'\n');
        bytes.extend(device.save().map_err(|e| e.to_string())?);
        Ok(bytes)
    }

    /// Reads what [`Kept::write`] wrote.
    ///
    /// # Errors
    /// Where the bytes are something else, of another version, or damaged; in words.
    pub fn read(bytes: &[u8]) -> Result<(Kept, Device), String> {
        let Some(rest) = bytes.strip_prefix(FIRST_LINE) else {
            return Err(if bytes.starts_with(ANY_VERSION) {
                "a device kept by another version of nandscope; make it anew with --save"
            } else {
                "this is no kept device; `nandscope run … --save FILE` makes one"
            }
            .to_string());
        };
        let Some(end) = rest.iter().position(|b| *b == b'\n') else {
            return Err("the kept device is cut off; make it anew with --save".to_string());
        };
        let (header, snapshot) = rest.split_at(end);
        let kept = serde_json::from_slice(header)
            .map_err(|e| format!("the header of the kept device cannot be read: {e}"))?;
        let device = Device::load(&snapshot[1..]).map_err(|e| e.to_string())?;
        Ok((kept, device))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_kept_device_is_refused() {
        for (bytes, part) in [
            (&b""[..], "no kept device"),
            (b"NSDEVICE", "no kept device"),
            (b"nandscope kept device 2\n{}", "another version"),
            (b"nandscope kept device 1\n{}", "cut off"),
            (b"nandscope kept device 1\n{}\n", "header"),
        ] {
            let error = Kept::read(bytes).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
