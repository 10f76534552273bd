//! Devices and hosts of recorded series. Their profiles are in `facts/devices` and `facts/hosts`, not in the library:
//! they hold what data sheets, standards and the rows that may be fitted say, and have no ranks or tutorials.

use crate::spec::{SimSpec, library_host};
use crate::step_runner::SuiteError;
use nandscope_device::profile::library::Entry;
use nandscope_device::profile::{HostProfile, parse_host, parse_profile};

macro_rules! entry {
    ($folder:literal, $name:literal) => {
        Entry {
            name: $name,
            file: concat!("facts/", $folder, $name, ".toml"),
            text: include_str!(concat!("../../../../facts/", $folder, $name, ".toml")),
        }
    };
}

/// Devices, in alphabetical order.
pub(super) const DEVICES: &[Entry] = &[
    entry!("devices/", "amazon-basics-a2-64gb"),
    entry!("devices/", "crucial-mx200-250gb"),
    entry!("devices/", "micron-7300-pro-960gb"),
    entry!("devices/", "raspberry-pi-a2-64gb"),
    entry!("devices/", "samsung-pro-plus-128gb"),
    entry!("devices/", "sandisk-extreme-pro-a2-128gb"),
];

/// Hosts, in alphabetical order.
pub(super) const HOSTS: &[Entry] = &[
    entry!("hosts/", "hp-microserver-gen8"),
    entry!("hosts/", "hp-p420i"),
    entry!("hosts/", "hp-p420i-cache-off"),
    entry!("hosts/", "hp-p420i-hba"),
    entry!("hosts/", "raspberry-pi-5"),
    entry!("hosts/", "raspberry-pi-5-no-queue"),
];

/// The device of that name, here or in the library.
///
/// # Errors
/// [`SuiteError::Target`] for an unknown name, or a profile that cannot be read.
pub(super) fn spec(name: &str) -> Result<SimSpec, SuiteError> {
    let Some(entry) = DEVICES.iter().find(|e| e.name == name) else {
        return SimSpec::library(name);
    };
    let profile = parse_profile(entry.file, entry.text).map_err(|faults| first(&faults))?;
    SimSpec::new(&format!("sim:{}", entry.file), entry.text, profile)
}

/// The host of that name, here or in the library.
///
/// # Errors
/// [`SuiteError::Target`] for an unknown name, or a profile that cannot be read.
pub(super) fn host(name: &str) -> Result<HostProfile, SuiteError> {
    match HOSTS.iter().find(|e| e.name == name) {
        Some(entry) => parse_host(entry.file, entry.text).map_err(|faults| first(&faults)),
        None => library_host(name),
    }
}

fn first<E: ToString>(faults: &[E]) -> SuiteError {
    SuiteError::Target(faults.first().map_or_else(String::new, ToString::to_string))
}
