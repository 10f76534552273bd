//! A simulated device as a target of verification.

use super::Arguments;
use super::target::Target;
use crate::console::Console;
use crate::failure::Failure;
use crate::target;
use nandscope_experiment::SimulatedMedium;
use nandscope_result::TargetKind;

/// Opens the simulated device, blank, with the faults of the command line, as commands of `nandscope ctl`.
///
/// # Errors
/// As `target::open_with`; `Exit::Usage` if a fault is unknown or does not concern contents.
pub fn open(arguments: &Arguments, console: &Console) -> Result<Target, Failure> {
    let name = arguments.target.as_str();
    let options = arguments.params.options(None, 1);
    let (simulated, device) = target::open_with(name, &options, console)?;
    let registers = target::registers(&device, &simulated.device_source.profile);
    let mut medium = SimulatedMedium::new(device);
    for text in &arguments.fault {
        let injected = medium.inject(text);
        injected.map_err(|why| Failure::usage(format!("--fault `{text}`: {why}")))?;
    }
    Ok(Target {
        // The contents exist only as long as the process, so its ID is part of the identity.
        journaled: medium.journaled(format!("{name} {}", std::process::id())),
        medium: Box::new(medium),
        model: simulated.device_source.profile.device.title,
        kind: TargetKind::Simulated,
        registers,
    })
}
