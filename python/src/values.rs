//! Python values as texts: a scalar or a list of scalars, for options of jobs and values of profiles. What a scalar
//! looks like is for the caller's notation.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyString, PyTuple};

/// How texts are made.
pub struct Notation {
    /// A bool.
    pub flag: fn(bool) -> String,
    /// A number that is not a whole one.
    pub float: fn(f64) -> String,
    /// Form of a string.
    pub text: fn(&str) -> String,
    /// A list of scalars.
    pub list: fn(&[String]) -> String,
}

/// The text of the value of `key`.
///
/// # Errors
/// Returns a `TypeError` if it is neither a scalar nor a list of them.
pub fn text_of(key: &str, value: &Bound<'_, PyAny>, notation: &Notation) -> PyResult<String> {
    if let Some(text) = scalar(value, notation)? {
        return Ok(text);
    }
    let parts = match (value.cast::<PyList>(), value.cast::<PyTuple>()) {
        (Ok(list), _) => list.iter().collect::<Vec<_>>(),
        (_, Ok(tuple)) => tuple.iter().collect(),
        _ => return Err(of_another_kind(key, value)),
    };
    let parts = parts
        .iter()
        .map(|part| scalar(part, notation)?.ok_or_else(|| of_another_kind(key, part)));
    Ok((notation.list)(&parts.collect::<PyResult<Vec<_>>>()?))
}

/// One number, text or bool; `None` for anything else.
fn scalar(value: &Bound<'_, PyAny>, notation: &Notation) -> PyResult<Option<String>> {
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
        return Ok(Some((notation.flag)(flag.is_true())));
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(Some(value.str()?.to_string()));
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(Some((notation.float)(number.value())));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Some((notation.text)(text.to_str()?)));
    }
    Ok(None)
}

fn of_another_kind(key: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let kind = value.get_type().name();
    let kind = kind.map_or_else(
        |_| "value of an unknown type".to_string(),
        |kind| kind.to_string(),
    );
    PyTypeError::new_err(format!(
        "`{key}` is a {kind}; give a number, a text, a bool or a list of them"
    ))
}
