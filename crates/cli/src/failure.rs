//! Failure of a command: one message for users and an exit code, as explained in docs/exit-codes.md.

use nandscope_experiment::ErrorClass;
use nandscope_experiment::input::InputError;
use nandscope_experiment::memory::MemoryError;
use nandscope_files::{Collision, Refusal, WriteError};
use std::fmt::Display;
use std::process::ExitCode;

/// Exit code of the program; docs/exit-codes.md explains them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The command succeeded.
    Done,
    /// The measurement is incomplete, or operations failed.
    Partial,
    /// The command line or a file that was given is wrong.
    Usage,
    /// The system refused an operation: not found, no permission, no space.
    File,
    /// A fault of nandscope itself.
    Internal,
    /// Verified: the device has less than it claims.
    Fake,
    /// Verified: single blocks lose data.
    Failing,
    /// Verified: something is inconsistent, but it proves neither a fake nor a defect.
    Suspicious,
    /// Verified: not all data of the device was restored; its journal is kept.
    Unrestored,
    /// Qualified: the device does not meet a requirement.
    Unfit,
    /// Qualified: no requirement is known to fail, but not each is known to be met.
    NotKnown,
    /// Interrupted; what was measured until then is kept.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(match exit {
            Exit::Done => 0,
            Exit::Partial => 1,
            Exit::Usage => 2,
            Exit::File => 3,
            Exit::Internal => 4,
            Exit::Fake => 10,
            Exit::Failing => 11,
            Exit::Suspicious => 12,
            Exit::Unrestored => 13,
            Exit::Unfit => 14,
            Exit::NotKnown => 15,
            Exit::Interrupted => 130,
        })
    }
}

/// Error of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// Message: what is wrong, where, what to do.
    pub text: String,
    /// True if the text already shows the place in the source.
    pub rendered: bool,
    /// True if the data was saved nevertheless, elsewhere or without its report.
    pub saved: bool,
}

impl Failure {
    /// A failure with a message: the problem, its place, and the remedy.
    pub fn new(exit: Exit, text: impl Display) -> Self {
        Failure {
            exit,
            text: text.to_string(),
            rendered: false,
            saved: false,
        }
    }

    /// A failure of that class.
    pub fn of(class: ErrorClass, text: impl Display) -> Self {
        match class {
            ErrorClass::Usage => Self::usage(text),
            ErrorClass::System => Self::file(text),
            ErrorClass::Internal => Self::internal(text),
        }
    }

    /// Wrong usage or input.
    pub fn usage(text: impl Display) -> Self {
        Self::new(Exit::Usage, text)
    }

    /// The system refused an operation.
    pub fn file(text: impl Display) -> Self {
        Self::new(Exit::File, text)
    }

    /// A fault of the program.
    pub fn internal(text: impl Display) -> Self {
        Self::new(Exit::Internal, text)
    }

    /// A message that shows the lines of the source itself.
    pub fn shown(text: String) -> Self {
        Failure {
            exit: Exit::Usage,
            text,
            rendered: true,
            saved: false,
        }
    }

    /// Marks that the data was saved nevertheless.
    pub fn but_saved(mut self) -> Self {
        self.saved = true;
        self
    }
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        match error {
            // As for a file with two roles in one command, the remedy is another name.
            WriteError::Refused {
                refusal: Refusal::Locked,
                ..
            }
            | WriteError::Twice { .. } => Failure::usage(error),
            _ => Failure::file(error),
        }
    }
}

impl From<Collision> for Failure {
    fn from(error: Collision) -> Self {
        Failure::usage(error)
    }
}

impl From<InputError> for Failure {
    fn from(error: InputError) -> Self {
        Failure::of(error.class(), error)
    }
}

impl From<MemoryError> for Failure {
    fn from(error: MemoryError) -> Self {
        Failure::file(error)
    }
}
