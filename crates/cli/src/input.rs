//! Reads files named by the user, with uniform messages for failures.

use crate::failure::Failure;
use nandscope_experiment::input;
use nandscope_experiment::run::figures;
use nandscope_measure::fio_output;
use nandscope_result::ResultDocument;
use nandscope_result::json;
use std::path::Path;

/// The bytes of a file.
///
/// # Errors
/// `Exit::File` if there is no such file or it cannot be read; `Exit::Usage` if it is too large.
pub fn bytes(path: &Path, what: &str) -> Result<Vec<u8>, Failure> {
    Ok(input::bytes(path, what)?)
}

/// The bytes of a trace, unpacked if gzip has packed it.
///
/// # Errors
/// As [`bytes`], and `Exit::Usage` if it cannot be unpacked.
pub fn trace(path: &Path) -> Result<Vec<u8>, Failure> {
    Ok(input::trace(path)?)
}

/// The bytes of a saved device or its journal, of which a device as large as the file is made.
///
/// # Errors
/// As [`bytes`].
pub fn device(path: &Path, what: &str) -> Result<Vec<u8>, Failure> {
    Ok(input::device(path, what)?)
}

/// The text of a file.
///
/// # Errors
/// As [`bytes`], and `Exit::Usage` if it is not UTF-8.
pub fn text(path: &Path, what: &str) -> Result<String, Failure> {
    Ok(input::text(path, what)?)
}

/// The bytes of a regular file, found in a folder or named by the user: never those of a pipe.
///
/// # Errors
/// As [`bytes`], and `Exit::Usage` if it is not a regular file.
pub fn regular(path: &Path, what: &str) -> Result<Vec<u8>, Failure> {
    Ok(input::regular(path, what)?)
}

/// The text of a regular file.
///
/// # Errors
/// As [`regular`], and `Exit::Usage` if it is not UTF-8.
pub fn regular_text(path: &Path, what: &str) -> Result<String, Failure> {
    Ok(input::regular_text(path, what)?)
}

/// Whether a file begins as JSON does, rather than as a job file.
///
/// # Errors
/// As [`bytes`].
pub fn is_json(path: &Path) -> Result<bool, Failure> {
    let bytes = bytes(path, "the file")?;
    if bytes.trim_ascii_start().first() == Some(&b'{') {
        return Ok(true);
    }
    Ok(std::str::from_utf8(&bytes).is_ok_and(fio_output::recognised))
}

/// A stored result, or output of fio converted to one.
///
/// # Errors
/// As [`text`], and `Exit::Usage` if it is not a result that this program reads.
pub fn result(path: &Path) -> Result<ResultDocument, Failure> {
    document(path, &text(path, "the result")?)
}

/// A stored result that was found in a folder.
///
/// # Errors
/// As [`regular_text`] and [`result`].
pub fn regular_result(path: &Path) -> Result<ResultDocument, Failure> {
    document(path, &regular_text(path, "the result")?)
}

fn document(path: &Path, text: &str) -> Result<ResultDocument, Failure> {
    json::from_json(text, path).or_else(|e| of_fio(path, text)?.ok_or_else(|| Failure::usage(e)))
}

/// Document of fio's output; `None` for other text.
fn of_fio(path: &Path, text: &str) -> Result<Option<ResultDocument>, Failure> {
    if !fio_output::recognised(text) {
        return Ok(None);
    }
    let mut document = fio_output::read(text, concat!("nandscope ", env!("CARGO_PKG_VERSION")))
        .map_err(|e| Failure::usage(format!("{}: {e}", path.display())))?;
    for step in &mut document.steps {
        figures::add(step);
    }
    Ok(Some(document))
}
