//! A simulated device as a target of verification.

use super::target::Target;
use crate::console::Console;
use crate::failure::Failure;
use crate::target;
use nandscope_experiment::SimulatedMedium;
use nandscope_result::TargetKind;

/// Opens the simulated device of that name, blank, with these faults, as commands of `nandscope ctl`.
///
/// # Errors
/// As `target::open`; `Exit::Usage` if a fault is unknown or does not concern contents.
pub fn open(name: &str, commands: &[String], console: &Console) -> Result<Target, Failure> {
    let (simulated, device) = target::open(name, None, 1, console)?;
    let registers = target::registers(&device, &simulated.device_source.profile);
    let mut medium = SimulatedMedium::new(device);
    for text in commands {
        let injected = medium.inject(text);
        injected.map_err(|why| Failure::usage(format!("--fault `{text}`: {why}")))?;
    }
    Ok(Target {
        // Its contents are gone when the program ends: each one is another device.
        journaled: medium.journaled(format!("{name} {}", std::process::id())),
        medium: Box::new(medium),
        model: simulated.device_source.profile.device.title,
        kind: TargetKind::Simulated,
        registers,
    })
}
