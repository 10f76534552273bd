//! Dependence of the figures on assumed parameters: every parameter of a profile whose remark says `assumed LOW..HIGH`
//! is set to both ends of its range, and the figures are compared with those of the unchanged profile.

use super::{Comparison, Validation};
use crate::spec::SimSpec;
use crate::step_runner::SuiteError;
use nandscope_device::profile::{Explained, Profile, Provenance, explain, parse_profile};
use std::collections::BTreeSet;

/// A parameter whose value is assumed, not published.
#[derive(Clone, Debug, PartialEq)]
pub struct Assumed {
    /// Table and key; for an interface, followed by its link in brackets.
    pub name: String,
    /// Value in the profile; the mean of a list.
    pub now: f64,
    /// Ends of the plausible range.
    pub ends: [f64; 2],
    line: usize,
    numbers: Vec<f64>,
    value: String,
}

/// Change of a figure when a parameter is moved.
#[derive(Clone, Debug, PartialEq)]
pub struct Reaction {
    /// Identifier of the published fact.
    pub fact: String,
    /// Identifier of the figure.
    pub figure: String,
    /// Change at each end of the range, in percent of the figure; `None` if it was not measured, or the figure is zero.
    pub percent: [Option<f64>; 2],
}

impl Reaction {
    /// The greater of the two absolute changes.
    pub fn greatest(&self) -> f64 {
        let changes = self.percent.iter().flatten();
        changes.fold(0.0, |most, change| most.max(change.abs()))
    }
}

/// Assumed parameters of a device that its modes use, in the order of the profile.
///
/// # Errors
/// As [`Validation::spec`].
pub fn assumed(validation: &Validation) -> Result<Vec<Assumed>, SuiteError> {
    let spec = validation.spec()?;
    let used = used_links(&spec);
    let mut link = String::new();
    let mut all = Vec::new();
    for row in explain(&spec.text) {
        if row.table == "interface" && row.key == "link" {
            link = row.value.trim_matches('"').to_string();
        }
        let is_used = row.table != "interface" || used.contains(link.as_str());
        if let Some((Provenance::Assumed { low, high }, _)) = row.provenance()
            && is_used
            && row.table != "device"
        {
            all.push(one(&row, &link, [low, high]));
        }
    }
    Ok(all)
}

fn one(row: &Explained, link: &str, ends: [f64; 2]) -> Assumed {
    let numbers = row.numbers();
    let name = match row.table.as_str() {
        "interface" => format!("interface.{} ({link})", row.key),
        table => format!("{table}.{}", row.key),
    };
    Assumed {
        name,
        now: numbers.iter().sum::<f64>() / numbers.len().max(1) as f64,
        ends,
        line: row.line,
        numbers,
        value: row.value.clone(),
    }
}

/// Links by which the modes attach the device.
fn used_links(spec: &SimSpec) -> BTreeSet<&str> {
    let links: Vec<&str> = spec
        .profile
        .interface
        .iter()
        .map(|i| i.link.as_str())
        .collect();
    let attached = spec.modes.iter().filter_map(|m| m.host.attach(&links).ok());
    attached
        .filter_map(|(index, _)| links.get(index).copied())
        .collect()
}

impl Assumed {
    /// Text of a profile with another value of the parameter; a list keeps its proportions.
    fn moved_to(&self, text: &str, to: f64) -> String {
        let is_whole = !self.value.contains(['.', 'e']);
        let written = |n: f64| {
            if is_whole {
                format!("{n:.0}")
            } else {
                format!("{n:?}")
            }
        };
        let scaled = |n: &f64| match self.now {
            0.0 => written(to),
            now => written(n * to / now),
        };
        let numbers: Vec<String> = self.numbers.iter().map(scaled).collect();
        let value = match self.value.starts_with('[') {
            true => format!("[{}]", numbers.join(", ")),
            false => numbers.concat(),
        };
        let lines = text.lines().enumerate().map(|(index, line)| {
            match (index + 1 == self.line, line.split_once('=')) {
                (true, Some((key, _))) => format!("{key}= {value}\n"),
                _ => format!("{line}\n"),
            }
        });
        lines.collect()
    }
}

/// The device with another value of the parameter.
///
/// # Errors
/// `Target` if the profile is impossible with it: other parameters would have to move too.
pub fn moved(validation: &Validation, parameter: &Assumed, to: f64) -> Result<SimSpec, SuiteError> {
    let spec = validation.spec()?;
    let text = parameter.moved_to(&spec.text, to);
    let profile: Profile = parse_profile(&spec.name, &text).map_err(|faults| {
        let first = faults.first().map(|f| format!("{}: {}", f.key, f.message));
        SuiteError::Target(first.unwrap_or_default())
    })?;
    Ok(SimSpec {
        text,
        profile,
        ..spec
    })
}

/// Changes of the figures of `now` at both ends of a parameter's range.
pub fn reactions(now: &Comparison, ends: [Option<&Comparison>; 2]) -> Vec<Reaction> {
    let change = |figure: &str, value: f64, there: Option<&Comparison>| {
        let row = there?.rows.iter().find(|r| r.figure.id == figure)?;
        (value != 0.0).then(|| (row.figure.value - value) / value.abs() * 100.0)
    };
    let mut seen = BTreeSet::new();
    let rows = now
        .rows
        .iter()
        .filter(|r| seen.insert(r.figure.id.as_str()));
    rows.map(|row| Reaction {
        fact: row.published.fact.clone(),
        figure: row.figure.id.clone(),
        percent: ends.map(|there| change(&row.figure.id, row.figure.value, there)),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::validation;
    use crate::procedure::Procedure;

    fn parameter<'a>(all: &'a [Assumed], name: &str) -> &'a Assumed {
        all.iter().find(|a| a.name == name).unwrap()
    }

    #[test]
    fn a_parameter_is_moved_in_its_place_and_a_list_keeps_its_proportions() {
        let device = validation("sm2708-250gb", Procedure::Card);
        let all = assumed(&device).unwrap();
        let decode = parameter(&all, "controller.decode_us");
        let spec = moved(&device, decode, decode.ends[1]).unwrap();
        let controller = spec.profile.controller.unwrap();
        assert_eq!(controller.decode_us, decode.ends[1]);
        let original = device.spec().unwrap().profile;
        assert_eq!(spec.profile.nand, original.nand);

        let device = validation("ocz-vertex-450-256gb", Procedure::Iometer);
        let all = assumed(&device).unwrap();
        let program = parameter(&all, "nand.native.program_us");
        let spec = moved(&device, program, program.now * 1.1).unwrap();
        let times = spec.profile.nand.native.unwrap().program_us;
        let before = device
            .spec()
            .unwrap()
            .profile
            .nand
            .native
            .unwrap()
            .program_us;
        for (now, before) in times.iter().zip(before) {
            assert!((now / before - 1.1).abs() < 1e-9, "{times:?}");
        }
        // Interfaces that no mode uses are not moved.
        assert!(all.iter().any(|a| a.name.ends_with("(sata-6)")));
        assert!(!all.iter().any(|a| a.name.ends_with("(sata-1.5)")));
    }

    #[test]
    fn an_impossible_profile_is_said_to_be_one() {
        let device = validation("sm2708-250gb", Procedure::Card);
        let all = assumed(&device).unwrap();
        let bad = parameter(&all, "nand.factory_bad_percent");
        let error = moved(&device, bad, 99.0).unwrap_err();
        assert!(error.to_string().contains("factory_bad_percent"), "{error}");
    }
}
