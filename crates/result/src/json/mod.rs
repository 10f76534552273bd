//! Result documents in files.
//!
//! Writing is atomic: a reader sees the old file or the new one, whole, whatever happens in
//! between. The text is deterministic: the same document gives the same bytes. Numbers that JSON
//! cannot hold (not-a-number, infinities) are refused by name, because they would silently
//! become `null`. Reading checks the format and its version before anything else.

mod finite;
mod layout;
mod older;

pub use older::upgraded;

use crate::{FORMAT, FORMAT_VERSION, ResultDocument};
use nandscope_files::{Access, WriteError};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a document could not be written or read.
#[derive(Debug, Error)]
pub enum DocumentError {
    /// A system call failed.
    #[error("cannot {action} {path}: {source}", path = .path.display())]
    Io {
        /// Failed action, such as `read`.
        action: &'static str,
        /// Path of the document.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A number is not finite.
    #[error("{field} is {value}, which JSON cannot hold; this is a bug of whatever computed it")]
    NotFinite {
        /// Path of the field in the document.
        field: String,
        /// `NaN`, `inf` or `-inf`.
        value: f64,
    },
    /// Valid JSON, or not even that, but no result document.
    #[error("{path} is not a nandscope result: {why}", path = .path.display())]
    NotAResult {
        /// Path of the document.
        path: PathBuf,
        /// Reason, such as the JSON parser's message.
        why: String,
    },
    /// Written by a newer program.
    #[error(
        "{path} is a result of version {found}, written by `{generator}`; this program reads up to version {FORMAT_VERSION}: use a newer one",
        path = .path.display()
    )]
    TooNew {
        /// Path of the document.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// Program that wrote it, from its field `generator`.
        generator: String,
    },
    /// The file ends in mid-document.
    #[error("{path} is cut off at line {line}: it was not written to its end; run the measurement again", path = .path.display())]
    Truncated {
        /// Path of the document.
        path: PathBuf,
        /// The last line.
        line: usize,
    },
    /// A result, but a field is missing or has the wrong type.
    #[error("{path}, line {line}: {what}", path = .path.display())]
    Damaged {
        /// Path of the document.
        path: PathBuf,
        /// Where.
        line: usize,
        /// The parser's message.
        what: String,
    },
}

/// The text of a document: objects over several lines, arrays of numbers on one.
///
/// # Errors
/// `DocumentError::NotFinite` with the first number that is not finite.
pub fn to_json(document: &ResultDocument) -> Result<String, DocumentError> {
    if let Some((field, value)) = finite::first_not_finite(document) {
        return Err(DocumentError::NotFinite { field, value });
    }
    let mut bytes = Vec::new();
    let mut serializer =
        serde_json::Serializer::with_formatter(&mut bytes, layout::Layout::default());
    document
        .serialize(&mut serializer)
        .map_err(io::Error::from)
        .and_then(|()| {
            bytes.push(b'\n');
            String::from_utf8(bytes).map_err(io::Error::other)
        })
        .map_err(|source| DocumentError::Io {
            action: "put into JSON",
            path: PathBuf::from("the result"),
            source,
        })
}

/// Reads a document from its text; `path` is for messages.
///
/// # Errors
/// See [`DocumentError`].
pub fn from_json(text: &str, path: &Path) -> Result<ResultDocument, DocumentError> {
    #[derive(Deserialize)]
    struct Head {
        format: Option<String>,
        version: Option<u32>,
        #[serde(default)]
        generator: String,
    }
    let head: Head = serde_json::from_str(text).map_err(|e| match e.classify() {
        serde_json::error::Category::Eof if !text.trim().is_empty() => DocumentError::Truncated {
            path: path.into(),
            line: e.line(),
        },
        serde_json::error::Category::Eof => not_a_result(path, "the file is empty".into()),
        _ => not_a_result(path, e.to_string()),
    })?;
    match head.format.as_deref() {
        Some(FORMAT) => {}
        Some(other) => return Err(not_a_result(path, format!("its format is `{other}`"))),
        None => return Err(not_a_result(path, "it has no field `format`".into())),
    }
    let Some(version) = head.version else {
        return Err(not_a_result(path, "it has no field `version`".into()));
    };
    if version > FORMAT_VERSION {
        return Err(DocumentError::TooNew {
            path: path.into(),
            found: version,
            generator: head.generator,
        });
    }
    let read = serde_json::from_str(text).map_err(|e| DocumentError::Damaged {
        path: path.into(),
        line: e.line(),
        what: e.to_string(),
    });
    read.map(upgraded)
}

fn not_a_result(path: &Path, why: String) -> DocumentError {
    DocumentError::NotAResult {
        path: path.into(),
        why,
    }
}

/// Reads a document from a file.
///
/// # Errors
/// See [`DocumentError`].
pub fn read(path: &Path) -> Result<ResultDocument, DocumentError> {
    let bytes = std::fs::read(path).map_err(|source| DocumentError::Io {
        action: "read",
        path: path.into(),
        source,
    })?;
    match String::from_utf8(bytes) {
        Ok(text) => from_json(&text, path),
        Err(_) => Err(not_a_result(path, "it is not UTF-8 text".into())),
    }
}

/// Writes a document, replacing a file of that name in one step; see [`nandscope_files::write`].
///
/// # Errors
/// `DocumentError` if a number is not finite or the file cannot be written; an older file of that name is then
/// unchanged.
pub fn write(path: &Path, document: &ResultDocument) -> Result<(), DocumentError> {
    let text = to_json(document)?;
    Ok(nandscope_files::write(
        path,
        text.as_bytes(),
        Access::Usual,
    )?)
}

#[cfg(test)]
mod tests;
