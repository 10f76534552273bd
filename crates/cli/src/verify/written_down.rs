//! The file beside a journal that lists the tags left on the device, and the time when they were left.

use super::store;
use crate::console::Console;
use crate::failure::{Exit, Failure};
use nandscope_files::Access;
use nandscope_infer::authenticity::{LeftTag, Salt, UndoJournal};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The tags of a run that are on the device.
#[derive(Debug, Serialize, Deserialize)]
pub struct Left {
    /// Time at which the tags were left, seconds since 1970.
    pub at: u64,
    /// The salt of the journal that they belong to.
    pub salt: String,
    #[serde(alias = "stamps")]
    /// Tags on the device.
    pub tags: Vec<LeftTag>,
}

/// Checks that the file that [`write_down`] creates does not exist yet.
///
/// # Errors
/// `Exit::Usage` if anything has that name; `Exit::File` if the place cannot be read.
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

/// Writes the list of tags that are on the device.
///
/// # Errors
/// `Exit::Unrestored` if the file cannot be written; --restore then restores the data.
pub fn write_down(
    journal: &UndoJournal,
    tags: &[LeftTag],
    console: &Console,
) -> Result<(), Failure> {
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

/// Removes the list that [`write_down`] wrote for this journal, if it exists; other files of that name are kept.
///
/// # Errors
/// `Exit::File` if it cannot be removed.
pub fn forget(journal: &Path, salt: Salt) -> Result<(), Failure> {
    match read(journal) {
        Ok(left) if left.salt == format!("{salt:?}") => {}
        _ => return Ok(()),
    }
    let place = store::left_place(journal);
    std::fs::remove_file(&place)
        .map_err(|e| Failure::file(format!("cannot remove {}: {e}", place.display())))
}

/// Reads the list that [`write_down`] wrote beside this journal.
///
/// # Errors
/// `Exit::Usage` if there is no such file; `Exit::File` if it is not such a list.
pub fn read(journal: &Path) -> Result<Left, Failure> {
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
