//! Opens a target for verification: through the guard, which allows writing to a device with data, because the data is
//! restored. Mounted devices and others in use are refused.

use super::target::Target;
use super::{Arguments, Restore};
use crate::console::Console;
use crate::failure::Failure;
use crate::target::real::{confirm, refused};
use nandscope_infer::authenticity::{DirectMedium, JournaledDevice};
use nandscope_inspect::Roots;
use nandscope_inspect::guard::{DestroyData, Guard, Opened};
use nandscope_inspect::registers::Registers;
use nandscope_result::TargetKind;
use nandscope_units::Bytes;
use std::path::Path;

/// Block size, bytes, of targets that do not state one.
const SECTOR: Bytes = Bytes(512);

/// Opens the target, for a device after confirmation.
///
/// # Errors
/// `Exit::Usage` if a rule of docs/safety.md or the confirmation forbids it, or an option does not apply to this kind of
/// target;
/// `Exit::File` if there is no such target or the system refuses it.
pub fn open(arguments: &Arguments, console: &Console) -> Result<Target, Failure> {
    if arguments.target.starts_with("sim:") {
        arguments.confirmation.refuse(&arguments.target)?;
        return super::simulated::open(arguments, console);
    }
    if !arguments.fault.is_empty() {
        return Err(Failure::usage(
            "--fault injects faults into simulated devices only (sim:NAME)",
        ));
    }
    arguments.params.refuse(&arguments.target)?;
    let name = Path::new(&arguments.target);
    let destroy = match (&arguments.destroy_data, arguments.full) {
        (_, false) if arguments.restore == Some(Restore::Overwrite) => DestroyData::Overwrite,
        (_, false) => DestroyData::PutBack,
        (None, true) => DestroyData::No,
        (Some(None), true) => DestroyData::Blank,
        (Some(Some(name)), true) => DestroyData::Named(name.clone()),
    };
    let journal = super::store::journal_folder(arguments.journal.as_deref());
    let output = arguments.output.as_deref();
    let output = output.and_then(|folder| folder.canonicalize().ok());
    let folders = journal.into_iter().chain(output);
    let guard = folders.fold(Guard::new(Roots::default()), |guard, folder| {
        guard.protect(
            format!("the journal or the results ({})", folder.display()),
            folder,
        )
    });
    let about = std::fs::metadata(name).ok();
    let opened = match about.filter(std::fs::Metadata::is_file) {
        Some(about) => guard.open_file(name, Bytes(about.len())).map_err(refused)?,
        None => {
            let unconfirmed = guard.open_to_write(name, &destroy).map_err(refused)?;
            confirm(unconfirmed, &arguments.confirmation)?
        }
    };
    target(opened)
}

fn target(opened: Opened) -> Result<Target, Failure> {
    let identity = opened.identity.as_ref();
    let block = identity.and_then(|i| i.logical_block).unwrap_or(SECTOR);
    let model = identity.and_then(|i| i.model.clone());
    let model = model.unwrap_or_else(|| opened.path.display().to_string());
    let serial = identity.and_then(|i| i.serial.clone()).unwrap_or_default();
    let registers = identity.and_then(|i| Registers::read(&Roots::default(), i.number));
    let journaled = JournaledDevice {
        identity: format!("{model} {serial}").trim().to_string(),
        blocks: opened.size.0 / block.0,
        block_bytes: block.0 as usize,
    };
    let kind = if identity.is_some() {
        TargetKind::BlockDevice
    } else {
        TargetKind::File
    };
    let medium = DirectMedium::new(opened.file, opened.size, block)
        .map_err(|e| Failure::file(format!("{}: {e}", opened.path.display())))?;
    Ok(Target {
        medium: Box::new(medium),
        journaled,
        model,
        kind,
        registers,
    })
}
