//! Real targets are driven on Linux only; elsewhere they are refused by name.

use crate::failure::Failure;
use clap::Args;
use std::path::Path;

/// Arguments that apply to real targets only; there are none here.
#[derive(Args, Clone, Debug, Default)]
pub struct RealArguments {}

impl RealArguments {
    /// Refuses arguments that do not apply to this target.
    ///
    /// # Errors
    /// None on this system.
    pub fn refuse(&self, _: &str) -> Result<(), Failure> {
        Ok(())
    }
}

/// Whether a target of this name is a file or device of this machine.
pub fn is_real(name: &str) -> bool {
    !name.starts_with("sim:") && (name.contains('/') || Path::new(name).exists())
}

/// Why it is not driven.
pub fn absent(name: &str) -> Failure {
    Failure::usage(format!(
        "{name} is a real target; real targets are supported on Linux only"
    ))
}
