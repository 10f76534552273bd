//! `nandscope compare`: the figures of stored results side by side.

use crate::confine::Confine;
use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::{input, output, shelf};
use clap::Args;
use nandscope_report::compare::{self, Price};
use nandscope_report::{shelf::price_of, terminal};
use nandscope_result::ResultDocument;
use serde::Serialize;
use std::path::PathBuf;

/// Arguments of `nandscope compare`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  nandscope compare before.json after.json --html change.html")]
pub struct Arguments {
    /// Stored results; the first is the baseline
    #[arg(required = true, num_args = 2.., value_name = "RESULT.json")]
    results: Vec<PathBuf>,
    /// Write JSON instead of text
    #[arg(long)]
    json: bool,
    /// Compare prices per GB, which are those of this shelf
    #[arg(long, value_name = "DIR")]
    shelf: Option<PathBuf>,
    /// Also write the comparison as an HTML page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Prints the comparison.
///
/// # Errors
/// Where a result cannot be read or the page cannot be written.
pub fn run(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    Confine::default()
        .reading(&arguments.results)
        .reading(&arguments.shelf)
        .writing(&arguments.html)
        .enforce();
    let documents = arguments.results.iter().map(|path| input::result(path));
    let documents = documents.collect::<Result<Vec<_>, _>>()?;
    let documents: Vec<_> = documents.iter().collect();
    let drives = shelf::rivals(arguments.shelf.as_deref())?;
    let prices: Vec<_> = documents.iter().map(|d| price_of(d, &drives)).collect();
    let options = terminal::Options {
        width: console.width,
        ..Default::default()
    };
    let text = match arguments.json {
        true => json(&documents, &prices, &arguments.results)?,
        false => {
            compare::text(&documents, &prices, &options).map_err(|e| output::report_failure(&e))?
        }
    };
    let written = match &arguments.html {
        Some(path) => {
            let page =
                compare::html(&documents, &prices).map_err(|e| output::report_failure(&e))?;
            output::write(path, page.as_bytes())
        }
        None => Ok(()),
    };
    let printed = match arguments.json {
        true => console.print_json(&text),
        false => console.print(&text),
    };
    output::all([printed, written])?;
    Ok(Exit::Done)
}

/// A figure of all results; a result that does not have it has `null`.
#[derive(Debug, Serialize)]
struct Shared<'a> {
    id: &'a str,
    title: &'a str,
    unit: &'a str,
    values: &'a [Option<f64>],
}

/// The comparison for programs.
#[derive(Debug, Serialize)]
struct Comparison<'a> {
    results: Vec<String>,
    figures: Vec<Shared<'a>>,
}

fn json(
    documents: &[&ResultDocument],
    prices: &[Option<Price>],
    paths: &[PathBuf],
) -> Result<String, Failure> {
    let rows = compare::rows(documents, prices).map_err(|e| output::report_failure(&e))?;
    let comparison = Comparison {
        results: paths.iter().map(|p| p.display().to_string()).collect(),
        figures: rows
            .iter()
            .map(|row| Shared {
                id: &row.id,
                title: &row.title,
                unit: &row.unit,
                values: &row.values,
            })
            .collect(),
    };
    serde_json::to_string_pretty(&comparison).map_err(Failure::internal)
}
