//! Values of a device profile that are replaced by dotted key, such as `controller.cores=8`.
//!
//! The value is set in the text of the profile, which is then read and checked as any other: results
//! carry the changed text, its remarks say what was changed, and messages are those of the profile's own
//! checks. Hosts have no overrides.

use crate::error::InvalidProfile;
use crate::source::{DeviceSource, Source, meant};
use nandscope_device::profile::{Profile, ProfileError, explain, library, parse_profile};
use std::fmt::{self, Write as _};
use std::ops::Range;
use std::str::FromStr;
use thiserror::Error;
use toml::de::{DeTable, DeValue};

/// Over-provisioning as a share of the capacity, (physical − logical) / logical. No key of a profile
/// holds it: it follows from the flash and the capacity, so that setting it sets `device.capacity_bytes`.
pub const OVER_PROVISIONING: &str = "ftl.over_provisioning";
const CAPACITY: &str = "device.capacity_bytes";

/// One replaced value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProfileOverride {
    /// Dotted key, such as `ftl.map.location`; numbers count the tables of an array
    /// (`interface.0.link`). [`OVER_PROVISIONING`] is a key too.
    pub key: String,
    /// The value in TOML; anything that is not TOML is a string, so that quotes may be left out.
    pub value: String,
}

impl ProfileOverride {
    /// `key` with this value.
    pub fn new(key: impl Into<String>, value: impl fmt::Display) -> Self {
        ProfileOverride {
            key: key.into(),
            value: value.to_string(),
        }
    }
}

impl fmt::Display for ProfileOverride {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key, self.value)
    }
}

impl FromStr for ProfileOverride {
    type Err = OverrideError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() && !value.trim().is_empty() => {
                Ok(ProfileOverride::new(key.trim(), value.trim()))
            }
            _ => Err(OverrideError::Form(text.to_string())),
        }
    }
}

/// A value of a profile cannot be replaced.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OverrideError {
    /// It has another form.
    #[error("`{0}` is not an override; write KEY=VALUE, such as controller.cores=8")]
    Form(String),
    /// No profile has such a key.
    #[error("unknown key `{key}` of a device profile{meant}; docs/profiles.md lists the keys")]
    UnknownKey {
        /// As given, such as `controller.cores`.
        key: String,
        /// Phrase that suggests similar keys; may be empty.
        meant: String,
    },
    /// The profile lacks the table of the key.
    #[error(
        "`{key}` cannot be set: {file} has no table [{table}]; choose a device that has it, or add the table to a copy of the profile"
    )]
    NoTable {
        /// As given, such as `controller.cores`.
        key: String,
        /// The missing table.
        table: String,
        /// Name of the profile.
        file: String,
    },
    /// The key names a table.
    #[error("`{0}` is a table; name a key in it, such as `{0}.KEY`")]
    IsTable(String),
    /// The table is written in a way that no key can be added to.
    #[error("`{key}` cannot be added to the table as {file} has it; write the key there")]
    CannotAdd {
        /// As given, such as `controller.cores`.
        key: String,
        /// Name of the profile.
        file: String,
    },
    /// Two overrides set the same.
    #[error("`{0}` and `{1}` set the same value; leave one out")]
    Twice(String, String),
    /// Not a possible over-provisioning.
    #[error("{OVER_PROVISIONING}={0}: give a share of the capacity above 0, such as 0.28 for 28 %")]
    OverProvisioning(String),
    /// The profile is impossible with the values.
    #[error("{}", invalid_text(overrides, profile))]
    Invalid {
        /// The overrides at fault, as far as the faults name their keys; all of them otherwise.
        overrides: Vec<ProfileOverride>,
        /// The profile with its faults.
        profile: InvalidProfile,
    },
}

