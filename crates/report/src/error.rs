//! Errors of writing results for readers. Nothing is recovered here: the caller shows the message.

use nandscope_files::WriteError;
use thiserror::Error;

/// Why a report could not be made.
#[derive(Debug, Error)]
pub enum ReportError {
    /// The page's template could not be filled in.
    #[error("the report page could not be rendered: {0}")]
    Template(#[from] askama::Error),
    /// The data of a plot could not be encoded.
    #[error("the data of plot `{plot}` could not be encoded: {source}")]
    Encode {
        /// Identifier of the plot.
        plot: String,
        /// Error of the encoder.
        source: serde_json::Error,
    },
    /// A static plot could not be drawn.
    #[error("plot `{plot}` could not be drawn: {reason}")]
    Draw {
        /// Identifier of the plot.
        plot: String,
        /// Error of the drawing library.
        reason: String,
    },
    /// A file could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A comparison of fewer than two documents.
    #[error("a comparison needs at least two result documents, {0} given")]
    TooFewDocuments(usize),
    /// The documents of a comparison were measured on different hosts, which are named.
    #[error(
        "the results share no host: {0}; measure one of them again with --host NAME, or compare all the same with --across-hosts"
    )]
    NoSharedHost(String),
    /// The baseline of a comparison is not one of its documents.
    #[error("baseline {number} of {documents} result documents; number them from 1")]
    NoSuchBaseline {
        /// Number of the baseline, from 1.
        number: usize,
        /// Documents that were given.
        documents: usize,
    },
}

/// Result of this crate's functions.
pub type Result<T> = std::result::Result<T, ReportError>;
