//! Specification of a simulated device for a procedure: its profile and the hosts it is attached to.

use crate::step_runner::SuiteError;
use nandscope_device::profile::{HostProfile, Profile, explain, library};
use nandscope_result::{ModeInfo, Parameter, TargetInfo, TargetKind};
use sha2::{Digest, Sha256};

/// One way to attach the device.
#[derive(Clone, Debug)]
pub struct Mode {
    /// Name for the report, such as `SD Express`.
    pub name: String,
    /// Profile of the host.
    pub host: HostProfile,
}

/// A simulated device and the ways to attach it.
#[derive(Clone, Debug)]
pub struct SimSpec {
    /// Name given by the user, such as `sim:sm2708-250gb`.
    pub name: String,
    /// Text of the profile, for its hash and its remarks.
    pub text: String,
    /// Profile of the device.
    pub profile: Profile,
    /// Ways to attach it, in the order of the review.
    pub modes: Vec<Mode>,
}

impl SimSpec {
    /// A device of the given profile with the modes that the profile names; without any, it is attached directly.
    ///
    /// # Errors
    /// [`SuiteError::Target`] if the profile names a host that is not in the library.
    pub fn new(name: &str, text: &str, profile: Profile) -> Result<Self, SuiteError> {
        let mut modes = Vec::new();
        for review in &profile.review {
            let host = library_host(&review.host)?;
            modes.extend(attachments(&review.mode, &host, &profile));
        }
        if modes.is_empty() {
            modes.push(Mode {
                name: "Direct".to_string(),
                host: library_host("direct")?,
            });
        }
        Ok(SimSpec {
            name: name.to_string(),
            text: text.to_string(),
            profile,
            modes,
        })
    }

    /// The device of that name in the library.
    ///
    /// # Errors
    /// [`SuiteError::Target`] if the library has no such device, or its profile cannot be read.
    pub fn library(name: &str) -> Result<Self, SuiteError> {
        let entry = library::device(name).ok_or_else(|| {
            SuiteError::Target(format!(
                "there is no device `{name}` in the library; `nandscope devices` lists it"
            ))
        })?;
        let profile = entry
            .profile()
            .map_err(|faults| SuiteError::Target(first(&faults)))?;
        SimSpec::new(&format!("sim:{name}"), entry.text, profile)
    }

    /// Target information of a result document.
    pub fn target_info(&self) -> TargetInfo {
        target_info(&self.name, &self.text, &self.profile)
    }

    /// Entry of a result document for one mode.
    pub fn mode_info(mode: &Mode, path: &[String]) -> ModeInfo {
        ModeInfo {
            name: mode.name.clone(),
            host: mode.host.host.title.clone(),
            path: path.to_vec(),
        }
    }
}

/// Description of a simulated device in a result document: `name` as given by the user, `text` of its profile. The
/// caller adds the attachment.
pub fn target_info(name: &str, text: &str, profile: &Profile) -> TargetInfo {
    let device = &profile.device;
    TargetInfo {
        name: name.to_string(),
        kind: TargetKind::Simulated,
        model: device.model.clone(),
        capacity_bytes: device.capacity_bytes,
        link_bytes_per_s: None,
        description: device.description.clone(),
        profile_sha256: Some(hex(&Sha256::digest(text.as_bytes()))),
        parameters: parameters(text),
        sources: device.sources.clone(),
        modes: Vec::new(),
    }
}

/// Modes in which a device can be attached to a host: at each port of a board that it fits, under the port's name, or
/// to the host as a whole under `name`. A board without a fitting port is one mode too, whose attachment fails with the
/// reason.
pub fn attachments(name: &str, host: &HostProfile, profile: &Profile) -> Vec<Mode> {
    let whole = Mode {
        name: name.to_string(),
        host: host.clone(),
    };
    let links: Vec<&str> = profile.interface.iter().map(|i| i.link.as_str()).collect();
    if host.port.is_empty() || host.attach(&links).is_err() {
        return vec![whole];
    }
    let ports = host.ports().into_iter();
    let fitting = ports.filter(|port| port.attach(&links).is_ok());
    fitting
        .map(|host| Mode {
            name: host.host.title.clone(),
            host,
        })
        .collect()
}

/// The host of that name in the library.
///
/// # Errors
/// `Target` if the library has no such host or its profile is invalid.
pub fn library_host(name: &str) -> Result<HostProfile, SuiteError> {
    let entry = library::host(name).ok_or_else(|| {
        SuiteError::Target(format!(
            "there is no host `{name}` in the library; `nandscope devices hosts` lists it"
        ))
    })?;
    entry
        .host_profile()
        .map_err(|faults| SuiteError::Target(first(&faults)))
}

fn first<E: ToString>(faults: &[E]) -> String {
    faults.first().map_or_else(String::new, ToString::to_string)
}

/// Rows of the report's parameter table: all keys except names and descriptions.
fn parameters(text: &str) -> Vec<Parameter> {
    let rows = explain(text)
        .into_iter()
        .filter(|row| !row.table.is_empty() && row.table != "device" && row.table != "review");
    rows.map(|row| Parameter {
        group: row.table,
        name: row.key,
        value: row.value,
        reason: row.remark,
    })
    .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_hexadecimal() {
        // FIPS 180-4, the message "abc".
        assert_eq!(
            hex(&Sha256::digest(b"abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
