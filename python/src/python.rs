//! Values as Python objects.

use crate::error::Failure;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;

/// A structure as a dictionary with the names of its fields.
///
/// # Errors
/// `PyErr` if it has no such form, which is a fault of nandscope.
pub fn to_python<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyDict>> {
    let text = serde_json::to_string(value).map_err(Failure::internal)?;
    let loaded = py.import("json")?.call_method1("loads", (text,))?;
    Ok(loaded.cast_into()?)
}
