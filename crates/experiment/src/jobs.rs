//! Job files, with their text for messages and with what they refer to on this machine.

pub mod library;

use crate::error::ErrorClass;
use crate::input::{self, InputError};
use crate::machine::ThisMachine;
use nandscope_workload::job::{JobError, JobFile, Override};
use std::collections::BTreeSet;
use std::path::Path;
use thiserror::Error;

/// Name under which jobs are read from standard input, as in fio.
pub const STANDARD_INPUT: &str = "-";

/// A job file cannot be read.
#[derive(Debug, Error)]
pub enum JobsError {
    /// The file cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// Its text has faults.
    #[error("{error}")]
    Invalid {
        /// The text, to which the lines of the faults refer.
        text: String,
        /// All faults, with their places.
        error: JobError,
    },
}

impl JobsError {
    /// Class of the error: who can fix it.
    pub fn class(&self) -> ErrorClass {
        match self {
            JobsError::Input(error) => error.class(),
            JobsError::Invalid { .. } => ErrorClass::Usage,
        }
    }
}

/// The jobs of a file and the text they were read from.
#[derive(Clone, Debug)]
pub struct Jobs {
    /// Parsed job file.
    pub file: JobFile,
    /// The text, for messages.
    pub text: String,
}

impl Jobs {
    /// Reads a job file, with `overrides` set on every job. A file of the library ([`library::find`]) need not be there;
    /// one that is there goes first.
    ///
    /// # Errors
    /// Returns [`JobsError`] if the file cannot be read, or with all faults of its text.
    pub fn read(path: &Path, overrides: &[Override]) -> Result<Jobs, JobsError> {
        Jobs::read_sections(path, overrides, &[])
    }

    /// The same with the jobs of these sections only; an empty list selects all. `-` is standard input.
    ///
    /// # Errors
    /// As [`Jobs::read`], also if the file has no such section.
    pub fn read_sections(
        path: &Path,
        overrides: &[Override],
        sections: &[String],
    ) -> Result<Jobs, JobsError> {
        let (name, text) = match path == Path::new(STANDARD_INPUT) {
            true => {
                let what = "the job file from standard input";
                let text = input::text(Path::new("/dev/stdin"), what)?;
                ("standard input".to_string(), text)
            }
            false => (path.display().to_string(), text_of(path)?),
        };
        let machine = ThisMachine {
            overrides: overrides.to_vec(),
            sections: sections.to_vec(),
        };
        Jobs::parse_on(&name, text, &machine)
    }

    /// Reads the text of a job file; `name` is for messages, and includes and traces are looked for
    /// beside it.
    ///
    /// # Errors
    /// Returns [`JobsError::Invalid`] with all faults.
    pub fn parse(
        name: &str,
        text: impl Into<String>,
        overrides: &[Override],
    ) -> Result<Jobs, JobsError> {
        let machine = ThisMachine {
            overrides: overrides.to_vec(),
            sections: Vec::new(),
        };
        Jobs::parse_on(name, text.into(), &machine)
    }

    /// Reads the words of a command line such as fio's, with `overrides` set on every job.
    ///
    /// # Errors
    /// Returns [`JobsError::Invalid`] with all faults.
    pub fn of_command_line(words: &[String], overrides: &[Override]) -> Result<Jobs, JobsError> {
        let machine = ThisMachine {
            overrides: overrides.to_vec(),
            sections: Vec::new(),
        };
        let (text, file) = JobFile::of_command_line("the command line", words, &machine);
        Jobs::of(text, file)
    }

    fn parse_on(name: &str, text: String, machine: &ThisMachine) -> Result<Jobs, JobsError> {
        let file = JobFile::read(name, &text, machine);
        Jobs::of(text, file)
    }

    fn of(text: String, file: Result<JobFile, JobError>) -> Result<Jobs, JobsError> {
        match file {
            Ok(file) => Ok(Jobs { file, text }),
            Err(error) => Err(JobsError::Invalid { text, error }),
        }
    }
}

/// The text of a file, or of the job of the library that has this name.
fn text_of(path: &Path) -> Result<String, InputError> {
    match library::find(path).filter(|_| !path.exists()) {
        Some(job) => Ok(job.text.to_string()),
        None => input::text(path, "the job file"),
    }
}

/// Notices on how the jobs were understood, each once.
pub fn notices(jobs: &JobFile) -> impl Iterator<Item = &String> {
    let mut seen = BTreeSet::new();
    let all = jobs.jobs.iter().flat_map(|job| &job.origin.notices);
    all.filter(move |text| seen.insert(*text))
}
