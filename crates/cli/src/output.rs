//! Writes results. Outputs are checked before a long measurement; if writing still fails, the result is saved
//! elsewhere. The files crate writes the files.

use crate::console::Console;
use crate::failure::Failure;
use crate::rescue;
use nandscope_files::{Access, FollowLinks, folder_of, read_regular};
use nandscope_report::shelf::{PageContext, Rank};
use nandscope_report::{ReportError, summary_json, terminal};
use nandscope_result::ResultDocument;
use nandscope_result::json::to_json;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Name of the result in the folder of a report.
pub const RESULT: &str = "result.json";
/// Folder of an incomplete report in a folder that has a complete one.
pub const INCOMPLETE: &str = "incomplete";
/// Largest existing result, bytes, that is read before it is replaced.
const LARGEST: u64 = 16 << 30;

/// Output format of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Text for people.
    Text,
    /// JSON for programs.
    Json,
    /// No output: the caller prints it as part of a larger one.
    Silent,
}

impl Form {
    /// Format that `--json` selects.
    pub fn of(json: bool) -> Form {
        if json { Form::Json } else { Form::Text }
    }
}

/// The CSV file that has the rows of a page.
///
/// # Errors
/// `Exit::Usage` if the page itself would be that file.
pub fn rows_beside(page: &Path) -> Result<PathBuf, Failure> {
    let rows = page.with_extension("csv");
    if rows == page {
        return Err(Failure::usage(format!(
            "{}: the rows of the page go to that file; use another ending, such as .md",
            page.display()
        )));
    }
    Ok(rows)
}

/// Folders that were made for results. If they are empty when this is dropped, they are removed,
/// so that a refused command leaves nothing behind.
#[derive(Debug)]
#[must_use = "dropping this removes empty folders"]
pub struct Made(Vec<PathBuf>);

impl Drop for Made {
    fn drop(&mut self) {
        for folder in &self.0 {
            // The system refuses to remove a folder that is not empty.
            if std::fs::remove_dir(folder).is_err() {
                return;
            }
        }
    }
}

/// Makes sure that files can be written into `folder` later, which is created if missing. Dropping the returned value
/// removes a created folder that is still empty.
///
/// # Errors
/// `Exit::File` if it cannot be created, or no file can be written into it.
pub fn check_folder(folder: &Path) -> Result<Made, Failure> {
    check_folder_in(folder, Path::new(""))
}

/// As [`check_folder`], for a folder in the one that the user named: links to other folders are refused.
///
/// # Errors
/// As [`check_folder`].
pub fn check_folder_in(folder: &Path, inside: &Path) -> Result<Made, Failure> {
    let is_itself = inside.as_os_str().is_empty();
    let place = match is_itself {
        true => folder.to_path_buf(),
        false => folder.join(inside),
    };
    let missing = |f: &&Path| !f.as_os_str().is_empty() && !f.exists();
    let missing = place.ancestors().take_while(missing);
    let made = Made(missing.map(Path::to_path_buf).collect());
    nandscope_files::create_folder(folder)?;
    if !is_itself {
        nandscope_files::create_folder_in(folder, inside)?;
    }
    nandscope_files::check_folder(&place)?;
    Ok(made)
}

/// Writes a file that the user named.
///
/// # Errors
/// `Exit::File` if the file is refused or cannot be written; an older file of that name is then unchanged.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    Ok(nandscope_files::write(path, bytes, Access::Usual)?)
}

/// Writes a file next to one that the user named, under a name that the user did not give: no link is followed.
///
/// # Errors
/// As [`write()`].
pub fn write_beside(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    write_in(folder_of(path), &name, bytes)
}

/// Writes a file into a folder that the user named.
///
/// # Errors
/// `Exit::File` if its name leads out of the folder, or it cannot be written.
pub fn write_in(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), Failure> {
    let name = Path::new(name);
    Ok(nandscope_files::write_in(
        folder,
        name,
        bytes,
        Access::Usual,
    )?)
}

