//! Measurements from the files that the user named, screened.

use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::input;
use nandscope_result::ResultDocument;
use nandscope_twin::screen::Refusal;
use nandscope_twin::{
    Clues, Observation, Screened, State, csv, fill, fio, flashbench, recorded_result, screen,
};
use std::path::{Path, PathBuf};

/// Findings that are printed; the others are counted.
const MOST_SHOWN: usize = 20;

/// Files with measurements.
#[derive(Clone, Copy, Debug)]
pub struct Files<'a> {
    /// Tables of comma-separated values.
    pub tables: &'a [PathBuf],
    /// JSON of fio.
    pub outputs: &'a [PathBuf],
    /// Results of `run`, `review` or `probe`.
    pub results: &'a [PathBuf],
    /// Output of flashbench.
    pub flashbench: &'a [PathBuf],
    /// Bandwidth logs of a write of the whole device.
    pub fills: &'a [PathBuf],
}

/// Measurements of all files.
#[derive(Default)]
pub struct Measured {
    /// Measurements that are used.
    pub screened: Screened,
    /// Sizes that the files show.
    pub clues: Clues,
    /// Names of the files, without folders.
    pub files: Vec<String>,
}

/// Measurements before they are screened.
#[derive(Default)]
struct Gathered {
    all: Vec<Observation>,
    clues: Clues,
    notes: Vec<String>,
    files: Vec<String>,
}

impl Gathered {
    fn clues(&mut self, clues: Clues) {
        self.clues = std::mem::take(&mut self.clues).or(clues);
    }

    fn file(&mut self, path: &Path) {
        let name = path.file_name().unwrap_or_default();
        self.files.push(name.to_string_lossy().into_owned());
    }

    fn document(&mut self, name: &str, document: &ResultDocument, state: State) {
        let found = recorded_result::read(name, document, state);
        self.all.extend(found.observations);
        self.notes.extend(found.findings);
        self.clues(found.clues);
    }
}

/// Reads and screens measurements; says what was dropped and why. `measured` is a measurement of this command.
///
/// # Errors
/// `Exit::File` if a file cannot be read; `Exit::Usage` if it is invalid, or the measurements are of no flash device;
/// `Exit::Partial` if they say too little.
pub fn read(
    files: Files<'_>,
    measured: Option<&ResultDocument>,
    state: State,
    console: &Console,
) -> Result<Measured, Failure> {
    let mut found = Gathered::default();
    if let Some(document) = measured {
        let name = document.target.name.clone();
        found.document(&name, document, state);
        found.files.push(name);
    }
    for path in files.tables {
        let text = input::text(path, "the table")?;
        let rows = csv::read(&path.display().to_string(), &text, state).map_err(Failure::usage)?;
        found.all.extend(rows);
        found.file(path);
    }
    for path in files.outputs {
        let text = input::text(path, "fio's output")?;
        let rows = fio::read(&path.display().to_string(), &text, state).map_err(Failure::usage)?;
        found.all.extend(rows);
        found.file(path);
    }
    for path in files.results {
        let document = input::result(path)?;
        found.document(&path.display().to_string(), &document, state);
        found.file(path);
    }
    for path in files.flashbench {
        let text = input::text(path, "the output of flashbench")?;
        let name = path.display().to_string();
        let recording = flashbench::read(&name, &text, state).map_err(Failure::usage)?;
        found.all.extend(recording.observations);
        found.notes.extend(recording.findings);
        found.clues(recording.clues);
        found.file(path);
    }
    for path in files.fills {
        let text = input::text(path, "the log of the fill")?;
        let (clues, said) =
            fill::read(&path.display().to_string(), &text).map_err(Failure::usage)?;
        found.notes.push(said);
        found.clues(clues);
        found.file(path);
    }
    for note in &found.notes {
        console.note(note);
    }
    let screened = screen(found.all).map_err(|refusal| match refusal {
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
    Ok(Measured {
        screened,
        clues: found.clues,
        files: found.files,
    })
}
