//! The finished points of a sweep in a folder, one complete file per point, named by its key: a killed
//! sweep loses the points that were running, and nothing is run twice. The files are result documents,
//! as `nandscope run` writes them, without the wall clock.

use crate::point::Point;
use nandscope_files::WriteError;
use nandscope_result::{ResultDocument, json};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Folder of the points within that of the sweep.
pub const POINTS: &str = "points";

/// A point cannot be kept.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The system refuses.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The result is not a document.
    #[error(transparent)]
    Document(#[from] json::DocumentError),
}

/// Store of finished points.
pub trait Keep: Sync {
    /// The result of a point if it is finished.
    fn find(&self, point: &Point) -> Option<ResultDocument>;

    /// Keeps the result of a point.
    ///
    /// # Errors
    /// Returns [`StoreError`] if it cannot be kept.
    fn keep(&self, point: &Point, document: &ResultDocument) -> Result<(), StoreError>;
}

/// See the module's text.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// The store in the folder of a sweep, which is made if it is missing.
    ///
    /// # Errors
    /// Returns [`StoreError::Write`] if it cannot be written to.
    pub fn open(sweep: &Path) -> Result<Store, StoreError> {
        let folder = sweep.join(POINTS);
        nandscope_files::create_folder(&folder)?;
        nandscope_files::check_folder(&folder)?;
        Ok(Store { folder })
    }

    /// The file of a point.
    pub fn file(&self, point: &Point) -> PathBuf {
        self.folder.join(format!("{}.json", point.key))
    }
}

impl Keep for Store {
    /// A file that cannot be read, or holds something else, is not a result: the point is run again.
    fn find(&self, point: &Point) -> Option<ResultDocument> {
        let document = json::read(&self.file(point)).ok()?;
        let is_own = document.seed == point.seed() && document.target.name == point.about.name;
        is_own.then_some(document)
    }

    fn keep(&self, point: &Point, document: &ResultDocument) -> Result<(), StoreError> {
        Ok(json::write(&self.file(point), document)?)
    }
}
