//! The undo journal on the command line: it is begun, found again, and goes only when the data is back. Until
//! then every way out says which command restores, with an exit code of its own.

use super::open::Target;
use super::{Arguments, left, store};
use crate::console::Console;
use crate::failure::{Exit, Failure};
use nandscope_infer::verify::{Journal, JournalError, Restored, Since, VerifyError, restore};
use std::path::Path;

/// Begins the journal of a run.
///
/// # Errors
/// Returns an error if anything has that name already, or it cannot be written.
pub fn begin(target: &Target, place: &Path) -> Result<Journal, Failure> {
    Journal::create(place, target.subject.clone(), store::salt()?)
        .map_err(|e| Failure::file(format!("the journal: {e}")))
}

/// Opens the journal that an earlier run of this device left.
///
/// # Errors
/// Returns an error if the file is something else, which is left as it is, or belongs to another device.
pub fn open(target: &Target, place: &Path) -> Result<Journal, Failure> {
    let shown = place.display();
    let journal = Journal::open(place).map_err(|error| match error {
        JournalError::Io(e) => Failure::file(format!("cannot read {shown}: {e}")),
        JournalError::Damaged => Failure::new(
            Exit::Unrestored,
            format!("{shown}: {error}; the data of the device cannot be put back from it, and it is left as it is"),
        ),
        JournalError::Foreign(_) | JournalError::Version(_) => Failure::usage(format!(
            "{shown} is {error}; it is left as it is: name another file with --journal, or move it away"
        )),
    })?;
    if *journal.subject() != target.subject {
        return Err(Failure::usage(format!(
            "the journal {shown} belongs to another device ({}); name another file with --journal, or put that device in",
            journal.subject().identity
        )));
    }
    Ok(journal)
}

/// Puts back what an earlier run left, if it left anything.
///
/// # Errors
/// Returns an error if the file is no journal of this device, or not all of the data is back.
pub fn put_back(
    arguments: &Arguments,
    target: &mut Target,
    place: &Path,
    console: &Console,
) -> Result<(), Failure> {
    match std::fs::symlink_metadata(place) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        _ => {}
    }
    let mut journal = open(target, place)?;
    let restored = restore_left(arguments, target, &mut journal)?;
    if restored.unrecognized.is_none() {
        console.note(&format!(
            "an earlier run was interrupted or left its stamps: {} of {} blocks were put back",
            restored.written, restored.blocks
        ));
    }
    match close(arguments, journal, &restored)? {
        Some(failure) => Err(failure),
        None => Ok(()),
    }
}

/// Puts back what a journal has, which was left behind.
///
/// # Errors
/// Returns an error if the device goes away.
pub fn restore_left(
    arguments: &Arguments,
    target: &mut Target,
    journal: &mut Journal,
) -> Result<Restored, Failure> {
    restore(&mut target.medium, journal, Since::LeftBehind)
        .map_err(|e| not_back(arguments, journal.path(), &e.to_string()))
}

/// Removes the journal if all data is back. Otherwise it is kept, and the failure says what is missing.
///
/// # Errors
/// Returns an error if it cannot be removed.
pub fn close(
    arguments: &Arguments,
    journal: Journal,
    restored: &Restored,
) -> Result<Option<Failure>, Failure> {
    let place = journal.path().to_path_buf();
    if restored.is_complete() {
        // First the list of stamps: without the journal nobody asks for it.
        left::forget(&place, journal.salt())?;
    }
    let kept = journal.close(restored).map_err(|e| {
        Failure::file(format!(
            "the data on the device is as it was, but the journal {} cannot be removed: {e}",
            place.display()
        ))
    })?;
    Ok(kept.map(|journal| not_back(arguments, journal.path(), &missing(restored))))
}