/// A report that could not be written.
pub fn report_failure(error: &ReportError) -> Failure {
    match error {
        ReportError::Write(_) => Failure::file(error),
        ReportError::TooFewDocuments(_)
        | ReportError::NoSuchBaseline { .. }
        | ReportError::NoSharedHost(_) => Failure::usage(error),
        _ => Failure::internal(error),
    }
}

/// Writes a file that the user named and that cannot be reproduced; on failure, saves it in the state folder.
///
/// # Errors
/// `Exit::File` if the file cannot be written, `Exit::Usage` if it is another output or locked; the message names the place in
/// the state folder.
pub fn write_or_keep(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let written = nandscope_files::write(path, bytes, Access::Usual);
    written.map_err(|e| rescue::keep(path, bytes, e.into()))
}

/// As [`write_or_keep`], for a file in a folder that the user named.
///
/// # Errors
/// As [`write_or_keep`].
pub fn write_or_keep_in(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), Failure> {
    let written = nandscope_files::write_in(folder, Path::new(name), bytes, Access::Usual);
    written.map_err(|e| rescue::keep(&folder.join(name), bytes, e.into()))
}

/// As [`write_or_keep`], for a file next to one that the user named, under a name that the user did not give: no link
/// is followed.
///
/// # Errors
/// As [`write_or_keep`].
pub fn write_or_keep_beside(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    write_or_keep_in(folder_of(path), &name, bytes)
}

/// Name of the output of an incomplete run, if a complete one exists: `r.json` becomes `r.incomplete.json`.
pub fn apart(path: &Path) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_os_string();
    name.push(".");
    name.push(INCOMPLETE);
    if let Some(ending) = path.extension() {
        name.push(".");
        name.push(ending);
    }
    path.with_file_name(name)
}

/// Folder for the report of a result: `folder`, or a subfolder if this result is incomplete and the one in `folder` is
/// complete. A complete result is only replaced by a complete one.
pub fn report_folder(document: &ResultDocument, folder: &Path) -> PathBuf {
    match replaces_complete(document, &folder.join(RESULT)) {
        true => folder.join(INCOMPLETE),
        false => folder.to_path_buf(),
    }
}

/// Whether an incomplete result would replace a complete one.
pub fn replaces_complete(document: &ResultDocument, path: &Path) -> bool {
    !document.complete && is_complete(path)
}

/// Whether a file holds a complete result.
pub fn is_complete(path: &Path) -> bool {
    #[derive(Deserialize)]
    struct Head {
        format: String,
        complete: bool,
    }
    let bytes = read_regular(path, FollowLinks::Yes, LARGEST).unwrap_or_default();
    serde_json::from_slice::<Head>(&bytes)
        .is_ok_and(|head| head.format == nandscope_result::FORMAT && head.complete)
}

/// Combines the results of several outputs, all of which were attempted.
///
/// # Errors
/// One failure with all messages and the exit code of the first.
pub fn all(outputs: impl IntoIterator<Item = Result<(), Failure>>) -> Result<(), Failure> {
    let mut failures = outputs.into_iter().filter_map(Result::err);
    let Some(mut first) = failures.next() else {
        return Ok(());
    };
    for failure in failures {
        first.text.push_str(&format!("\n{}", failure.text));
    }
    Err(first)
}

/// Writes a result and its report into a folder (or [`report_folder`]); gives the files of the report, its page first.
///
/// # Errors
/// `Exit::File` if the folder cannot be written; the message names the place of the result.
pub fn write_report(document: &ResultDocument, folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    write_report_in_context(document, folder, &PageContext::default())
}

/// Writes a report with its frame: ranks among other drives, and the author's texts.
///
/// # Errors
/// As [`write_report`].
pub fn write_report_in_context(
    document: &ResultDocument,
    folder: &Path,
    context: &PageContext,
) -> Result<Vec<PathBuf>, Failure> {
    // First the result: it cannot be made again from anything else.
    write_result_in(document, folder)?;
    write_pages(document, &report_folder(document, folder), context)
}

