//! Profiles of devices and hosts by name or file, with their text.

use crate::error::{ErrorClass, InvalidProfile};
use crate::input::{self, InputError};
use nandscope_device::profile::{
    HostProfile, Profile, ProfileError, library, parse_host, parse_profile,
};
use std::path::Path;
use thiserror::Error;

/// A profile with its text.
#[derive(Clone, Debug)]
pub struct Source<P> {
    /// File or place in the library, for messages.
    pub file: String,
    /// The text as it was read.
    pub text: String,
    /// The parsed profile.
    pub profile: P,
}

/// The profile of a device with its text.
pub type DeviceSource = Source<Profile>;
/// The profile of a host with its text.
pub type HostSource = Source<HostProfile>;

/// A profile cannot be had.
#[derive(Debug, Error)]
pub enum SourceError {
    /// The library has none of that name.
    #[error(
        "unknown {kind} `{name}`{meant}; `{list}` lists the library; for a file write ./{name}.toml"
    )]
    Unknown {
        /// `device` or `host`.
        kind: &'static str,
        /// Name that was given.
        name: String,
        /// Phrase that suggests similar names; may be empty.
        meant: String,
        /// The command that lists the library.
        list: &'static str,
    },
    /// The profile's file cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The profile has faults.
    #[error(transparent)]
    Invalid(#[from] InvalidProfile),
}

impl SourceError {
    /// Class of the error: who can fix it.
    pub fn class(&self) -> ErrorClass {
        match self {
            SourceError::Input(error) => error.class(),
            SourceError::Unknown { .. } | SourceError::Invalid(_) => ErrorClass::Usage,
        }
    }
}

/// The profile of a device by name or file (anything with a `/` or ending in `.toml`).
///
/// # Errors
/// Returns [`SourceError`] if the name is unknown, the file cannot be read, or the profile has faults.
pub fn device_source(place: &str) -> Result<DeviceSource, SourceError> {
    if is_file(place) {
        let text = input::text(Path::new(place), "the device profile")?;
        return parse_device(place.to_string(), text);
    }
    match library::device(place) {
        Some(entry) => parse_device(entry.file.to_string(), entry.text.to_string()),
        None => Err(unknown("device", place, library::DEVICES)),
    }
}

/// The profile of a host by name or file. A bare `NAME.toml` that is not a file here is the library's.
///
/// # Errors
/// Returns [`SourceError`] if the name is unknown, the file cannot be read, or the profile has faults.
pub fn host_source(place: &str) -> Result<HostSource, SourceError> {
    let place = match place.strip_suffix(".toml") {
        Some(name) if library::host(name).is_some() && !Path::new(place).exists() => name,
        _ => place,
    };
    if is_file(place) {
        let text = input::text(Path::new(place), "the host profile")?;
        return parse_host_text(place.to_string(), text);
    }
    match library::host(place) {
        Some(entry) => parse_host_text(entry.file.to_string(), entry.text.to_string()),
        None => Err(unknown("host", place, library::HOSTS)),
    }
}

fn is_file(place: &str) -> bool {
    place.contains('/') || place.ends_with(".toml")
}

fn unknown(kind: &'static str, place: &str, entries: &[library::Entry]) -> SourceError {
    let names: Vec<_> = entries.iter().map(|e| e.name).collect();
    SourceError::Unknown {
        kind,
        name: place.to_string(),
        meant: meant(place, &names),
        list: match kind {
            "host" => "nandscope devices hosts",
            _ => "nandscope devices",
        },
    }
}

/// Suggestions for a misspelt name, in brackets for a message; empty if nothing is similar.
pub(crate) fn meant(place: &str, names: &[&str]) -> String {
    match suggestions(place, names).as_slice() {
        [] => String::new(),
        [one] => format!(" (did you mean `{one}`?)"),
        some => format!(" (one of {}?)", some.join(", ")),
    }
}

/// Greatest number of names that are suggested.
const MOST_SUGGESTIONS: usize = 8;
/// Most letters in which a misspelt name differs.
const MISSPELT: usize = 3;

/// Names that hold every word of what was given, or a similar one, or else the most similar names.
fn suggestions<'a>(place: &str, names: &[&'a str]) -> Vec<&'a str> {
    let lower = place.to_lowercase();
    let separator = |c: char| !c.is_alphanumeric();
    let words: Vec<&str> = lower.split(separator).filter(|w| !w.is_empty()).collect();
    let family = |name: &&&str| !words.is_empty() && words.iter().all(|w| name.contains(w));
    let mut found: Vec<&str> = names.iter().filter(family).copied().collect();
    if found.is_empty() {
        // One edit for every four letters: `samsng-evo`, but no other number.
        let is_near = |word: &str, name: &str| {
            let near = nandscope_units::nearest(word, name.split(separator), word.len() / 4);
            !near.is_empty()
        };
        let similar = |name: &&&str| !words.is_empty() && words.iter().all(|w| is_near(w, name));
        found = names.iter().filter(similar).copied().collect();
    }
    if found.is_empty() {
        found = nandscope_units::nearest(&lower, names.iter().copied(), MISSPELT);
        found.truncate(3);
    }
    found.truncate(MOST_SUGGESTIONS);
    found
}

/// Reads the text of a device profile; `file` is for messages.
pub(crate) fn parse_device(file: String, text: String) -> Result<DeviceSource, SourceError> {
    let profile = parse_profile(&file, &text);
    with_text(file, text, profile)
}

/// Reads the text of a host profile; `file` is for messages.
pub(crate) fn parse_host_text(file: String, text: String) -> Result<HostSource, SourceError> {
    let profile = parse_host(&file, &text);
    with_text(file, text, profile)
}

fn with_text<P>(
    file: String,
    text: String,
    profile: Result<P, Vec<ProfileError>>,
) -> Result<Source<P>, SourceError> {
    match profile {
        Ok(profile) => Ok(Source {
            file,
            text,
            profile,
        }),
        Err(faults) => Err(InvalidProfile { text, faults }.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_or_a_misspelt_name_is_suggested() {
        let names: Vec<&str> = library::DEVICES.iter().map(|e| e.name).collect();
        let samsung = suggestions("Samsung", &names);
        assert!(
            samsung.len() > 3 && samsung.iter().all(|n| n.contains("samsung")),
            "{samsung:?}"
        );
        assert_eq!(suggestions("samsung pro 32", &names), ["samsung-pro-32gb"]);
        assert_eq!(suggestions("kingstn-8gb", &names)[0], "kingston-8gb");
        assert_eq!(suggestions("samsng-evo", &names), ["samsung-evo-16gb"]);
        assert!(suggestions("xyz", &names).is_empty() && suggestions("-", &names).is_empty());
        let text = unknown("device", "kingstn-8gb", library::DEVICES).to_string();
        assert!(text.contains("kingston-8gb") && text.len() < 250, "{text}");
    }
}
