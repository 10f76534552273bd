//! What kind of error it is, for those who choose an exit code or an exception by it, and the faults of
//! a profile with the text they are in.

use nandscope_device::profile::ProfileError;
use std::fmt;

/// Class of an error: who can fix it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// The caller: a wrong name, value, file format or combination.
    Usage,
    /// The system: a file is missing or unreadable, memory does not suffice.
    System,
    /// The maintainers: a bug of nandscope.
    Internal,
}

/// A profile that cannot be used, with all its faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidProfile {
    /// Text of the profile, to which the spans of the faults refer.
    pub text: String,
    /// The faults, one at least.
    pub faults: Vec<ProfileError>,
}

impl fmt::Display for InvalidProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, fault) in self.faults.iter().enumerate() {
            if number > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{fault}")?;
        }
        Ok(())
    }
}

impl std::error::Error for InvalidProfile {}
