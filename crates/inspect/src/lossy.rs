//! Paths in JSON. Invalid UTF-8 is replaced, since serde would fail.

use serde::Serializer;
use std::path::{Path, PathBuf};

/// For `serialize_with`.
pub(crate) fn path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// As [`path`], for an optional path.
pub(crate) fn maybe<S: Serializer>(
    path: &Option<PathBuf>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match path {
        Some(path) => serializer.serialize_some(&path.to_string_lossy()),
        None => serializer.serialize_none(),
    }
}
