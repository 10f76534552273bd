//! Simulated devices as they are named, `sim:…`: which profile, which host, which state. What a device
//! does is the business of the device crate.

use crate::error::ErrorClass;
use crate::input::{self, InputError};
use crate::kept::{Kept, KeptError};
use crate::memory::{self, MemoryError};
use crate::overrides::{self, OverrideError, ProfileOverride};
use crate::source::{
    DeviceSource, HostSource, SourceError, device_source, host_source, parse_device,
    parse_host_text,
};
use nandscope_device::{AttachError, Device, DeviceError, SnapshotError};
use nandscope_result::{ModeInfo, TargetInfo};
use nandscope_suite::spec::target_info;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Forms of target names, for messages.
const FORMS: &str = "sim:NAME (see `nandscope devices`), sim:./FILE.toml, sim:saved:FILE";
/// The host where none is named.
pub const DEFAULT_HOST: &str = "direct";

/// Description of a simulated device, without the device itself.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// As it was named.
    pub name: String,
    /// The device's profile.
    pub device_source: DeviceSource,
    /// The host it is attached to.
    pub host_source: HostSource,
    /// Of a saved device: the checksum of its file.
    pub state: Option<u32>,
}

/// Options for opening a device. The default: attached to [`DEFAULT_HOST`], seed 1, its profile unchanged.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenOptions {
    /// Name or file of a host profile. A saved device stays with its own where none is named.
    pub host: Option<String>,
    /// Seed of everything random in the device. A saved device keeps its own.
    pub seed: u64,
    /// Values of the profile that are replaced.
    pub overrides: Vec<ProfileOverride>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        OpenOptions {
            host: None,
            seed: 1,
            overrides: Vec::new(),
        }
    }
}

/// A simulated device cannot be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// It is not named as a simulated device.
    #[error(
        "unknown target `{0}`; a simulated device is named {FORMS}, a file or device of this machine by its path, such as ./FILE or /dev/sdX"
    )]
    UnknownTarget(String),
    /// The profile of the device or the host cannot be had.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A value of the profile cannot be replaced.
    #[error(transparent)]
    Override(#[from] OverrideError),
    /// A saved device cannot have another profile.
    #[error(
        "{0} is a saved device, whose profile cannot be changed; set values on the device that it was made from"
    )]
    OverrideOfSaved(String),
    /// The device does not fit into memory.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// Device and host do not fit together.
    #[error("{name}: {error}; `nandscope devices hosts` lists hosts")]
    Device {
        /// The device as it was named.
        name: String,
        /// Cause.
        error: DeviceError,
    },
    /// The file of a saved device cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// It does not hold a saved device.
    #[error("{}: {error}", file.display())]
    Saved {
        /// Path of the saved device.
        file: PathBuf,
        /// Cause.
        error: KeptError,
    },
    /// The saved device is impossible.
    #[error("{}: {error}", file.display())]
    Snapshot {
        /// Path of the saved device.
        file: PathBuf,
        /// Cause.
        error: SnapshotError,
    },
    /// The saved device does not fit to the host.
    #[error("{}: {error}", file.display())]
    Attach {
        /// Path of the saved device.
        file: PathBuf,
        /// Cause.
        error: AttachError,
    },
}

impl OpenError {
    /// Class of the error: who can fix it.
    pub fn class(&self) -> ErrorClass {
        match self {
            OpenError::Source(error) => error.class(),
            OpenError::Input(error) => error.class(),
            OpenError::Memory(_) => ErrorClass::System,
            _ => ErrorClass::Usage,
        }
    }
}

/// Opens the simulated device of that name: `sim:NAME`, `sim:./FILE.toml` or `sim:saved:FILE`.
///
/// # Errors
/// Returns [`OpenError`] if there is no such device or host, a profile has faults, the two do not fit
/// together, or memory does not suffice.
pub fn open(name: &str, options: &OpenOptions) -> Result<(Simulated, Device), OpenError> {
    let Some(place) = name.strip_prefix("sim:") else {
        return Err(OpenError::UnknownTarget(name.to_string()));
    };
    if let Some(file) = place.strip_prefix("saved:") {
        if !options.overrides.is_empty() {
            return Err(OpenError::OverrideOfSaved(name.to_string()));
        }
        return reopen(name, Path::new(file), options.host.as_deref());
    }
    let device_source = overrides::apply(device_source(place)?, &options.overrides)?;
    let host_source = host_source(options.host.as_deref().unwrap_or(DEFAULT_HOST))?;
    let simulated = Simulated {
        name: name.to_string(),
        device_source,
        host_source,
        state: None,
    };
    let device = simulated.fresh(options.seed)?;
    Ok((simulated, device))
}

fn reopen(name: &str, file: &Path, host: Option<&str>) -> Result<(Simulated, Device), OpenError> {
    let bytes = input::device(file, "the saved device")?;
    let (kept, snapshot) = Kept::open(&bytes).map_err(|error| OpenError::Saved {
        file: file.to_path_buf(),
        error,
    })?;
    let device_source = parse_device(kept.profile_file, kept.profile)?;
    memory::check(name, &device_source.profile)?;
    let mut device = Device::load(snapshot).map_err(|error| OpenError::Snapshot {
        file: file.to_path_buf(),
        error,
    })?;
    let host_source = match host {
        None => parse_host_text(kept.host_file, kept.host)?,
        Some(host) => {
            let source = host_source(host)?;
            let attached = device.attach(&device_source.profile, &source.profile);
            attached.map_err(|error| OpenError::Attach {
                file: file.to_path_buf(),
                error,
            })?;
            source
        }
    };
    let simulated = Simulated {
        name: name.to_string(),
        device_source,
        host_source,
        state: Some(crc32fast::hash(&bytes)),
    };
    Ok((simulated, device))
}

impl Simulated {
    /// A new device of this profile on this host, as it comes from the factory.
    ///
    /// # Errors
    /// Returns [`OpenError::Memory`] if it does not fit into memory, [`OpenError::Device`] if device and
    /// host do not fit together.
    pub fn fresh(&self, seed: u64) -> Result<Device, OpenError> {
        let profile = &self.device_source.profile;
        memory::check(&self.name, profile)?;
        Device::new(profile, &self.host_source.profile, seed).map_err(|error| OpenError::Device {
            name: self.name.clone(),
            error,
        })
    }

    /// Target information of the result document.
    pub fn info(&self, device: &Device) -> TargetInfo {
        let source = &self.device_source;
        let title = &self.host_source.profile.host.title;
        let mode = ModeInfo {
            name: title.clone(),
            host: title.clone(),
            path: device.path().to_vec(),
        };
        TargetInfo {
            modes: vec![mode],
            ..target_info(&self.name, &source.text, &source.profile)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_no_target() {
        for (name, part) in [
            ("/dev/sdb", "unknown target"),
            ("sim:nothing", "unknown device `nothing`"),
            ("sim:./nothing.toml", "cannot read the device profile"),
            ("sim:saved:nothing", "cannot read the saved device"),
        ] {
            let error = open(name, &OpenOptions::default()).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
