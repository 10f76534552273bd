//! Failures of the native part, and the Python exceptions that they become (`nandscope/errors.py`).

use nandscope_experiment::ErrorClass;
use pyo3::import_exception;
use pyo3::prelude::*;

mod python {
    //! The exceptions that Python defines, so that they can be pickled.
    use super::import_exception;
    import_exception!(nandscope.errors, Error);
    import_exception!(nandscope.errors, FileError);
    import_exception!(nandscope.errors, BusyError);
    import_exception!(nandscope.errors, InternalError);
}

/// Why a call did not do what it was asked to do, in the words of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Wrong input.
    Input(String),
    /// The system refuses.
    File(String),
    /// Another call uses the device.
    Busy,
    /// A fault of nandscope.
    Internal(String),
}

impl Failure {
    /// Wrong input, with its message.
    pub fn input(what: impl ToString) -> Self {
        Failure::Input(what.to_string())
    }

    /// A fault of nandscope, with its message.
    pub fn internal(what: impl ToString) -> Self {
        Failure::Internal(what.to_string())
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        match failure {
            Failure::Input(text) => python::Error::new_err(text),
            Failure::File(text) => python::FileError::new_err(text),
            Failure::Busy => python::BusyError::new_err(
                "another call is using this device; wait for its end, or give each thread a fork() of it",
            ),
            Failure::Internal(text) => {
                python::InternalError::new_err(format!("{text}; this is a bug of nandscope"))
            }
        }
    }
}

/// The failure for an error of this class.
pub fn of_class(class: ErrorClass, error: &dyn std::fmt::Display) -> Failure {
    let text = error.to_string();
    match class {
        ErrorClass::System => Failure::File(text),
        ErrorClass::Usage => Failure::Input(text),
        ErrorClass::Internal => Failure::Internal(text),
    }
}

/// The message of a panic.
pub fn of_panic(payload: &(dyn std::any::Any + Send)) -> Failure {
    let text = payload
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| payload.downcast_ref::<String>().cloned());
    Failure::internal(text.unwrap_or_else(|| "a panic without a message".to_string()))
}