/// Writes the result of a report alone, into a folder or its [`report_folder`].
///
/// # Errors
/// As [`write_or_keep`].
pub fn write_result_in(document: &ResultDocument, folder: &Path) -> Result<(), Failure> {
    let text = to_json(document).map_err(Failure::internal)?;
    let place = report_folder(document, folder);
    if place != folder
        && let Err(e) = nandscope_files::create_folder_in(folder, Path::new(INCOMPLETE))
    {
        return Err(rescue::keep(&place.join(RESULT), text.as_bytes(), e.into()));
    }
    write_or_keep_in(&place, RESULT, text.as_bytes())
}

/// Writes a report next to its result; returns its files, the page first.
///
/// # Errors
/// As [`write_report`].
pub fn write_pages(
    document: &ResultDocument,
    folder: &Path,
    context: &PageContext,
) -> Result<Vec<PathBuf>, Failure> {
    nandscope_report::write_among(document, context, folder).map_err(|e| {
        let mut failure = report_failure(&e);
        failure.text.push_str(&format!(
            "\nthe result is complete: make its report with `nandscope report {} -o DIR`",
            folder.join(RESULT).display()
        ));
        failure.but_saved()
    })
}

/// As [`write_report`]; prints the path of the page on standard error.
///
/// # Errors
/// As [`write_report`].
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

/// Writes the report of a whole procedure, prints its summary even if the report could not be written, and prints the
/// path of the page.
///
/// # Errors
/// `Exit::File` if the folder or standard output cannot be written.
pub fn present(
    document: &ResultDocument,
    folder: &Path,
    form: Form,
    console: &Console,
) -> Result<(), Failure> {
    let place = report_folder(document, folder);
    let written = write_report(document, folder).map(drop);
    show(document, &place, written, &[], form, console)
}

/// Prints the summary of a result even if its report could not be written, and prints the path of the page.
///
/// # Errors
/// `Exit::File` if the report or standard output could not be written.
pub fn show(
    document: &ResultDocument,
    folder: &Path,
    written: Result<(), Failure>,
    ranks: &[Rank],
    form: Form,
    console: &Console,
) -> Result<(), Failure> {
    // The summary comes last: a closed pipe must not prevent the result.
    let printed = print_summary(document, ranks, form, console);
    all([written, printed])?;
    console.note(&format!("report: {}", folder.join("report.html").display()));
    Ok(())
}

/// Prints the summary of a result with its ranks among other drives.
///
/// # Errors
/// `Exit::File` if standard output cannot be written.
pub fn print_summary(
    document: &ResultDocument,
    ranks: &[Rank],
    form: Form,
    console: &Console,
) -> Result<(), Failure> {
    match form {
        Form::Text => console.print_verdicts(&summary(document, ranks, console)),
        Form::Json => print_json(&summary_json::of(document, ranks), console),
        Form::Silent => Ok(()),
    }
}

/// Prints a value for programs.
///
/// # Errors
/// `Exit::File` if standard output cannot be written.
pub fn print_json(value: &impl Serialize, console: &Console) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(Failure::internal)?;
    console.print_json(&text)
}

/// The summary of a result, as wide as the terminal.
pub fn summary(document: &ResultDocument, ranks: &[Rank], console: &Console) -> String {
    let options = terminal::Options {
        width: console.width,
        ..Default::default()
    };
    terminal::summary(document, ranks, &options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_never_go_to_the_page_itself() {
        let rows = rows_beside(Path::new("docs/page.md")).unwrap();
        assert_eq!(rows, Path::new("docs/page.csv"));
        let refused = rows_beside(Path::new("page.csv")).unwrap_err();
        assert_eq!(refused.exit, crate::failure::Exit::Usage);
    }
}
