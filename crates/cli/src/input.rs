//! Reading what the user names: files, with one message where it does not work.

use crate::failure::Failure;
use crate::memory;
use crate::run::figures;
use nandscope_measure::fio_output;
use nandscope_result::ResultDocument;
use nandscope_result::json;
use nandscope_units::Bytes;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Files larger than this are none of ours; reading on would only fill the memory.
const MOST_BYTES: u64 = 16 << 30;
/// The same of what is no regular file, such as a pipe, and does not say how much will come.
const MOST_OF_STREAM: u64 = 1 << 30;
/// A text is read whole, and what is made of it takes about so many times its size.
const MEMORY_OF_TEXT: u64 = 4;
/// The same of a kept device or its journal, which is in memory as it is in the file.
const MEMORY_OF_DEVICE: u64 = 2;

/// The bytes of a file.
///
/// # Errors
/// Where there is none, or it cannot be read.
pub fn bytes(path: &Path, what: &str) -> Result<Vec<u8>, Failure> {
    read(path, what, MEMORY_OF_TEXT)
}

/// The bytes of a kept device or its journal, of which a device as large as the file is made.
///
/// # Errors
/// As [`bytes`].
pub fn device(path: &Path, what: &str) -> Result<Vec<u8>, Failure> {
    read(path, what, MEMORY_OF_DEVICE)
}

fn read(path: &Path, what: &str, memory_per_byte: u64) -> Result<Vec<u8>, Failure> {
    let refuse = |e: std::io::Error| {
        let remedy = match e.kind() {
            ErrorKind::NotFound => "; check the name",
            ErrorKind::PermissionDenied => "; check its permissions",
            ErrorKind::IsADirectory => "; name a file in it",
            _ => "",
        };
        Failure::file(format!(
            "cannot read {what} {}: {e}{remedy}",
            path.display()
        ))
    };
    let about = std::fs::metadata(path).map_err(refuse)?;
    let most = most_bytes(about.is_file(), memory::left(), memory_per_byte);
    let mut bytes = Vec::new();
    if about.len() <= most {
        let file = File::open(path).map_err(refuse)?;
        // To grow step by step would take twice the memory. Where there is not so much, reading will say so.
        let _ =
            bytes.try_reserve_exact(usize::try_from(about.len()).unwrap_or(0).saturating_add(1));
        let read = file.take(most + 1).read_to_end(&mut bytes);
        read.map_err(refuse)?;
    }
    if about.len().max(bytes.len() as u64) > most {
        return Err(Failure::usage(format!(
            "{what} {} is larger than the limit of {}, which memory or the kind of file sets; check that it is the right file",
            path.display(),
            Bytes(most)
        )));
    }
    Ok(bytes)
}

fn most_bytes(regular: bool, left: Option<u64>, memory_per_byte: u64) -> u64 {
    let most = if regular { MOST_BYTES } else { MOST_OF_STREAM };
    left.map_or(most, |left| most.min(left / memory_per_byte))
}

/// The text of a file.
///
/// # Errors
/// As [`bytes`], and where it is no UTF-8.
pub fn text(path: &Path, what: &str) -> Result<String, Failure> {
    String::from_utf8(bytes(path, what)?).map_err(|e| {
        Failure::usage(format!(
            "{what} {} is not UTF-8 text: byte {} is invalid; save it as UTF-8",
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
    if bytes.trim_ascii_start().first() == Some(&b'{') {
        return Ok(true);
    }
    Ok(std::str::from_utf8(&bytes).is_ok_and(fio_output::recognised))
}

/// A stored result, or the output of fio as one.
///
/// # Errors
/// Where the file cannot be read, or is no result that this program reads.
pub fn result(path: &Path) -> Result<ResultDocument, Failure> {
    let text = text(path, "the result")?;
    json::from_json(&text, path).or_else(|e| of_fio(path, &text)?.ok_or_else(|| Failure::usage(e)))
}

/// The document of fio's output; `None` where the text is something else.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_device_may_take_half_of_the_memory_and_a_text_a_quarter() {
        let left = Some(8 << 30);
        assert_eq!(most_bytes(true, left, MEMORY_OF_DEVICE), 4 << 30);
        assert_eq!(most_bytes(true, left, MEMORY_OF_TEXT), 2 << 30);
        assert_eq!(most_bytes(false, left, MEMORY_OF_DEVICE), MOST_OF_STREAM);
        assert_eq!(most_bytes(true, None, MEMORY_OF_TEXT), MOST_BYTES);
    }
}
