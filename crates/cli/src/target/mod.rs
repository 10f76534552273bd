//! Targets as they are named on the command line, `sim:…`: which profile, which host, which
//! device. What a device does is the business of the device crate.

mod fill;
mod kept;
#[cfg(target_os = "linux")]
pub mod real;
#[cfg(not(target_os = "linux"))]
#[path = "real_absent.rs"]
pub mod real;

pub use fill::Precondition;
pub use kept::Kept;

use crate::console::Console;
use crate::failure::Failure;
use crate::{fault, input, memory};
use nandscope_device::Device;
use nandscope_device::profile::{HostProfile, Profile, library, parse_host, parse_profile};
use nandscope_result::{ModeInfo, TargetInfo};
use nandscope_suite::spec::target_info;
use std::fmt::Display;
use std::path::Path;

/// How targets are named, for messages.
const FORMS: &str = "sim:NAME (see `nandscope devices`), sim:./FILE.toml, sim:saved:FILE";
/// The host where none is named.
const DEFAULT_HOST: &str = "direct";

/// A profile with its text.
#[derive(Clone, Debug)]
pub struct Source<P> {
    /// File or place in the library, for messages.
    pub file: String,
    /// The text as it was read.
    pub text: String,
    /// What it says.
    pub profile: P,
}

/// What a simulated device is, beside the device itself.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// As it was named.
    pub name: String,
    /// The device's profile.
    pub device_source: Source<Profile>,
    /// The host it is attached to.
    pub host_source: Source<HostProfile>,
    /// Of a device that was kept: the checksum of its file.
    pub state: Option<u32>,
}

/// Opens the target of that name. `host` is the name or file of a host profile; a kept device
/// stays with its own where none is named.
///
/// # Errors
/// Where there is no such device or host, a profile has faults, or the two do not fit together.
pub fn open(
    name: &str,
    host: Option<&str>,
    seed: u64,
    console: &Console,
) -> Result<(Simulated, Device), Failure> {
    let Some(place) = name.strip_prefix("sim:") else {
        return Err(Failure::usage(format!(
            "unknown target `{name}`; a simulated device is named {FORMS}, a file or device of this machine by its path, such as ./FILE or /dev/sdX"
        )));
    };
    if let Some(file) = place.strip_prefix("saved:") {
        return reopen(name, Path::new(file), host, console);
    }
    let device_source = device_source(place, console)?;
    let host_source = host_source(host.unwrap_or(DEFAULT_HOST), console)?;
    memory::check(name, &device_source.profile)?;
    let device = Device::new(&device_source.profile, &host_source.profile, seed).map_err(|e| {
        Failure::usage(format!(
            "{name}: {e}; `nandscope devices hosts` lists hosts"
        ))
    })?;
    let simulated = Simulated {
        name: name.to_string(),
        device_source,
        host_source,
        state: None,
    };
    Ok((simulated, device))
}

