//! `nandscope compare`: the figures of stored results side by side.

use crate::claims::FileClaims;
use crate::confine::Confine;
use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::{input, output, shelf};
use clap::Args;
use nandscope_report::compare::{self, Alignment, Basis};
use nandscope_report::{shelf::price_of, terminal};
use nandscope_result::ResultDocument;
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  nandscope compare before.json after.json --html change.html
  nandscope compare a.json b.json c.json --baseline c.json

Results are compared on the hosts that all of them share. Figures of other hosts are left out.";

/// Arguments of `nandscope compare`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Stored results
    #[arg(required = true, num_args = 2.., value_name = "RESULT.json")]
    results: Vec<PathBuf>,
    /// Result to which ratios and differences refer: one of the files, or its letter in the comparison [default: A]
    #[arg(long, value_name = "RESULT|LETTER")]
    baseline: Option<PathBuf>,
    /// Compare results that share no host, each on its first one
    #[arg(long)]
    across_hosts: bool,
    /// Print JSON instead of text
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
/// `Exit::File` if a result cannot be read or the page cannot be written; `Exit::Usage` if a file is not a result,
/// there are fewer than two results, they share no host, or the baseline is not one of them.
pub fn run(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    Interrupt::listen()?.end_at_once();
    let baseline = baseline(&arguments)?;
    let mut files = FileClaims::default();
    files.inputs("the result", &arguments.results)?;
    if let Some(page) = &arguments.html {
        files.output("--html", page)?;
    }
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
    // Results that cannot be compared are refused before anything is written.
    let basis = Basis {
        prices: &prices,
        baseline,
        across_hosts: arguments.across_hosts,
    };
    let text = compare::text(&documents, &basis, &options);
    let text = text.map_err(|e| output::report_failure(&e))?;
    let written = match &arguments.html {
        Some(path) => {
            let page = compare::html(&documents, &basis).map_err(|e| output::report_failure(&e))?;
            output::write(path, page.as_bytes())
        }
        None => Ok(()),
    };
    let printed = match arguments.json {
        true => {
            let json = json(&documents, &basis, &arguments.results);
            json.and_then(|json| output::print_json(&json, console))
        }
        false => console.print(&text),
    };
    output::all([printed, written])?;
    Ok(Exit::Done)
}

/// Index of the baseline among the results.
///
/// # Errors
/// `Exit::Usage` if `--baseline` names none of the results.
fn baseline(arguments: &Arguments) -> Result<usize, Failure> {
    let Some(named) = &arguments.baseline else {
        return Ok(0);
    };
    let count = arguments.results.len();
    let file = arguments.results.iter().position(|path| path == named);
    let by_letter = || {
        let letter = named.to_str()?.to_uppercase();
        (0..count).find(|i| compare::letter(*i) == letter)
    };
    file.or_else(by_letter).ok_or_else(|| {
        Failure::usage(format!(
            "the baseline {} is none of the results; name one of the files, or its letter: A to {}",
            named.display(),
            compare::letter(count.saturating_sub(1))
        ))
    })
}

/// A figure of all results; a result that does not have it has `null`.
#[derive(Debug, Serialize)]
struct Shared<'a> {
    id: &'a str,
    title: &'a str,
    unit: &'a str,
    values: &'a [Option<f64>],
    /// Multiples of the baseline's value; `null` for the baseline itself, and where a ratio says nothing.
    ratios: Vec<Option<f64>>,
}

/// The comparison for programs.
#[derive(Debug, Serialize)]
struct Comparison<'a> {
    results: Vec<String>,
    baseline: String,
    /// The hosts that all results share; none if they share none, or it is not known.
    hosts: Vec<&'a str>,
    /// Sentences on the hosts: which are compared, and which are not.
    about_hosts: Vec<String>,
    /// Sentences on what is compared and what is not: hosts, suites, steps that are missing.
    remarks: Vec<String>,
    figures: Vec<Shared<'a>>,
}

/// The comparison for programs.
///
/// # Errors
/// `Exit::Usage` if there are fewer than two documents, they share no host, or the baseline is not one of them.
pub fn json(
    documents: &[&ResultDocument],
    basis: &Basis,
    paths: &[PathBuf],
) -> Result<Value, Failure> {
    let rows = compare::rows(documents, basis).map_err(|e| output::report_failure(&e))?;
    let alignment = Alignment::of(documents, basis.across_hosts);
    let alignment = alignment.map_err(|e| output::report_failure(&e))?;
    let shown = |path: &PathBuf| path.display().to_string();
    let comparison = Comparison {
        results: paths.iter().map(shown).collect(),
        baseline: paths.get(basis.baseline).map(shown).unwrap_or_default(),
        hosts: alignment.names(),
        about_hosts: alignment.sentences(),
        remarks: compare::remarks(documents, &alignment, &rows),
        figures: rows
            .iter()
            .map(|row| Shared {
                id: &row.id,
                title: &row.title,
                unit: &row.unit,
                values: &row.values,
                ratios: (0..row.values.len()).map(|i| row.ratio(i)).collect(),
            })
            .collect(),
    };
    serde_json::to_value(&comparison).map_err(Failure::internal)
}
