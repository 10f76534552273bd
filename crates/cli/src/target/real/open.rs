//! Opens a real target through the guard, which decides whether it may be read or written
//! (docs/safety.md). What the guard hands out is what is measured on: no name is looked up again.

use super::{Confirmation, RealArguments};
use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::run::progress::Line;
use nandscope_inspect::Roots;
use nandscope_inspect::guard::{Answer, DestroyData, Guard, Opened, Reason, Refusal, Unconfirmed};
use nandscope_measure::real::{Access, fill_holes, holes};
use nandscope_units::Bytes;
use std::path::{Path, PathBuf};

/// Opens a file or block device. If a run is `resumed`, a file is used as it is: it is neither created nor resized.
///
/// # Errors
/// `Exit::File` if there is no such target or the system refuses it; `Exit::Usage` if a rule of docs/safety.md or the
/// confirmation forbids it.
pub fn open(
    name: &Path,
    access: Access,
    arguments: &RealArguments,
    outputs: &[PathBuf],
    resumed: bool,
    interrupt: &Interrupt,
) -> Result<Opened, Failure> {
    let guard = guard(outputs);
    let about = std::fs::metadata(name).ok();
    let is_file = about.as_ref().is_some_and(std::fs::Metadata::is_file);
    if about.as_ref().is_some_and(std::fs::Metadata::is_dir) {
        return Err(Failure::usage(format!(
            "{0} is a folder; `nandscope review {0}` measures a folder; for a job, name a file in it with --size",
            name.display()
        )));
    }
    if arguments.size.is_some() && about.is_some() && !is_file {
        return Err(Failure::usage(format!(
            "--size works with files only, and {} is not a file; omit it",
            name.display()
        )));
    }
    if about.is_none() {
        missing(name, arguments, resumed)?;
    }
    let size = match about.as_ref().filter(|_| resumed) {
        Some(about) => {
            as_it_is(name, Bytes(about.len()), arguments.size)?;
            None
        }
        None => arguments.size,
    };
    let made = match (size, access) {
        (Some(size), _) => Some(make(&guard, name, size, interrupt)?),
        (None, Access::Write) if is_file => {
            let size = about.map_or(0, |about| about.len());
            Some(guard.open_file(name, Bytes(size)).map_err(refused)?)
        }
        _ => None,
    };
    let mut opened = match (made, access) {
        (Some(opened), Access::Write) => opened,
        (made, Access::Read) => {
            let said = made.map(|opened| opened.notes);
            let mut opened = guard.open_to_read(name).map_err(refused)?;
            opened.notes.extend(said.unwrap_or_default());
            opened
        }
        (None, Access::Write) => {
            let unconfirmed = guard.open_to_write(name, &arguments.destroy());
            confirm(unconfirmed.map_err(refused)?, &arguments.confirmation)?
        }
    };
    if opened.identity.is_none() {
        opened.notes.extend(unwritten(&opened));
    }
    Ok(opened)
}

/// The guard, which protects the disks under the folders that are written to as well.
fn guard(outputs: &[PathBuf]) -> Guard {
    let folders = outputs.iter().filter_map(|folder| {
        let folder = if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        };
        folder.canonicalize().ok()
    });
    folders.fold(Guard::new(Roots::default()), |guard, folder| {
        guard.protect(format!("the results ({})", folder.display()), folder)
    })
}

/// Refuses a name that does not exist, unless a new run with `--size` is to create the file.
fn missing(name: &Path, arguments: &RealArguments, resumed: bool) -> Result<(), Failure> {
    let shown = name.display();
    if name.starts_with("/dev") {
        return Err(Failure::file(format!(
            "unknown device {shown}; check the name"
        )));
    }
    if resumed {
        return Err(Failure::file(format!(
            "{shown} does not exist any more; start again without --resume"
        )));
    }
    if arguments.size.is_none() {
        return Err(Failure::file(format!(
            "{shown} does not exist; create it with --size SIZE"
        )));
    }
    Ok(())
}

