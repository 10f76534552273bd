//! Values of a profile that are replaced, from Python mappings of dotted keys.

use crate::error::Failure;
use nandscope_experiment::overrides as experiment;
use nandscope_experiment::{DeviceSource, ProfileOverride};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// The overrides of several mappings, one after the other.
///
/// # Errors
/// If a key is no text, or a value has no form in a profile.
pub fn of_mappings<'py>(
    mappings: impl IntoIterator<Item = Option<&'py Bound<'py, PyDict>>>,
) -> PyResult<Vec<ProfileOverride>> {
    let mut all = Vec::new();
    for (key, value) in mappings.into_iter().flatten().flatten() {
        let Ok(key) = key.extract::<String>() else {
            let text = format!("the key {} of an override is no text", key.repr()?);
            return Err(PyTypeError::new_err(text));
        };
        let value = literal(&key, &value)?;
        all.push(ProfileOverride::new(key, value));
    }
    Ok(all)
}

/// The profile with the values in it.
///
/// # Errors
/// If a key is unknown or the profile is impossible with them.
pub fn apply(source: DeviceSource, overrides: &[ProfileOverride]) -> Result<DeviceSource, Failure> {
    experiment::apply(source, overrides).map_err(Failure::input)
}

/// The value in TOML: a number, a text, a bool, or a list of them.
fn literal(key: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Some(text) = scalar(value)? {
        return Ok(text);
    }
    let parts = match (value.cast::<PyList>(), value.cast::<PyTuple>()) {
        (Ok(list), _) => list.iter().collect::<Vec<_>>(),
        (_, Ok(tuple)) => tuple.iter().collect(),
        _ => return Err(of_another_kind(key, value)),
    };
    let parts = parts.iter().map(|part| {
        let text = scalar(part)?;
        text.ok_or_else(|| of_another_kind(key, part))
    });
    let parts = parts.collect::<PyResult<Vec<_>>>()?;
    Ok(format!("[{}]", parts.join(", ")))
}

/// One number, text or bool in TOML; `None` for anything else.
fn scalar(value: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    // Numbers of other libraries, such as numpy's, give one of Python.
    let own;
    let value = match value.is_exact_instance_of::<PyString>() || value.is_instance_of::<PyInt>() {
        true => value,
        false => match value.call_method0("item") {
            Ok(item) => {
                own = item;
                &own
            }
            Err(_) => value,
        },
    };
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Some(flag.is_true().to_string()));
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(Some(value.str()?.to_string()));
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        let number = number.value();
        return Ok(Some(match number.is_nan() {
            true => "nan".to_string(),
            false => format!("{number:?}"),
        }));
    }
    if let Ok(text) = value.cast::<PyString>() {
        let quoted = serde_json::to_string(text.to_str()?).map_err(Failure::internal)?;
        return Ok(Some(quoted.replace('\u{7f}', "\\u007f")));
    }
    Ok(None)
}

fn of_another_kind(key: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let kind = value.get_type().name();
    let kind = kind.map_or_else(
        |_| "value of an unknown type".to_string(),
        |k| k.to_string(),
    );
    PyTypeError::new_err(format!(
        "`{key}` is a {kind}; give a number, a text, a bool or a list of them"
    ))
}