fn invalid_text(overrides: &[ProfileOverride], profile: &InvalidProfile) -> String {
    let all: Vec<String> = overrides.iter().map(ProfileOverride::to_string).collect();
    let mut text = format!("with {}: ", all.join(", "));
    for (number, fault) in profile.faults.iter().enumerate() {
        if number > 0 {
            text.push_str("; ");
        }
        if !fault.key.is_empty() {
            let _ = write!(text, "{}: ", fault.key);
        }
        text.push_str(fault.message.lines().next().unwrap_or_default());
        if !fault.remedy.is_empty() {
            let _ = write!(text, " ({})", fault.remedy);
        }
    }
    text
}

/// The profile with replaced values.
///
/// # Errors
/// Returns [`OverrideError`] if a key is unknown, set twice or absent, or the profile is impossible with
/// the values.
pub fn apply(
    source: DeviceSource,
    overrides: &[ProfileOverride],
) -> Result<DeviceSource, OverrideError> {
    refuse_twice(overrides)?;
    let Source {
        file,
        mut text,
        mut profile,
    } = source;
    let (derived, direct): (Vec<_>, Vec<_>) =
        overrides.iter().partition(|o| o.key == OVER_PROVISIONING);
    for one in &direct {
        let remark = |old: &str| format!("override; the profile has {old}");
        text = set(&file, &text, one, &literal(&one.value), remark)?;
        if let Err(faults) = parse_profile(&file, &text) {
            refuse_syntax(one, &text, faults)?;
        }
    }
    for one in derived {
        // The flash may be another one now, for which the capacity that is replaced is too large.
        let unchecked = match toml::from_str(&text) {
            Ok(unchecked) => unchecked,
            Err(_) => checked(&file, &text, overrides)?,
        };
        let capacity = capacity(&file, &unchecked, one)?;
        let set_capacity = ProfileOverride::new(CAPACITY, capacity);
        let remark = |_: &str| format!("override; over-provisioning {}", one.value);
        text = set(&file, &text, &set_capacity, &capacity.to_string(), remark)?;
    }
    if !overrides.is_empty() {
        profile = checked(&file, &text, overrides)?;
    }
    Ok(Source {
        file,
        text,
        profile,
    })
}

/// The profile with replaced values, each with its own remark in place of the usual one. [`OVER_PROVISIONING`] is no key here.
///
/// # Errors
/// As [`apply`].
pub fn apply_with_remarks(
    source: DeviceSource,
    values: &[(ProfileOverride, String)],
) -> Result<DeviceSource, OverrideError> {
    let overrides: Vec<ProfileOverride> = values.iter().map(|(one, _)| one.clone()).collect();
    refuse_twice(&overrides)?;
    let Source { file, mut text, .. } = source;
    for (one, remark) in values {
        let remark = |_: &str| remark.clone();
        text = set(&file, &text, one, &literal(&one.value), remark)?;
    }
    let profile = checked(&file, &text, &overrides)?;
    Ok(Source {
        file,
        text,
        profile,
    })
}

fn refuse_twice(overrides: &[ProfileOverride]) -> Result<(), OverrideError> {
    let sets = |o: &ProfileOverride| match o.key.as_str() {
        OVER_PROVISIONING => CAPACITY.to_string(),
        key => key.to_string(),
    };
    for (number, one) in overrides.iter().enumerate() {
        if let Some(other) = overrides[..number].iter().find(|o| sets(o) == sets(one)) {
            return Err(OverrideError::Twice(other.to_string(), one.to_string()));
        }
    }
    Ok(())
}

/// A fault of the form of the profile comes from the override that was set last. Faults of values may
/// go with the next one.
fn refuse_syntax(
    one: &ProfileOverride,
    text: &str,
    faults: Vec<ProfileError>,
) -> Result<(), OverrideError> {
    match faults.first() {
        Some(fault) if fault.key.is_empty() => {
            if fault.message.starts_with("unknown field") {
                return Err(unknown(&one.key));
            }
            Err(OverrideError::Invalid {
                overrides: vec![one.clone()],
                profile: InvalidProfile {
                    text: text.to_string(),
                    faults,
                },
            })
        }
        _ => Ok(()),
    }
}