/// Why a run did not come to its end; the journal goes where the data is back.
pub fn ended(arguments: &Arguments, error: VerifyError, journal: Journal) -> Failure {
    let place = journal.path().to_path_buf();
    let (exit, text) = match error {
        VerifyError::Unrestored { why, restored } => {
            let missing = missing(&restored);
            return not_back(arguments, &place, &format!("{why}: {missing}"));
        }
        VerifyError::Stopped => (
            Exit::Interrupted,
            "interrupted; the data on the device is as it was".to_string(),
        ),
        VerifyError::Journal(_) => (Exit::File, error.to_string()),
        VerifyError::Unfit(_) => (Exit::Usage, error.to_string()),
        VerifyError::Gone(why) => {
            return match journal.discard_empty() {
                Ok(None) => Failure::file(format!("{why}; nothing had been written to it")),
                Ok(Some(_)) => not_back(arguments, &place, &why),
                Err(e) => Failure::file(format!("{why}; cannot remove {}: {e}", place.display())),
            };
        }
    };
    // The data is back, or nothing was written.
    match journal.close(&Restored::default()) {
        Ok(_) => Failure::new(exit, text),
        Err(e) => Failure::file(format!(
            "{text}; {} cannot be removed: {e}",
            place.display()
        )),
    }
}

/// What is not back, and why.
fn missing(restored: &Restored) -> String {
    if let Some(evidence) = &restored.unrecognized {
        return format!("nothing was put back: {evidence}");
    }
    let mut parts = Vec::new();
    let mut add = |blocks: &[u64], what: &str| {
        if !blocks.is_empty() {
            parts.push(format!("{} {what}: {}", blocks.len(), ranges(blocks)));
        }
    };
    add(&restored.lost, "blocks do not hold their data");
    add(
        &restored.foreign,
        "blocks hold neither a stamp nor their old contents, and were left alone",
    );
    add(
        &restored.damaged,
        "blocks cannot be put back, since their records in the journal are damaged",
    );
    add(
        &restored.unrecorded,
        "blocks hold a stamp and are not in the journal, of which a part is missing",
    );
    let unnamed: Vec<u64> = restored.unnamed.iter().map(|n| u64::from(*n)).collect();
    add(
        &unnamed,
        "records of the journal are damaged beyond recognition",
    );
    if restored.unsettled {
        parts.push("the device does not confirm that it has what was written".to_string());
    }
    if let Some(error) = &restored.error {
        parts.push(format!("an operation failed: {error}"));
    }
    parts.join("; ")
}

/// Shown at most, so that the message fits a screen.
const RANGES: usize = 40;

/// Blocks in ascending order, neighbours as a range.
fn ranges(blocks: &[u64]) -> String {
    let runs: Vec<&[u64]> = blocks.chunk_by(|a, b| a + 1 == *b).collect();
    let shown = runs.iter().take(RANGES).map(|run| match run {
        [first, .., last] => format!("{first}-{last}"),
        [one] => one.to_string(),
        [] => String::new(),
    });
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if runs.len() > RANGES {
        text.push_str(&format!(" and {} more ranges", runs.len() - RANGES));
    }
    text
}

/// The journal is kept: which command restores, and what to do about a contact.
pub fn not_back(arguments: &Arguments, place: &Path, why: &str) -> Failure {
    let mut command = format!("nandscope verify {} --restore", arguments.target);
    if arguments.journal.is_some() {
        command.push_str(&format!(" --journal {}", place.display()));
    }
    Failure::new(
        Exit::Unrestored,
        format!(
            "the data on the device is not known to be all back, and the journal {} is kept: {why}; plug the device in again, without a hub and in another reader if operations fail, and repeat `{command}` until it ends with exit code 0",
            place.display()
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_shown_as_ranges() {
        assert_eq!(ranges(&[1, 2, 3, 7, 9, 10]), "1-3, 7, 9-10");
        let many: Vec<u64> = (0..100).map(|n| n * 2).collect();
        assert!(ranges(&many).ends_with("78 and 60 more ranges"));
    }
}