fn reopen(
    name: &str,
    file: &Path,
    host: Option<&str>,
    console: &Console,
) -> Result<(Simulated, Device), Failure> {
    let bytes = input::device(file, "the saved device")?;
    let refuse = |what: &dyn Display| Failure::usage(format!("{}: {what}", file.display()));
    let (kept, snapshot) = Kept::open(&bytes).map_err(|e| refuse(&e))?;
    let device_source = parse_device(kept.profile_file, kept.profile, console)?;
    memory::check(name, &device_source.profile)?;
    let mut device = Device::load(snapshot).map_err(|e| refuse(&e))?;
    let host_source = match host {
        None => parse_host_text(kept.host_file, kept.host, console)?,
        Some(host) => {
            let source = host_source(host, console)?;
            device
                .attach(&device_source.profile, &source.profile)
                .map_err(|e| refuse(&e))?;
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

/// The profile of a device by name or file (anything with a `/` or ending in `.toml`).
///
/// # Errors
/// Where there is none, or it has faults.
pub fn device_source(place: &str, console: &Console) -> Result<Source<Profile>, Failure> {
    if is_file(place) {
        let text = input::text(Path::new(place), "the device profile")?;
        return parse_device(place.to_string(), text, console);
    }
    match library::device(place) {
        Some(entry) => parse_device(entry.file.to_string(), entry.text.to_string(), console),
        None => Err(unknown("device", place, library::DEVICES)),
    }
}

/// The profile of a host by name or file. A bare `NAME.toml` that is no file here is the library's.
///
/// # Errors
/// Where there is none, or it has faults.
pub fn host_source(place: &str, console: &Console) -> Result<Source<HostProfile>, Failure> {
    let place = match place.strip_suffix(".toml") {
        Some(name) if library::host(name).is_some() && !Path::new(place).exists() => name,
        _ => place,
    };
    if is_file(place) {
        let text = input::text(Path::new(place), "the host profile")?;
        return parse_host_text(place.to_string(), text, console);
    }
    match library::host(place) {
        Some(entry) => parse_host_text(entry.file.to_string(), entry.text.to_string(), console),
        None => Err(unknown("host", place, library::HOSTS)),
    }
}

fn is_file(place: &str) -> bool {
    place.contains('/') || place.ends_with(".toml")
}

fn unknown(what: &str, place: &str, entries: &[library::Entry]) -> Failure {
    let list = match what {
        "host" => "nandscope devices hosts",
        _ => "nandscope devices",
    };
    let names: Vec<_> = entries.iter().map(|e| e.name).collect();
    let meant = match suggestions(place, &names).as_slice() {
        [] => String::new(),
        [one] => format!("; did you mean `{one}`?"),
        some => format!("; it may be {}", some.join(", ")),
    };
    Failure::usage(format!(
        "unknown {what} `{place}`{meant}; `{list}` lists the library; for a file write ./{place}.toml"
    ))
}

/// Names that are suggested at most.
const MOST_SUGGESTIONS: usize = 8;
/// Most letters in which a misspelt name differs.
const MISSPELT: usize = 3;

/// Names that hold every word of what was given, or else the most similar ones.
fn suggestions<'a>(place: &str, names: &[&'a str]) -> Vec<&'a str> {
    let lower = place.to_lowercase();
    let separator = |c: char| !c.is_alphanumeric();
    let words: Vec<&str> = lower.split(separator).filter(|w| !w.is_empty()).collect();
    let family = |name: &&&str| !words.is_empty() && words.iter().all(|w| name.contains(w));
    let mut found: Vec<&str> = names.iter().filter(family).copied().collect();
    if found.is_empty() {
        let distances = names
            .iter()
            .map(|name| (strsim::osa_distance(&lower, name), *name));
        let mut near: Vec<(usize, &str)> = distances.filter(|(d, _)| *d <= MISSPELT).collect();
        near.sort_unstable();
        found = near.into_iter().map(|(_, name)| name).take(3).collect();
    }
    found.truncate(MOST_SUGGESTIONS);
    found
}

fn parse_device(file: String, text: String, console: &Console) -> Result<Source<Profile>, Failure> {
    match parse_profile(&file, &text) {
        Ok(profile) => Ok(Source {
            file,
            text,
            profile,
        }),
        Err(faults) => Err(fault::of_profile(console, &text, &faults)),
    }
}

fn parse_host_text(
    file: String,
    text: String,
    console: &Console,
) -> Result<Source<HostProfile>, Failure> {
    match parse_host(&file, &text) {
        Ok(profile) => Ok(Source {
            file,
            text,
            profile,
        }),
        Err(faults) => Err(fault::of_profile(console, &text, &faults)),
    }
}

impl Simulated {
    /// What the result document says of the target.
    pub fn info(&self, device: &Device) -> TargetInfo {
        let source = &self.device_source;
        let mode = ModeInfo {
            name: self.host_source.profile.host.title.clone(),
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
    fn a_family_or_a_misspelt_name_is_suggested() {
        let names: Vec<&str> = library::DEVICES.iter().map(|e| e.name).collect();
        let samsung = suggestions("Samsung", &names);
        assert!(
            samsung.len() > 3 && samsung.iter().all(|n| n.contains("samsung")),
            "{samsung:?}"
        );
        assert_eq!(suggestions("samsung pro 32", &names), ["samsung-pro-32gb"]);
        assert_eq!(suggestions("kingstn-8gb", &names)[0], "kingston-8gb");
        assert!(suggestions("xyz", &names).is_empty() && suggestions("-", &names).is_empty());
        let text = unknown("device", "kingstn-8gb", library::DEVICES).text;
        assert!(text.contains("kingston-8gb") && text.len() < 250, "{text}");
    }

    #[test]
    fn names_that_are_no_target() {
        let console = Console {
            width: 80,
            colour: false,
            verdicts: false,
        };
        for (name, part) in [
            ("/dev/sdb", "unknown target"),
            ("sim:nothing", "unknown device `nothing`"),
            ("sim:./nothing.toml", "cannot read the device profile"),
            ("sim:saved:nothing", "cannot read the saved device"),
        ] {
            let failure = open(name, None, 1, &console).unwrap_err();
            assert!(failure.text.contains(part), "{}", failure.text);
        }
    }
}
