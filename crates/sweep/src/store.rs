//! The finished points of a sweep in a folder, one complete file per point, named by its key: a killed
//! sweep loses the points that were running, and nothing is run twice. The files are result documents,
//! as `nandscope run` writes them, without the wall clock, and with a checksum: a point whose file is damaged is run
//! again.

use crate::key::sum_of;
use crate::point::Point;
use nandscope_files::{
    Access, FollowLinks, ReadError, WriteError, create_folder, create_folder_in, read_regular,
    write_in,
};
use nandscope_result::{ResultDocument, json};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Folder of the points within that of the sweep.
pub const POINTS: &str = "points";
/// Largest file of a point that is read, bytes.
const LARGEST: u64 = 1 << 30;
/// Begin of every result document.
const BEGIN: &str = "{\n";
/// Beginning of a result document with a checksum: SHA-256 of the document without the line of the checksum.
const SUM: &str = "{\n \"sha256\": \"";

/// The result of a point cannot be stored.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The system refuses.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The result is not a document.
    #[error(transparent)]
    Document(#[from] json::DocumentError),
}

/// Content of a store for a point.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// The point is not finished.
    Nothing,
    /// The point's file cannot be used, for this reason, and the point must be run again.
    Damaged(String),
    /// The point's result, undamaged.
    Whole(Box<ResultDocument>),
}

/// Store of finished points.
pub trait Keep: Sync {
    /// The result of a point.
    fn find(&self, point: &Point) -> Found;

    /// Stores the result of a point.
    ///
    /// # Errors
    /// Returns [`StoreError`] if it cannot be kept.
    fn keep(&self, point: &Point, document: &ResultDocument) -> Result<(), StoreError>;
}

/// See the module's text.
#[derive(Clone, Debug)]
pub struct Store {
    /// Folder of the sweep, which the user named. Links in it are not followed.
    sweep: PathBuf,
}

impl Store {
    /// The store in the folder of a sweep, which is made if it is missing.
    ///
    /// # Errors
    /// Returns [`StoreError::Write`] if it cannot be written to.
    pub fn open(sweep: &Path) -> Result<Store, StoreError> {
        create_folder(sweep)?;
        create_folder_in(sweep, Path::new(POINTS))?;
        nandscope_files::check_folder(&sweep.join(POINTS))?;
        Ok(Store {
            sweep: sweep.to_path_buf(),
        })
    }

    /// The file of a point, in the folder of the sweep.
    fn name(point: &Point) -> PathBuf {
        Path::new(POINTS).join(format!("{}.json", point.key))
    }
}

impl Keep for Store {
    fn find(&self, point: &Point) -> Found {
        let file = self.sweep.join(Store::name(point));
        let damaged = |why: String| Found::Damaged(format!("{}: {why}", file.display()));
        let bytes = match read_regular(&file, FollowLinks::No, LARGEST) {
            Ok(bytes) => bytes,
            Err(ReadError::Io(error)) if error.kind() == ErrorKind::NotFound => {
                return Found::Nothing;
            }
            Err(error) => return damaged(error.to_string()),
        };
        let Some(text) = unsealed(&bytes) else {
            return damaged("its checksum is wrong or missing".to_string());
        };
        match json::from_json(&text, &file) {
            Ok(document)
                if document.seed != point.seed() || document.target.name != point.about.name =>
            {
                damaged("it is the result of another point".to_string())
            }
            Ok(document) => Found::Whole(Box::new(document)),
            Err(error) => damaged(error.to_string()),
        }
    }

    fn keep(&self, point: &Point, document: &ResultDocument) -> Result<(), StoreError> {
        let text = sealed(&json::to_json(document)?);
        let name = Store::name(point);
        Ok(write_in(
            &self.sweep,
            &name,
            text.as_bytes(),
            Access::Usual,
        )?)
    }
}

/// The text of a document with its checksum, as the files of points have it.
pub fn sealed(document: &str) -> String {
    let rest = document.strip_prefix(BEGIN).unwrap_or(document);
    format!("{SUM}{}\",\n{rest}", sum_of(rest.as_bytes()))
}

/// The document in the file of a point; `None` if the file differs in any byte from the one that was written.
fn unsealed(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (sum, rest) = text.strip_prefix(SUM)?.split_once("\",\n")?;
    (sum == sum_of(rest.as_bytes())).then(|| format!("{BEGIN}{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_byte_of_a_file_is_noticed() {
        let document = "{\n \"a\": 1.5,\n \"b\": \"x\"\n}\n";
        let file = sealed(document);
        assert_eq!(unsealed(file.as_bytes()).as_deref(), Some(document));
        for at in 0..file.len() {
            for bit in 0..8 {
                let mut changed = file.clone().into_bytes();
                changed[at] ^= 1 << bit;
                assert_eq!(unsealed(&changed), None, "byte {at}, bit {bit}");
            }
            assert_eq!(unsealed(&file.as_bytes()[..at]), None, "cut at {at}");
        }
        assert_eq!(unsealed(document.as_bytes()), None);
    }
}
