//! A used device in a file: its own snapshot behind the profiles it was made from, so that it can
//! be continued, attached elsewhere and described without the files of that day.
//!
//! The file: the line `nandscope kept device 2 CHECKSUM`, one line of JSON ([`Kept`]), the snapshot.
//! The checksum is the CRC-32 of what follows the line, in hexadecimal.

use super::Simulated;
use nandscope_device::Device;
use serde::{Deserialize, Serialize};

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
        let mut bytes = [FIRST_LINE.as_bytes(), &[b'\n'; CHECKSUM]].concat();
        let content = bytes.len();
        serde_json::to_writer(&mut bytes, self).map_err(|e| e.to_string())?;
        bytes.push(b'\n');
        bytes.extend(device.save().map_err(|e| e.to_string())?);
        let sum = checksum(&bytes[content..]);
        bytes[content - CHECKSUM..content].copy_from_slice(&sum);
        Ok(bytes)
    }

    /// Reads what [`Kept::write`] wrote.
    ///
    /// # Errors
    /// Where the bytes are something else, of another version, or damaged; in words.
    pub fn read(bytes: &[u8]) -> Result<(Kept, Device), String> {
        let (kept, snapshot) = Kept::open(bytes)?;
        let device = Device::load(snapshot).map_err(|e| e.to_string())?;
        Ok((kept, device))
    }

    /// Reads what stands before the snapshot; the device may need more memory than there is.
    ///
    /// # Errors
    /// As [`Kept::read`].
    pub fn open(bytes: &[u8]) -> Result<(Kept, &[u8]), String> {
        let Some(rest) = bytes.strip_prefix(FIRST_LINE.as_bytes()) else {
            return Err(if bytes.starts_with(ANY_VERSION.as_bytes()) {
                "a device kept by another version of nandscope; make it anew with --save"
            } else {
                "this is no kept device; `nandscope run … --save FILE` makes one"
            }
            .to_string());
        };
        let Some((sum, rest)) = rest.split_first_chunk() else {
            return Err("the kept device is cut off; make it anew with --save".to_string());
        };
        if *sum != checksum(rest) {
            return Err(
                "the kept device is damaged (its checksum is another one); take it from a copy, or make it anew with --save"
                    .to_string(),
            );
        }
        let Some(end) = rest.iter().position(|b| *b == b'\n') else {
            return Err("the kept device is cut off; make it anew with --save".to_string());
        };
        let (header, snapshot) = rest.split_at(end);
        let kept = serde_json::from_slice(header)
            .map_err(|e| format!("the header of the kept device cannot be read: {e}"))?;
        Ok((kept, &snapshot[1..]))
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
            (b"".to_vec(), "no kept device"),
            (b"NSDEVICE".to_vec(), "no kept device"),
            (b"nandscope kept device 1\n{}".to_vec(), "another version"),
            (b"nandscope kept device 2 0000".to_vec(), "cut off"),
            (
                b"nandscope kept device 2 00000000\n{}\n".to_vec(),
                "damaged",
            ),
            (sealed(b"{}"), "cut off"),
            (sealed(b"{}\n"), "header"),
        ] {
            let error = Kept::read(&bytes).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    /// Every bit counts, those of the profiles before the snapshot too.
    #[test]
    fn damage_is_found_wherever_it_is() {
        let tiny = concat!("sim:", env!("CARGO_MANIFEST_DIR"), "/tests/data/tiny.toml");
        let console = crate::console::Console {
            width: 80,
            colour: false,
        };
        let (target, device) = crate::target::open(tiny, None, 1, &console).unwrap();
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
