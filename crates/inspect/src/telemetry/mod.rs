//! Instruments besides the I/O: SMART through smartctl ([`smart`]), temperatures ([`hwmon`]), power from
//! RAPL ([`rapl`]), from an INA226 or INA219 ([`ina`]), or from the file of a USB meter ([`meter`]), and
//! the energy calculated from power ([`energy`]).
//!
//! The caller polls each at its own rate in its own thread; nothing here starts a thread or keeps a
//! clock. Failures carry the reason ([`Reading`]). Reading a sysfs file may cause a command to the
//! device (an NVMe temperature is a log page), so poll once a second.

pub mod disk_stat;
pub mod energy;
pub mod hwmon;
pub mod ina;
pub mod meter;
pub mod rapl;
pub mod smart;
pub mod transferred;

use serde::Serialize;
use std::io;
use std::path::Path;
use thiserror::Error;

/// Why there is no value: an instrument that is not there, or does not answer.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize)]
#[error("{0}")]
#[serde(transparent)]
pub struct Absent(pub String);

/// A value, or the reason for its absence.
pub type Reading<T> = Result<T, Absent>;

impl Absent {
    /// A reading that is absent for this reason.
    pub fn new(why: impl Into<String>) -> Self {
        Absent(why.into())
    }

    /// A system file that cannot be read.
    pub(crate) fn file(path: &Path, error: &io::Error) -> Self {
        let why = match error.kind() {
            io::ErrorKind::NotFound => "no such file".to_string(),
            io::ErrorKind::PermissionDenied => "only root may read it".to_string(),
            _ => error.to_string(),
        };
        Absent(format!("{}: {why}", path.display()))
    }
}

/// A whole number out of a file of the system, which may be negative.
pub(crate) fn integer(path: &Path) -> Reading<i64> {
    let text = crate::roots::read(path).map_err(|e| Absent::file(path, &e))?;
    let number = text.parse();
    number.map_err(|_| Absent::new(format!("{}: `{text}` is not a number", path.display())))
}
