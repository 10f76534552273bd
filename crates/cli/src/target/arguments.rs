//! Options of every command that opens a simulated device.

use crate::failure::Failure;
use crate::heading;
use clap::Args;
use nandscope_experiment::{OpenOptions, ProfileOverride};

/// Changes of the profile of a simulated device.
#[derive(Args, Clone, Debug, Default)]
pub struct ParamArguments {
    /// Change a parameter of the device profile; repeatable
    #[arg(long = "param", value_name = "KEY=VALUE", help_heading = heading::SIMULATED)]
    pub params: Vec<ProfileOverride>,
}

impl ParamArguments {
    /// Options for opening a device with these changes.
    pub fn options(&self, host: Option<&str>, seed: u64) -> OpenOptions {
        OpenOptions {
            host: host.map(str::to_string),
            seed,
            overrides: self.params.clone(),
        }
    }

    /// Refuses changes for a target that has no profile.
    ///
    /// # Errors
    /// `Exit::Usage` if there are any.
    pub fn refuse(&self, name: &str) -> Result<(), Failure> {
        match self.params.is_empty() {
            true => Ok(()),
            false => Err(Failure::usage(format!(
                "--param works with simulated devices only, and {name} is a real target; omit it"
            ))),
        }
    }
}
