//! Stamps that are left on a device over a power cycle: which ones, and since when, stands in a file
//! beside the journal, which has the data.

use super::open::Target;
use super::{Arguments, document, ended, exit, store};
use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::run::progress::Line;
use nandscope_files::Access;
use nandscope_infer::verify::{
    Journal, LeftStamp, Since, check_left, kept_step, kept_summary, restore,
};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::SystemTime;

#[derive(Debug, Serialize, Deserialize)]
struct Left {
    /// Seconds since 1970.
    at: u64,
    stamps: Vec<LeftStamp>,
}

/// Writes down which stamps stand on the device.
///
/// # Errors
/// Where the file cannot be written; the journal puts the data back then.
pub fn write_down(journal: &Path, stamps: &[LeftStamp], console: &Console) -> Result<(), Failure> {
    let left = Left {
        at: store::seconds_now(),
        stamps: stamps.to_vec(),
    };
    let place = store::left_place(journal);
    let text = serde_json::to_string(&left).map_err(Failure::internal)?;
    nandscope_files::write(&place, text.as_bytes(), Access::Owner)
        .map_err(|e| Failure::file(format!("{e}; put the data back with --restore")))?;
    console.note(&format!(
        "{} blocks of the device hold stamps now, and their data is in {}; unplug the device, plug it in again, and run `nandscope verify TARGET --after-power-cycle` (or --restore) before anything else uses it",
        stamps.len(),
        journal.display()
    ));
    Ok(())
}

/// Removes what [`write_down`] wrote, if anything.
///
/// # Errors
/// Where it cannot be removed.
pub fn forget(journal: &Path) -> Result<(), Failure> {
    let place = store::left_place(journal);
    match std::fs::remove_file(&place) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Failure::file(format!(
            "cannot remove {}: {e}",
            place.display()
        ))),
        _ => Ok(()),
    }
}

/// Checks the stamps, puts the data back, and tells.
///
/// # Errors
/// Where no stamps were left on this device, or it goes away.
pub fn check(
    arguments: &Arguments,
    target: &mut Target,
    place: &Path,
    interrupt: &Interrupt,
    console: &Console,
) -> Result<Exit, Failure> {
    let started = SystemTime::now();
    let left = read(place)?;
    let mut journal = Journal::open(place)
        .map_err(|e| Failure::file(format!("cannot read {}: {e}", place.display())))?;
    if *journal.subject() != target.subject {
        return Err(Failure::usage(format!(
            "the stamps of {} were left on another device ({}); name another file by --journal, or put that device in",
            place.display(),
            journal.subject().identity
        )));
    }
    let line = Line::new("verify");
    let kept = check_left(
        &mut target.medium,
        &mut journal,
        &left.stamps,
        arguments.repeats,
        &|| interrupt.asked(),
        &mut |stage, share, _| line.show(Some(share), super::words(stage).to_string()),
    );
    line.clear();
    let kept = match kept {
        Ok(kept) => kept,
        Err(nandscope_infer::verify::VerifyError::Stopped) => {
            return Err(Failure::new(
                Exit::Interrupted,
                "interrupted; the stamps are still on the device, and its data in the journal",
            ));
        }
        Err(error) => return Err(ended(error, journal)),
    };
    let restored = restore(&mut target.medium, &journal, Since::LeftBehind)
        .map_err(|e| Failure::file(format!("{e}; the journal {} is kept", place.display())))?;
    if !restored.foreign.is_empty() {
        console.note(&format!(
            "{} blocks hold neither a stamp nor their old contents and were left alone; their data stays in {}",
            restored.foreign.len(),
            place.display()
        ));
    } else {
        forget(place)?;
        journal
            .remove()
            .map_err(|e| Failure::file(format!("cannot remove {}: {e}", place.display())))?;
    }
    let left_for = store::seconds_now().saturating_sub(left.at);
    let summary = kept_summary(&kept, left_for);
    let mut document = document(arguments, target, started);
    document
        .steps
        .push(kept_step(&kept, &summary, target.subject.block_bytes));
    let json = serde_json::to_string_pretty(&summary).map_err(Failure::internal)?;
    super::write(arguments, &document, &json, console)?;
    Ok(exit(summary.verdict))
}

fn read(journal: &Path) -> Result<Left, Failure> {
    let place = store::left_place(journal);
    let text = std::fs::read_to_string(&place).map_err(|e| {
        Failure::usage(format!(
            "no stamps were left on this device ({}: {e}); leave some with --leave-stamps first",
            place.display()
        ))
    })?;
    serde_json::from_str(&text).map_err(|e| {
        Failure::file(format!(
            "{} cannot be understood: {e}; put the data back with --restore",
            place.display()
        ))
    })
}
