//! Why contents cannot be read or written.

use crate::image::OutOfRange;
use thiserror::Error;

/// Why contents could not be read or written.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The range reaches beyond the end.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// The file cannot be opened or does not fit the device.
    #[error("{file}: {what}")]
    Unfit {
        /// Path of the file.
        file: String,
        /// The problem and its remedy.
        what: String,
    },
    /// The system refused to read or write the file.
    #[error("the file of the contents: {0}")]
    Io(#[from] std::io::Error),
}
