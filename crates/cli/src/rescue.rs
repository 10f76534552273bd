//! Saves a result, possibly measured for hours, that cannot be written to its path because the disk is full or the
//! folder is gone.

use crate::failure::Failure;
use crate::state_folder;
use nandscope_files::{Access, WriteError, create_folder, create_new};
use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Maximum number of results with the same second and name.
const MOST_NUMBERS: u32 = 1000;

/// Saves the bytes meant for `path` in the state folder, or else in the folder for temporary files. Returns the failure
/// with the place added to its message.
pub fn keep(path: &Path, bytes: &[u8], why: Failure) -> Failure {
    let folders = [
        state_folder::path().join("results"),
        std::env::temp_dir().join("nandscope"),
    ];
    let mut failures = String::new();
    for folder in folders {
        match keep_in(&folder, path, bytes) {
            Ok(kept) => {
                let text = format!("{}\nit is kept in {} instead", why.text, kept.display());
                return Failure::new(why.exit, text).but_saved();
            }
            Err(error) => failures.push_str(&format!("\n{error}")),
        }
    }
    let text = format!(
        "{}\nit could not be kept elsewhere either:{failures}",
        why.text
    );
    Failure::new(why.exit, text)
}

fn keep_in(folder: &Path, path: &Path, bytes: &[u8]) -> Result<PathBuf, WriteError> {
    create_folder(folder)?;
    let moment = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    // Colons are not allowed in names on FAT, and separate hosts in those of scp.
    let moment = moment.replace(':', "");
    for number in 0..MOST_NUMBERS {
        let kept = folder.join(name(&moment, number, path));
        let mut file = match create_new(&kept, Access::Usual) {
            Err(WriteError::Io { source, .. })
                if source.kind() == std::io::ErrorKind::AlreadyExists =>
            {
                continue;
            }
            made => made?,
        };
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        if let Err(source) = written {
            // A partial file would be mistaken for a complete one.
            let _ = fs::remove_file(&kept);
            return Err(WriteError::Io {
                path: kept,
                action: "write its contents",
                source,
            });
        }
        return Ok(kept);
    }
    Err(WriteError::Io {
        path: folder.to_path_buf(),
        action: "find a free name",
        source: std::io::ErrorKind::AlreadyExists.into(),
    })
}

/// File name from the time and the last two names of the intended path: `…-review-card-result.json`.
fn name(moment: &str, number: u32, path: &Path) -> OsString {
    let mut name = OsString::from(moment);
    if number > 0 {
        name.push(format!("-{number}"));
    }
    let folder = path.parent().and_then(Path::file_name);
    for part in folder.into_iter().chain(path.file_name()) {
        name.push("-");
        name.push(part);
    }
    name
}
