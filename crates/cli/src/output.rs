//! Writing files: whether it will work is found out before hours are spent measuring, and a file
//! appears whole or not at all.

use crate::console::Console;
use crate::failure::Failure;
use nandscope_measure::document::DocumentError;
use nandscope_measure::result::ResultDocument;
use nandscope_report::{ReportError, terminal};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const REMEDY: &str =
    "check that the folder exists, that you may write there, and that it has space";

/// Makes sure that `path` can be written later: its folder takes a file now.
///
/// # Errors
/// Where it does not, or `path` is a folder itself.
pub fn check_file(path: &Path) -> Result<(), Failure> {
    if path.is_dir() {
        return Err(Failure::file(format!(
            "cannot write {}: it is a folder; name a file in it",
            path.display()
        )));
    }
    if path.file_name().is_none() {
        return Err(Failure::file(format!(
            "cannot write {}: this is no file name",
            path.display()
        )));
    }
    try_folder(folder_of(path)).map_err(|e| refuse(path, &e))
}

/// Folders that were made for results. Where nothing was written into them when this goes, they go
/// too: a command that was refused leaves nothing behind.
#[derive(Debug)]
#[must_use = "an empty folder goes when this does"]
pub struct Made(Vec<PathBuf>);

impl Drop for Made {
    fn drop(&mut self) {
        for folder in &self.0 {
            // It refuses to remove what is in use.
            if std::fs::remove_dir(folder).is_err() {
                return;
            }
        }
    }
}

/// Makes sure that files can be written into `folder` later, which is made where it is missing, and
/// goes with what is given back if it is empty then.
///
/// # Errors
/// Where they cannot.
pub fn check_folder(folder: &Path) -> Result<Made, Failure> {
    let missing = |f: &&Path| !f.as_os_str().is_empty() && !f.exists();
    let missing = folder.ancestors().take_while(missing);
    let made = Made(missing.map(Path::to_path_buf).collect());
    std::fs::create_dir_all(folder)
        .and_then(|()| try_folder(folder))
        .map_err(|e| refuse(folder, &e))?;
    Ok(made)
}

fn try_folder(folder: &Path) -> io::Result<()> {
    let trial = folder.join(format!(".nandscope.{}.trial", std::process::id()));
    let written = File::create(&trial).and_then(|mut file| file.write_all(&[0; 512]));
    if trial.exists() {
        std::fs::remove_file(&trial)?;
    }
    written
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn refuse(path: &Path, error: &io::Error) -> Failure {
    Failure::file(format!(
        "cannot write {}: {error}; {REMEDY}",
        path.display()
    ))
}

/// Writes a file such that it is the old one or the new one at any time.
///
/// # Errors
/// Where the system refuses; nothing of the attempt is left behind.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let partial = partial_of(path);
    let done = File::create(&partial)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        })
        .and_then(|()| std::fs::rename(&partial, path));
    done.map_err(|e| {
        // The first error is the one to tell of.
        let _ = std::fs::remove_file(&partial);
        refuse(path, &e)
    })
}

fn partial_of(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.partial", std::process::id()));
    path.with_file_name(name)
}

/// A document that could not be written.
pub fn document_failure(error: &DocumentError) -> Failure {
    match error {
        DocumentError::Io { .. } => Failure::file(format!("{error}; {REMEDY}")),
        _ => Failure::internal(error),
    }
}

/// A report that could not be written.
pub fn report_failure(error: &ReportError) -> Failure {
    match error {
        ReportError::Write { .. } => Failure::file(error),
        ReportError::TooFewDocuments(_) => Failure::usage(error),
        _ => Failure::internal(error),
    }
}

/// Writes a result and its report into a folder; gives the files of the report, its page first.
///
/// # Errors
/// Where the folder cannot be written.
pub fn write_report(document: &ResultDocument, folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    // First the result: it cannot be made again from anything else.
    nandscope_measure::document::write(&folder.join("result.json"), document)
        .map_err(|e| document_failure(&e))?;
    nandscope_report::write_all(document, folder).map_err(|e| report_failure(&e))
}

/// The same, and says where the page is.
///
/// # Errors
/// Where the folder cannot be written.
pub fn note_report(
    document: &ResultDocument,
    folder: &Path,
    console: &Console,
) -> Result<(), Failure> {
    let written = write_report(document, folder)?;
    if let Some(page) = written.first() {
        console.note(&format!(
            "{} and {} more files",
            page.display(),
            written.len()
        ));
    }
    Ok(())
}

/// Writes the report of a whole procedure, prints its summary and says where the page is.
///
/// # Errors
/// Where the folder or standard output cannot be written.
pub fn present(document: &ResultDocument, folder: &Path, console: &Console) -> Result<(), Failure> {
    write_report(document, folder)?;
    show(document, folder, console)
}

/// Prints the summary of a report that was written and says where its page is.
///
/// # Errors
/// Where standard output cannot be written.
pub fn show(document: &ResultDocument, folder: &Path, console: &Console) -> Result<(), Failure> {
    console.print(&summary(document, console))?;
    console.note(&format!("report: {}", folder.join("report.html").display()));
    Ok(())
}

/// The summary of a result, as wide as the terminal.
pub fn summary(document: &ResultDocument, console: &Console) -> String {
    let options = terminal::Options {
        width: console.width,
        ..Default::default()
    };
    terminal::summary(document, &options)
}