/// Refuses to resume on a file whose size differs from `--size`: it was changed after the interrupted run.
fn as_it_is(name: &Path, length: Bytes, size: Option<Bytes>) -> Result<(), Failure> {
    match size {
        Some(size) if size != length => Err(Failure::usage(format!(
            "{} has {} bytes, but --size says {}: it changed after the interrupted run; start again without --resume",
            name.display(),
            length.0,
            size.0
        ))),
        _ => Ok(()),
    }
}

/// Creates the file, or opens the one that an earlier run created, and fills its holes with random data.
fn make(guard: &Guard, name: &Path, size: Bytes, interrupt: &Interrupt) -> Result<Opened, Failure> {
    let mut opened = guard.open_file(name, size).map_err(refused)?;
    let system = |e| Failure::file(format!("cannot fill {}: {e}", name.display()));
    let all = holes(&opened.file).map_err(system)?;
    if all == Bytes::ZERO {
        return Ok(opened);
    }
    let line = Line::new("prepare");
    line.say("filling the file");
    let filled = fill_holes(&opened.file, &mut |share| {
        line.show(Some(share), "filling the file".to_string());
        !interrupt.asked()
    });
    line.clear();
    match filled {
        Ok(true) => {
            opened.notes.push(format!(
                "{all} of {} were filled with random data before the run",
                name.display()
            ));
            Ok(opened)
        }
        broken_off => {
            // A file that was filled in part is useless, so it is truncated to free its space. Removing it by name could
            // remove another file.
            let _ = opened.file.set_len(0);
            broken_off.map_err(system)?;
            Err(Failure::new(
                Exit::Interrupted,
                format!(
                    "interrupted while filling {}; it is empty now",
                    name.display()
                ),
            ))
        }
    }
}

/// Notice about the holes of a file.
fn unwritten(opened: &Opened) -> Option<String> {
    let holes = holes(&opened.file)
        .ok()
        .filter(|holes| *holes > Bytes::ZERO)?;
    Some(format!(
        "{holes} of the file are holes: the file system answers reads there, and they never reach the device; --size {} fills them",
        opened.size.0
    ))
}

/// Asks before a device is written, or takes the answer that was given in advance.
///
/// # Errors
/// `Exit::Usage` if there is no terminal, or the answer is wrong; `Exit::File` if the question cannot be shown.
pub fn confirm(unconfirmed: Unconfirmed, answer: &Confirmation) -> Result<Opened, Failure> {
    if let Some(serial) = &answer.yes {
        return unconfirmed.confirm(Answer::Serial(serial)).map_err(refused);
    }
    let typed = Console::ask(&unconfirmed.question())
        .map_err(|e| Failure::file(format!("cannot ask for confirmation: {e}")))?;
    let Some(typed) = typed else {
        let own = unconfirmed.identity();
        let word = own.serial.as_deref().unwrap_or(&own.name);
        return Err(Failure::usage(format!(
            "refusing to write to /dev/{}: there is no terminal for the confirmation; confirm with --yes {word}",
            own.name
        )));
    };
    unconfirmed
        .confirm(Answer::Typed(typed.trim()))
        .map_err(refused)
}

/// The failure for a refusal: `Exit::File` if the system refused, `Exit::Usage` if a rule did.
pub fn refused(refusal: Refusal) -> Failure {
    let of_system = |reason: &Reason| {
        matches!(
            reason,
            Reason::System(_) | Reason::Room(..) | Reason::Held | Reason::Unmarked(_)
        )
    };
    if refusal.reasons.iter().any(of_system) {
        Failure::file(refusal)
    } else {
        Failure::usage(refusal)
    }
}

impl RealArguments {
    fn destroy(&self) -> DestroyData {
        match &self.destroy_data {
            None => DestroyData::No,
            Some(None) => DestroyData::Blank,
            Some(Some(name)) => DestroyData::Named(name.clone()),
        }
    }
}
