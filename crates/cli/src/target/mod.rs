//! Targets as they are named on the command line: simulated ones (`sim:…`) are opened by the experiment
//! crate, real ones in [`real`].

mod arguments;
#[cfg(target_os = "linux")]
pub mod real;
#[cfg(not(target_os = "linux"))]
#[path = "real_absent.rs"]
pub mod real;
mod registers;

pub use arguments::ParamArguments;
pub use nandscope_experiment::{Kept, Precondition, Simulated};
pub use registers::registers;

use crate::console::Console;
use crate::failure::Failure;
use crate::fault;
use nandscope_device::Device;
use nandscope_experiment::{DeviceSource, HostSource, OpenError, OpenOptions, SourceError};

/// Opens the simulated device of that name. `host` is the name or file of a host profile; a saved device
/// stays with its own where none is named.
///
/// # Errors
/// `Exit::Usage` if there is no such device or host, a profile has faults, or the two do not fit together;
/// `Exit::File` if a file cannot be read or memory is insufficient.
pub fn open(
    name: &str,
    host: Option<&str>,
    seed: u64,
    console: &Console,
) -> Result<(Simulated, Device), Failure> {
    let options = OpenOptions {
        host: host.map(str::to_string),
        seed,
        overrides: Vec::new(),
    };
    open_with(name, &options, console)
}

/// The same with values of the profile replaced.
///
/// # Errors
/// As [`open`], and `Exit::Usage` if a value cannot be replaced.
pub fn open_with(
    name: &str,
    options: &OpenOptions,
    console: &Console,
) -> Result<(Simulated, Device), Failure> {
    nandscope_experiment::open(name, options).map_err(|error| open_failure(&error, console))
}

/// A device that cannot be opened.
pub fn open_failure(error: &OpenError, console: &Console) -> Failure {
    match error {
        OpenError::Source(error) => source_failure(error, console),
        error => Failure::of(error.class(), error),
    }
}

/// The profile of a device by name or file (anything with a `/` or ending in `.toml`).
///
/// # Errors
/// `Exit::Usage` if there is none, or it has faults; `Exit::File` if its file cannot be read.
pub fn device_source(place: &str, console: &Console) -> Result<DeviceSource, Failure> {
    nandscope_experiment::device_source(place).map_err(|error| source_failure(&error, console))
}

/// The same with these changes.
///
/// # Errors
/// As [`device_source`], and `Exit::Usage` if a change is impossible.
pub fn device_source_with(
    place: &str,
    params: &ParamArguments,
    console: &Console,
) -> Result<DeviceSource, Failure> {
    let source = device_source(place, console)?;
    nandscope_experiment::overrides::apply(source, &params.params).map_err(Failure::usage)
}

/// The profile of a host by name or file. A bare `NAME.toml` that is not a file here is the library's.
///
/// # Errors
/// `Exit::Usage` if there is none, or it has faults; `Exit::File` if its file cannot be read.
pub fn host_source(place: &str, console: &Console) -> Result<HostSource, Failure> {
    nandscope_experiment::host_source(place).map_err(|error| source_failure(&error, console))
}

fn source_failure(error: &SourceError, console: &Console) -> Failure {
    match error {
        SourceError::Invalid(profile) => fault::of_profile(console, &profile.text, &profile.faults),
        error => Failure::of(error.class(), error),
    }
}
