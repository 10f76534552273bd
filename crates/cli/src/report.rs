//! `nandscope report`: a stored result as a page, plots and tables.

use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::{input, output};
use clap::Args;
use nandscope_report::write_all;
use std::path::PathBuf;

/// Arguments of `nandscope report`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  nandscope report result.json -o report/")]
pub struct Arguments {
    /// A stored result
    #[arg(value_name = "RESULT.json")]
    result: PathBuf,
    /// Folder to write report.html, plots/ and csv/ into; made where it is missing
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Prints the summary, and writes the report where a folder is named.
///
/// # Errors
/// Where the result cannot be read or the folder cannot be written.
pub fn run(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let document = input::result(&arguments.result)?;
    if let Some(folder) = &arguments.output {
        let _made = output::check_folder(folder)?;
        let written = write_all(&document, folder).map_err(|e| output::report_failure(&e))?;
        if let Some(page) = written.first() {
            console.note(&format!(
                "{} and {} more files",
                page.display(),
                written.len() - 1
            ));
        }
    }
    console.print(&output::summary(&document, console))?;
    Ok(Exit::Done)
}
