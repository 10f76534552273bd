//! The folder of an author: `introduction.md`, `conclusion.md` and photos, which a report includes.

use crate::failure::Failure;
use crate::input;
use crate::photo::photo_kind;
use nandscope_files::Access;
use nandscope_report::shelf::{Author, Photo};
use std::path::{Path, PathBuf};

/// Bytes of all photos: a report stays light enough for a phone.
const MOST_PHOTO_BYTES: usize = 1_500_000;

/// The texts and photos in a folder. Hidden files are left out.
///
/// # Errors
/// `Exit::Usage` if a file is neither a text nor a photo, if the photos are too large, or if there is nothing to
/// include; otherwise as [`input::text`].
pub fn read(folder: &Path) -> Result<Author, Failure> {
    let mut author = Author::default();
    for path in files(folder)? {
        match path.file_name().and_then(|name| name.to_str()) {
            Some(name) if name.starts_with('.') => {}
            Some("introduction.md") => {
                author.introduction = Some(input::regular_text(&path, "the introduction")?);
            }
            Some("conclusion.md") => {
                author.conclusion = Some(input::regular_text(&path, "the conclusion")?);
            }
            _ => author.photos.push(photo(&path)?),
        }
    }
    if author == Author::default() {
        return Err(Failure::usage(format!(
            "{} holds nothing for a report; write introduction.md or conclusion.md, or put photos there",
            folder.display()
        )));
    }
    let bytes: usize = author.photos.iter().map(|p| p.bytes.len()).sum();
    if bytes > MOST_PHOTO_BYTES {
        return Err(Failure::usage(format!(
            "the photos in {} have {:.1} MB; scale them down to 1.5 MB together",
            folder.display(),
            bytes as f64 / 1e6
        )));
    }
    Ok(author)
}

/// Copies texts and photos that [`read`] accepts into the folder `inside` of a shelf, created if missing. Files of other
/// names stay there.
///
/// # Errors
/// `Exit::File` if a file cannot be read or written.
pub fn copy(from: &Path, shelf: &Path, inside: &Path) -> Result<(), Failure> {
    nandscope_files::create_folder_in(shelf, inside)?;
    for path in files(from)? {
        let Some(name) = path.file_name() else {
            continue;
        };
        if !name.as_encoded_bytes().starts_with(b".") {
            let bytes = input::regular(&path, "a text or photo of the author")?;
            nandscope_files::write_in(shelf, &inside.join(name), &bytes, Access::Usual)?;
        }
    }
    Ok(())
}

/// The files of a folder by name.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let fault = |e: std::io::Error| {
        Failure::file(format!(
            "cannot read {}: {e}; name a folder with introduction.md, conclusion.md or photos",
            folder.display()
        ))
    };
    let entries = std::fs::read_dir(folder).map_err(fault)?;
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.map_err(fault)?.path());
    }
    paths.sort();
    Ok(paths)
}

/// A photo; its caption is the name of its file.
fn photo(path: &Path) -> Result<Photo, Failure> {
    let bytes = input::regular(path, "the photo")?;
    let Some(kind) = photo_kind(&bytes) else {
        return Err(Failure::usage(format!(
            "{} is neither introduction.md, conclusion.md nor a PNG, JPEG or WebP photo; remove it from the folder",
            path.display()
        )));
    };
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    Ok(Photo {
        caption: stem.replace(['-', '_'], " "),
        media_type: match kind {
            "png" => "image/png",
            "webp" => "image/webp",
            _ => "image/jpeg",
        },
        bytes,
    })
}
