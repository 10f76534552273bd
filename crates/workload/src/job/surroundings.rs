//! Context of a job file outside of its text. This crate reads no environment and opens no file: the caller provides
//! both.

use thiserror::Error;

/// Facts about a machine that a job file may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// `$ncpus`.
    pub processors: u64,
    /// `$mb_memory`, MiB.
    pub memory_mib: u64,
    /// `$pagesize`, bytes.
    pub page_bytes: u64,
}

/// An option that is set on every job of a file, after those of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// Name of the option.
    pub key: String,
    /// `None` for a flag.
    pub value: Option<String>,
}

impl Override {
    /// Reads `name=value` or `name`, with or without fio's two hyphens before it.
    pub fn parse(text: &str) -> Override {
        let text = text.strip_prefix("--").unwrap_or(text);
        let (key, value) = match text.split_once('=') {
            Some((key, value)) => (key, Some(value.trim().to_string())),
            None => (text, None),
        };
        Override {
            key: key.trim().to_string(),
            value,
        }
    }
}

/// A file that was included: its name for messages, and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Included {
    /// As messages call the file.
    pub name: String,
    /// Whole contents.
    pub text: String,
}

/// Why a file referred to by a job file is not available.
#[derive(Debug, Error)]
pub enum FileError {
    /// These surroundings include no files.
    #[error("`{0}` cannot be read here")]
    NoIncludes(String),
    /// These surroundings read no files.
    #[error("no file can be read here")]
    NoFiles,
    /// No file has that name.
    #[error("there is no such file beside this one or here")]
    NotFound,
    /// The file is empty.
    #[error("it is empty")]
    Empty,
    /// The file cannot be read.
    #[error(transparent)]
    Unreadable(Box<dyn std::error::Error + Send + Sync>),
}

/// Files and facts that a job file may refer to.
pub trait Surroundings {
    /// Value of an environment variable (`${NAME}`); `None` if it is not set.
    fn variable(&self, name: &str) -> Option<String> {
        let _ = name;
        None
    }

    /// The file `name` that the file `from` includes.
    ///
    /// # Errors
    /// [`FileError`] if there is no such file or it cannot be read.
    fn include(&self, name: &str, from: &str) -> Result<Included, FileError> {
        let _ = from;
        Err(FileError::NoIncludes(name.to_string()))
    }

    /// The first bytes of a file, `most` of them at most.
    ///
    /// # Errors
    /// [`FileError`] if the file is empty or cannot be read.
    fn bytes(&self, name: &str, most: usize) -> Result<Vec<u8>, FileError> {
        let _ = (name, most);
        Err(FileError::NoFiles)
    }

    /// Facts about the machine for `$ncpus` and similar; `None` makes them errors.
    fn machine(&self) -> Option<Machine> {
        None
    }

    /// Options that are set on every job.
    fn overrides(&self) -> &[Override] {
        &[]
    }

    /// Names of the sections whose jobs run (fio's `--section`); all if it is empty.
    fn sections(&self) -> &[String] {
        &[]
    }

    /// Whether the file was written for fio: a job without an engine has fio's default, which is synchronous, and a job
    /// without `direct=1` uses the page cache.
    fn is_fios(&self) -> bool {
        true
    }
}

/// No context, for jobs written by a program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nowhere;

impl Surroundings for Nowhere {
    fn is_fios(&self) -> bool {
        false
    }
}
