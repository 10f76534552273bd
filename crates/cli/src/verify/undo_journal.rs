//! The undo journal of the command: creates it, finds it again, and removes it once all data is restored. Until then every
//! failure names the command that restores the data, and has a separate exit code.

use super::target::Target;
use super::{Arguments, Restore, store, written_down};
use crate::console::Console;
use crate::failure::{Exit, Failure};
use nandscope_infer::authenticity::{
    JournaledDevice, Restored, Since, UndoJournal, UndoJournalError, VerifyError, bears_tags,
    restore,
};
use std::path::{Path, PathBuf};

/// Begins the journal of a run.
///
/// # Errors
/// `Exit::File` if anything has that name, or it cannot be written.
pub fn begin(target: &Target, place: &Path) -> Result<UndoJournal, Failure> {
    UndoJournal::create(place, target.journaled.clone(), target.salt()?)
        .map_err(|e| Failure::file(format!("the journal: {e}")))
}

/// Path of the journal of a device: `--journal`, otherwise the file in the state folder named after the device. In
/// another reader the device has another name, so a journal whose tags are on the device takes precedence.
///
/// # Errors
/// `Exit::File` if the state folder cannot be read, or the device goes away.
pub fn find(arguments: &Arguments, target: &mut Target) -> Result<PathBuf, Failure> {
    let place = store::journal_place(arguments.journal.as_deref(), &target.journaled)?;
    if arguments.journal.is_some() {
        return Ok(place);
    }
    let mut others = Vec::new();
    for path in store::journals()?.into_iter().filter(|p| *p != place) {
        // Files that are not journals or cannot be read are skipped.
        let journal = UndoJournal::open(&path).ok();
        others.extend(journal.filter(|j| same_size(j.journaled(), &target.journaled)));
    }
    if others.is_empty() {
        return Ok(place);
    }
    // The journal with the device's name is tried first, but it may belong to another device in the same reader.
    let own = UndoJournal::open(&place).ok();
    let own = own.filter(|j| same_size(j.journaled(), &target.journaled));
    for journal in own.into_iter().chain(others) {
        let tagged = bears_tags(&mut target.medium, &journal)
            .map_err(|e| Failure::file(format!("{}: {e}", arguments.target)))?;
        if tagged {
            return Ok(journal.path().to_path_buf());
        }
    }
    Ok(place)
}

/// Model and serial number are often those of the reader: contents prove which device it is.
fn same_size(one: &JournaledDevice, other: &JournaledDevice) -> bool {
    (one.blocks, one.block_bytes) == (other.blocks, other.block_bytes)
}

/// Opens the journal of an earlier run. Only the size of the device is compared; its contents show later whether it is the
/// same device.
///
/// # Errors
/// `Exit::File` if it cannot be read; `Exit::Usage` if it is another kind of file or belongs to a device of another
/// size; `Exit::Unrestored` if it is damaged. The file is left unchanged.
pub fn open(target: &Target, place: &Path) -> Result<UndoJournal, Failure> {
    let shown = place.display();
    let journal = UndoJournal::open(place).map_err(|error| match error {
        UndoJournalError::Io(e) => Failure::file(format!("cannot read {shown}: {e}")),
        UndoJournalError::Damaged => Failure::new(
            Exit::Unrestored,
            format!("{shown}: {error}; the data of the device cannot be restored from it, and it is left as it is"),
        ),
        UndoJournalError::Foreign(_) | UndoJournalError::Version(_) | UndoJournalError::TooLong => Failure::usage(format!(
            "{shown} is {error}; it is left as it is: name another file with --journal, or move it away"
        )),
    })?;
    let journaled = journal.journaled();
    if !same_size(journaled, &target.journaled) {
        return Err(Failure::usage(format!(
            "the journal {shown} belongs to another device ({}, {} blocks of {} bytes; this one has {} of {}); name another file with --journal, or put that device in",
            journaled.identity,
            journaled.blocks,
            journaled.block_bytes,
            target.journaled.blocks,
            target.journaled.block_bytes
        )));
    }
    Ok(journal)
}

/// Restores the data from the journal of an earlier run, if there is one.
///
/// # Errors
/// As [`open`]; `Exit::Unrestored` if not all of the data is back; `Exit::File` with --restore if there is no journal.
pub fn put_back(
    arguments: &Arguments,
    target: &mut Target,
    place: &Path,
    console: &Console,
) -> Result<(), Failure> {
    match std::fs::symlink_metadata(place) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound && arguments.restore.is_none() => {
            return Ok(());
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return Err(none_found(arguments, place));
        }
        _ => {}
    }
    let mut journal = open(target, place)?;
    let restored = restore_left(arguments, target, &mut journal)?;
    if restored.unrecognized.is_none() {
        console.note(&format!(
            "an earlier run was interrupted or left its tagged blocks: {} of {} blocks were restored",
            restored.written, restored.blocks
        ));
    }
    match close(arguments, journal, &restored)? {
        Some(failure) => Err(failure),
        None => Ok(()),
    }
}

/// The failure of `--restore` without a journal: nothing was restored.
fn none_found(arguments: &Arguments, place: &Path) -> Failure {
    let place = place.display();
    Failure::file(if arguments.journal.is_some() {
        format!(
            "no journal found at {place}, and nothing was restored; name the journal of the run with --journal"
        )
    } else {
        format!(
            "no journal of this device found (neither {place} nor another one beside it), and nothing was restored; if another user made the run, or it was made with --journal, name its journal with --journal"
        )
    })
}

