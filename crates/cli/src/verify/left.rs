//! Checks the tags left on a device over a power cycle, and restores the data.

use super::target::Target;
use super::{Arguments, document, exit, store, undo_journal, written_down};
use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::run::progress::Line;
use nandscope_infer::authenticity::{VerifyError, check_left, kept_step, kept_summary};
use std::path::Path;
use std::time::SystemTime;

/// Checks the tags, restores the data, and reports.
///
/// # Errors
/// `Exit::Usage` if no tagged blocks were left on this device, or by another run; `Exit::Unrestored` if it was
/// interrupted or not all of the data is back.
pub fn check(
    arguments: &Arguments,
    target: &mut Target,
    place: &Path,
    interrupt: &Interrupt,
    console: &Console,
) -> Result<Exit, Failure> {
    let started = SystemTime::now();
    let left = written_down::read(place)?;
    let mut journal = undo_journal::open(target, place)?;
    if left.salt != format!("{:?}", journal.salt()) {
        return Err(Failure::usage(format!(
            "{} lists the tagged blocks of another run than {}; put the data back with --restore",
            store::left_place(place).display(),
            place.display()
        )));
    }
    let line = Line::new("verify");
    let kept = check_left(
        &mut target.medium,
        &mut journal,
        &left.tags,
        arguments.repeats,
        &|| interrupt.asked(),
        &mut |stage, share, _| line.show(Some(share), super::words(stage).to_string()),
    );
    line.clear();
    let kept = match kept {
        Ok(kept) => kept,
        Err(VerifyError::Stopped) => {
            let why = "interrupted; the tagged blocks are still on the device";
            return Err(undo_journal::not_back(arguments, place, why));
        }
        Err(error) => return Err(undo_journal::ended(arguments, error, journal)),
    };
    let restored = undo_journal::restore_left(arguments, target, &mut journal)?;
    let doubted = restored.unrecognized.as_ref();
    let another = doubted.is_some_and(|evidence| !evidence.testimony.is_convincing());
    let closed = undo_journal::close(arguments, journal, &restored);
    if let (Ok(Some(failure)), true) = (&closed, another) {
        // The blocks belong to another device, so they give no verdict on this one.
        return Err(failure.clone());
    }
    let left_for = store::seconds_now().saturating_sub(left.at);
    let summary = kept_summary(&kept, left_for);
    let mut document = document(arguments, target, started);
    document
        .steps
        .push(kept_step(&kept, &summary, target.journaled.block_bytes));
    let told = serde_json::to_string_pretty(&summary)
        .map_err(Failure::internal)
        .and_then(|json| super::write(arguments, &document, &json, console))
        .map(|()| exit(summary.verdict));
    undo_journal::first(closed, told)
}
