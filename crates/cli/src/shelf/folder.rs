//! A shelf on the disk: a folder per drive, with its results and the files of `about`.

use super::about;
use crate::failure::Failure;
use crate::{input, output};
use nandscope_report::shelf::Drive;
use nandscope_result::ResultDocument;
use nandscope_result::json::{from_json, to_json};
use std::path::{Path, PathBuf};

/// Folder of the photos on a site.
pub const PHOTOS: &str = "photos";

/// The drives of a shelf, by name.
///
/// # Errors
/// `Exit::File` if the folder or a file in it cannot be read; `Exit::Usage` if a file is not a result, or is a second
/// result of a procedure.
pub fn read(shelf: &Path) -> Result<Vec<Drive>, Failure> {
    let mut drives = Vec::new();
    for folder in entries(shelf)? {
        if !folder.is_dir() {
            continue;
        }
        if let Some(drive) = drive(&folder)? {
            drives.push(drive);
        }
    }
    Ok(drives)
}

/// The drive in a folder; `None` if it has no result.
fn drive(folder: &Path) -> Result<Option<Drive>, Failure> {
    let mut results: Vec<ResultDocument> = Vec::new();
    for path in entries(folder)? {
        if path.extension().is_none_or(|e| e != "json") {
            continue;
        }
        let result = input::regular_result(&path)?;
        if results.iter().any(|r| r.procedure == result.procedure) {
            return Err(Failure::usage(format!(
                "{} is a second result of `{}` in its folder; remove one of them",
                path.display(),
                result.procedure
            )));
        }
        results.push(result);
    }
    if results.is_empty() {
        return Ok(None);
    }
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let mut about = about::read(folder)?;
    about.photo = about.photo.map(|file| {
        let ending = Path::new(&file).extension().unwrap_or_default();
        format!("{PHOTOS}/{name}.{}", ending.to_string_lossy())
    });
    Ok(Some(Drive {
        name: name.into_owned(),
        about,
        results,
    }))
}

/// Entries of a folder, by name.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let refuse = |e: std::io::Error| {
        Failure::file(format!(
            "cannot read the shelf {}: {e}; name it with --shelf, or make it with `nandscope shelf add`",
            folder.display()
        ))
    };
    let entries = std::fs::read_dir(folder).map_err(refuse)?;
    let paths = entries.map(|entry| entry.map(|e| e.path()).map_err(refuse));
    let mut paths = paths.collect::<Result<Vec<_>, _>>()?;
    paths.sort();
    Ok(paths)
}

/// Whether there is a result at `place` that differs from `document`.
///
/// # Errors
/// As [`input::text`].
pub fn keeps_another(place: &Path, document: &ResultDocument) -> Result<bool, Failure> {
    if !place.exists() {
        return Ok(false);
    }
    let text = input::regular_text(place, "the result on the shelf")?;
    Ok(!from_json(&text, place).is_ok_and(|kept| kept == *document))
}

/// Stores a result in the folder of its drive.
///
/// # Errors
/// `Exit::File` if it cannot be written.
pub fn keep(
    shelf: &Path,
    name: &str,
    file: &str,
    document: &ResultDocument,
) -> Result<(), Failure> {
    nandscope_files::create_folder(shelf)?;
    nandscope_files::create_folder_in(shelf, Path::new(name))?;
    let text = to_json(document).map_err(Failure::internal)?;
    output::write_in(shelf, &format!("{name}/{file}"), text.as_bytes())
}

/// The photo in the folder of a drive that is shown under `link`.
///
/// # Errors
/// `Exit::File` if it cannot be read.
pub fn photo(folder: &Path, link: &str) -> Result<Vec<u8>, Failure> {
    let name = about::photo_file(folder)?.unwrap_or_else(|| link.to_string());
    input::regular(&folder.join(name), "the photo")
}