fn checked(
    file: &str,
    text: &str,
    overrides: &[ProfileOverride],
) -> Result<Profile, OverrideError> {
    parse_profile(file, text).map_err(|faults| {
        let at_fault = |o: &&ProfileOverride| {
            faults
                .iter()
                .any(|f| f.key == o.key || (f.key == CAPACITY && o.key == OVER_PROVISIONING))
        };
        let mut named: Vec<ProfileOverride> = overrides.iter().filter(at_fault).cloned().collect();
        if named.is_empty() {
            named = overrides.to_vec();
        }
        OverrideError::Invalid {
            overrides: named,
            profile: InvalidProfile {
                text: text.to_string(),
                faults,
            },
        }
    })
}

fn unknown(key: &str) -> OverrideError {
    let known = known_keys();
    let names: Vec<&str> = known.iter().map(String::as_str).collect();
    OverrideError::UnknownKey {
        key: key.to_string(),
        meant: meant(key, &names),
    }
}

/// The keys that the profiles of the library have, sorted, and [`OVER_PROVISIONING`].
pub fn known_keys() -> Vec<String> {
    let mut keys = vec![OVER_PROVISIONING.to_string()];
    for entry in library::DEVICES {
        keys.extend(
            explain(entry.text)
                .into_iter()
                .map(|row| match row.table.as_str() {
                    "" => row.key,
                    "interface" | "power_state" => format!("{}.0.{}", row.table, row.key),
                    table => format!("{table}.{}", row.key),
                }),
        );
    }
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Capacity at which the flash of a profile has the over-provisioning, in whole mapping units.
fn capacity(file: &str, profile: &Profile, one: &ProfileOverride) -> Result<u64, OverrideError> {
    let Some(ftl) = &profile.ftl else {
        return Err(OverrideError::NoTable {
            key: one.key.clone(),
            table: "ftl".to_string(),
            file: file.to_string(),
        });
    };
    let share = one.value.parse::<f64>().ok();
    let share = share.filter(|s| s.is_finite() && *s > 0.0);
    let share = share.ok_or_else(|| OverrideError::OverProvisioning(one.value.clone()))?;
    let nand = &profile.nand;
    let pages = [
        nand.channels,
        nand.dies_per_channel,
        nand.planes,
        nand.blocks_per_plane,
        nand.word_lines,
        nand.cell.bits(),
    ];
    let raw = pages.iter().map(|n| f64::from(*n)).product::<f64>();
    let raw = raw * f64::from(nand.page_kib) * 1024.0;
    let unit = u64::from(ftl.mapping_unit_bytes.max(1));
    Ok((raw / (1.0 + share)) as u64 / unit * unit)
}

/// The value as TOML.
fn literal(value: &str) -> String {
    let text = format!("v = {value}");
    if let Ok(table) = DeTable::parse(&text)
        && let (1, Some(parsed)) = (table.get_ref().len(), table.get_ref().get("v"))
    {
        return text[parsed.span()].to_string();
    }
    // JSON escapes all that TOML does, except DEL.
    let quoted = serde_json::Value::from(value).to_string();
    quoted.replace('\u{7f}', "\\u007f")
}

/// The text with one value set; the remark beside it is made of the old value.
fn set(
    file: &str,
    text: &str,
    one: &ProfileOverride,
    literal: &str,
    remark: impl Fn(&str) -> String,
) -> Result<String, OverrideError> {
    let (parents, last) = one.key.rsplit_once('.').unwrap_or(("", &one.key));
    match place(text, parents, last) {
        Place::Value(span) => {
            let old = text[span.clone()].lines().next().unwrap_or_default();
            let rest = &text[span.end..];
            let line = rest.find('\n').unwrap_or(rest.len());
            let after = rest[..line].trim_start();
            let (remark, end) = match after.is_empty() || after.starts_with('#') {
                true => (format!(" # {}", remark(old)), span.end + line),
                false => (String::new(), span.end),
            };
            Ok(format!(
                "{}{literal}{remark}{}",
                &text[..span.start],
                &text[end..]
            ))
        }
        Place::Table => Err(OverrideError::IsTable(one.key.clone())),
        Place::Missing => add(file, text, one, parents, last, literal),
        Place::NoTable(_) if !known_keys().contains(&one.key) => Err(unknown(&one.key)),
        Place::NoTable(table) => Err(OverrideError::NoTable {
            key: one.key.clone(),
            table,
            file: file.to_string(),
        }),
    }
}

/// Adds a key to a table that has a line of its own.
fn add(
    file: &str,
    text: &str,
    one: &ProfileOverride,
    parents: &str,
    last: &str,
    literal: &str,
) -> Result<String, OverrideError> {
    let cannot = || OverrideError::CannotAdd {
        key: one.key.clone(),
        file: file.to_string(),
    };
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if last.is_empty() || !last.chars().all(is_bare) {
        return Err(unknown(&one.key));
    }
    let at = after_header(text, parents).ok_or_else(cannot)?;
    let line = format!("{last} = {literal} # override; not in the profile\n");
    let text = format!("{}{line}{}", &text[..at], &text[at..]);
    match place(&text, parents, last) {
        Place::Value(_) => Ok(text),
        _ => Err(cannot()),
    }
}

/// Begin of the first line of a table, after its header.
fn after_header(text: &str, table: &str) -> Option<usize> {
    if table.is_empty() {
        return Some(0);
    }
    let (header, nth) = match table.rsplit_once('.') {
        Some((array, number)) if number.parse::<usize>().is_ok() => {
            (format!("[[{array}]]"), number.parse().ok()?)
        }
        _ => (format!("[{table}]"), 0),
    };
    let mut at = 0;
    let mut ends = text.split_inclusive('\n').filter_map(|line| {
        at += line.len();
        let bare: String = line.chars().filter(|c| !c.is_whitespace()).collect();
        let found = bare.split('#').next() == Some(&header) && line.ends_with('\n');
        found.then_some(at)
    });
    ends.nth(nth)
}

/// Place of a key in a text.
enum Place {
    Value(Range<usize>),
    Table,
    /// The table is there, the key is not.
    Missing,
    /// The first part of the path that is not there.
    NoTable(String),
}

fn place(text: &str, parents: &str, last: &str) -> Place {
    let Ok(document) = DeTable::parse(text) else {
        return Place::NoTable(parents.to_string());
    };
    let mut table = document.get_ref();
    let mut parts = parents.split('.').filter(|p| !p.is_empty());
    while let Some(part) = parts.next() {
        let mut value = table.get(part).map(|v| v.get_ref());
        if let Some(DeValue::Array(array)) = value {
            let number = parts.next().and_then(|n| n.parse::<usize>().ok());
            value = number.and_then(|n| array.get(n)).map(|v| v.get_ref());
        }
        let Some(DeValue::Table(inner)) = value else {
            return Place::NoTable(parents.to_string());
        };
        table = inner;
    }
    match table.get(last) {
        None => Place::Missing,
        Some(value) => match value.get_ref() {
            DeValue::Table(_) => Place::Table,
            DeValue::Array(array)
                if matches!(
                    array.iter().next().map(|v| v.get_ref()),
                    Some(DeValue::Table(_))
                ) =>
            {
                Place::Table
            }
            _ => Place::Value(value.span()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device_source;

    fn with(overrides: &[&str]) -> Result<DeviceSource, OverrideError> {
        let source = device_source("reference-nvme-64gb").unwrap();
        let overrides: Vec<ProfileOverride> =
            overrides.iter().map(|o| o.parse().unwrap()).collect();
        apply(source, &overrides)
    }

    #[test]
    fn values_are_replaced_and_remarked() {
        let source = with(&[
            "controller.cores=2",
            "ftl.map.location=dram",
            "nand.slc.read_us=[26.0]",
            "interface.0.active_dies=32",
        ])
        .unwrap();
        assert_eq!(source.profile.controller.unwrap().cores, 2);
        assert_eq!(source.profile.interface[0].active_dies, 32);
        let line = "cores = 2 # override; the profile has 4\n";
        assert!(source.text.contains(line), "{}", source.text);
        // Without overrides the text of the profile is unchanged, byte for byte.
        let plain = device_source("reference-nvme-64gb").unwrap();
        assert_eq!(with(&[]).unwrap().text, plain.text);
    }

    #[test]
    fn over_provisioning_sets_the_capacity() {
        let source = with(&["ftl.over_provisioning=0.28"]).unwrap();
        let capacity = source.profile.device.capacity_bytes;
        // 77.3 GB raw.
        let raw = 64.0 * 2.0 * 192.0 * 64.0 * 3.0 * 16384.0;
        assert!((raw / capacity as f64 - 1.28).abs() < 1e-6, "{capacity}");
        // Of the flash as other overrides make it.
        let half = with(&["ftl.over_provisioning=0.28", "nand.blocks_per_plane=96"]).unwrap();
        let ratio = capacity as f64 / half.profile.device.capacity_bytes as f64;
        assert!((ratio - 2.0).abs() < 1e-6);
    }

    #[test]
    fn a_key_that_the_profile_leaves_out_is_added() {
        let source = device_source("sm2262en-2tb").unwrap();
        let text = "[a]\nx = 1\n[[b]]\ny = 1\n[[b]]\ny = 2\n";
        for (key, expected) in [("a.z", "[a]\nz = 5 #"), ("b.1.z", "y = 1\n[[b]]\nz = 5 #")] {
            let one = ProfileOverride::new(key, 5);
            let added = set("f", text, &one, "5", |_| String::new()).unwrap();
            assert!(added.contains(expected), "{added}");
        }
        assert!(apply(source, &[ProfileOverride::new("device.nothing", 1)]).is_err());
    }

    #[test]
    fn what_cannot_be_set_is_refused_with_a_reason() {
        for (overrides, part) in [
            (
                &["controller.core=2"][..],
                "did you mean `controller.cores`?",
            ),
            (&["ftl.over_provisionin=0.2"], "`ftl.over_provisioning`"),
            (&["xyz.abc=1"], "unknown key `xyz.abc`"),
            (
                &["controller.cores=0"],
                "with controller.cores=0: controller.cores: ",
            ),
            (
                &["controller.cores=many"],
                "with controller.cores=many: invalid type",
            ),
            (&["controller.cores=-1"], "with controller.cores=-1: "),
            (&["controller.read_us=nan"], "with controller.read_us=nan: "),
            (&["ftl.map=5"], "`ftl.map` is a table"),
            (&["interface=5"], "`interface` is a table"),
            (&["card.au_kib=4096"], "has no table [card]"),
            (
                &["ftl.over_provisioning=0.001"],
                "with ftl.over_provisioning=0.001: device.capacity_bytes",
            ),
            (&["ftl.over_provisioning=-1"], "above 0"),
            (&["ftl.over_provisioning=inf"], "above 0"),
            (
                &["controller.cores=1", "controller.cores=2"],
                "set the same value",
            ),
            (
                &["device.capacity_bytes=1", "ftl.over_provisioning=1"],
                "set the same value",
            ),
            (&["device.a b=1"], "unknown key"),
        ] {
            let error = with(overrides).unwrap_err().to_string();
            assert!(error.contains(part), "{overrides:?}: {error}");
        }
        for text in ["", "a", "=1", "a=", " = "] {
            assert!(text.parse::<ProfileOverride>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_value_stays_within_its_place() {
        for hostile in [
            "1\n[x]\ny = 2",
            "\"",
            "a \"b\" \\ \u{7f}\u{1}",
            "1 # x",
            "]",
        ] {
            let text = format!("v = {}", literal(hostile));
            let table = DeTable::parse(&text).unwrap();
            assert_eq!(table.get_ref().len(), 1, "{hostile:?}");
        }
    }
}