/// Restores the contents from a journal that was left behind.
///
/// # Errors
/// `Exit::Unrestored` if the device goes away.
pub fn restore_left(
    arguments: &Arguments,
    target: &mut Target,
    journal: &mut UndoJournal,
) -> Result<Restored, Failure> {
    let since = match arguments.restore {
        Some(Restore::Overwrite) => Since::LeftBehindOverwrite,
        Some(Restore::Keep) | None => Since::LeftBehind,
    };
    restore(&mut target.medium, journal, since)
        .map_err(|e| not_back(arguments, journal.path(), &e.to_string()))
}

/// Removes the journal if all data is back. Otherwise it is kept, and the failure says what is missing.
///
/// # Errors
/// `Exit::File` if it cannot be removed.
pub fn close(
    arguments: &Arguments,
    journal: UndoJournal,
    restored: &Restored,
) -> Result<Option<Failure>, Failure> {
    let place = journal.path().to_path_buf();
    if restored.is_complete() {
        // The list of tags is removed first: without a journal no command would find it.
        written_down::forget(&place, journal.salt())?;
    }
    let kept = journal.close(restored).map_err(|e| {
        Failure::file(format!(
            "the data on the device is as it was, but the journal {} cannot be removed: {e}",
            place.display()
        ))
    })?;
    Ok(kept.map(|journal| {
        if restored.is_back_without_proof() {
            return unproven(arguments, journal.path());
        }
        not_back(arguments, journal.path(), &missing(restored))
    }))
}

/// Ends a run after its journal was closed and its verdict printed. The state of the data takes precedence over the
/// verdict, and a report that cannot be written hides neither.
///
/// # Errors
/// The first of the failures.
pub fn first(
    closed: Result<Option<Failure>, Failure>,
    told: Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    let Some(mut failure) = closed.unwrap_or_else(Some) else {
        return told;
    };
    if let Err(output) = told {
        failure.text.push_str(&format!("\n{}", output.text));
    }
    Err(failure)
}

/// The failure of a run that ended early. Removes the journal if all data is restored.
pub fn ended(arguments: &Arguments, error: VerifyError, journal: UndoJournal) -> Failure {
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
    match journal.end() {
        Ok(None) => Failure::new(exit, text),
        Ok(Some(_)) => not_back(arguments, &place, &text),
        Err(e) => Failure::file(format!(
            "{text}; {} cannot be removed: {e}",
            place.display()
        )),
    }
}

/// Blocks that were not restored, and why.
fn missing(restored: &Restored) -> String {
    if let Some(evidence) = &restored.unrecognized {
        return format!("nothing was restored: {evidence}");
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
        "blocks hold neither a tag nor their old contents, and were left alone (if these contents are not needed, --restore=overwrite puts the old contents back)",
    );
    add(
        &restored.damaged,
        "blocks cannot be restored, since their records in the journal are damaged",
    );
    add(
        &restored.unrecorded,
        "blocks hold a tag and are not in the journal, of which a part is missing",
    );
    let unnamed: Vec<u64> = restored.unnamed.iter().map(|n| u64::from(*n)).collect();
    add(
        &unnamed,
        "records of the journal are damaged beyond recognition",
    );
    if restored.unsettled {
        parts.push(
            "the device did not confirm that the written data is durable (flush failed)"
                .to_string(),
        );
    }
    if let Some(error) = &restored.errors.first {
        parts.push(format!("an operation failed: {error}"));
    }
    parts.join("; ")
}

/// Maximum number of ranges in a message, so that it fits a screen.
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

/// The failure if not all data is known to be restored: the journal is kept, and the message names the command that restores.
pub fn not_back(arguments: &Arguments, place: &Path, why: &str) -> Failure {
    Failure::new(
        Exit::Unrestored,
        format!(
            "not all data on the device is known to be restored, and the journal {} is kept: {why}; plug the device in again, without a hub and in another reader if operations fail, and repeat `{}` until it ends with exit code 0",
            place.display(),
            restoring(arguments, place)
        ),
    )
}

/// The failure if all data is there but no tag is: the journal is kept, since the device may be a copy. A run that was
/// killed before its first tag or after its last one leaves the same state.
fn unproven(arguments: &Arguments, place: &Path) -> Failure {
    Failure::new(
        Exit::Unrestored,
        format!(
            "every block holds its old contents, but none held a tag of the journal {}: if this is the device itself, its data is as it was and the journal can be deleted; if it may be a copy, put the device itself in and repeat `{}`",
            place.display(),
            restoring(arguments, place)
        ),
    )
}

/// The command that restores. It names the journal, so that it works in another reader and for another user as well.
fn restoring(arguments: &Arguments, place: &Path) -> String {
    format!(
        "nandscope verify {} --restore --journal {}",
        arguments.target,
        place.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_that_cannot_be_written_does_not_hide_that_the_data_is_not_back() {
        let kept = || Failure::new(Exit::Unrestored, "repeat it");
        let full = || Failure::file("no space left");
        let ended = first(Ok(Some(kept())), Err(full())).unwrap_err();
        assert_eq!(ended.exit, Exit::Unrestored);
        assert_eq!(ended.text, "repeat it\nno space left");
        assert_eq!(first(Ok(Some(kept())), Ok(Exit::Fake)), Err(kept()));
        assert_eq!(first(Ok(None), Err(full())), Err(full()));
        assert_eq!(first(Ok(None), Ok(Exit::Fake)), Ok(Exit::Fake));
        assert_eq!(first(Err(full()), Ok(Exit::Fake)), Err(full()));
    }

    #[test]
    fn neighbours_are_shown_as_ranges() {
        assert_eq!(ranges(&[1, 2, 3, 7, 9, 10]), "1-3, 7, 9-10");
        let many: Vec<u64> = (0..100).map(|n| n * 2).collect();
        assert!(ranges(&many).ends_with("78 and 60 more ranges"));
    }
}
