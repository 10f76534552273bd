//! `nandscope report`: a stored result, or the contents of a step journal, as a page, plots and tables.

use crate::author;
use crate::claims::FileClaims;
use crate::confine::Confine;
use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::input;
use crate::interrupt::Interrupt;
use crate::output::{self, Form};
use crate::shelf::{Ranks, rivals};
use clap::Args;
use nandscope_measure::steps;
use nandscope_report::shelf::{Author, PageContext};
use nandscope_report::{shelf, write_among, write_pictures};
use std::path::{Path, PathBuf};

/// Arguments of `nandscope report`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  nandscope report result.json -o report/\n  nandscope report result.json -o report/ --author texts/ --png\n  nandscope report --recover review-card/result.steps -o report/"
)]
pub struct Arguments {
    /// A stored result
    #[arg(value_name = "RESULT.json", required_unless_present = "recover")]
    result: Option<PathBuf>,
    /// Make an incomplete result and its report from the journal of an interrupted measurement
    #[arg(
        long,
        value_name = "JOURNAL",
        conflicts_with = "result",
        requires = "output"
    )]
    recover: Option<PathBuf>,
    /// Folder for the report and its data, created if missing
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Rank the drive among those of this shelf
    #[arg(
        long,
        value_name = "DIR",
        requires = "output",
        conflicts_with = "recover"
    )]
    shelf: Option<PathBuf>,
    /// Drives among which a drive is ranked
    #[arg(long, value_enum, default_value_t, conflicts_with = "recover")]
    ranks: Ranks,
    /// Include introduction.md, conclusion.md (Markdown) and the photos of this folder
    #[arg(
        long,
        value_name = "DIR",
        requires = "output",
        conflicts_with = "recover"
    )]
    author: Option<PathBuf>,
    /// Write every plot as PNG as well, beside the SVG file
    #[arg(long, requires = "output", conflicts_with = "recover")]
    png: bool,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// Prints the summary, and writes the report where a folder is named.
///
/// # Errors
/// `Exit::File` if the result cannot be read or the folder cannot be written; `Exit::Usage` if the file is not a
/// result.
pub fn run(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    Interrupt::listen()?.end_at_once();
    if let Some(folder) = &arguments.output {
        let mut files = FileClaims::default();
        files.inputs("the result", &arguments.result)?;
        if let Some(journal) = &arguments.recover {
            files.input("the journal", journal)?;
            files.file("the recovered result", &folder.join(output::RESULT))?;
        }
        files.report(folder)?;
    }
    let confine = Confine::default()
        .reading(&arguments.result)
        .reading(&arguments.shelf)
        .reading(&arguments.author)
        .writing(&arguments.recover);
    match &arguments.output {
        Some(folder) => confine.writing_in(folder).enforce(),
        None => confine.enforce(),
    };
    let form = Form::of(arguments.json);
    let document = match (&arguments.result, &arguments.recover, &arguments.output) {
        (_, Some(journal), Some(folder)) => return recover(journal, folder, form, console),
        (Some(result), ..) => input::result(result)?,
        // The command line is refused without a result.
        (None, ..) => return Err(Failure::usage("name a stored result")),
    };
    let rivals = rivals(arguments.shelf.as_deref())?;
    let among = shelf::among(&document, &rivals, arguments.ranks.into());
    let ranks = among.ranks.clone();
    if let Some(folder) = &arguments.output {
        let author = match &arguments.author {
            Some(folder) => author::read(folder)?,
            None => Author::default(),
        };
        let _made = output::check_folder(folder)?;
        let context = PageContext { author, ..among };
        let failed = |e| output::report_failure(&e);
        let mut written = write_among(&document, &context, folder).map_err(failed)?;
        if arguments.png {
            written.extend(write_pictures(&document, folder).map_err(failed)?);
        }
        if let Some(page) = written.first() {
            console.note(&format!(
                "{} and {} more files",
                page.display(),
                written.len() - 1
            ));
        }
    }
    output::print_summary(&document, &ranks, form, console)?;
    Ok(Exit::Done)
}

/// Writes the result of the steps in a journal, with its report; the journal stays.
fn recover(journal: &Path, folder: &Path, form: Form, console: &Console) -> Result<Exit, Failure> {
    let bytes = input::bytes(journal, "the step journal")?;
    let shown = journal.display().to_string();
    let contents = steps::read(&bytes).map_err(|e| Failure::usage(format!("{shown} {e}")))?;
    if contents.steps() == 0 {
        return Err(Failure::usage(format!(
            "{shown} holds no finished step; there is nothing to recover"
        )));
    }
    for damage in &contents.damages {
        console.note(&format!(
            "{shown}: bytes {} to {} are {}",
            damage.start,
            damage.end,
            match damage.torn {
                true => "the start of a step that was not written to its end; they are left out",
                false => "damaged; what they held is left out",
            }
        ));
    }
    let document = contents.recovered(&shown);
    let _made = output::check_folder(folder)?;
    let result = folder.join("result.json");
    if result.exists() {
        return Err(Failure::usage(format!(
            "{} is there already; name another folder",
            result.display()
        )));
    }
    output::present(&document, folder, form, console)?;
    Ok(Exit::Done)
}
