//! Reading what the user names: files, with one message where it does not work.

use crate::failure::Failure;
use crate::run::figures;
use nandscope_measure::document::{self, DocumentError};
use nandscope_measure::fio_output;
use nandscope_measure::result::ResultDocument;
use std::io::ErrorKind;
use std::path::Path;

/// Files larger than this are none of ours; reading on would only fill the memory.
const MOST_BYTES: u64 = 16 << 30;

/// The bytes of a file.
///
/// # Errors
/// Where there is none, or it cannot be read.
pub fn bytes(path: &Path, what: &str) -> Result<Vec<u8>, Failure> {
    let refuse = |e: std::io::Error| {
        let remedy = match e.kind() {
            ErrorKind::NotFound => "; check the name",
            ErrorKind::PermissionDenied => "; check who may read it",
            ErrorKind::IsADirectory => "; name a file in it",
            _ => "",
        };
        Failure::file(format!(
            "cannot read {what} {}: {e}{remedy}",
            path.display()
        ))
    };
    let about = std::fs::metadata(path).map_err(refuse)?;
    if about.len() > MOST_BYTES {
        return Err(Failure::usage(format!(
            "{what} {} has {} bytes; more than {MOST_BYTES} are not read",
            path.display(),
            about.len()
        )));
    }
    std::fs::read(path).map_err(refuse)
}

/// The text of a file.
///
/// # Errors
/// As [`bytes`], and where it is no UTF-8.
pub fn text(path: &Path, what: &str) -> Result<String, Failure> {
    String::from_utf8(bytes(path, what)?).map_err(|e| {
        Failure::usage(format!(
            "{what} {} is no UTF-8 text: byte {} is none; save it as UTF-8",
            path.display(),
            e.utf8_error().valid_up_to()
        ))
    })
}

/// Whether a file begins as JSON does, rather than as a job file.
///
/// # Errors
/// Where it cannot be read.
pub fn is_json(path: &Path) -> Result<bool, Failure> {
    let bytes = bytes(path, "the file")?;
    Ok(bytes.trim_ascii_start().first() == Some(&b'{'))
}

/// A stored result, or the output of fio as one.
///
/// # Errors
/// Where the file cannot be read, or is no result that this program reads.
pub fn result(path: &Path) -> Result<ResultDocument, Failure> {
    document::read(path).or_else(|e| match &e {
        DocumentError::Io { source, .. } if source.kind() == ErrorKind::NotFound => {
            Err(Failure::file(format!("{e}; check the name")))
        }
        DocumentError::Io { .. } => Err(Failure::file(e)),
        _ => of_fio(path)?.ok_or_else(|| Failure::usage(e)),
    })
}

/// The document of fio's output; `None` where the file is something else.
fn of_fio(path: &Path) -> Result<Option<ResultDocument>, Failure> {
    let text = text(path, "the result")?;
    if !fio_output::recognised(&text) {
        return Ok(None);
    }
    let mut document = fio_output::read(&text, concat!("nandscope ", env!("CARGO_PKG_VERSION")))
        .map_err(|e| Failure::usage(format!("{}: {e}", path.display())))?;
    for step in &mut document.steps {
        figures::add(step);
    }
    Ok(Some(document))
}
