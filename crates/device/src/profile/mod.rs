//! Device and host profiles: the text form, its checks, and the library that is built in.
//!
//! [`schema`] defines the keys of a file, [`check`](self) the conditions on their values,
//! [`library`] the profiles included in nandscope. Nothing here reads files: callers pass the text.

pub mod card;
mod check;
mod error;
mod explain;
pub mod host;
pub mod library;
pub mod power_state;
mod provenance;
pub mod registers;
pub mod schema;

pub use error::ProfileError;
pub use explain::{Explained, explain};
pub use host::HostProfile;
pub use provenance::Provenance;
pub use schema::Profile;

use crate::invariant::{Checked, InvalidState};
use error::Located;
use serde::de::DeserializeOwned;

/// Version of the profile format that this build reads.
pub const FORMAT: u32 = 1;

/// Reads and checks a device profile. `file` is only for messages.
///
/// # Errors
/// Every fault that was found: syntax, unknown or missing keys (the first), or all values that
/// are impossible by themselves or together, each with its line and a remedy.
pub fn parse_profile(file: &str, text: &str) -> Result<Profile, Vec<ProfileError>> {
    let profile: Profile = deserialize(file, text)?;
    let faults = check::check(&profile);
    finish(file, text, profile, faults)
}

/// Checks a device profile that was built in memory.
///
/// # Errors
/// Every value that is impossible by itself or together with others, named by its key; the file is
/// the device's name and the line 1.
pub fn check_profile(profile: &Profile) -> Result<(), Vec<ProfileError>> {
    finish(&profile.device.name, "", (), check::check(profile))
}

/// Fails with the first fault of a profile, if there is one.
pub(crate) fn audit(profile: &Profile) -> Checked {
    match check::check(profile).first() {
        None => Ok(()),
        Some(fault) => Err(InvalidState(format!(
            "its profile is impossible: {}: {}",
            fault.key, fault.message
        ))),
    }
}

/// Reads and checks a host profile. `file` is only for messages.
///
/// # Errors
/// As [`parse_profile`].
pub fn parse_host(file: &str, text: &str) -> Result<HostProfile, Vec<ProfileError>> {
    let host: HostProfile = deserialize(file, text)?;
    let faults = host::check(&host);
    finish(file, text, host, faults)
}

fn deserialize<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, Vec<ProfileError>> {
    toml::from_str(text).map_err(|e| vec![ProfileError::syntax(file, text, &e)])
}

fn finish<T>(
    file: &str,
    text: &str,
    value: T,
    faults: Vec<Located>,
) -> Result<T, Vec<ProfileError>> {
    if faults.is_empty() {
        return Ok(value);
    }
    Err(faults
        .into_iter()
        .map(|fault| ProfileError::at_key(file, text, fault))
        .collect())
}
