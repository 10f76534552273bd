//! Examines a file or block device of this machine as it is.

use super::{Arguments, Examined, failure};
use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::run::progress::Line;
use crate::target::real::{Real, open_real};
use nandscope_fitness::qualify::measure_as_it_is;
use nandscope_fitness::requirement::{Direction, Requirement};
use nandscope_fitness::verdict::judge;
use nandscope_measure::real::Access;
use nandscope_units::number;

/// Examines the target of that name. It is opened for reading only if no stream writes.
///
/// # Errors
/// `Exit::Usage` for an option of simulated devices, blocks that the target cannot take, or if a rule of docs/safety.md or
/// the confirmation forbids writing; `Exit::File` if the system refuses; `Exit::Partial` if the target fails as a whole;
/// `Exit::Interrupted`.
pub fn examine(
    arguments: &Arguments,
    target: &str,
    requirement: &Requirement,
    console: &Console,
) -> Result<Examined, Failure> {
    let given = [
        (arguments.host.is_some(), "--host"),
        (!arguments.params.params.is_empty(), "--param"),
        (!arguments.state.is_empty(), "--state"),
    ];
    if let Some((_, option)) = given.iter().find(|(given, _)| *given) {
        return Err(Failure::usage(format!(
            "{option} works with simulated devices only, and {target} is a real target; omit it"
        )));
    }
    let writes = requirement.streams.iter();
    let access = match writes.clone().any(|s| s.direction == Direction::Write) {
        true => Access::Write,
        false => Access::Read,
    };
    let interrupt = Interrupt::listen()?;
    let outputs: Vec<_> = arguments.output.iter().cloned().collect();
    let mut real = open_real(target, access, &arguments.real, &outputs, false, &interrupt)?;
    check_blocks(&real, requirement)?;
    let mut line = Line::new("qualify").in_real_time();
    let mut progress = |share: f64| {
        line.tell(Some(share), "recording".to_string(), console);
        !interrupt.asked()
    };
    let options = arguments.options();
    let measured = measure_as_it_is(&mut real.target, requirement, &options, &mut progress);
    line.clear();
    let measured = vec![measured.map_err(|error| failure(&error))?];
    let layers = real.layers().iter();
    let layers = layers.map(|layer| format!("times may not be those of the flash: {layer}"));
    let remarks = layers
        .chain(real.warnings.clone())
        .chain(real.remarks.clone());
    Ok(Examined {
        device: real.model(),
        host: None,
        ambient_c: None,
        verdict: judge(requirement, None, &measured),
        measured,
        remarks: remarks.collect(),
    })
}

/// Refuses blocks that are no multiple of the target's sectors.
fn check_blocks(real: &Real, requirement: &Requirement) -> Result<(), Failure> {
    let alignment = u64::from(real.target.volume().alignment()).max(1);
    let wrong = requirement
        .streams
        .iter()
        .find(|s| !s.block.0.is_multiple_of(alignment));
    match wrong {
        None => Ok(()),
        Some(stream) => Err(Failure::new(
            Exit::Usage,
            format!(
                "stream `{}` has blocks of {}, and {} takes multiples of {alignment} bytes; change `block`",
                stream.name,
                number::binary_bytes(stream.block.0),
                real.name
            ),
        )),
    }
}
