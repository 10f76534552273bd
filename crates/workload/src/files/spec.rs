//! Number and sizes of the files of a folder.

use nandscope_units::Bytes;
use thiserror::Error;

/// Description of a folder in numbers. Trees made from equal specs are equal.
#[derive(Clone, Debug, PartialEq)]
pub struct FolderSpec {
    /// Name of the folder.
    pub name: String,
    /// The sum of all file sizes, to the byte.
    pub bytes: Bytes,
    /// Number of files.
    pub files: u32,
    /// Number of folders, including the top one; at least 1.
    pub folders: u32,
    /// The standard deviation of the natural logarithm of the file sizes: 0 makes all sizes alike,
    /// 1 a folder of photos, 2.5 a home folder.
    pub spread: f64,
    /// Seed of everything not specified: sizes, names, folders of files.
    pub seed: u64,
}

/// Why a spec cannot be met.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SpecError {
    /// Every file has a byte at least.
    #[error(
        "folder {name}: {files} files need at least {files} bytes, but the sum is {bytes} bytes; give it more bytes or fewer files"
    )]
    TooFewBytes {
        /// Name of the folder.
        name: String,
        /// Number of files wanted in it.
        files: u32,
        /// Sum of their sizes.
        bytes: u64,
    },
    /// There are bytes, but no files.
    #[error("folder {0}: has bytes but no file; give it files, or no bytes")]
    NoFiles(String),
    /// There must be at least one folder, the top one.
    #[error("folder {0}: folders counts the top folder too, so it is at least 1")]
    NoFolder(String),
    /// Negative or not a number.
    #[error("folder {name}: a spread of {spread} is not between 0 and 10")]
    Spread {
        /// Name of the folder.
        name: String,
        /// As given; see [`FolderSpec::spread`].
        spread: f64,
    },
}

impl FolderSpec {
    /// A spec with a spread of 2 and the seed 1.
    pub fn new(name: &str, bytes: Bytes, files: u32, folders: u32) -> Self {
        FolderSpec {
            name: name.to_string(),
            bytes,
            files,
            folders,
            spread: 2.0,
            seed: 1,
        }
    }

    /// Checks that a tree can be made from the spec.
    ///
    /// # Errors
    /// Returns [`SpecError`] if the numbers contradict one another.
    pub fn check(&self) -> Result<(), SpecError> {
        let name = || self.name.clone();
        if self.folders == 0 {
            return Err(SpecError::NoFolder(name()));
        }
        if self.files == 0 && self.bytes.0 > 0 {
            return Err(SpecError::NoFiles(name()));
        }
        if self.bytes.0 < u64::from(self.files) {
            return Err(SpecError::TooFewBytes {
                name: name(),
                files: self.files,
                bytes: self.bytes.0,
            });
        }
        if !(0.0..=10.0).contains(&self.spread) {
            return Err(SpecError::Spread {
                name: name(),
                spread: self.spread,
            });
        }
        Ok(())
    }
}

/// The four folders of AnandTech's suite for direct-attached storage, in its order: AV (photos and
/// videos), Home, BR (a Blu-ray), ISOs (disc images).
///
/// Sizes (decimal GB), file and folder counts are as published; the distribution of sizes is not, and
/// is our assumption: 1.5 for photos and clips, 2.5 for a home folder, 3 for a Blu-ray's few huge
/// streams among small indices, 0.3 for disc images.
pub fn das_suite() -> [FolderSpec; 4] {
    let spec = |name, hundredths_of_gb: u64, files, folders, spread| FolderSpec {
        spread,
        ..FolderSpec::new(name, Bytes(hundredths_of_gb * 10_000_000), files, folders)
    };
    [
        spec("AV", 2403, 1263, 109, 1.5),
        spec("Home", 1886, 7627, 382, 2.5),
        spec("BR", 2309, 111, 10, 3.0),
        spec("ISOs", 2861, 4, 1, 0.3),
    ]
}
