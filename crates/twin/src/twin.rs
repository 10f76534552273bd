//! The profile that a fit writes: that of its base, with the fitted values and remarks about them.

use crate::parameter::{self, FOLLOWING};
use crate::search::{Fitted, FittedValue};
use nandscope_device::profile::explain;
use nandscope_experiment::overrides::{OverrideError, apply_with_remarks};
use nandscope_experiment::{DeviceSource, ProfileOverride};
use nandscope_units::number::short4;

/// Text for the new profile.
#[derive(Clone, Debug)]
pub struct About<'a> {
    /// Name of the device: that of the file.
    pub name: &'a str,
    /// Names of the files with the measurements.
    pub sources: Vec<String>,
    /// Number of measurements.
    pub cells: usize,
}

/// The fitted profile with its text.
///
/// # Errors
/// [`OverrideError`] if a value cannot be set.
pub fn source(fitted: &Fitted, about: &About<'_>) -> Result<DeviceSource, OverrideError> {
    let mut values = Vec::new();
    for value in &fitted.values {
        let Some(parameter) = parameter::find(value.key) else {
            continue;
        };
        let Some(literal) = parameter.literal(&fitted.profile) else {
            continue;
        };
        values.push((
            ProfileOverride::new(value.key, literal),
            remark(fitted, value, about),
        ));
    }
    // Blocks and buffers follow from other dies, and capacity from neither.
    let profile = &fitted.profile;
    let of_controller = profile
        .controller
        .as_ref()
        .map(|c| c.write_buffer_kib.to_string());
    let following = [
        Some(profile.nand.blocks_per_plane.to_string()),
        of_controller,
    ];
    for (key, literal) in FOLLOWING.iter().zip(following) {
        let is_new = !values.iter().any(|(one, _)| one.key == *key);
        if let Some(literal) = literal.filter(|literal| is_new && *literal != written(fitted, key))
        {
            let why = "derived: from the fitted dies".to_string();
            values.push((ProfileOverride::new(*key, literal), why));
        }
    }
    let dies = profile.nand.channels * profile.nand.dies_per_channel;
    for (number, interface) in profile.interface.iter().enumerate() {
        let key = format!("interface.{number}.active_dies");
        let before = fitted
            .base
            .profile
            .interface
            .get(number)
            .map(|i| i.active_dies);
        if before != Some(interface.active_dies) {
            let why = format!("derived: of {dies} fitted dies, as in the base");
            values.push((ProfileOverride::new(key, interface.active_dies), why));
        }
    }
    values.extend(identity(fitted, about));
    apply_with_remarks(fitted.base.clone(), &values)
}

/// The value of a key as the base has it.
fn written(fitted: &Fitted, key: &str) -> String {
    let rows = explain(&fitted.base.text);
    let row = rows
        .iter()
        .find(|row| format!("{}.{}", row.table, row.key) == key);
    row.map_or(String::new(), |row| row.value.clone())
}

fn identity(fitted: &Fitted, about: &About<'_>) -> Vec<(ProfileOverride, String)> {
    let base = &fitted.base.profile.device;
    let quoted = |text: &str| {
        serde_json::Value::from(text)
            .to_string()
            .replace('\u{7f}', "\\u007f")
    };
    let description = format!(
        "Twin fitted by nandscope fit to {} measurements, with the structure of {}: mean error {:.0} %. Keys that the measurements do not determine are those of the base. Names, power, heat and errors are those of the base.",
        about.cells,
        base.name,
        100.0 * crate::loss::as_error(fitted.loss),
    );
    let sources: Vec<String> = about.sources.iter().map(|s| quoted(s)).collect();
    let title = format!("Twin {}, after {}", about.name, base.title);
    [
        ("device.name", quoted(about.name)),
        ("device.title", quoted(&title)),
        ("device.description", quoted(&description)),
        ("device.sources", format!("[{}]", sources.join(", "))),
    ]
    .into_iter()
    .map(|(key, value)| (ProfileOverride::new(key, value), "of this fit".to_string()))
    .collect()
}

fn remark(fitted: &Fitted, value: &FittedValue, about: &About<'_>) -> String {
    let (low, high) = ends(fitted, value);
    if value.is_determined {
        format!("fitted {low}..{high}: to {} measurements", about.cells)
    } else {
        let base = &fitted.base.profile.device.name;
        format!(
            "assumed {low}..{high}: the measurements do not determine it; values in this range fit equally well. Base: {base}"
        )
    }
}

/// Ends of the interval of a key, around its value; of blocks their number, not the over-provisioning.
fn ends(fitted: &Fitted, value: &FittedValue) -> (String, String) {
    let scale = match (value.key, parameter::find(value.key)) {
        (parameter::BLOCKS, Some(parameter)) => {
            let share = parameter.get(&fitted.profile).unwrap_or(0.0);
            let per_share = f64::from(fitted.profile.nand.blocks_per_plane) / (1.0 + share);
            return (
                short_number(per_share * (1.0 + value.low)),
                short_number(per_share * (1.0 + value.high)),
            );
        }
        _ => 1.0,
    };
    (
        short_number(value.low * scale),
        short_number(value.high * scale),
    )
}

/// Four digits without the grouping of thousands, which a profile's remark cannot have.
fn short_number(value: f64) -> String {
    let text = short4(value).replace(['\u{202f}', ' ', ','], "");
    match text.parse::<f64>() {
        Ok(number) => format!("{number}"),
        Err(_) => format!("{value}"),
    }
}
