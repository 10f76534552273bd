//! Values of a profile that are replaced, from Python mappings of dotted keys.

use crate::error::Failure;
use crate::values::{self, Notation};
use nandscope_experiment::overrides as experiment;
use nandscope_experiment::{DeviceSource, ProfileOverride};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The overrides of several mappings, one after the other.
///
/// # Errors
/// `PyErr` if a key is not a text, or a value has no form in a profile.
pub fn of_mappings<'py>(
    mappings: impl IntoIterator<Item = Option<&'py Bound<'py, PyDict>>>,
) -> PyResult<Vec<ProfileOverride>> {
    let mut all = Vec::new();
    for (key, value) in mappings.into_iter().flatten().flatten() {
        let Ok(key) = key.extract::<String>() else {
            let text = format!("the key {} of an override is not a text", key.repr()?);
            return Err(PyTypeError::new_err(text));
        };
        let value = values::text_of(&key, &value, &TOML)?;
        all.push(ProfileOverride::new(key, value));
    }
    Ok(all)
}

/// The profile with the values in it.
///
/// # Errors
/// `Failure` if a key is unknown or the profile is impossible with them.
pub fn apply(source: DeviceSource, overrides: &[ProfileOverride]) -> Result<DeviceSource, Failure> {
    experiment::apply(source, overrides).map_err(Failure::input)
}

/// Values as TOML writes them.
const TOML: Notation = Notation {
    flag: |flag| flag.to_string(),
    float: |number| match number.is_nan() {
        true => "nan".to_string(),
        false => format!("{number:?}"),
    },
    // The escapes of JSON are those of TOML, which wants one more.
    text: |text| {
        let quoted = serde_json::Value::from(text).to_string();
        quoted.replace('\u{7f}', "\\u007f")
    },
    list: |parts| format!("[{}]", parts.join(", ")),
};
