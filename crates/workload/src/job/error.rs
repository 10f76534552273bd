//! Faults of a job file, each with its place and a remedy.

use std::fmt;
use std::ops::Range;

/// One fault of a job file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Name of the file, as given by the caller.
    pub file: String,
    /// Line, counted from 1; 0 if the fault belongs to no line (a job built by a program).
    pub line: usize,
    /// Range of bytes in the line; empty if there is no line.
    pub span: Range<usize>,
    /// Option with the fault; empty for a line without an option.
    pub key: String,
    /// Description of the fault.
    pub message: String,
    /// Remedy; may be empty.
    pub remedy: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": {}", self.message)?;
        if !self.remedy.is_empty() {
            write!(f, "; {}", self.remedy)?;
        }
        Ok(())
    }
}

/// All faults of a job file, in the order of its lines; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobError {
    /// In the order of lines; never empty.
    pub faults: Vec<Fault>,
}

impl fmt::Display for JobError {
    /// One line for each fault.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, fault) in self.faults.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{fault}")?;
        }
        Ok(())
    }
}

impl std::error::Error for JobError {}

impl From<Fault> for JobError {
    fn from(fault: Fault) -> Self {
        JobError {
            faults: vec![fault],
        }
    }
}

/// A fault without its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) message: String,
    pub(crate) remedy: String,
}

impl Problem {
    pub(crate) fn new(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Problem {
            message: message.into(),
            remedy: remedy.into(),
        }
    }
}
