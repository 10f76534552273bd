//! Measurements from the files that the user named, screened.

use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::input;
use nandscope_twin::screen::Refusal;
use nandscope_twin::{Screened, State, csv, fio, screen};
use std::path::PathBuf;

/// Findings that are printed; the others are counted.
const MOST_SHOWN: usize = 20;

/// Measurements of all files.
pub struct Measured {
    /// Measurements that are used.
    pub screened: Screened,
    /// Names of the files, without folders.
    pub files: Vec<String>,
}

/// Reads and screens measurements; says what was dropped and why.
///
/// # Errors
/// `Exit::File` if a file cannot be read; `Exit::Usage` if it is invalid, or the measurements are of no flash device;
/// `Exit::Partial` if they say too little.
pub fn read(
    tables: &[PathBuf],
    outputs: &[PathBuf],
    state: State,
    console: &Console,
) -> Result<Measured, Failure> {
    let (mut all, mut files) = (Vec::new(), Vec::new());
    let name = |path: &PathBuf| {
        path.file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    for path in tables {
        let text = input::text(path, "the table")?;
        let rows = csv::read(&path.display().to_string(), &text, state).map_err(Failure::usage)?;
        all.extend(rows);
        files.push(name(path));
    }
    for path in outputs {
        let text = input::text(path, "fio's output")?;
        let rows = fio::read(&path.display().to_string(), &text, state).map_err(Failure::usage)?;
        all.extend(rows);
        files.push(name(path));
    }
    let screened = screen(all).map_err(|refusal| match refusal {
        Refusal::Nonsense(_) => Failure::usage(refusal),
        Refusal::TooLittle(_) => Failure::new(Exit::Partial, refusal),
    })?;
    for finding in screened.findings.iter().take(MOST_SHOWN) {
        console.note(finding);
    }
    let more = screened.findings.len().saturating_sub(MOST_SHOWN);
    if more > 0 {
        console.note(&format!("{more} more findings of this kind"));
    }
    Ok(Measured { screened, files })
}
