//! Result documents in files.
//!
//! Writing is atomic: a reader sees the old file or the new one, whole, whatever happens in
//! between. The text is deterministic: the same document gives the same bytes. Numbers that JSON
//! cannot hold (not-a-number, infinities) are refused by name, because they would silently
//! become `null`. Reading checks the format and its version before anything else.

mod finite;
mod layout;

use crate::result::{FORMAT, FORMAT_VERSION, ResultDocument};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a document could not be written or read.
#[derive(Debug, Error)]
pub enum DocumentError {
    /// The file system said no.
    #[error("cannot {action} {path}: {source}", path = .path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// A number is not finite.
    #[error("{field} is {value}, which JSON cannot hold; this is a bug of whatever computed it")]
    NotFinite {
        /// Where in the document.
        field: String,
        /// `NaN`, `inf` or `-inf`.
        value: f64,
    },
    /// Valid JSON, or not even that, but no result document.
    #[error("{path} is not a nandscope result: {why}", path = .path.display())]
    NotAResult {
        /// Which file.
        path: PathBuf,
        /// What was found instead.
        why: String,
    },
    /// Written by a newer program.
    #[error(
        "{path} is a result of version {found}, written by `{generator}`; this program reads up to version {FORMAT_VERSION}: use a newer one",
        path = .path.display()
    )]
    TooNew {
        /// Which file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// What wrote it.
        generator: String,
    },
    /// The file ends in mid-document.
    #[error("{path} is cut off at line {line}: it was not written to its end; run the measurement again", path = .path.display())]
    Truncated {
        /// Which file.
        path: PathBuf,
        /// The last line.
        line: usize,
    },
    /// A result, but a field is missing or has the wrong type.
    #[error("{path}, line {line}: {what}", path = .path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// Where.
        line: usize,
        /// What is wrong there.
        what: String,
    },
}

/// The text of a document: objects over several lines, arrays of numbers on one.
///
/// # Errors
/// Where a number is not finite.
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
    serde_json::from_str(text).map_err(|e| DocumentError::Damaged {
        path: path.into(),
        line: e.line(),
        what: e.to_string(),
    })
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

/// Writes a document, replacing a file of that name in one instant: into a file beside it, to
/// the disk, then renamed over it.
///
/// # Errors
/// Where a number is not finite or the file system refuses; an older file of that name is then
/// as it was.
pub fn write(path: &Path, document: &ResultDocument) -> Result<(), DocumentError> {
    let text = to_json(document)?;
    let name = path.file_name().ok_or_else(|| DocumentError::Io {
        action: "write",
        path: path.into(),
        source: io::Error::new(io::ErrorKind::InvalidInput, "this is no file name"),
    })?;
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut partial_name = std::ffi::OsString::from(".");
    partial_name.push(name);
    partial_name.push(format!(".{}.partial", std::process::id()));
    let partial = folder.join(partial_name);
    replace(&partial, path, folder, text.as_bytes()).inspect_err(|_| {
        // What is left of the attempt is of no use; that it cannot be removed changes nothing.
        let _ = std::fs::remove_file(&partial);
    })
}

fn replace(partial: &Path, path: &Path, folder: &Path, text: &[u8]) -> Result<(), DocumentError> {
    let failed = |action: &'static str, path: &Path| {
        let path = path.to_path_buf();
        move |source| DocumentError::Io {
            action,
            path,
            source,
        }
    };
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(partial)
        .map_err(failed("create", partial))?;
    file.write_all(text).map_err(failed("write", partial))?;
    file.sync_all().map_err(failed("flush", partial))?;
    drop(file);
    std::fs::rename(partial, path).map_err(failed("replace", path))?;
    sync_folder(folder).map_err(failed("flush the folder", folder))
}

/// Makes a rename durable; elsewhere than on Unix a folder cannot be opened, and is left alone.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder)?.sync_all()
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
