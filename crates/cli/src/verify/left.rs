//! Tags that are left on a device over a power cycle: which ones, and since when, stands in a file
//! beside the journal, which has the data.

use super::open::Target;
use super::{Arguments, document, exit, journal, store};
use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::run::progress::Line;
use nandscope_files::Access;
use nandscope_infer::verify::{
    Journal, LeftTag, Salt, VerifyError, check_left, kept_step, kept_summary,
};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::SystemTime;

#[derive(Debug, Serialize, Deserialize)]
struct Left {
    /// Seconds since 1970.
    at: u64,
    /// The salt of the journal that they belong to.
    salt: String,
    #[serde(alias = "stamps")]
    tags: Vec<LeftTag>,
}

/// Makes sure that [`write_down`] finds its place free.
///
/// # Errors
/// Returns an error if anything has that name.
pub fn check_free(journal: &Path) -> Result<(), Failure> {
    let place = store::left_place(journal);
    match std::fs::symlink_metadata(&place) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(Failure::file(format!(
            "cannot read {}: {e}",
            place.display()
        ))),
        Ok(_) => Err(Failure::usage(format!(
            "{} exists, and the list of tagged blocks would be written there; move it away, or name another file with --journal",
            place.display()
        ))),
    }
}

/// Writes down which tags are on the device.
///
/// # Errors
/// Returns an error if the file cannot be written; --restore puts the data back then.
pub fn write_down(journal: &Journal, tags: &[LeftTag], console: &Console) -> Result<(), Failure> {
    let left = Left {
        at: store::seconds_now(),
        salt: format!("{:?}", journal.salt()),
        tags: tags.to_vec(),
    };
    let place = store::left_place(journal.path());
    let text = serde_json::to_string(&left).map_err(Failure::internal)?;
    nandscope_files::begin_new(&place, text.as_bytes(), Access::Owner).map_err(|e| {
        let text =
            format!("{e}; the tagged blocks are on the device, put the data back with --restore");
        Failure::new(Exit::Unrestored, text)
    })?;
    console.note(&format!(
        "{} blocks of the device are tagged now, and their data is in {}; unplug the device, plug it in again, and run `nandscope verify TARGET --after-power-cycle` (or --restore) before anything else uses it",
        tags.len(),
        journal.path().display()
    ));
    Ok(())
}

/// Removes what [`write_down`] wrote for this journal, if anything; another file of that name stays.
///
/// # Errors
/// Returns an error if it cannot be removed.
pub fn forget(journal: &Path, salt: Salt) -> Result<(), Failure> {
    match read(journal) {
        Ok(left) if left.salt == format!("{salt:?}") => {}
        _ => return Ok(()),
    }
    let place = store::left_place(journal);
    std::fs::remove_file(&place)
        .map_err(|e| Failure::file(format!("cannot remove {}: {e}", place.display())))
}

/// Checks the tags, puts the data back, and tells.
///
/// # Errors
/// Where no tagged blocks were left on this device, or it goes away.
pub fn check(
    arguments: &Arguments,
    target: &mut Target,
    place: &Path,
    interrupt: &Interrupt,
    console: &Console,
) -> Result<Exit, Failure> {
    let started = SystemTime::now();
    let left = read(place)?;
    let mut journal = journal::open(target, place)?;
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
            return Err(journal::not_back(arguments, place, why));
        }
        Err(error) => return Err(journal::ended(arguments, error, journal)),
    };
    let restored = journal::restore_left(arguments, target, &mut journal)?;
    let doubted = restored.unrecognized.as_ref();
    let another = doubted.is_some_and(|evidence| !evidence.testimony.is_convincing());
    let closed = journal::close(arguments, journal, &restored);
    if let (Ok(Some(failure)), true) = (&closed, another) {
        // What another device holds is no verdict on this one.
        return Err(failure.clone());
    }
    let left_for = store::seconds_now().saturating_sub(left.at);
    let summary = kept_summary(&kept, left_for);
    let mut document = document(arguments, target, started);
    document
        .steps
        .push(kept_step(&kept, &summary, target.subject.block_bytes));
    let told = serde_json::to_string_pretty(&summary)
        .map_err(Failure::internal)
        .and_then(|json| super::write(arguments, &document, &json, console))
        .map(|()| exit(summary.verdict));
    journal::first(closed, told)
}

fn read(journal: &Path) -> Result<Left, Failure> {
    let place = store::left_place(journal);
    let text = store::read_own(&place).map_err(|e| {
        Failure::usage(format!(
            "no tagged blocks were left on this device ({}: {e}); leave some with --leave-tagged-blocks first",
            place.display()
        ))
    })?;
    serde_json::from_slice(&text).map_err(|e| {
        Failure::file(format!(
            "{} cannot be understood: {e}; put the data back with --restore",
            place.display()
        ))
    })
}
